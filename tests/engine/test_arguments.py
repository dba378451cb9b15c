"""Edits to the arguments of a call and the entries of a dict: what goes is gone, and nothing else moves."""

from __future__ import annotations

import io
import tokenize
from typing import Any

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.engine.arguments import Arguments
from transforms.engine.changes import Change, Layout
from transforms.engine.compose import apply
from transforms.engine.entries import Entries
from transforms.engine.index import Index
from transforms.engine.source import Source
from transforms.engine.spans import Spans

NEW = ('backend="neuron"', "dynamic=False")


def applied(text: str, index: Index, change: Change) -> str:
    source = Source.read(text.encode())
    spans = Spans(index.module, list(change.wants()), source)
    assert spans.text == text
    return apply(text, change.edits(Layout(source, index, spans)))


def changed(
    text: str,
    drop: Any = (),
    first: Any = (),
    last: Any = (),
    value: dict[int, str] | None = None,
    named: dict[int, str] | None = None,
    rename: dict[int, str] | None = None,
) -> str:
    """The text after a change to its first call."""
    index = Index(cst.parse_module(text.encode()))
    call = index.nodes(cst.Call)[0]
    change = Arguments(call)
    for i in drop:
        change.drop(call.args[i])
    for i, new in (value or {}).items():
        change.value(call.args[i], new)
    for i, new in (named or {}).items():
        change.to_keyword(call.args[i], new)
    for i, new in (rename or {}).items():
        change.rename(call.args[i], new)
    for new in first:
        change.prepend(new)
    for new in last:
        change.append(new)
    return applied(text, index, change)


def row(name: str, before: str, after: str, **what: Any) -> Any:
    return pytest.param(before, after, what, id=name)


