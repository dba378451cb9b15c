"""The rule pages are what the rules say, and what they promise the tool does."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import FIXTURES, migrate
from migrate.pages import INDEX, Case, cases_of, index, page, pages, write
from transforms.engine.model import Rule, Safety
from transforms.registry import by_code, rules

FOLDER = FIXTURES.parent / "docs/rules"
WITH_FIXES = (Safety.SAFE, Safety.REVIEW, Safety.OFFER)
RULES = [pytest.param(rule, id=rule.code) for rule in rules()]
RULE = Rule("TN999", "a-rule", "Says | something", Safety.SAFE, "It is so | by design.", "A page", silent="Often.")


def test_pages_are_those_of_the_rules() -> None:
    wanted = pages(FIXTURES)
    there = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")}
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    assert not stale, "run: python -m migrate.pages docs/rules"


@pytest.mark.parametrize("rule", RULES)
def test_examples_are_what_the_tool_does(rule: Rule) -> None:
    """Each at some level, and one of them at the best that the rule claims."""
    levels = [s.value for s in WITH_FIXES if s.rank >= rule.best.rank] or [Safety.OFFER.value]
    reached = []
    for old, new in rule.examples:
        outcomes = {level: migrate(old, level) for level in levels}
        texts = {level: outcome.text for level, outcome in outcomes.items()}
        assert new in texts.values(), (old, texts)
        assert any(f["rule"] == rule.code for f in outcomes[levels[0]].findings), "the example never meets its rule"
        reached += [level for level, text in texts.items() if text == new]
    assert not rule.examples or levels[0] in reached, f"no example at the level {levels[0]}"


@pytest.mark.parametrize("rule", RULES)
def test_rule_is_documented(rule: Rule) -> None:
    if rule.best in WITH_FIXES:
        assert any(old != new for old, new in rule.examples), "a rule that edits has an example"
    assert rule.summary and rule.argument and rule.source and rule.sdk
    assert rule.name == rule.name.lower() and " " not in rule.name
    assert by_code()[rule.code] is rule


def test_codes_and_names_are_unique() -> None:
    every = list(rules())
    assert len({r.code for r in every}) == len({r.name for r in every}) == len(every)


def test_page_has_its_parts_in_order() -> None:
    rule = Rule(
        "TN999", "a-rule", "Says so.", Safety.OFFER, "Because.", "A page", "Why not.", "Often.", examples=(("a", "b"),)
    )
    text = page(rule, [Case("x.in.py", "a case", True), Case("y.in.py", "another", False)])
    titles = [line.strip("# ") for line in text.splitlines() if line.startswith("#")]
    wanted = [
        "a-rule (TN999)",
        "What it does",
        "Why",
        "Example",
        "Fix safety",
        "When it stays silent",
        "Cases",
        "Source",
    ]
    assert titles == wanted
    assert "Says so.\n" in text and "Says so..\n" not in text
    assert "- [a case](x.in.py)\n- [another](y.in.py): left alone\n" in text


def test_index_gives_the_argument_for_safe_alone() -> None:
    text = index([RULE, Rule("TN998", "other", "Does", Safety.REVIEW, "Not to be shown.", "A page")])
    assert "| [TN999](TN999.md) | a-rule | safe | Says \\| something | It is so \\| by design. |" in text
    assert "Not to be shown." not in text
    assert text.index("TN998") < text.index("TN999")


def test_cases_are_those_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "fixtures/device/a_rule"
    folder.mkdir(parents=True)
    for name in ("one_thing.in.py", "one_thing.out.py", "own_class.in.py", "own_class.findings.json"):
        (folder / name).touch()
    assert cases_of(RULE, tmp_path / "fixtures") == [
        Case("../../fixtures/device/a_rule/one_thing.in.py", "one thing", True),
        Case("../../fixtures/device/a_rule/own_class.in.py", "own class", False),
    ]


def test_links_lead_to_files() -> None:
    for rule in rules():
        for case in cases_of(rule, FIXTURES):
            assert (FOLDER / case.path).resolve().is_file()


def test_writing_removes_what_is_gone(tmp_path: Path) -> None:
    (tmp_path / "TN000.md").write_text("an old rule")
    changed = write(tmp_path, FIXTURES)
    assert {"TN000.md", INDEX} <= set(changed)
    assert not (tmp_path / "TN000.md").exists()
    assert write(tmp_path, FIXTURES) == []
