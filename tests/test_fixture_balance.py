"""Each rule has fixtures of its own: places where it speaks, and at least as many near misses where it must not.

A case is a top-level statement of a fixture: usually a function whose name says what it shows. Near misses stand in
files named `silent*.in.py` in the folder of the rule. Each of them, or an import of its file, holds a text that makes
the rule look (a trigger): a case that the rule would never see does not count.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from harness import FIXTURES, fixture_paths
from transforms.engine.model import Rule
from transforms.registry import rules, transforms

FEWEST_SILENT = 4
TRIGGERS = {rule.code: {t for x in transforms() if rule in x.rules for t in x.triggers} for rule in rules()}
IN_FILES = [rule for rule in rules() if not rule.code.startswith("TN0")]


def fixtures_of(rule: Rule, pattern: str) -> list[Path]:
    return sorted(FIXTURES.glob(f"*/{rule.name}/{pattern}"))


def speaking(rule: Rule, case: Path) -> list[ast.stmt]:
    """Top-level statements of a fixture in which the rule has a finding."""
    found = json.loads(fixture_paths(case)[1].read_text())["findings"]
    lines = {int(f["at"].split(":")[0]) for f in found if f["rule"] == rule.code and f["level"] != "kept"}
    return [s for s in ast.parse(case.read_text()).body if lines & set(range(first_line(s), (s.end_lineno or 0) + 1))]


def near_misses(rule: Rule, case: Path) -> list[ast.stmt]:
    """Functions and classes of a silent fixture at which the rule looks."""
    text = case.read_text()
    body = ast.parse(text).body
    imported = any(sees(rule, text, s) for s in body if isinstance(s, (ast.Import, ast.ImportFrom)))
    defined = [s for s in body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    return [s for s in defined if imported or sees(rule, text, s)]


def sees(rule: Rule, text: str, statement: ast.stmt) -> bool:
    lines = text.splitlines()[first_line(statement) - 1 : statement.end_lineno]
    return any(t in "\n".join(lines).encode() for t in TRIGGERS[rule.code])


def first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


@pytest.mark.parametrize("rule", IN_FILES, ids=lambda r: r.name)
def test_as_many_near_misses_as_hits(rule: Rule) -> None:
    shown = sum(len(speaking(rule, c)) for c in fixtures_of(rule, "*.in.py"))
    silent = sum(len(near_misses(rule, c)) for c in fixtures_of(rule, "silent*.in.py"))
    assert shown, f"no fixture of its own shows {rule.name}"
    assert silent >= max(shown, FEWEST_SILENT), f"{shown} cases where it speaks, {silent} where it is silent"


@pytest.mark.parametrize("rule", IN_FILES, ids=lambda r: r.name)
def test_silent_fixtures_are_silent(rule: Rule) -> None:
    for case in fixtures_of(rule, "silent*.in.py"):
        assert speaking(rule, case) == [], f"{case} has a finding of {rule.code}"
