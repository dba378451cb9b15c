"""What a name stands for: each case says which rule of Python's scoping it holds the resolver to."""

from __future__ import annotations

import libcst as cst
import pytest

from transforms.engine.index import Index
from transforms.engine.names import Names, Origin


def origin(text: str, mark: str = "HERE") -> Origin:
    """Origin of the expression in the call `HERE(...)`."""
    index = Index(cst.parse_module(text))
    names = Names(index)
    call = next(c for c in index.nodes(cst.Call) if isinstance(c.func, cst.Name) and c.func.value == mark)
    return names.origin(call.args[0].value)


SURE = [
    pytest.param("import torch\nHERE(torch.cuda.x)", "torch.cuda.x", id="plain import"),
    pytest.param(
        "import torch.cuda.amp\nHERE(torch.cuda.amp.y)", "torch.cuda.amp.y", id="dotted import binds the root"
    ),
    pytest.param("import torch.cuda as tc\nHERE(tc.x)", "torch.cuda.x", id="dotted import with alias"),
    pytest.param("from torch import cuda as c\nHERE(c.x)", "torch.cuda.x", id="from import with alias"),
    pytest.param("from torch.cuda import (a,\n  b)\nHERE(b)", "torch.cuda.b", id="parenthesised from import"),
    pytest.param("from . import dist\nHERE(dist.x)", ".dist.x", id="relative import keeps its dots"),
    pytest.param("from ..a import b\nHERE(b.x)", "..a.b.x", id="relative import of a parent"),
    pytest.param("import torch\nt = torch\nHERE(t.cuda)", "torch.cuda", id="alias by assignment"),
    pytest.param("import torch\nc = torch.cuda\nd = c\nHERE(d.x)", "torch.cuda.x", id="two assignments in a row"),
    pytest.param("def f():\n    import torch\n    HERE(torch.x)", "torch.x", id="import inside a function"),
    pytest.param("import torch\ndef f(a=torch):\n    pass\nHERE(torch.x)", "torch.x", id="default does not rebind"),
    pytest.param(
        "import torch\nclass A:\n    torch = 1\n    def f(self):\n        HERE(torch.x)",
        "torch.x",
        id="class scope is invisible to methods",
    ),
    pytest.param(
        "import torch\nx = [torch for torch in y]\nHERE(torch.x)", "torch.x", id="comprehension variable stays inside"
    ),
    pytest.param(
        "import torch\nx = [a for a in HERE(torch.x) for torch in b]", "torch.x", id="first iterable lies outside"
    ),
    pytest.param(
        "import torch\nf = lambda torch=torch: 1\nHERE(torch.x)", "torch.x", id="lambda parameter stays inside"
    ),
    pytest.param(
        "try:\n    import torch_xla as xm\nexcept ImportError:\n    xm = None\nHERE(xm.x)",
        "torch_xla.x",
        id="optional package is one thing",
    ),
    pytest.param(
        "if a:\n    import torch as t\nelse:\n    t = None\nHERE(t.x)", "torch.x", id="conditional import or None"
    ),
    pytest.param(
        "import torch\ndef f():\n    global q\n    q = 1\nHERE(torch.x)", "torch.x", id="global of another name"
    ),
    pytest.param("HERE(getattr)", "builtins.getattr", id="builtin"),
    pytest.param("import torch\nHERE(f'{torch}')", "", id="an f-string is no name"),
    pytest.param("import torch\nf(torch=1)\nHERE(torch.x)", "torch.x", id="keyword argument is no binding"),
    pytest.param("import torch\na.torch = 1\nHERE(torch.x)", "torch.x", id="attribute store is no binding"),
    pytest.param("import torch\ntorch: object\nHERE(torch.x)", "torch.x", id="annotation alone binds nothing"),
    pytest.param("from __future__ import annotations\nimport torch\nHERE(torch.x)", "torch.x", id="future import"),
]


@pytest.mark.parametrize("text, name", SURE)
def test_one_meaning(text: str, name: str) -> None:
    found = origin(text)
    assert found.name == name
    assert found.ambiguous is (name == "")


