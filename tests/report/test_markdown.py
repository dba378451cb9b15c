"""The job summary: short, literal, with links that lead to lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from report_support import (
    COMPILED,
    DEVICE,
    REPOSITORY,
    TREES,
    WITHOUT_COUNTERPART,
    command,
    fixture_tree,
    result_of,
    write,
)

from migrate.ledger import sums
from migrate.report import markdown
from migrate.report.markdown import code, render, safe


@pytest.mark.parametrize("name", TREES)
def test_command(name: str, tmp_path: Path) -> None:
    done = command(write(tmp_path, TREES[name]), "check", "--format", "markdown", ".")
    assert done.text.startswith(f"## neuron-migrate: {'runnable' if done.code == 0 else 'not runnable yet'}\n")
    columns: dict[int, int] = {}
    for number, line in enumerate(done.text.splitlines()):
        if line.startswith("|"):
            cells = len(re.findall(r"(?<!\\)\|", line))
            assert columns.setdefault(number - 1, cells) == cells, line
            columns[number] = cells


def test_verdict_comes_first_then_counts_then_what_needs_a_person() -> None:
    result = result_of(REPOSITORY)
    text = render(result)
    places = [text.index(word) for word in ("1 finding needs you", "| sites |", "### Needs you", "### Can be applied")]
    assert places == sorted(places)
    assert f"| open: safe | {sums(result.counted).open['safe']} |" in text
    assert "- 1 kept: help text 1" in text
    assert "tests, left alone: 1 open" in text


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("a|b", r"a\|b"),
        ("`x`", r"\`x\`"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("a\n\nb", "a b"),
        ("*_[x](y)_*", r"\*\_\[x\](y)\_\*"),
        ("@someone", "&#64;someone"),
    ],
    ids=["table", "code", "html", "lines", "marks", "mention"],
)
def test_text_is_taken_literally(text: str, literal: str) -> None:
    assert safe(text) == literal


@pytest.mark.parametrize(("text", "span"), [("run .", "`run .`"), ("a`b", "``a`b``"), ("`", "`` ` ``")])
def test_code_spans(text: str, span: str) -> None:
    assert code(text) == span


def test_links_lead_to_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SERVER_URL", "https://git.example"), ("REPOSITORY", "a/b"), ("SHA", "c0ffee")):
        monkeypatch.setenv(f"GITHUB_{name}", value)
    text = render(result_of({"my pkg/a.py": WITHOUT_COUNTERPART}))
    assert "[my pkg/a.py:3](https://git.example/a/b/blob/c0ffee/my%20pkg/a.py#L3)" in text


def test_links_without_a_commit_are_relative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    assert "[a.py:3](a.py#L3)" in render(result_of({"a.py": WITHOUT_COUNTERPART}))


def test_rules_are_counted_with_their_files() -> None:
    text = render(result_of({"a.py": DEVICE, "b.py": DEVICE, "c.py": COMPILED}))
    assert "| TN101 device-string | safe | 2 | 2 |" in text
    assert "### On offer, not needed to run (1)" in text


def test_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST_BYTES", 4_000)
    many = {f"{n}.py": WITHOUT_COUNTERPART for n in range(200)}
    text = render(result_of(many))
    assert len(text.encode()) < 4_200
    assert text.startswith("## neuron-migrate: not runnable yet")
    assert text.endswith("the rest is in the log.\n")
    assert text.count("no\\_such\\_call") > 5


def test_long_lists_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST_ROWS", 3)
    text = render(result_of({f"{n}.py": WITHOUT_COUNTERPART for n in range(5)}))
    assert "2 more findings in the full report." in text


def test_all_fixtures() -> None:
    assert len(render(result_of(fixture_tree())).encode()) < 1 << 20