ONE_LINE = [
    row("drop the last", "f(a, m=1)", "f(a)", drop=[1]),
    row("drop the first", "f(m=1, b=2)", "f(b=2)", drop=[0]),
    row("drop one between", "f(a, m=1, b=2)", "f(a, b=2)", drop=[1]),
    row("drop two neighbours", "f(a, m=1, n=2, b=2)", "f(a, b=2)", drop=[1, 2]),
    row("drop two apart", "f(m=1, a=0, n=2, b=2)", "f(a=0, b=2)", drop=[0, 2]),
    row("drop first and last", "f(m=1, a=0, n=2)", "f(a=0)", drop=[0, 2]),
    row("drop all", "f(m=1, n=2)", "f()", drop=[0, 1]),
    row("drop all behind a space", "f( m=1 )", "f()", drop=[0]),
    row("replace the last by new ones", "f(a, m=1)", 'f(a, backend="neuron", dynamic=False)', drop=[1], last=NEW),
    row("replace all", "f(m=1, n=2)", 'f(backend="neuron", dynamic=False)', drop=[0, 1], last=NEW),
    row("space inside the parentheses stays", "f( a, m=1 )", "f( a )", drop=[1]),
    row("space inside stays at the first too", "f(  m=1, a=0 )", "f(  a=0 )", drop=[0]),
    row("no space after commas stays so", "f(a,m=1,b=2)", "f(a,b=2)", drop=[1]),
    row("space before commas", "f(a , m=1 , b=2)", "f(a , b=2)", drop=[1]),
    row("trailing comma stays", "f(a, m=1,)", "f(a,)", drop=[1]),
    row("trailing comma behind new ones", "f(a,)", "f(a, x=1,)", last=["x=1"]),
    row("add to none", "f()", "f(x)", first=["x"]),
    row("add to a space", "f( )", "f(x)", last=["x"]),
    row("add in front", "f(a, b=1)", "f(x, a, b=1)", first=["x"]),
    row("add in front of what follows a dropped one", "f(0, b=1)", "f(x, b=1)", drop=[0], first=["x"]),
    row("add at both ends of nothing", "f()", "f(x, y=1)", first=["x"], last=["y=1"]),
    row("value and drop", "f(a, m=1, d=True)", "f(a, d=False)", drop=[1], value={2: "False"}),
    row("a value that is dropped too", "f(a, m=1)", "f(a)", drop=[1], value={1: "2"}),
    row("same value changes nothing", "f(a, m=1)", "f(a, m=1)", value={1: "1"}),
    row("value in its own parentheses", "f(a, m=(1))", "f(a, m=(2))", value={1: "2"}),
    row("rename a keyword", "f(a, m=1)", "f(a, n=1)", rename={1: "n"}),
    row("rename with space around", "f(a, m = 1)", "f(a, n = 1)", rename={1: "n"}),
    row("positional to keyword behind a new one", "f(True)", "f(x, on=True)", first=["x"], named={0: "on"}),
    row("walrus to keyword needs parentheses", "f(a := 1)", "f(on=(a := 1))", named={0: "on"}),
    row("walrus with parentheses", "f((a := 1))", "f(on=(a := 1))", named={0: "on"}),
    row("generator beside a new argument", "f(x for x in y)", "f((x for x in y), k=1)", last=["k=1"]),
    row("generator behind a new argument", "f(x for x in y)", "f(z, (x for x in y))", first=["z"]),
    row("generator between new arguments", "f(x for x in y)", "f(z, (x for x in y), k=1)", first=["z"], last=["k=1"]),
    row("generator with parentheses", "f((x for x in y))", "f((x for x in y), k=1)", last=["k=1"]),
    row("generator to keyword", "f(x for x in y)", "f(g=(x for x in y), k=1)", named={0: "g"}, last=["k=1"]),
    row("generator replaced", "f(x for x in y)", "f(k=1)", drop=[0], last=["k=1"]),
    row("starred ones", "f(*a, m=1, **k)", "f(*a, **k, x=1)", drop=[1], last=["x=1"]),
    row("drop a starred one", "f(a, *b, **k)", "f(a)", drop=[1, 2]),
    row("nested call is left alone", "f(g(a, m=1), m=1)", "f(g(a, m=1))", drop=[1]),
    row("text with brackets and hash", "f('a)#(', m='#,)', b=',')", "f('a)#(', b=',')", drop=[1]),
    row("f-string with commas", "f(f'{a,b}', m=f'{x!r:>{w}},', b=1)", "f(f'{a,b}', b=1)", drop=[1]),
    row("function in parentheses", "(f)(a, m=1)", "(f)(a)", drop=[1]),
    row("function in two parentheses", "((f))(m=1)", "((f))(x)", drop=[0], first=["x"]),
    row("call in parentheses", "(f(a, m=1))", "(f(a))", drop=[1]),
    row("space before the parenthesis", "f (a, m=1)", "f (a)", drop=[1]),
    row("called twice", "f(a)(b, m=1)", "f(a)(b)", drop=[1]),
    row("lambda argument", "f(lambda a, m=1: (a, m), n=2)", "f(lambda a, m=1: (a, m))", drop=[1]),
    row("subscript with commas", "f(a[1, 2], m=b[3, 4], c=1)", "f(a[1, 2], c=1)", drop=[1]),
]

