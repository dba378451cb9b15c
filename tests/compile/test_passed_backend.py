"""TN301: a backend that callers pass through a parameter, and calls that go with a dropped argument."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"
HELPER = "def c(m, backend='inductor'):\n    return torch.compile(m, backend=backend, dynamic=False)\n\n\n"

CHANGED = [
    pytest.param("c(m, 'inductor')", "c(m, 'neuron')", id="position"),
    pytest.param("c(m, backend='cudagraphs')", "c(m, backend='neuron')", id="keyword"),
    pytest.param("c(m, 'eager')", "c(m, 'eager')", id="a backend for debugging stays"),
    pytest.param("c(m, 'neuron')", "c(m, 'neuron')", id="already"),
    pytest.param("c(m)", "c(m)", id="default"),
    pytest.param("c(m, 'inductor' if m else 'eager')", "c(m, 'neuron' if m else 'eager')", id="conditional"),
]


@pytest.mark.parametrize(("before", "after"), CHANGED)
def test_literals_at_calls(before: str, after: str) -> None:
    outcome = migrate(f"{HEAD}{HELPER}def f(m):\n    return {before}\n")
    assert outcome.text == f"{HEAD}{HELPER.replace('inductor', 'neuron')}def f(m):\n    return {after}\n"


def test_parameter_without_default() -> None:
    helper = HELPER.replace("='inductor'", "")
    outcome = migrate(f"{HEAD}{helper}c(None, 'inductor')\n")
    assert outcome.text == f"{HEAD}{helper}c(None, 'neuron')\n"


def test_method() -> None:
    text = (
        "class W:\n    def __init__(self, m, b='inductor'):\n"
        "        self.m = torch.compile(m, backend=b, dynamic=False)\n"
    )
    outcome = migrate(f"{HEAD}{text}\n\nW(None, 'inductor')\n")
    assert outcome.text == f"{HEAD}{text.replace('inductor', 'neuron')}\n\nW(None, 'neuron')\n"


def test_what_is_passed_and_not_known_is_an_error() -> None:
    outcome = migrate(f"{HEAD}{HELPER}def f(m, name):\n    return c(m, name)\n")
    found = [(f["line"], f["severity"]) for f in outcome.findings if f["safety"] == "manual"]
    assert found == [(9, "error")]


def test_function_of_the_same_name_is_left_alone() -> None:
    text = f"{HEAD}{HELPER.replace('inductor', 'neuron')}def f(c, m):\n    return c(m, 'inductor')\n"
    assert migrate(text).text == text


LOST = [
    pytest.param("mode=get('x')", "TN302", "review", id="mode"),
    pytest.param("options={'max_autotune': side(), 'fallback_execution': True}", "TN303", "review", id="an option"),
    pytest.param("options={'max_autotune': len('a')}", "TN303", "safe", id="an option, pure"),
    pytest.param("mode='default'", "TN302", "safe", id="no call"),
]


@pytest.mark.parametrize(("argument", "rule", "level"), LOST)
def test_call_that_goes_with_an_argument(argument: str, rule: str, level: str) -> None:
    outcome = migrate(f"{HEAD}def f(m):\n    return torch.compile(m, {argument})\n")
    finding = outcome.one(rule)
    assert finding["safety"] == level
    assert any("goes with it" in e["text"] for e in finding["evidence"]) == (level == "review")
