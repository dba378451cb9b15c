"""The diff of a unit, word marks, layout for terminals, text by hand."""

from __future__ import annotations

import difflib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from migrate.lockfile import Lockfile
from migrate.pipeline import run_pipeline
from migrate.result import FileState
from migrate.review.byhand import NotPossible, check, edited, proposal, suppressing
from migrate.review.changes import Line, diff, drafts_edits, fingerprint, unit_changes
from migrate.review.layout import fold, printable, shorten, spread, wrap
from migrate.review.log import Draft
from migrate.review.units import Unit, units
from migrate.settings import Settings
from transforms.engine.compose import apply
from transforms.engine.model import Edit, Safety

RULES = Settings(select=("TN101", "TN102", "TN103", "TN003"))


def flat(groups: list[list[Line]]) -> list[str]:
    return ["...".join("") if n < 0 else f"{line.sign}{line.text}" for n, g in enumerate(groups) for line in g]


def look(**texts: str) -> tuple[list[Unit], dict[str, FileState]]:
    """Units and files of some modules."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in texts.items():
            (root / f"{name}.py").write_bytes(text.encode())
        result = run_pipeline(root, [root], RULES, lock=Lockfile(), compose=False)
    return units(result, Safety.OFFER), {f.path: f for f in result.files}


# diff ---------------------------------------------------------------------------------------------------------------

TEN = "".join(f"line {n}\n" for n in range(10))


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([Edit(7, 11, "row")], [" line 0", "-line 1", "+row 1", " line 2", " line 3", " line 4"]),
        ([Edit(7, 14, "")], [" line 0", "-line 1", " line 2", " line 3", " line 4"]),
        ([Edit(7, 7, "new\n")], [" line 0", "+new", " line 1", " line 2", " line 3"]),
        ([Edit(0, 0, "new\n")], ["+new", " line 0", " line 1", " line 2"]),
        ([Edit(70, 70, "new")], [" line 7", " line 8", " line 9", "+new"]),
        ([Edit(6, 7, "")], ["-line 0", "-line 1", "+line 0line 1", " line 2", " line 3", " line 4"]),
        (
            [Edit(7, 7, "a\n"), Edit(7, 11, "b")],
            [" line 0", "+a", "-line 1", "+b 1", " line 2", " line 3", " line 4"],
        ),
        ([Edit(7, 13, "line 1")], []),
    ],
    ids=[
        "inside a line",
        "a whole line goes",
        "a whole line comes",
        "at the start",
        "at the end",
        "two lines joined",
        "a new line before an edited one",
        "no change",
    ],
)
def test_diff(edits: list[Edit], expected: list[str]) -> None:
    assert flat(diff(TEN, edits)) == expected


def test_far_changes_make_groups_and_near_ones_share_context() -> None:
    far = diff(TEN, [Edit(0, 4, "row"), Edit(63, 67, "row")])
    assert [len(g) for g in far] == [5, 5]
    near = diff(TEN, [Edit(0, 4, "row"), Edit(42, 46, "row")])
    assert [line.number for g in near for line in g if line.number] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert len(near) == 1


@given(st.text("ab\n", max_size=40), st.data())
def test_a_diff_turns_the_old_text_into_the_new(text: str, data: st.DataObject) -> None:
    """Old and new lines of the groups are those that Python's own differ finds different."""
    edits: list[Edit] = []
    at = 0
    while at <= len(text) and data.draw(st.booleans()):
        start = data.draw(st.integers(at, len(text)))
        end = data.draw(st.integers(start, min(start + 6, len(text))))
        edits.append(Edit(start, end, data.draw(st.text("ab\n", max_size=4))))
        at = end + 1
    groups = diff(text, edits)
    new = apply(text, edits)
    old_lines, new_lines = text.split("\n"), new.split("\n")
    old_lines = old_lines[:-1] if old_lines[-1] == "" else old_lines
    new_lines = new_lines[:-1] if new_lines[-1] == "" else new_lines
    rebuilt, done = [], 0
    for group in groups:
        first = next((line.number for line in group if line.number), done + 1) - 1
        rebuilt += old_lines[done:first]
        rebuilt += [line.text for line in group if line.sign != "-"]
        for line in group:
            if line.number:
                assert old_lines[line.number - 1] == line.text
        done = max([done, first] + [line.number for line in group if line.number])
    rebuilt += old_lines[done:]
    if any(d[0] in "+-" for d in difflib.ndiff(old_lines, new_lines)):
        assert rebuilt == new_lines
    else:
        assert groups == []


