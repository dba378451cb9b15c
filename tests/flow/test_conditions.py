"""Which tests say that code runs on another device than neuron: seen by a call that would change otherwise."""

from __future__ import annotations

import pytest

from harness import migrate

ELSEWHERE = [
    pytest.param("device == 'cpu'", id="a device by its name"),
    pytest.param("'cpu' == x.device.type", id="turned around"),
    pytest.param("str(args.device) == 'mps:0'", id="a text of a device, with an index"),
    pytest.param("x.device == torch.device('cpu')", id="a device object"),
    pytest.param("device_type in ('cpu', 'xpu')", id="one of several others"),
    pytest.param("device.type != 'neuron'", id="not neuron"),
    pytest.param("device.type not in ['neuron']", id="none of neuron"),
    pytest.param("not torch.neuron.is_available()", id="no neuron"),
    pytest.param("not (hasattr(torch, 'neuron') and torch.neuron.is_available())", id="no neuron, guarded"),
    pytest.param("device.type != 'cuda'", id="not the device that turns"),
    pytest.param("device.type not in ('cuda', 'neuron')", id="none of both"),
    pytest.param("not torch.cuda.is_available()", id="a probe that turns"),
    pytest.param("not x.is_cuda", id="a test that turns"),
    pytest.param("x.is_cpu", id="an attribute of the tensor"),
    pytest.param("ready and device == 'cpu'", id="one of two that must hold"),
    pytest.param("not (ready or device != 'cpu')", id="neither"),
]
ANYWHERE = [
    pytest.param("device != 'cpu'", id="not the CPU"),
    pytest.param("device == 'neuron'", id="neuron"),
    pytest.param("device in ('cpu', 'neuron')", id="neuron among others"),
    pytest.param("device not in ('neuron', 'cpu')", id="others, which are not all named"),
    pytest.param("device == name", id="a name that is not known"),
    pytest.param("offload_device == 'cpu'", id="the device of something else"),
    pytest.param("mode == 'cpu'", id="no device"),
    pytest.param("ready or device == 'cpu'", id="one of two may hold"),
    pytest.param("torch.neuron.is_available()", id="neuron is there"),
    pytest.param("device != 'cuda:1'", id="another index may be meant"),
    pytest.param("device not in ('cuda', 'xpu')", id="others, one of which may be missing"),
    pytest.param("not torch.cuda.is_initialized()", id="not yet"),
    pytest.param("'a' < device == 'cpu'", id="a chain"),
    pytest.param("self.is_cpu()", id="an own method"),
]
FRAME = "import torch\n\n\ndef g(f, x, device, device_type, args, ready):\n    {}\n"


def changes(body: str) -> bool:
    text = FRAME.format(body.replace("\n", "\n    "))
    return 'backend="neuron"' in migrate(text, select=["TN301", "TN304"]).text


@pytest.mark.parametrize("test", ELSEWHERE)
def test_another_device(test: str) -> None:
    assert not changes(f"if {test}:\n    torch.compile(f)")
    assert not changes(f"if not ({test}):\n    return f\ntorch.compile(f)")
    assert changes(f"if {test}:\n    return f\ntorch.compile(f)")


@pytest.mark.parametrize("test", ANYWHERE)
def test_any_device(test: str) -> None:
    assert changes(f"if {test}:\n    torch.compile(f)")


@pytest.mark.parametrize("test", ["x.is_cuda", "torch.cuda.is_available()", "device.type == 'cuda'"])
def test_both_arms_of_a_test_that_turns(test: str) -> None:
    arms = f"if {test}:\n        f = torch.compile(f)\n    else:\n        f = torch.compile(f, mode='default')"
    outcome = migrate(FRAME.format(arms))
    assert outcome.text.count('backend="neuron"') == 1
    assert "mode='default'" in outcome.text


def test_functions_run_later_and_elsewhere() -> None:
    assert changes("if device == 'cpu':\n    def h(): return torch.compile(f)")


def test_the_test_itself_runs_everywhere() -> None:
    assert changes("if torch.compile(f) and device == 'cpu':\n    pass")
    assert not changes("if device == 'cpu' and torch.compile(f):\n    pass")


def test_a_branch_that_goes_on_says_nothing_of_what_follows() -> None:
    assert changes("if device != 'cpu':\n    x()\ntorch.compile(f)")
    assert changes("if device != 'cpu':\n    return f\nelse:\n    x()\ntorch.compile(f)")
