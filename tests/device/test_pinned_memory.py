"""TN119: pinned memory."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\nfrom torch.utils.data import DataLoader\n\n\n"


def inside(line: str) -> str:
    """A function with one line."""
    return f"{HEAD}def f(x, dev):\n    return {line}\n"


@pytest.mark.parametrize(
    "before, after, level",
    [
        pytest.param('DataLoader(x, pin_memory_device="cuda")', "DataLoader(x)", "safe", id="last"),
        pytest.param(
            'DataLoader(x, pin_memory_device="cuda:1", num_workers=2)',
            "DataLoader(x, num_workers=2)",
            "safe",
            id="middle",
        ),
        pytest.param("DataLoader(x, pin_memory_device=dev)", "DataLoader(x)", "safe", id="variable"),
        pytest.param(
            'torch.utils.data.DataLoader(x, pin_memory=True, pin_memory_device="cuda")',
            "torch.utils.data.DataLoader(x, pin_memory=True)",
            "safe",
            id="whole-name",
        ),
        pytest.param('x.pin_memory("cuda")', "x.pin_memory()", "review", id="method"),
        pytest.param('x.pin_memory(device="cuda")', "x.pin_memory()", "review", id="method-keyword"),
    ],
)
def test_dropped(before: str, after: str, level: str) -> None:
    outcome = migrate(inside(before))
    assert outcome.text == inside(after)
    assert outcome.one("TN119")["safety"] == level
    assert not [f for f in outcome.findings if f["after"]]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("DataLoader(x, pin_memory=True)", id="flag-stays"),
        pytest.param("x.pin_memory()", id="method-stays"),
        pytest.param('DataLoader(x, pin_memory_device="")', id="default"),
        pytest.param('DataLoader(x, pin_memory_device="neuron")', id="already-migrated"),
        pytest.param("DataLoader(x, pin_memory_device=dev())", id="call"),
        pytest.param("DataLoader(x, **dev)", id="unpacked"),
        pytest.param("torch.empty(1, pin_memory=True)", id="tensor"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)