LOCAL = [
    pytest.param("import torch\ndef f(torch):\n    HERE(torch.x)", id="parameter"),
    pytest.param("import torch\ndef f(*torch):\n    HERE(torch.x)", id="star parameter"),
    pytest.param("import torch\ndef f(*, torch):\n    HERE(torch.x)", id="keyword-only parameter"),
    pytest.param("import torch\ndef f(**torch):\n    HERE(torch.x)", id="double star parameter"),
    pytest.param("import torch\ndef f():\n    torch = g()\n    HERE(torch.x)", id="local variable"),
    pytest.param("import torch\ndef f():\n    for torch in g():\n        HERE(torch.x)", id="loop variable"),
    pytest.param("import torch\ndef f():\n    with g() as torch:\n        HERE(torch.x)", id="with target"),
    pytest.param(
        "import torch\ndef f():\n    with g() as (a, torch):\n        HERE(torch.x)", id="with target in a tuple"
    ),
    pytest.param(
        "import torch\ndef f():\n    try:\n        g()\n    except E as torch:\n        HERE(torch.x)", id="except as"
    ),
    pytest.param("import torch\ndef f():\n    if (torch := g()):\n        HERE(torch.x)", id="walrus"),
    pytest.param(
        "import torch\ndef f():\n    [torch := a for a in b]\n    HERE(torch.x)", id="walrus leaves the comprehension"
    ),
    pytest.param(
        "import torch\ndef f(v):\n    match v:\n        case torch:\n            HERE(torch.x)", id="match capture"
    ),
    pytest.param(
        "import torch\ndef f(v):\n    match v:\n        case [1, *torch]:\n            HERE(torch.x)", id="match star"
    ),
    pytest.param(
        "import torch\ndef f(v):\n    match v:\n        case {'a': 1, **torch}:\n            HERE(torch.x)",
        id="match rest",
    ),
    pytest.param(
        "import torch\ndef f(v):\n    match v:\n        case A(b=torch):\n            HERE(torch.x)",
        id="match keyword capture",
    ),
    pytest.param("import torch\ndef f():\n    class torch: pass\n    HERE(torch.x)", id="local class"),
    pytest.param("import torch\ndef f():\n    def torch(): pass\n    HERE(torch.x)", id="local function"),
    pytest.param("import torch\nx = [HERE(torch.x) for torch in y]", id="comprehension variable"),
    pytest.param("import torch\nf = lambda torch: HERE(torch.x)", id="lambda parameter"),
    pytest.param("import torch\ndef f():\n    a, torch = g()\n    HERE(torch.x)", id="tuple target"),
    pytest.param("import torch\ndef f():\n    HERE(torch.randn(3).cuda)", id="a chain ends at a call"),
    pytest.param("HERE(torch.x)", id="nothing binds it"),
    pytest.param("import torch\ndef f[torch](): HERE(torch.x)", id="type parameter"),
    pytest.param("import torch\ndef f():\n    del torch\n    HERE(torch.x)", id="del makes it local"),
    pytest.param(
        "import torch\ndef g():\n    def f():\n        nonlocal torch\n        HERE(torch.x)\n    torch = 1",
        id="nonlocal",
    ),
]


@pytest.mark.parametrize("text", LOCAL)
def test_not_the_package(text: str) -> None:
    found = origin(text)
    assert found.names == frozenset()
    assert found.local


AMBIGUOUS = [
    pytest.param("import torch\ndef f():\n    global torch\n    torch = 3\nHERE(torch.x)", id="global rebinding"),
    pytest.param(
        "try:\n    from torch import amp\nexcept ImportError:\n    from apex import amp\nHERE(amp.x)", id="two packages"
    ),
    pytest.param("from torch.cuda import *\nHERE(is_available)", id="star import"),
    pytest.param("import torch\nexec(s)\nHERE(torch.x)", id="exec"),
    pytest.param("import torch\ntorch = wrap(torch)\nHERE(torch.x)", id="rebound in the same scope"),
    pytest.param("import torch\nfor torch in y: pass\nHERE(torch.x)", id="loop over the same name"),
    pytest.param("import torch\nt = torch\nt = 3\nHERE(t.x)", id="alias that is rebound"),
    pytest.param("import torch\nx = torch\nx = x.cuda\nHERE(x)", id="made of itself"),
]


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_more_than_one_meaning(text: str) -> None:
    assert origin(text).ambiguous


def test_chain_of_rebindings_is_not_exponential() -> None:
    text = "import torch\nx = torch\n" + "x = x.a\n" * 2000 + "HERE(x)\n"
    assert origin(text).ambiguous


def test_uses_of_a_variable_are_those_of_its_scope() -> None:
    text = "d = 1\ndef f():\n    return d\ndef g(d):\n    return d\nclass A:\n    d = 2\n    e = d\nprint(d)\n"
    index = Index(cst.parse_module(text))
    names = Names(index)
    uses = names.uses("d", index.module)
    assert len(uses) == 2


def test_tuple_assignment_gives_each_target_its_value() -> None:
    index = Index(cst.parse_module("a, (b, c) = 1, (2, 3)\n*d, e = 1, 2\n"))
    names = Names(index)
    values = {n: names.bindings(n, index.module)[0].value for n in "abcde"}
    assert [v.value if isinstance(v, cst.Integer) else None for v in values.values()] == ["1", "2", "3", None, None]
