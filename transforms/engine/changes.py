"""What a fix does, said in nodes; turned into edits once the offsets of those nodes are known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import libcst as cst

from transforms.engine.index import Index
from transforms.engine.model import Edit
from transforms.engine.source import Source
from transforms.engine.spans import Spans


@dataclass(frozen=True)
class Layout:
    """The file as the changes see it when they become edits."""

    source: Source
    index: Index
    spans: Spans

    @property
    def text(self) -> str:
        """Decoded source."""
        return self.source.text


class Change(Protocol):
    """One step of a fix."""

    def wants(self) -> Iterator[cst.CSTNode]:
        """Nodes whose offsets `edits` will ask for."""

    def edits(self, layout: Layout) -> list[Edit]:
        """The change as edits of the file's text."""


@dataclass(frozen=True)
class Replace:
    """New text for a node, inside its own parentheses."""

    node: cst.CSTNode
    text: str

    def wants(self) -> Iterator[cst.CSTNode]:
        """The node itself."""
        yield self.node

    def edits(self, layout: Layout) -> list[Edit]:
        """One edit, or none when the text stands there already but for quotes and spaces."""
        start, end = layout.spans.of(self.node)
        if same_code(layout.text[start:end], self.text):
            return []
        return [Edit(start, end, self.text)]


@dataclass(frozen=True)
class ReplaceFrom:
    """New text for the range from the start of one node to the end of another."""

    first: cst.CSTNode
    last: cst.CSTNode
    text: str

    def wants(self) -> Iterator[cst.CSTNode]:
        """Both ends."""
        yield self.first
        yield self.last

    def edits(self, layout: Layout) -> list[Edit]:
        """One edit."""
        return [Edit(layout.spans.of(self.first)[0], layout.spans.of(self.last)[1], self.text)]


@dataclass(frozen=True)
class Around:
    """Text before and after a node."""

    node: cst.CSTNode
    before: str = ""
    after: str = ""

    def wants(self) -> Iterator[cst.CSTNode]:
        """The node itself."""
        yield self.node

    def edits(self, layout: Layout) -> list[Edit]:
        """Up to two insertions."""
        start, end = layout.spans.of(self.node)
        found = [Edit(start, start, self.before)] if self.before else []
        return found + ([Edit(end, end, self.after)] if self.after else [])


@dataclass(frozen=True)
class Unwrap:
    """Leave of a node only one node in it."""

    node: cst.CSTNode
    inner: cst.CSTNode
    parenthesize: bool = False

    def wants(self) -> Iterator[cst.CSTNode]:
        """Both nodes."""
        yield self.node
        yield self.inner

    def edits(self, layout: Layout) -> list[Edit]:
        """Two edits, so that others may change the inner node."""
        (start, end), (first, last) = layout.spans.of(self.node), layout.spans.of(self.inner)
        before, after = ("(", ")") if self.parenthesize else ("", "")
        return [Edit(start, first, before), Edit(last, end, after)]


@dataclass(frozen=True)
class StringPart:
    """Replace `old` by `new` within the token of a string literal, at the given offset of its source text."""

    node: cst.CSTNode
    offset: int
    old: str
    new: str

    def wants(self) -> Iterator[cst.CSTNode]:
        """The literal."""
        yield self.node

    def edits(self, layout: Layout) -> list[Edit]:
        """One edit."""
        start = layout.spans.of(self.node)[0] + self.offset
        assert layout.text[start : start + len(self.old)] == self.old
        return [Edit(start, start + len(self.old), self.new)]


_TOKEN = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"|\s+|.", re.S)


def same_code(old: str, new: str) -> bool:
    """Whether two pieces of code differ in nothing but quotes and spaces."""
    return old == new or _plain(old) == _plain(new)


def _plain(code: str) -> list[str]:
    tokens = [t for t in _TOKEN.findall(code) if not t.isspace()]
    return ["'" + t[1:-1] + "'" if len(t) > 1 and t[0] in "'\"" else t for t in tokens]
