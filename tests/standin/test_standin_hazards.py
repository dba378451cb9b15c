"""Each hazard is reported with its rule and its line, and clean code is not."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from standin_support import RunProgram

pytestmark = pytest.mark.standin

SCRIPT = Path(__file__).with_name("hazards.py")
CASES = [
    n.name
    for n in ast.parse(SCRIPT.read_text()).body
    if isinstance(n, ast.FunctionDef) and n.name not in ("main", "compiled")
]
SEVERITY = {
    "TN107_call": "warning",
    "TN107_method": "error",
    "TN107_scaler_for_cuda": "error",
    "TN107_autocast_for_cuda": "error",
    "TN107_refused_name": "warning",
    "TN125_mixed_devices": "error",
    "TN205_large_integer": "error",
    "TN304_dynamic": "error",
    "TN304_dynamic_not_written": "note",
    "TN354_nonzero_captured": "error",
    "TN361_gradients": "note",
    "TN363_marked_dynamic": "error",
    "TN502_channels_last": "error",
}


@pytest.fixture(scope="module")
def outcomes(run_program: RunProgram) -> dict[str, Any]:
    run = run_program(SCRIPT)
    assert run.code == 0, run.stderr
    return {
        row["case"]: row for row in map(json.loads, (x for x in run.stdout.splitlines() if x.startswith('{"case"')))
    }


@pytest.mark.parametrize("case", [c for c in CASES if c.startswith("TN")])
def test_hazard_is_reported_at_its_place(case: str, outcomes: dict[str, Any]) -> None:
    outcome = outcomes[case]
    rows = [row for row in outcome["rows"] if row["code"] == case.partition("_")[0]]
    assert rows, outcome
    assert {row["severity"] for row in rows} == {SEVERITY.get(case, "warning")}
    assert Path(rows[0]["path"]).name == "hazards.py"
    # Options of torch.compile are reported where it is called, which is in the helper of the cases.
    if not case.startswith("TN30") or case == "TN304_dynamic_not_written":
        assert outcome["first"] <= rows[0]["line"] <= outcome["last"], rows


@pytest.mark.parametrize("case", [c for c in CASES if c.startswith("clean")])
def test_clean_code_is_not_reported(case: str, outcomes: dict[str, Any]) -> None:
    assert (outcomes[case]["raised"], outcomes[case]["rows"]) == ("", [])


def test_one_call_counts_once(outcomes: dict[str, Any]) -> None:
    (row,) = (r for r in outcomes["TN501_transposed_input"]["rows"] if r["code"] == "TN501")
    assert row["count"] == 1
    assert "t is not contiguous (shape (8, 8), stride (1, 8))" in row["message"]


def test_training_and_evaluation_are_no_fault(outcomes: dict[str, Any]) -> None:
    (row,) = outcomes["TN361_gradients"]["rows"]
    assert row["message"].endswith("is compiled twice: with and without gradients")


def test_recompilation_names_the_guard(outcomes: dict[str, Any]) -> None:
    (row,) = (r for r in outcomes["TN361_new_shapes"]["rows"] if r["code"] == "TN361")
    assert row["message"].endswith("is compiled again: tensor 't' size mismatch at index 0")
    assert row["count"] == 2