def test_marks_are_the_words_that_differ() -> None:
    (group,) = diff('x = f("cuda", 1)\n', [Edit(7, 11, "neuron")])
    old, new = group
    assert [old.text[a:b] for a, b in old.marks] == ["cuda"]
    assert [new.text[a:b] for a, b in new.marks] == ["neuron"]


def test_no_marks_where_nearly_everything_differs() -> None:
    (group,) = diff("some words here\n", [Edit(0, 15, "entirely(other, 1)")])
    assert [line.marks for line in group] == [(), ()]


def test_a_huge_replacement_has_no_marks() -> None:
    old = "a b " * 2000
    (group,) = diff(old + "\n", [Edit(0, 1, "c")])
    assert [line.marks for line in group] == [(), ()]


def test_imports_that_follow_are_named() -> None:
    code = "import torch\nfrom torch.cuda import is_available\n\nok = 'cuda' if is_available() else 'cpu'\n"
    found, files = look(a=code)
    (unit,) = [u for u in found if u.fixes]
    (change,) = unit_changes(unit, files)
    assert "-from torch.cuda import is_available" in flat(change.hunks)
    assert change.companions == ["from torch.cuda import is_available leaves the imports"]


def test_a_fingerprint_is_that_of_the_change_alone() -> None:
    code = "import torch\n\n\ndef main(x):\n    return x.cuda()\n"
    (one,), files = look(a=code)
    (moved,), other = look(a='"""Text."""\n' + code)
    (index,), third = look(a=code.replace("cuda()", "cuda(1)"))
    assert fingerprint(one, files) == fingerprint(moved, other) != fingerprint(index, third)


# layout -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\tx", "    x"),
        ("ab\tx", "ab  x"),
        ("幅\tx", "幅  x"),
        ("a\x0cb\x1b[0m", "a^Lb^[[0m"),
        ("zero\u200bwidth\u202e", "zero<U+200B>width<U+202E>"),
        ("e\u0301", "e\u0301"),
    ],
    ids=["tab", "tab behind letters", "tab behind a wide letter", "controls", "invisible", "combining"],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text).plain == shown


def test_marks_follow_what_is_shown() -> None:
    line = printable("\tcuda\t幅", [(1, 5), (6, 7)])
    assert [line.plain[s.start : s.end] for s in line.spans] == ["cuda", "幅"]


@given(st.text(max_size=60), st.integers(4, 30))
def test_folding_keeps_everything_and_fits(text: str, width: int) -> None:
    line = printable(text)
    pieces = fold(line, width)
    assert "".join(p.plain for p in pieces) == line.plain
    assert all(cell_len(p.plain) <= width for p in pieces)


@given(st.text(max_size=80), st.integers(10, 40))
def test_wrapped_prose_fits(text: str, width: int) -> None:
    assert all(line.cell_len <= width for line in wrap(text, width, "  "))


def test_long_paths_lose_their_start() -> None:
    assert shorten("a/very/long/path/train.py", 12) == ".../train.py"
    assert shorten("train.py", 12) == "train.py"
    assert spread(Text("left"), Text("right"), 12).plain == "left   right"
    assert spread(Text("left"), Text("right"), 8).plain == "left"


# text by hand -------------------------------------------------------------------------------------------------------

CODE = "import torch\r\n\r\n\r\ndef main(m, x):\r\n    return [m.cuda(), x.cuda()]\r\n"


