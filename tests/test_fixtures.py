"""Every fixture: output, findings and all invariants."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import FIXTURES, brief, fixture_cases, fixture_paths, migrate


@pytest.mark.parametrize("case", fixture_cases(), ids=lambda p: str(p.relative_to(FIXTURES)).removesuffix(".in.py"))
def test_fixture(case: Path) -> None:
    expected, findings = fixture_paths(case)
    wanted = json.loads(findings.read_text())
    outcome = migrate(case.read_text(), wanted["level"])
    assert outcome.text == (expected if expected.exists() else case).read_text()
    assert brief(outcome.findings) == wanted["findings"]


@pytest.mark.parametrize(
    "case", [c for c in fixture_cases() if fixture_paths(c)[0].exists()], ids=lambda p: p.name.removesuffix(".in.py")
)
def test_changes_come_in_the_first_round(case: Path) -> None:
    """Fixes that need a second look are allowed but rare: this list names them."""
    outcome = migrate(case.read_text(), json.loads(fixture_paths(case)[1].read_text())["level"])
    assert [f["rule"] for f in outcome.findings if f["after"]] == []
