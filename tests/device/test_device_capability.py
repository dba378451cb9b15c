"""TN115: what the device can do."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"
CAPABILITY = "torch.cuda.get_device_capability"


def inside(line: str) -> str:
    """A function with one line."""
    return f"{HEAD}def f(x):\n    {line}\n"


@pytest.mark.parametrize(
    "before, after, level",
    [
        pytest.param("torch.cuda.is_bf16_supported()", "torch.neuron.is_bf16_supported()", "safe", id="question"),
        pytest.param("torch.cuda.is_bf16_supported", "torch.neuron.is_bf16_supported", "safe", id="passed-on"),
        pytest.param(
            "torch.cuda.is_bf16_supported(False)", "torch.neuron.is_bf16_supported()", "review", id="argument"
        ),
        pytest.param(
            f"torch.bfloat16 if {CAPABILITY}()[0] >= 8 else torch.float16",
            "torch.bfloat16 if torch.neuron.is_bf16_supported() else torch.float16",
            "review",
            id="chooses-a-dtype",
        ),
        pytest.param(
            f"'bf16' if x and {CAPABILITY}(x) >= (8, 0) else 'fp16'",
            "'bf16' if x and torch.neuron.is_bf16_supported() else 'fp16'",
            "review",
            id="in-a-conjunction",
        ),
    ],
)
def test_questions(before: str, after: str, level: str) -> None:
    outcome = migrate(inside(f"return {before}"))
    assert outcome.text == inside(f"return {after}")
    assert outcome.one("TN115")["safety"] == level


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f"return {CAPABILITY}() >= (8, 0)", id="nothing-says-bfloat16"),
        pytest.param(f"bf16 = {CAPABILITY}() >= (9, 0)", id="more-than-bfloat16"),
        pytest.param(f"bf16 = {CAPABILITY}() < (8, 0)", id="the-other-way-round"),
        pytest.param(f"bf16 = x or {CAPABILITY}()[0] >= 8", id="in-a-disjunction"),
        pytest.param(f"return torch.bfloat16 if {CAPABILITY}()[0] >= 8 else x.bfloat16()", id="both-arms"),
        pytest.param(f"major, minor = {CAPABILITY}()", id="unpacked"),
        pytest.param(f"if {CAPABILITY}()[0] >= 8: x.bf16 = True", id="a-branch"),
        pytest.param(f"{CAPABILITY} = lambda: (8, 0)", id="replaced"),
        pytest.param("return x.get_device_capability()", id="own-method"),
        pytest.param("return torch.neuron.is_bf16_supported()", id="already-migrated"),
        pytest.param(f"print('{CAPABILITY}')", id="text"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)


def test_capabilities_that_stay_are_errors() -> None:
    assert migrate(inside(f"return {CAPABILITY}() >= (9, 0)")).one("TN115")["severity"] == "error"


def test_halves_of_a_capability_are_errors_where_they_are_read() -> None:
    outcome = migrate(
        HEAD + "def f():\n    p = torch.cuda.get_device_properties(0)\n    return p.major, p.minor, p.name\n"
    )
    assert outcome.lines("TN115") == [6, 6]