LINES = [
    row("one per line, trailing comma", "f(\n    a,\n    m=1,\n)", "f(\n    a,\n)", drop=[1]),
    row("one per line, none trailing", "f(\n    a,\n    m=1\n)", "f(\n    a\n)", drop=[1]),
    row("first of the lines", "f(\n    m=1,\n    a=0,\n)", "f(\n    a=0,\n)", drop=[0]),
    row("all lines", "f(\n    m=1,\n    a=0,\n)", "f()", drop=[0, 1]),
    row("all lines for new ones", "f(\n    m=1,\n    a=0,\n)", "f(\n    x,\n    y,\n)", drop=[0, 1], last=["x", "y"]),
    row("new lines, trailing comma", "f(\n    a,\n)", "f(\n    a,\n    x,\n    y,\n)", last=["x", "y"]),
    row("new lines, none trailing", "f(\n    a\n)", "f(\n    a,\n    x,\n    y\n)", last=["x", "y"]),
    row("new first line", "f(\n    a,\n)", "f(\n    x,\n    a,\n)", first=["x"]),
    row("closer behind the last", "f(\n    a,\n    m=1)", "f(\n    a)", drop=[1]),
    row("closer behind new lines", "f(\n    a,\n    m=1)", "f(\n    a,\n    x)", drop=[1], last=["x"]),
    row("single argument with closer", "f(\n    a)", "f(\n    a, x)", last=["x"]),
    row("hugging, last", "f(a,\n  b=2,\n  m=1)", "f(a,\n  b=2)", drop=[2]),
    row("hugging, middle", "f(a,\n  m=1,\n  b=2)", "f(a,\n  b=2)", drop=[1]),
    row("hugging, first", "f(m=1,\n  b=2,\n  c=3)", "f(b=2,\n  c=3)", drop=[0]),
    row("hugging, all but first", "f(a,\n  b=2,\n  m=1)", "f(a)", drop=[1, 2]),
    row("hugging, new ones aligned", "f(a,\n  b=2)", "f(a,\n  b=2,\n  x=0)", last=["x=0"]),
    row("several on a line", "f(\n    a, m=1, b=2\n)", "f(\n    a, b=2, x=0\n)", drop=[1], last=["x=0"]),
    row("filled lines", "f(a, m=1,\n  b=2, c=3)", "f(a,\n  b=2, c=3, x=0)", drop=[1], last=["x=0"]),
    row("first of a filled line", "f(a,\n  m=1, b=2)", "f(a,\n  b=2)", drop=[1]),
    row("last of a filled line", "f(a,\n  b=2, m=1,\n  c=3)", "f(a,\n  b=2,\n  c=3)", drop=[2]),
    row("commas first", "f(\n    a\n    , m=1\n    , b=2\n)", "f(\n    a\n    , b=2\n)", drop=[1]),
    row("commas first, last", "f(\n    a\n    , b=2\n    , m=1\n)", "f(\n    a\n    , b=2\n)", drop=[2]),
    row(
        "value over lines",
        "f(\n    a,\n    m={\n        1: 2,\n    },\n    b=2,\n)",
        "f(\n    a,\n    b=2,\n)",
        drop=[1],
    ),
    row("blank lines do not pile up", "f(\n    a,\n\n    m=1,\n\n    b=2,\n)", "f(\n    a,\n\n    b=2,\n)", drop=[1]),
    row("blank line of its own stays", "f(\n    a,\n    m=1,\n\n    b=2,\n)", "f(\n    a,\n\n    b=2,\n)", drop=[1]),
    row("tabs", "f(\n\ta,\n\tm=1,\n)", "f(\n\ta,\n\tx,\n)", drop=[1], last=["x"]),
    row("windows lines", "f(\r\n    a,\r\n    m=1,\r\n)\r\n", "f(\r\n    a,\r\n    x,\r\n)\r\n", drop=[1], last=["x"]),
    row("backslash, last", "f(a, \\\n  m=1)", "f(a)", drop=[1]),
    row("backslash, middle", "f(a, \\\n  m=1, \\\n  b=2)", "f(a, \\\n  b=2)", drop=[1]),
    row("backslash before the closer", "f(\n    a \\\n)", "f(\n    a, \\\n    x\n)", last=["x"]),
    row("only lines inside", "f(\n)", "f(x)", last=["x"]),
    row(
        "deep inside a block",
        "if a:\n    f(\n        a,\n        m=1,\n    )\n",
        "if a:\n    f(\n        a,\n        x,\n    )\n",
        drop=[1],
        last=["x"],
    ),
    row("decorator", "@f(m=1)\ndef g(): pass\n", "@f(x)\ndef g(): pass\n", drop=[0], last=["x"]),
]

