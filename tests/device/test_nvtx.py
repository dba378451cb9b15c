"""TN117: markers."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, i):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(
            ('torch.cuda.nvtx.range_push("a")', "x()", "torch.cuda.nvtx.range_pop()"), ("x()",), id="push-and-pop"
        ),
        pytest.param(('torch.cuda.nvtx.range_push(f"a{i}")', "x()"), ("x()",), id="formatted"),
        pytest.param(("if i:", '    torch.cuda.nvtx.mark("a")'), ("if i:", "    pass"), id="alone-in-a-block"),
        pytest.param(
            ('with torch.cuda.nvtx.range("a"): x()',), ('with torch.profiler.record_function("a"): x()',), id="range"
        ),
        pytest.param(
            ('with torch.cuda.nvtx.range(msg="a"): x()',),
            ('with torch.profiler.record_function(name="a"): x()',),
            id="keyword",
        ),
        pytest.param(("return torch.cuda.nvtx.range",), ("return torch.profiler.record_function",), id="passed-on"),
    ],
)
def test_markers(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    outcome = migrate(inside(*before))
    assert outcome.text == inside(*after)
    assert {f["safety"] for f in outcome.findings} == {"review"}


def test_decorator() -> None:
    source = HEAD + '@torch.cuda.nvtx.range("f")\ndef f(): ...\n'
    assert migrate(source).text == source.replace("torch.cuda.nvtx.range", "torch.profiler.record_function")


def test_imported_module() -> None:
    source = (
        "import torch\nfrom torch.cuda import nvtx\n\n\ndef f(x):\n    nvtx.range_push('a')\n    return torch.relu(x)\n"
    )
    assert migrate(source).text == "import torch\n\n\ndef f(x):\n    return torch.relu(x)\n"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("depth = torch.cuda.nvtx.range_push('a')", id="value-used"),
        pytest.param("torch.cuda.nvtx.range_push(x())", id="argument-with-an-effect"),
        pytest.param("with torch.cuda.nvtx.range('a {}', i): x()", id="formatting-arguments"),
        pytest.param("torch.cuda.nvtx.range_end(i)", id="open-ended-range"),
        pytest.param("x.nvtx.range_push('a')", id="own-object"),
        pytest.param("print('torch.cuda.nvtx.mark')", id="text"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)


def test_another_package() -> None:
    source = "import nvtx\n\n\ndef f(x):\n    nvtx.mark('a')\n"
    outcome = migrate(source)
    assert outcome.text == source
    assert outcome.lines("TN117") == []


def test_a_guarded_import() -> None:
    source = (
        "try:\n    from torch.cuda import nvtx\nexcept ImportError:\n    nvtx = None\n\n\n"
        "def f(x):\n    if nvtx is not None:\n        nvtx.range_push('a')\n    return x if nvtx else None\n"
    )
    outcome = migrate(source)
    assert outcome.text == source.replace("nvtx.range_push('a')", "pass")
    assert [f["line"] for f in outcome.findings if f["rule"] == "TN117" and f["status"] == "kept"] == [8, 10]
