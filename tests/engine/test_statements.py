"""Removing and inserting statements: comments stay, no block is left empty, neighbours keep their bytes."""

from __future__ import annotations

import ast
import itertools
from typing import Any

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.engine.changes import Layout
from transforms.engine.compose import apply, keep_blocks, overlaps
from transforms.engine.index import Index
from transforms.engine.model import Edit
from transforms.engine.source import Source
from transforms.engine.spans import Spans
from transforms.engine.statements import InsertStatements, RemoveStatement


def parsed(text: str) -> tuple[Source, Index]:
    source = Source.read(text.encode())
    return source, Index(cst.parse_module(text.encode()))


def small_statements(index: Index) -> list[cst.BaseSmallStatement]:
    lines = [*index.nodes(cst.SimpleStatementLine), *index.nodes(cst.SimpleStatementSuite)]
    return sorted((s for line in lines for s in line.body), key=index.order)


def removals(text: str) -> list[Edit]:
    """The edits that take out every statement whose code begins with `gone`, each as a fix of its own."""
    source, index = parsed(text)
    chosen = [s for s in small_statements(index) if index.module.code_for_node(s).startswith("gone")]
    changes = [RemoveStatement.of(index, s) for s in chosen]
    spans = Spans(index.module, [n for c in changes for n in c.wants()], source)
    return [e for c in changes for e in c.edits(Layout(source, index, spans))]


def removed(text: str) -> str:
    result = apply(text, keep_blocks(removals(text)))
    compile(result, "after", "exec", dont_inherit=True)
    return result


def row(name: str, before: str, after: str) -> Any:
    return pytest.param(before, after, id=name)


