"""An index that runs over several devices is right in one process alone, and reviewed."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"
SEVERAL = [
    pytest.param("for i in range(n):\n        x = x.to(f'cuda:{i}')", id="f-string in a loop"),
    pytest.param("for i, y in enumerate(x):\n        y.to('cuda:%d' % i)", id="percent in a loop over pairs"),
    pytest.param("for i in range(n):\n        x.to('cuda:' + str(i + 1))", id="sum in a loop"),
    pytest.param("for i in range(n):\n        x.to('cuda:{:d}'.format(i))", id="format in a loop"),
    pytest.param("x = [torch.device('cuda', i) for i in range(n)]", id="second argument in a comprehension"),
    pytest.param("x = x.to('cuda:' + str(max(n)))", id="largest of several"),
]
ONE = [
    pytest.param("x = x.to(f'cuda:{n}')", id="a parameter: the rank"),
    pytest.param("for y in x:\n        y.to(f'cuda:{n}')", id="a loop over something else"),
    pytest.param("for i in range(n):\n        x.to('cuda')", id="no index in the loop"),
    pytest.param("x = x.to('cuda:' + str(int(n)))", id="a number read from text"),
]


@pytest.mark.parametrize("body", SEVERAL)
def test_several_devices_are_reviewed(body: str) -> None:
    finding = migrate(f"{HEAD}def f(x, n):\n    {body}\n    return x\n").one("TN105")
    assert finding["safety"] == "review"
    assert any("several devices" in e["text"] for e in finding["evidence"])


@pytest.mark.parametrize("body", ONE)
def test_the_index_of_one_device_is_safe(body: str) -> None:
    finding = migrate(f"{HEAD}def f(x, n):\n    {body}\n    return x\n").one("TN101")
    assert finding["safety"] == "safe"


def test_a_loop_over_devices_as_argument_of_the_runtime() -> None:
    outcome = migrate(f"{HEAD}def f(n, i):\n    for gpu in range(n):\n        torch.cuda.synchronize(gpu)\n")
    assert outcome.one("TN106")["safety"] == "review"
    assert migrate(f"{HEAD}def f(gpu: int):\n    torch.cuda.synchronize(gpu)\n").one("TN106")["safety"] == "safe"


ASKED = [
    pytest.param("if device.type == 'cuda':\n        torch.cuda.synchronize(device)", True, id="its type is read"),
    pytest.param(
        "if n and device.type != 'cpu':\n        torch.cuda.synchronize(device)", True, id="a part of the test reads it"
    ),
    pytest.param("if n:\n        torch.cuda.synchronize(device)", False, id="another test"),
    pytest.param(
        "if n.device.type == 'cuda':\n        torch.cuda.synchronize(device)", False, id="the type of another value"
    ),
    pytest.param(
        "if device.type == 'cuda':\n        device = n\n        torch.cuda.synchronize(device)",
        False,
        id="bound anew behind the test",
    ),
    pytest.param(
        "if device.type == 'cpu':\n        return\n    torch.cuda.synchronize(device)", True, id="left before"
    ),
    pytest.param(
        "if device.type == 'cpu':\n        return\n    device = n\n    torch.cuda.synchronize(device)",
        False,
        id="left before, then bound anew",
    ),
]


@pytest.mark.parametrize(("body", "plain"), ASKED)
def test_what_has_a_type_is_no_text(body: str, plain: bool) -> None:
    new = migrate(f"{HEAD}def f(device, n):\n    {body}\n").text
    assert ("torch.neuron.synchronize(device)" in new) is plain
    assert ("torch.neuron.synchronize(torch.device(device))" in new) is not plain
