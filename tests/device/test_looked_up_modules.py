"""Names that are read from `getattr(torch, device_type)`, and kernels and tests that name CUDA by text."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"
DEVICE = f"{HEAD}def f(device, x):\n    y = torch.zeros(1, device=device)\n    "
MISSING = [
    pytest.param("getattr(torch, device).mem_get_info()", "error", id="memory of the device"),
    pytest.param("getattr(torch, device, None).nvtx.mark('a')", "error", id="a module below, with a default"),
    pytest.param("torch.get_device_module(device).CUDAGraph()", "error", id="get_device_module"),
    pytest.param(
        "m = torch.get_device_module(device)\n    m.get_device_capability()", "error", id="kept in a variable"
    ),
    pytest.param("if x:\n        getattr(torch, device).ipc_collect()", "error", id="behind a test of something else"),
    pytest.param("if device != 'cpu':\n        torch.get_device_module(device).graph()", "error", id="not on the CPU"),
    pytest.param(
        "if hasattr(getattr(torch, device), 'nvtx'):\n        getattr(torch, device).nvtx.mark('a')",
        "warning",
        id="asked for",
    ),
    pytest.param("if device == 'mps':\n        getattr(torch, device).ipc_collect()", "warning", id="on mps"),
    pytest.param(
        "try:\n        getattr(torch, device).utilization()\n    except AttributeError:\n        pass",
        "warning",
        id="tried",
    ),
]
THERE = [
    pytest.param("getattr(torch, device).empty_cache()", id="torch.neuron has it"),
    pytest.param("getattr(torch, device).Stream()", id="a function there, under the same name"),
    pytest.param("getattr(torch, x).itemsize", id="a dtype by its name"),
    pytest.param("getattr(torch, 'mps').mem_get_info()", id="another device"),
    pytest.param("getattr(x, device).mem_get_info()", id="not of torch"),
    pytest.param("getattr(torch, device).get_dynamo_metrics()", id="a name of torch.neuron alone"),
]


@pytest.mark.parametrize(("line", "severity"), MISSING)
def test_names_that_neuron_lacks(line: str, severity: str) -> None:
    finding = migrate(f"{DEVICE}{line}\n    return y\n").one("TN107")
    assert (finding["safety"], finding["severity"]) == ("manual", severity)


@pytest.mark.parametrize("line", THERE)
def test_names_that_are_there_or_of_others(line: str) -> None:
    assert migrate(f"{DEVICE}{line}\n    return y\n").lines("TN107") == []


GUARD = f"{HEAD}def f(kernel, fns, x, grid):\n    with torch.cuda.device(x.device):\n        "


def test_a_guard_around_a_kernel_is_not_renamed() -> None:
    outcome = migrate(f"{GUARD}kernel[grid](x)\n")
    assert "torch.cuda.device(x.device)" in outcome.text
    assert outcome.one("TN106")["severity"] == "error"
    inside = f"{HEAD}def f(kernel, x, grid):\n    if x.is_cuda:\n        with torch.cuda.device(x.device):\n"
    assert migrate(f"{inside}            kernel[grid](x)\n").one("TN106")["severity"] == "warning"


@pytest.mark.parametrize("line", ["fns[0](x)", "x.add_(1)"], ids=["an element of a list", "no launch"])
def test_a_guard_around_other_code_is_renamed(line: str) -> None:
    assert "torch.neuron.device(x.device)" in migrate(f"{GUARD}{line}\n").text


BY_TEXT = [
    pytest.param('getattr(x, "is_cuda", False)', 'getattr(x, "is_neuron", False)', id="with a default"),
    pytest.param('getattr(x, "is_cuda")', 'getattr(x, "is_neuron")', id="without one"),
    pytest.param('hasattr(x, "is_cuda")', None, id="every tensor has the attribute"),
    pytest.param('x["is_cuda"]', None, id="a key"),
]


@pytest.mark.parametrize(("old", "new"), BY_TEXT)
def test_is_cuda_by_its_name(old: str, new: str | None) -> None:
    outcome = migrate(f"{HEAD}def f(x, device):\n    return {old}\n")
    assert outcome.text == f"{HEAD}def f(x, device):\n    return {new or old}\n"
    assert outcome.rules() == (["TN104"] if new else [])


def test_is_cuda_of_an_own_class_stays() -> None:
    own = "class A:\n    def __init__(self):\n        self.is_cuda = False\n\n\n"
    text = f'{own}def f(x):\n    return getattr(x, "is_cuda", False)\n'
    assert migrate(text).text == text