@pytest.mark.parametrize(
    "before, after",
    [
        row("a line", "a\ngone\nb\n", "a\nb\n"),
        row("first line", "gone\nb\n", "b\n"),
        row("last line", "a\ngone\n", "a\n"),
        row("last line without newline", "a\ngone", "a\n"),
        row("the whole file", "gone\n", ""),
        row("the whole file without newline", "gone", ""),
        row("several lines", "a\ngone(\n    1,\n)\nb\n", "a\nb\n"),
        row("text over lines", 'a\ngone("""\nx\n""")\nb\n', "a\nb\n"),
        row("backslash", "a\ngone \\\n    .x\nb\n", "a\nb\n"),
        row("windows lines", "a\r\ngone\r\nb\r\n", "a\r\nb\r\n"),
        row("old mac lines", "a\rgone\rb\r", "a\rb\r"),
        row("tabs", "if a:\n\tgone\n\tb\n", "if a:\n\tb\n"),
        row("space behind", "a\ngone  \nb\n", "a\nb\n"),
        row("semicolon behind", "a\ngone;\nb\n", "a\nb\n"),
        row("comment behind stays", "a\ngone  # why\nb\n", "a\n# why\nb\n"),
        row("comment behind a semicolon stays", "a\ngone;  # why\nb\n", "a\n# why\nb\n"),
        row("comment above stays", "a\n# why\ngone\nb\n", "a\n# why\nb\n"),
        row("comment in a block stays there", "if a:\n    gone  # why\n    b\n", "if a:\n    # why\n    b\n"),
        row("comments inside stay", "a\ngone(\n    1,  # one\n    # two\n)\nb\n", "a\n# one\n# two\nb\n"),
        row("comments inside and behind stay", "a\ngone(\n    1,  # one\n)  # two\nb\n", "a\n# one\n# two\nb\n"),
        row("no comment in a text", "a\ngone('# no')\nb\n", "a\nb\n"),
        row("first of a row", "gone; a; b\n", "a; b\n"),
        row("middle of a row", "a; gone; b\n", "a; b\n"),
        row("last of a row", "a; b; gone\n", "a; b\n"),
        row("last of a row with semicolon", "a; gone;\n", "a;\n"),
        row("row with comment", "a; gone  # why\n", "a  # why\n"),
        row("two first of a row", "gone; gone2; a\n", "a\n"),
        row("two last of a row", "a; gone; gone2\n", "a\n"),
        row("first and last of a row", "gone; a; gone2\n", "a\n"),
        row("two of four", "a; gone; b; gone2\n", "a; b\n"),
        row("two between", "a; gone; gone2; b\n", "a; b\n"),
        row("whole row", "a\ngone; gone2\nb\n", "a\nb\n"),
        row("whole row with comment", "a\ngone; gone2;  # why\nb\n", "a\n# why\nb\n"),
        row("whole row in a block", "if a:\n    b\n    gone; gone2\n", "if a:\n    b\n"),
        row("only statement", "if a:\n    gone\nb\n", "if a:\n    pass\nb\n"),
        row("only statement with comment", "if a:\n    gone  # why\nb\n", "if a:\n    pass  # why\nb\n"),
        row(
            "only statement over lines",
            "if a:\n    gone(\n        1,  # one\n    )\nb\n",
            "if a:\n    pass  # one\nb\n",
        ),
        row("only statement, last line", "if a:\n    gone", "if a:\n    pass"),
        row("only statement behind a comment", "if a:\n    # why\n    gone\n", "if a:\n    # why\n    pass\n"),
        row("all statements", "if a:\n    gone\n    gone2\nb\n", "if a:\n    pass\nb\n"),
        row("all statements in rows", "if a:\n    gone; gone2\n    gone3\nb\n", "if a:\n    pass\nb\n"),
        row(
            "all statements with comments", "if a:\n    gone  # 1\n    gone2  # 2\n", "if a:\n    pass  # 1\n    # 2\n"
        ),
        row("all statements, comments inside", "if a:\n    gone(\n  1, # 1\n)\n    gone2\n", "if a:\n    pass  # 1\n"),
        row("one-line suite", "if a: gone\n", "if a: pass\n"),
        row("one-line suite, first", "if a: gone; b\n", "if a: b\n"),
        row("one-line suite, last", "if a: b; gone\n", "if a: b\n"),
        row("one-line suite, all", "if a: gone; gone2\n", "if a: pass\n"),
        row("one-line suite, all of three", "if a: gone; gone2; gone3  # why\n", "if a: pass  # why\n"),
        row("one-line suite, all in a class", "class A: gone = 1\n", "class A: pass\n"),
        row("else branch", "if a:\n    b\nelse:\n    gone\n", "if a:\n    b\nelse:\n    pass\n"),
        row("try and except", "try:\n    gone\nexcept E:\n    gone2\n", "try:\n    pass\nexcept E:\n    pass\n"),
        row("with", "with a:\n    gone\n", "with a:\n    pass\n"),
        row("match arm", "match a:\n    case 1:\n        gone\n", "match a:\n    case 1:\n        pass\n"),
        row("nested blocks", "if a:\n    if b:\n        gone\n    gone2\n", "if a:\n    if b:\n        pass\n"),
        row("docstring is enough", 'def f():\n    "doc"\n    gone\n', 'def f():\n    "doc"\n'),
        row("before a decorator", "gone\n@d\ndef f(): ...\n", "@d\ndef f(): ...\n"),
        row("decorated function above", "@d\ndef f():\n    gone\n    return 1\n", "@d\ndef f():\n    return 1\n"),
        row("blank lines do not pile up", "a\n\ngone\n\nb\n", "a\n\nb\n"),
        row("the longer run of blank lines stays", "a\n\ngone\n\n\ndef f(): ...\n", "a\n\n\ndef f(): ...\n"),
        row("blank line on one side stays", "a\n\ngone\nb\n", "a\n\nb\n"),
        row("two lines apart", "a\n\ngone\n\ngone2\n\nb\n", "a\n\nb\n"),
        row("first of a block", "def f():\n    gone\n\n    b\n", "def f():\n    b\n"),
        row("empty line with space", "a\n  \ngone\n\t\nb\n", "a\n  \nb\n"),
    ],
)
def test_remove(before: str, after: str) -> None:
    assert removed(before) == after


@pytest.mark.parametrize("text", ["a; gone; b\n", "if x:\n    gone\n    b\n", "a\n\ngone\n\nb\n"])
def test_other_statements_are_outside_the_edit(text: str) -> None:
    source, index = parsed(text)
    others = [s for s in small_statements(index) if not index.module.code_for_node(s).startswith("gone")]
    spans = Spans(index.module, others, source)
    for edit, (start, end) in itertools.product(removals(text), map(spans.of, others)):
        assert edit.end <= start or edit.start >= end


def test_one_statement_removed_by_two_fixes_is_one_edit() -> None:
    once = removals("a; gone; b\n")
    assert once == removals("a; gone; b\n")
    assert apply("a; gone; b\n", keep_blocks(list(dict.fromkeys(once + once)))) == "a; b\n"


