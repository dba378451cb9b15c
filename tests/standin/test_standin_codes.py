"""Every code that a run can report has a name, and a place where it is explained."""

from __future__ import annotations

import re
from pathlib import Path

import migrate.standin
from migrate.standin import codes
from transforms.registry import by_code

SOURCES = Path(migrate.standin.__file__).parent
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "verify.md"


def reported() -> set[str]:
    files = [*(SOURCES / "inject" / "runtime").glob("*.py"), *(SOURCES / "csrc").glob("*.cpp")]
    return {code for file in files for code in re.findall(r'"(TN\d{3})"', file.read_text(encoding="utf-8"))}


def test_every_reported_code_has_a_name() -> None:
    assert len(reported()) > 25
    assert [code for code in sorted(reported()) if not codes.name(code)] == []


def test_run_time_codes_are_those_without_a_static_rule() -> None:
    """And each of them is explained in the guide, under the name that the report prints."""
    assert sorted(codes.RUN_TIME) == sorted(reported() - set(by_code()))
    guide = GUIDE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (TN\d{3}) \| ([\w-]+) \| [^|]+ \| [^|]+ \|$", guide, re.MULTILINE)
    assert dict(rows) == codes.RUN_TIME
