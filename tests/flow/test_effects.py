"""What statements read, write and call."""

from __future__ import annotations

import pytest

from transforms.engine.context import Context
from transforms.engine.parse import parse
from transforms.engine.source import Source
from transforms.flow.effects import Effects, effects, meet


def of(text: str) -> Effects:
    source = Source.read(text.encode())
    cx = Context(source, parse(source))
    return effects(cx, *cx.module.body)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        pytest.param("a = b\n", {"b"}, {"a"}, id="assignment"),
        pytest.param("args.rank = os.x\n", {"os.x"}, {"args.rank"}, id="attribute"),
        pytest.param("a, (b, *c) = d\n", {"d"}, {"a", "b", "c"}, id="nested targets"),
        pytest.param("a += b\n", {"a", "b"}, {"a"}, id="augmented"),
        pytest.param("d[k] = v\n", {"d", "k", "v"}, {"d"}, id="an item changes its holder"),
        pytest.param("import os\nos.environ['A'] = b\n", {"b", "os.environ"}, {"os", "os.environ"}, id="environment"),
        pytest.param("del a.b\n", set(), {"a.b"}, id="del"),
        pytest.param("for i in xs:\n    pass\n", {"xs"}, {"i"}, id="loop"),
        pytest.param("with a as b:\n    pass\n", {"a"}, {"b"}, id="with"),
        pytest.param("import a.b\nfrom c import d as e\n", set(), {"a", "e"}, id="imports"),
        pytest.param("f(x=y, *z)\n", {"f", "y", "z"}, set(), id="keywords are no names"),
        pytest.param("if (n := m):\n    pass\n", {"m"}, {"n"}, id="walrus"),
        pytest.param("x: int = y\n", {"y"}, {"x"}, id="annotation is no read"),
        pytest.param("def f():\n    return z\n", set(), {"f"}, id="a function body does not run"),
    ],
)
def test_names(text: str, reads: set[str], writes: set[str]) -> None:
    found = of(text)
    assert (found.reads, found.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        pytest.param("print('a'.format(b))\n", 0, id="print and format"),
        pytest.param("logger.info(x)\n", 0, id="log"),
        pytest.param("import os\nx = int(os.environ.get('A', '0'))\n", 0, id="environment read"),
        pytest.param("import torch\nd = torch.device('cuda', 0)\n", 0, id="a device object starts nothing"),
        pytest.param("import torch\ntorch.cuda.synchronize()\n", 1, id="the device is used"),
        pytest.param("setup(x)\n", 1, id="unknown function"),
        pytest.param("model.info(x)\n", 1, id="info() of something else"),
        pytest.param("def print(x):\n    x()\n\nprint(1)\n", 1, id="own print"),
    ],
)
def test_calls_of_unknown_effect(text: str, calls: int) -> None:
    assert len(of(text).calls) == calls


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        pytest.param("if a:\n    raise ValueError\n", False, id="an error ends the program"),
        pytest.param("while a:\n    break\n", True, id="break"),
        pytest.param("def f():\n    return 1\n", False, id="return of an inner function"),
    ],
)
def test_leaving(text: str, leaves: bool) -> None:
    assert of(text).leaves is leaves


def test_names_meet_by_their_parts() -> None:
    assert meet({"args"}, {"args.rank"}) == "args"
    assert meet({"args.rank.x"}, {"args.rank"}) == "args.rank.x"
    assert meet({"args.rank"}, {"args.ranks", "arg"}) == ""
