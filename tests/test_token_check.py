from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from token_check import has_word, specific_tokens, uncovered


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("cuda", id="the-word-itself"),
        pytest.param("use_cuda", id="last-part"),
        pytest.param("is_cuda", id="attribute-of-a-tensor"),
        pytest.param("__cuda_array_interface__", id="dunder"),
        pytest.param("CUDAGraph", id="capitals-then-a-capitalised-word"),
        pytest.param("CUDAgraph", id="capitals-then-a-small-word"),
        pytest.param("CudaGraph", id="camel-case"),
        pytest.param("cudaMalloc", id="small-then-camel-case"),
        pytest.param("ProcessGroupNCCL", id="capitals-at-the-end"),
        pytest.param("cuda0", id="digit-after"),
        pytest.param("nccl2", id="version-after"),
        pytest.param("sm90cuda", id="digit-before"),
        pytest.param("torch_xla", id="package-of-xla"),
        pytest.param("XLADevice", id="short-capitals"),
        pytest.param("cudnn", id="cudnn"),
        pytest.param("nvtx", id="nvtx"),
        pytest.param("NVTX_RANGE", id="constant"),
    ],
)
def test_name_with_a_word(name: str) -> None:
    assert has_word(name)
    assert [(t.text, t.kind) for t in specific_tokens(f"{name} = 1\n".encode())] == [(name, "name")]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("xlabel", id="begins-with-xla"),
        pytest.param("set_xlabel", id="part-begins-with-xla"),
        pytest.param("barracuda", id="ends-with-cuda"),
        pytest.param("maxlat", id="holds-xla"),
        pytest.param("cudagraphs", id="one-long-word"),
        pytest.param("gpu", id="another-word"),
        pytest.param("cu_da", id="word-cut-in-two"),
    ],
)
def test_name_without_a_word(name: str) -> None:
    assert not has_word(name)
    assert specific_tokens(f"{name} = '{name}'\n".encode()) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("x = 1  # to cuda\n", [], id="comment"),
        pytest.param('"""Runs on cuda."""\n', [], id="module-docstring"),
        pytest.param('class A:\n    "cuda"\n', [], id="class-docstring"),
        pytest.param('def f():\n    """cuda"""\n', [], id="function-docstring"),
        pytest.param('async def f():\n    """\n    cuda\n    """\n', [], id="docstring-over-lines"),
        pytest.param('def f():\n    ("on "\n     "cuda")\n', [], id="docstring-in-parts"),
        pytest.param('def f():\n    x\n    "cuda"\n', [(3, 5, 3, 11, "string")], id="string-statement-is-no-docstring"),
        pytest.param('def f():\n    f"cuda"\n', [(2, 5, 2, 12, "fstring")], id="f-string-is-no-docstring"),
        pytest.param('def f():\n    b"cuda"\n', [(2, 5, 2, 12, "string")], id="bytes-are-no-docstring"),
        pytest.param('def f(): "cuda"; g("cuda")\n', [(1, 20, 1, 26, "string")], id="code-behind-a-docstring"),
        pytest.param('"é cuda"; x = "cuda"\n', [(1, 15, 1, 21, "string")], id="docstring-that-is-longer-in-bytes"),
        pytest.param('x("cuda:0")\n', [(1, 3, 1, 11, "string")], id="string"),
        pytest.param('x(rb"cuda")\n', [(1, 3, 1, 11, "string")], id="raw-bytes"),
        pytest.param('x("\\ncuda")\n', [(1, 3, 1, 11, "string")], id="word-behind-an-escape"),
        pytest.param('x("\\x63uda")\n', [(1, 3, 1, 12, "string")], id="letter-as-an-escape"),
        pytest.param('x(f"\\ncuda{i}")\n', [(1, 3, 1, 15, "fstring")], id="f-string-with-an-escape"),
        pytest.param('x("cu" "da")\n', [], id="word-split-over-two-strings"),
        pytest.param('x("cuda" ":0")\n', [(1, 3, 1, 9, "string")], id="only-one-part-has-the-word"),
        pytest.param(
            'x("cuda:" f"cuda{i}")\n',
            [(1, 3, 1, 10, "string"), (1, 11, 1, 21, "fstring")],
            id="one-token-per-part",
        ),
        pytest.param('x(f"cuda:{i}")\n', [(1, 3, 1, 14, "fstring")], id="f-string"),
        pytest.param('x(f"{t.cuda}, {cuda}, cuda")\n', [(1, 3, 1, 28, "fstring")], id="f-string-counts-once"),
        pytest.param("x(f\"{a['cuda']:>{w}}\")\n", [(1, 3, 1, 22, "fstring")], id="string-inside-an-f-string"),
        pytest.param("x(f\"{f'{cuda}'}\")\n", [(1, 3, 1, 17, "fstring")], id="f-string-inside-an-f-string"),
        pytest.param('x(Rf"{{cuda}}")\n', [(1, 3, 1, 15, "fstring")], id="raw-f-string-with-braces"),
        pytest.param('x(f"""é\n {i}\n é cuda""")\n', [(1, 3, 3, 11, "fstring")], id="f-string-over-lines"),
        pytest.param('x("""é → é\n é cuda""", 1)\n', [(1, 3, 2, 11, "string")], id="string-over-lines-beyond-ascii"),
        pytest.param('x(f"é{i}", "é", cuda)\n', [(1, 17, 1, 21, "name")], id="columns-count-characters"),
        pytest.param('x(f"{i}", cuda)\n', [(1, 11, 1, 15, "name")], id="name-behind-an-f-string"),
        pytest.param(
            "t.cuda().is_cuda\n", [(1, 3, 1, 7, "name"), (1, 10, 1, 17, "name")], id="each-name-of-a-chain-is-a-token"
        ),
        pytest.param("x = 1\r\ncuda = 2\r\n", [(2, 1, 2, 5, "name")], id="windows-newlines"),
        pytest.param("x = 1\rcuda = 2\r", [(2, 1, 2, 5, "name")], id="old-mac-newlines"),
        pytest.param("x = 1\n\x0ccuda = 2\n", [(2, 2, 2, 6, "name")], id="form-feed"),
        pytest.param("\ufeffcuda = 1\n", [(1, 1, 1, 5, "name")], id="byte-order-mark-has-no-column"),
        pytest.param("cuda", [(1, 1, 1, 5, "name")], id="no-newline-at-the-end"),
        pytest.param("x = \\\n  cuda\n", [(2, 3, 2, 7, "name")], id="continued-line"),
        pytest.param("", [], id="empty-file"),
    ],
)
def test_tokens(source: str, expected: list[tuple[int, int, int, int, str]]) -> None:
    found = specific_tokens(source.encode())
    assert [(t.line, t.col, t.end_line, t.end_col, t.kind) for t in found] == expected