COMMENTS = [
    row("behind a dropped one", "f(\n    a,\n    m=1,  # why\n)", "f(\n    a,\n    # why\n)", drop=[1]),
    row("above a dropped one", "f(\n    a,\n    # why\n    m=1,\n)", "f(\n    a,\n    # why\n)", drop=[1]),
    row("behind one that stays", "f(\n    a,  # why\n    m=1,\n)", "f(\n    a,  # why\n)", drop=[1]),
    row("behind one that stays, none trailing", "f(\n    a,  # why\n    m=1\n)", "f(\n    a  # why\n)", drop=[1]),
    row("behind the last, then new", "f(\n    a  # why\n)", "f(\n    a,  # why\n    x\n)", last=["x"]),
    row("above new ones", "f(\n    a,\n    # m=2,\n)", "f(\n    a,\n    # m=2,\n    x,\n)", last=["x"]),
    row("on the line of what stays", "f(a, m=1,  # why\n  b=2)", "f(a,  # why\n  b=2)", drop=[1]),
    row("behind the first, hugging", "f(m=1,  # why\n  b=2)", "f(  # why\n  b=2)", drop=[0]),
    row("closer can't follow a comment", "f(a,  # why\n  m=1)", "f(a  # why\n  )", drop=[1]),
    row("all dropped", "f(\n    # one\n    m=1,  # two\n)", "f(\n    # one\n    # two\n)", drop=[0]),
    row(
        "all replaced", "f(\n    # one\n    m=1,  # two\n)", "f(\n    # one\n    # two\n    x,\n)", drop=[0], last=["x"]
    ),
    row("all replaced, hugging", "f(m=1,  # why\n  n=2)", "f(  # why\n  x)", drop=[0, 1], last=["x"]),
    row("no arguments but a comment", "f(\n    # why\n)", "f(\n    # why\n    x\n)", last=["x"]),
    row("no arguments but one behind the bracket", "f(  # why\n)", "f(  # why\n    x\n)", last=["x"]),
    row("behind the bracket", "f(  # why\n    a,\n    m=1,\n)", "f(  # why\n    a,\n)", drop=[1]),
    row("before the comma", "f(\n    a  # why\n    ,\n    m=1\n)", "f(\n    a  # why\n)", drop=[1]),
    row(
        "with bracket and comma",
        "f(\n    a,\n    m=1,  # a), b(\n    c=1,\n)",
        "f(\n    a,\n    # a), b(\n    c=1,\n)",
        drop=[1],
    ),
    row(
        "own-line comments between dropped ones",
        'f(\n    net,\n    # March\n    mode="x",  # slow\n    # vary\n    dynamic=True,\n'
        "    fullgraph=False,  # breaks\n)",
        "f(\n    net,\n    # March\n    # slow\n    # vary\n    dynamic=False,\n"
        '    fullgraph=False,  # breaks\n    backend="neuron",\n)',
        drop=[1],
        value={2: "False"},
        last=['backend="neuron"'],
    ),
    row(
        "inside a value that goes",
        "f(\n    a,\n    m=[  # gone with it\n        1,\n    ],\n)",
        "f(\n    a,\n)",
        drop=[1],
    ),
]


@pytest.mark.parametrize("before, after, what", ONE_LINE + LINES + COMMENTS)
def test_layout(before: str, after: str, what: dict[str, Any]) -> None:
    assert changed(before, **what) == after
    compile(after, "after", "exec", dont_inherit=True)


@pytest.mark.parametrize("before, after, what", ONE_LINE + LINES + COMMENTS)
def test_edits_touch_no_argument_that_stays(before: str, after: str, what: dict[str, Any]) -> None:
    if what.get("value") or what.get("named") or what.get("rename"):
        return
    index = Index(cst.parse_module(before.encode()))
    call = index.nodes(cst.Call)[0]
    change = Arguments(call)
    for i in what.get("drop", ()):
        change.drop(call.args[i])
    for new in what.get("last", ()):
        change.append(new)
    source = Source.read(before.encode())
    layout = Layout(source, index, Spans(index.module, list(change.wants()), source))
    stays = [layout.spans.of(a) for i, a in enumerate(call.args) if i not in what.get("drop", ())]
    for edit in change.edits(layout):
        assert all(edit.end <= start or edit.start >= end for start, end in stays)


def test_nothing_to_do_is_no_edit() -> None:
    index = Index(cst.parse_module("f(\n  a , b = 1\n)"))
    change = Arguments(index.nodes(cst.Call)[0])
    assert not change
    assert applied("f(\n  a , b = 1\n)", index, change) == "f(\n  a , b = 1\n)"


def test_set_finds_keyword_or_position() -> None:
    index = Index(cst.parse_module("f(a, True)"))
    call = index.nodes(cst.Call)[0]
    assert applied("f(a, True)", index, Arguments(call).set("on", "False", 1)) == "f(a, False)"
    assert applied("f(a, True)", index, Arguments(call).set("on", "False")) == "f(a, True, on=False)"


def test_set_after_unpacking_is_by_keyword() -> None:
    """`*a` may fill the position, so what stands there is another parameter."""
    index = Index(cst.parse_module("f(*a, b)"))
    assert applied("f(*a, b)", index, Arguments(index.nodes(cst.Call)[0]).set("on", "1", 1)) == "f(*a, b, on=1)"