def test_a_proposal_shows_the_statement_as_the_fix_makes_it() -> None:
    (first, _), files = look(a=CODE)
    text, parts = proposal(first, files)
    assert text.endswith('#~ 1. a.py:5\n    return [m.to("neuron"), x.cuda()]\n')
    assert edited(text, parts, files) == ()


def test_an_edited_proposal_keeps_the_newlines_of_the_file() -> None:
    (first, _), files = look(a=CODE)
    text, parts = proposal(first, files)
    drafts = edited(text.replace('m.to("neuron")', "m.to(\n        dev)"), parts, files)
    assert drafts[0].new == "    return [m.to(\r\n        dev), x.cuda()]\r\n"
    check(first, drafts, files)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("#~ 1. a.py:5\n", ""), "belongs nowhere"),
        (lambda t: t.replace("#~ 1.", "#~ 2."), "is missing or doubled"),
    ],
    ids=["no place", "wrong number"],
)
def test_a_damaged_proposal_is_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    (first, _), files = look(a=CODE)
    text, parts = proposal(first, files)
    with pytest.raises(NotPossible, match=message):
        edited(change(text), parts, files)


def test_an_empty_proposal_means_nothing() -> None:
    (first, _), files = look(a=CODE)
    text, parts = proposal(first, files)
    assert edited("\n".join(text.splitlines()[:3]) + "\n", parts, files) == ()


def test_a_text_finds_its_lines_again_when_they_move() -> None:
    (first, _), files = look(a=CODE)
    draft = Draft("a.py", "    return [m.cuda(), x.cuda()]\r\n", "    return m\r\n", -13)
    again, moved = look(a="import os\r\n" + CODE)
    assert drafts_edits((draft,), again[0], moved) != drafts_edits((draft,), first, files) is not None
    gone, other = look(a=CODE.replace("[m", "[ m"))
    assert drafts_edits((draft,), gone[0], other) is None


def commented(code: str, reason: str = "why") -> str:
    """The code with comments for its first unit."""
    found, files = look(a=code)
    drafts = suppressing(found[0], files, reason)
    source = files["a.py"].source
    assert source is not None
    return apply(source.text, (drafts_edits(drafts, found[0], files) or {})["a.py"])


LONG = "z" * 70


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("    y = x.cuda()\n", "    y = x.cuda()  # neuron: keep[TN102] why\n"),
        ("    y = x.cuda()  # noqa\n", "    y = x.cuda()  # noqa  # neuron: keep[TN102] why\n"),
        ("    if x.cuda():\n        pass\n", "    if x.cuda():  # neuron: keep[TN102] why\n        pass\n"),
        (
            f"    {LONG} = x.cuda()\n",
            f"    # neuron: keep[TN102] why\n    {LONG} = x.cuda()\n",
        ),
        ("    y = (\n        x.cuda()\n    )\n", "    # neuron: keep[TN102] why\n    y = (\n        x.cuda()\n    )\n"),
        (
            "    y = x.cuda(); z = '''\n'''\n",
            "    # neuron: keep[TN102] why\n    y = x.cuda(); z = '''\n'''\n",
        ),
        (
            "    if x:\n        pass\n    elif x.cuda():\n        pass\n",
            "    if x:\n        pass\n    elif x.cuda():  # neuron: keep[TN102] why\n        pass\n",
        ),
    ],
    ids=["short", "behind a comment", "header", "long", "several lines", "a string opens behind it", "elif"],
)
def test_comments_land_where_they_hold(statement: str, expected: str) -> None:
    head = "import torch\n\n\ndef main(x):\n"
    assert commented(head + statement) == head + expected
    again, _ = look(a=commented(head + statement))
    assert again == []


def test_a_reason_cannot_end_the_comment() -> None:
    code = commented("import torch\nx.cuda()\n", "see # 12\nnow")
    assert code == "import torch\nx.cuda()  # neuron: keep[TN102] see 12 now\n"


def test_where_no_comment_can_stand_it_says_so() -> None:
    with pytest.raises(NotPossible, match="no comment can stand at this statement"):
        commented("import torch\ny = '''\n'''; x.cuda(); z = '''\n'''\n")