def test_text_of_a_token_is_its_source() -> None:
    tokens = specific_tokens(b'x(f"""{a}\n cuda""", "cuda", cuda)\n')
    assert [t.text for t in tokens] == ['f"""{a}\n cuda"""', '"cuda"', "cuda"]


def test_encoding_cookie_is_obeyed() -> None:
    tokens = specific_tokens("# coding: latin-1\nx = 'é', cuda\n".encode("latin-1"))
    assert [(t.line, t.col) for t in tokens] == [(2, 10)]


def test_a_path_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"cuda = 1\n")
    assert specific_tokens(path) == specific_tokens(str(path)) == specific_tokens(b"cuda = 1\n")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b'print "cuda"\n', id="python-2"),
        pytest.param(b"x = (cuda\n", id="open-bracket"),
        pytest.param(b"x = '\xff'\n", id="not-utf-8"),
        pytest.param(b"# coding: klingon\n", id="unknown-encoding"),
        pytest.param(b"x = 1\x00\n", id="null-byte"),
        pytest.param(b"x = " + b"(" * 5000 + b")" * 5000, id="too-deep"),
    ],
)
def test_what_does_not_parse_is_a_syntax_error(source: bytes) -> None:
    with pytest.raises(SyntaxError):
        specific_tokens(source)


