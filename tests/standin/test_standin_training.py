"""Trainings on the stand-in have the losses of plain CPU runs, bit for bit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from standin_support import HERE, Run, RunProgram

pytestmark = pytest.mark.standin

MODES = ["ddp", "fsdp2", "ddp, blocks compiled", "fsdp2, blocks compiled"]
COLLECTIVES = re.findall(r"\w+", re.search(r"COLLECTIVES = \[(.*?)\]", (HERE / "distributed.py").read_text(), re.S)[1])


def result(run: Run) -> dict[str, Any]:
    assert run.code == 0, run.stderr
    (line,) = (x for x in run.stdout.splitlines() if x.startswith("RESULT "))
    return dict(json.loads(line.removeprefix("RESULT ")))


@pytest.fixture(scope="module")
def alone(run_program: RunProgram) -> dict[str, dict[str, Any]]:
    script = HERE / "training.py"
    return {
        "cpu": result(run_program(script, "cpu", plain=True)),
        "neuron": result(run_program(script, "neuron")),
    }


@pytest.fixture(scope="module")
def two_ranks(run_program: RunProgram) -> Run:
    return run_program(HERE / "distributed.py", "neuron", processes=2)


@pytest.fixture(scope="module")
def two_ranks_cpu(run_program: RunProgram) -> dict[str, Any]:
    return result(run_program(HERE / "distributed.py", "cpu", processes=2, plain=True))


@pytest.mark.parametrize("name", ["mlp", "gpt eager", "gpt compiled"])
def test_losses_are_bit_equal(name: str, alone: dict[str, dict[str, Any]]) -> None:
    assert alone["neuron"][name] == alone["cpu"][name]
    assert alone["neuron"][name][-1] < alone["neuron"][name][0]


def test_bfloat16_losses_are_those_of_the_cpu_but_for_the_lists_of_autocast(alone: dict[str, dict[str, Any]]) -> None:
    """The CPU's autocast casts other operators than a device's; that the original on the same stand-in is bit-equal
    is what the programs in test_standin_verify show."""
    ours, theirs = alone["neuron"]["mlp bfloat16"], alone["cpu"]["mlp bfloat16"]
    assert ours == pytest.approx(theirs, abs=0.01)
    assert ours != alone["neuron"]["mlp"]
    assert ours[-1] < ours[0]


def test_one_graph_forward_and_one_backward(alone: dict[str, dict[str, Any]]) -> None:
    assert alone["neuron"]["graphs"] == ["graph_0_forward", "graph_0_backward"]


@pytest.mark.parametrize("how", MODES)
def test_distributed_losses_are_bit_equal(how: str, two_ranks: Run, two_ranks_cpu: dict[str, Any]) -> None:
    assert result(two_ranks)[how] == two_ranks_cpu[how]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective(name: str, two_ranks: Run) -> None:
    assert result(two_ranks)[name] == ""


@pytest.mark.parametrize(
    ("code", "severity"),
    [("TN450", "warning"), ("TN362", "error"), ("TN407", "error"), ("TN414", "error"), ("TN105", "error")],
    ids=["in-place in a region", "objects in a region", "sub-group barrier", "uneven split", "another rank's device"],
)
def test_distributed_hazard(code: str, severity: str, two_ranks: Run) -> None:
    found = [h for h in two_ranks.seen.hazards if h.code == code]
    assert {h.severity for h in found} == {severity}
    assert {Path(h.path).name for h in found} == {"distributed.py"}
    assert all(h.line > 0 for h in found)