def test_lines_do_not_overlap() -> None:
    """Removals of different lines go in one round, whatever blank lines each of them takes along."""
    edits = removals("a\n\ngone\n\ngone2\n\n\ngone3\n\nb\n")
    assert not any(overlaps(x, y) for x, y in itertools.combinations(edits, 2))


SIMPLE = ["a = 1", "gone()", "gone = 2", "b('#;')", "gone(\n 1, # in\n)"]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """Lines of a block."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 6 if depth < 2 else 4))
        if kind == 0:
            lines += [""] * draw(st.integers(1, 2))
        elif kind == 1:
            lines.append("# alone")
        elif kind < 5:
            simple = draw(st.lists(st.sampled_from(SIMPLE[:4]), min_size=2, max_size=4))
            simple = simple if draw(st.booleans()) else [draw(st.sampled_from(SIMPLE))]
            lines.append("; ".join(simple) + draw(st.sampled_from(["", ";", "  # behind", " ;  # behind"])))
        elif kind == 5:
            body = draw(st.lists(st.sampled_from(SIMPLE[:4]), min_size=1, max_size=3))
            lines.append("if x: " + "; ".join(body) + draw(st.sampled_from(["", "  # behind"])))
        else:
            lines += ["if x:", *("    " + n if n else n for n in draw(blocks(depth + 1))), "    a = 1"][
                : None if draw(st.booleans()) else -1
            ]
    return lines


@settings(max_examples=300, deadline=None)
@given(lines=blocks(), newline=st.sampled_from(["\n", "\r\n"]), final=st.booleans())
def test_remove_anything(lines: list[str], newline: str, final: bool) -> None:
    """The result parses, holds the other statements in their order, and all comments."""
    text = "\n".join(lines).replace("\n", newline) + (newline if final else "")
    try:
        before = ast.parse(text)
    except SyntaxError:
        return
    result = removed(text)
    left = [n for n in ast.walk(ast.parse(result)) if isinstance(n, (ast.Assign, ast.Expr))]
    wanted = [n for n in ast.walk(before) if isinstance(n, (ast.Assign, ast.Expr)) and "gone" not in ast.dump(n)]
    assert sorted(map(ast.dump, left)) == sorted(map(ast.dump, wanted))
    assert result.count("# ") == text.count("# ")


# inserting ----------------------------------------------------------------------------------------------------------


def inserted(text: str, after: bool, *lines: str) -> str:
    source, index = parsed(text)
    anchor = next(s for s in small_statements(index) if index.module.code_for_node(s).startswith("here"))
    change = InsertStatements(anchor, lines, after)
    spans = Spans(index.module, list(change.wants()), source)
    result = apply(text, change.edits(Layout(source, index, spans)))
    compile(result, "after", "exec", dont_inherit=True)
    return result


@pytest.mark.parametrize(
    "before, after, behind",
    [
        pytest.param("here\n", "new\nhere\n", False, id="before a line"),
        pytest.param("here\n", "here\nnew\n", True, id="after a line"),
        pytest.param("here", "here\nnew", True, id="after a last line without newline"),
        pytest.param("if a:\n\there\n", "if a:\n\tnew\n\there\n", False, id="tabs"),
        pytest.param("a\r\nhere\r\n", "a\r\nhere\r\nnew\r\n", True, id="windows lines"),
        pytest.param("here  # why\n", "here  # why\nnew\n", True, id="behind a comment"),
        pytest.param("here(\n    1,\n)\n", "here(\n    1,\n)\nnew\n", True, id="after several lines"),
        pytest.param("a; here; b\n", "a; new; here; b\n", False, id="before one of a row"),
        pytest.param("a; here; b\n", "a; here; new; b\n", True, id="after one of a row"),
        pytest.param("if a: here\n", "if a: new; here\n", False, id="before a one-line suite"),
        pytest.param("if a: here  # why\n", "if a: here; new  # why\n", True, id="after a one-line suite"),
    ],
)
def test_insert(before: str, after: str, behind: bool) -> None:
    assert inserted(before, behind, "new") == after


def test_insert_several() -> None:
    assert inserted("if a:\n    here\n", False, "x", "y") == "if a:\n    x\n    y\n    here\n"