def finding(line: int, column: int, end_line: int, end_column: int, **more: Any) -> dict[str, Any]:
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column, "safety": "safe", **more}


@pytest.mark.parametrize(
    ("source", "findings", "left"),
    [
        pytest.param("f(cuda)\n", [], ["cuda"], id="no-finding"),
        pytest.param("f(cuda)\n", [finding(1, 3, 1, 7)], [], id="same-span"),
        pytest.param("f(t.cuda.x)\n", [finding(1, 3, 1, 11)], [], id="finding-on-the-chain-around-it"),
        pytest.param('f(f"{t.cuda}")\n', [finding(1, 6, 1, 12)], [], id="finding-inside-an-f-string"),
        pytest.param('f("""a\ncuda\n""")\n', [finding(2, 1, 2, 5)], [], id="finding-inside-a-long-string"),
        pytest.param("f(cuda)\n", [finding(1, 1, 1, 3)], ["cuda"], id="finding-ends-where-the-token-begins"),
        pytest.param("f(cuda)\n", [finding(1, 7, 1, 8)], ["cuda"], id="finding-begins-where-the-token-ends"),
        pytest.param("f(cuda)\n", [finding(2, 3, 2, 7)], ["cuda"], id="finding-on-another-line"),
        pytest.param("f(cuda)\n", [finding(1, 4, 1, 4)], ["cuda"], id="empty-span-covers-nothing"),
        pytest.param("f(cuda)\n", [finding(1, 1, 1, 8, safety="note")], ["cuda"], id="note-covers-nothing"),
        pytest.param("f(cuda)\n", [finding(1, 3, 1, 7, safety=None, status="kept")], [], id="kept-site"),
        pytest.param("f(cuda, xla)\n", [finding(1, 3, 1, 7)], ["xla"], id="only-one-of-two"),
        pytest.param(
            "from torch.cuda import amp, x\n",
            [finding(1, 29, 1, 30)],
            [],
            id="from-import-with-one-imported-name-found",
        ),
        pytest.param("from torch.cuda import (\n    amp,\n)\n", [finding(2, 5, 2, 8)], [], id="from-import-over-lines"),
        pytest.param("from torch.cuda import *\n", [finding(1, 24, 1, 25)], [], id="star-import"),
        pytest.param("from .cuda import a\n", [], ["cuda"], id="from-import-without-a-finding"),
        pytest.param(
            "from a.cuda import b\nb\n", [finding(2, 1, 2, 2)], ["cuda"], id="use-of-the-name-does-not-cover-the-import"
        ),
        pytest.param(
            "from a.cuda import b, cuda_c\n", [finding(1, 20, 1, 21)], ["cuda_c"], id="imported-name-stands-for-itself"
        ),
        pytest.param("import torch_xla.core as xc\n", [finding(1, 26, 1, 28)], [], id="import-as-found-at-its-alias"),
        pytest.param("import a.xla as xla\n", [finding(1, 8, 1, 13)], ["xla"], id="alias-stands-for-itself"),
        pytest.param("import a.cuda, b\n", [finding(1, 16, 1, 17)], [], id="one-statement-with-two-modules"),
        pytest.param("import a.cuda; b\n", [finding(1, 16, 1, 17)], ["cuda"], id="another-statement-on-the-line"),
    ],
)
def test_uncovered(source: str, findings: list[dict[str, Any]], left: list[str]) -> None:
    assert [t.text for t in uncovered(specific_tokens(source.encode()), findings)] == left
