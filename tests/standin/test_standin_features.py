"""Everyday features of a device, on neuron tensors."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from standin_support import RunProgram

from migrate.standin import launch

pytestmark = pytest.mark.standin

SCRIPT = Path(__file__).with_name("features.py")
FEATURES = [
    n.name
    for n in ast.parse(SCRIPT.read_text()).body
    if isinstance(n, ast.FunctionDef) and n.name != "main" and n.name[0] != "_"
]


@pytest.fixture(scope="module")
def outcomes(run_program: RunProgram) -> dict[str, str]:
    run = run_program(SCRIPT, mode=launch.Mode(devices=2))
    assert run.code == 0, run.stderr
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"feature"')]
    return {row["feature"]: row["failure"] for row in rows}


@pytest.mark.parametrize("feature", FEATURES)
def test_feature(feature: str, outcomes: dict[str, str]) -> None:
    assert outcomes[feature] == ""