DICTS = [
    row("drop an entry", 'd = {"a": 1, "m": 2}', 'd = {"a": 1}', drop=[1]),
    row("drop all", 'd = {"a": 1}', "d = {}", drop=[0]),
    row("replace all", 'd = {"a": 1}', 'd = {"x": 1}', drop=[0], last=['"x": 1']),
    row("add to none", "d = {}", 'd = {"x": 1}', last=['"x": 1']),
    row(
        "lines",
        'd = {\n    "a": 1,\n    "m": 2,  # why\n}',
        'd = {\n    "a": 1,\n    # why\n    "x": 1,\n}',
        drop=[1],
        last=['"x": 1'],
    ),
    row("unpacked entry", 'd = {**b, "m": 2}', "d = {**b}", drop=[1]),
    row("value", 'd = {"a": 1, "b": 2}', 'd = {"a": 3, "b": 2}', value={0: "3"}),
    row("in parentheses", 'd = ({"a": 1, "m": 2})', 'd = ({"a": 1})', drop=[1]),
    row("text that looks like code", 'd = {"}": "#,", "m": 2}', 'd = {"}": "#,"}', drop=[1]),
]


@pytest.mark.parametrize("before, after, what", DICTS)
def test_entries(before: str, after: str, what: dict[str, Any]) -> None:
    index = Index(cst.parse_module(before))
    node = index.nodes(cst.Dict)[0]
    change = Entries(node)
    for i in what.get("drop", ()):
        change.drop(node.elements[i])
    for i, new in what.get("value", {}).items():
        entry = node.elements[i]
        assert isinstance(entry, cst.DictElement)
        change.value(entry, new)
    for new in what.get("last", ()):
        change.append(new)
    assert applied(before, index, change) == after


# any layout ---------------------------------------------------------------------------------------------------------

VALUES = [
    "a",
    "'#,)('",
    "g(x, # in\n  y)",
    "f'{a},)'",
    "[1, (2)]",
    "{1: 2}",
    "lambda p, q: p",
    "(x for x in y)",
    '"""\n,)#"""',
]
GAPS = ["", " ", "\n    ", "  # note\n    ", "\n    # own line\n    ", "\n\n  ", " \\\n  ", "\r\n\t"]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, int]:
    """A call in any layout, and its number of arguments."""
    gap = st.sampled_from(GAPS)
    count = draw(st.integers(0, 5))
    text = "f(" + draw(gap)
    for i in range(count):
        text += (f"k{i}=" if i else "") + draw(st.sampled_from(VALUES)) + draw(gap)
        if i + 1 < count or draw(st.booleans()):
            text += "," + draw(gap)
    return text + ")\n", count


def arguments(text: str) -> list[tuple[int, int]]:
    """Ranges of the arguments of the first call."""
    module = cst.parse_module(text.encode())
    args = Index(module).nodes(cst.Call)[0].args
    spans = Spans(module, args, Source.read(text.encode()))
    return [spans.of(a) for a in args]


def comments(text: str) -> list[tuple[int, str]]:
    """Comments with their offsets."""
    starts = [0]
    for line in io.StringIO(text, newline="").readlines():
        starts.append(starts[-1] + len(line))
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return [(starts[t.start[0] - 1] + t.start[1], t.string) for t in tokens if t.type == tokenize.COMMENT]


@settings(max_examples=400, deadline=None)
@given(call=calls(), data=st.data())
def test_any_layout(call: tuple[str, int], data: st.DataObject) -> None:
    """The result parses, holds the arguments that stay with their text and in order, and every comment between them."""
    text, count = call
    drop = data.draw(st.sets(st.integers(0, count - 1))) if count else set()
    first = data.draw(st.sampled_from([[], ["z"]]))
    last = data.draw(st.sampled_from([[], ["n=1"], ["n=1", "o=2"]]))
    result = changed(text, drop=drop, first=first, last=last)
    compile(result, "after", "exec")
    spans = arguments(text)
    stays = [text[a:b] for i, (a, b) in enumerate(spans) if i not in drop]
    assert [result[a:b] for a, b in arguments(result)] == [*first, *stays, *last]
    inside = [c for c in comments(text) if any(a <= c[0] < b for i, (a, b) in enumerate(spans) if i in drop)]
    assert [c for _, c in comments(result)] == [c for at, c in comments(text) if (at, c) not in inside]
    if not drop and not first and not last:
        assert result == text
