"""An independent look at what is specific to CUDA or XLA in a Python file.

Built on `tokenize` and `ast` alone, so that it shares no mistake with the engine: every token that it finds must be
covered by a finding of the tool's JSON report, kept sites included. What counts is the definition of the ledger: a
token in code that has a word (split at `_`, digits and changes of case) cuda, nccl, cudnn, nvtx or xla. Comments and
docstrings are left out, an f-string is one token.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

WORDS = frozenset({"cuda", "nccl", "cudnn", "nvtx", "xla"})

# `CUDAGraph` is CUDA + Graph in the first reading and `CUDAgraph` is CUDA + graph in the second one.
_READINGS = (re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+"), re.compile(r"[A-Z]+|[a-z]+"))
_ESCAPE = re.compile(r"\\[abfnrtv\\'\"\n]")
# Python 3.12 splits an f-string (3.14 a t-string too) into several tokens, before that it was one STRING.
_STARTS = {getattr(tokenize, name, None) for name in ("FSTRING_START", "TSTRING_START")} - {None}
_ENDS = {getattr(tokenize, name, None) for name in ("FSTRING_END", "TSTRING_END")} - {None}

Place = tuple[int, int]
"""Line and column, both from 1; the column counts characters."""


class Span(NamedTuple):
    """A range of the source, its end exclusive."""

    start: Place
    end: Place

    def meets(self, other: Span) -> bool:
        """True if the two have at least one character in common."""
        return max(self.start, other.start) < min(self.end, other.end)


class Token(NamedTuple):
    """One specific token. `kind` is name, string, fstring, or module for a name in the module part of an import, whose
    `imported` holds the spans of the names that its statement imports."""

    line: int
    col: int
    end_line: int
    end_col: int
    text: str
    kind: str
    imported: tuple[Span, ...] = ()

    @property
    def span(self) -> Span:
        return Span((self.line, self.col), (self.end_line, self.end_col))


def has_word(text: str) -> bool:
    """True if a word stands in `text` as a word of its own: in `use_cuda` and `CUDAGraph`, not in `xlabel`."""
    return any(word.lower() in WORDS for reading in _READINGS for word in reading.findall(text))


def specific_tokens(source: Path | str | bytes) -> list[Token]:
    """The specific tokens of a file (given by its path) or of its bytes, in the order of the source.

    Raises SyntaxError for what the running Python can't parse, and OSError for what can't be read.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    text = _decode(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the escapes in the code that is read
            tree = ast.parse(text)
            found = [token for token in _tokens(text) if has_word(_content(token))]
    except (ValueError, RecursionError, MemoryError, tokenize.TokenError) as error:
        raise SyntaxError(str(error)) from error
    lines = text.split("\n")
    docstrings = list(_docstrings(tree, lines))
    modules = list(_module_parts(tree, lines))
    return [_placed(token, modules) for token in found if not any(token.span.meets(span) for span in docstrings)]


def uncovered(tokens: Iterable[Token], findings: Iterable[Mapping[str, Any]]) -> list[Token]:
    """The tokens that no finding of the JSON report covers.

    A finding covers what its span meets; one on an imported name also covers the module part of that import. Notes
    concern the whole file and cover nothing.
    """
    spans = [
        Span((f["line"], f["column"]), (f["end_line"], f["end_column"])) for f in findings if f.get("safety") != "note"
    ]
    return [token for token in tokens if not any(_covers(span, token) for span in spans)]


def _covers(span: Span, token: Token) -> bool:
    return span.meets(token.span) or any(span.meets(name) for name in token.imported)


def _decode(data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise SyntaxError(str(error)) from error
    # Python ends a line at each of the three newlines, `tokenize` splits at \n alone.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _tokens(text: str) -> Iterator[Token]:
    """Names and strings, each f-string as one token from its first to its last character."""
    lines = text.split("\n")
    depth = 0
    start = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _STARTS:
            if depth == 0:
                start = token.start
            depth += 1
        elif token.type in _ENDS:
            depth -= 1
            if depth == 0:
                yield _token(lines, start, token.end, "fstring")
        elif depth == 0 and token.type == tokenize.NAME:
            yield _token(lines, token.start, token.end, "name")
        elif depth == 0 and token.type == tokenize.STRING:
            # Python 3.12.1 gives a wrong end for a string over lines with a letter outside of ASCII.
            rows = token.string.split("\n")
            end_col = len(rows[-1]) + (token.start[1] if len(rows) == 1 else 0)
            end = (token.start[0] + len(rows) - 1, end_col)
            kind = "fstring" if _prefix(token.string).strip("bru") else "string"
            yield _token(lines, token.start, end, kind)


def _token(lines: Sequence[str], start: Place, end: Place, kind: str) -> Token:
    (line, col), (end_line, end_col) = start, end
    if line == end_line:
        text = lines[line - 1][col:end_col]
    else:
        text = "\n".join([lines[line - 1][col:], *lines[line : end_line - 1], lines[end_line - 1][:end_col]])
    return Token(line, col + 1, end_line, end_col + 1, text, kind)


def _content(token: Token) -> str:
    """What a token says: the value of a string, where `"\\ncuda"` has the word and the source only has `ncuda`."""
    if token.kind == "string":
        value = ast.literal_eval(token.text)
        return value.decode("latin-1") if isinstance(value, bytes) else str(value)
    if token.kind == "fstring" and "r" not in _prefix(token.text):
        return _ESCAPE.sub(" ", token.text)
    return token.text


def _prefix(text: str) -> str:
    return re.split("['\"]", text, maxsplit=1)[0].lower()


def _docstrings(tree: ast.Module, lines: Sequence[str]) -> Iterator[Span]:
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            yield _span(first.value, lines)


def _module_parts(tree: ast.Module, lines: Sequence[str]) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """The module part of each import, with the names that its statement imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = tuple(_span(alias, lines) for alias in node.names)
            yield Span(_span(node, lines).start, names[0].start), names
        elif isinstance(node, ast.Import):
            names = tuple(_span(alias, lines) for alias in node.names)
            for alias, (start, (end_line, end_col)) in zip(node.names, names):
                yield Span(start, (end_line, end_col - len(alias.asname or ""))), names


def _span(node: ast.expr | ast.stmt | ast.alias, lines: Sequence[str]) -> Span:
    """The place of a node; `ast` counts columns in bytes of UTF-8."""

    def place(line: int, offset: int) -> Place:
        return line, len(lines[line - 1].encode()[:offset].decode()) + 1

    end_line, end_offset = node.end_lineno, node.end_col_offset
    assert end_line is not None and end_offset is not None  # ast.parse always sets them
    return Span(place(node.lineno, node.col_offset), place(end_line, end_offset))


def _placed(token: Token, modules: Iterable[tuple[Span, tuple[Span, ...]]]) -> Token:
    for span, names in modules:
        if token.kind == "name" and span.meets(token.span):
            return token._replace(kind="module", imported=names)
    return token
