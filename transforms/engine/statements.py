"""Removing and inserting whole statements. Comments stay, and no block is left empty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from transforms.engine.changes import Layout
from transforms.engine.model import Edit

_BLANK = re.compile(r"[ \t\f]*")


@dataclass(frozen=True)
class RemoveStatement:
    """Take out a simple statement; a block that holds nothing else gets `pass`."""

    node: cst.BaseSmallStatement
    line: cst.CSTNode
    block: cst.CSTNode
    count: int

    @classmethod
    def of(cls, index: object, node: cst.BaseSmallStatement) -> RemoveStatement:
        """The removal of `node`, which stands in the tree of `index` (a `transforms.engine.index.Index`)."""
        from transforms.engine.index import Index

        assert isinstance(index, Index)
        line = index.parent(node)
        assert isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
        block = line if isinstance(line, cst.SimpleStatementSuite) else index.parent(line)
        assert block is not None
        lines = [line] if block is line else list(block.body)  # type: ignore[attr-defined]
        count = sum(
            len(s.body) if isinstance(s, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) else 1 for s in lines
        )
        return cls(node, line, block, 0 if isinstance(block, cst.Module) else count)

    def wants(self) -> Iterator[cst.CSTNode]:
        """The statement and its neighbours on the line."""
        yield from self.line.body  # type: ignore[attr-defined]
        first = self.block.body[0]  # type: ignore[attr-defined]
        yield first.body[0] if isinstance(first, cst.SimpleStatementLine) else first

    def edits(self, layout: Layout) -> list[Edit]:
        """One edit."""
        start, end = layout.spans.of(self.node)
        if self.count == 1:
            return [Edit(start, end, "pass")]
        first = self.block.body[0]  # type: ignore[attr-defined]
        anchor = layout.spans.of(first.body[0] if isinstance(first, cst.SimpleStatementLine) else first)[0]
        block = (anchor, self.count, start, end) if self.count else None
        neighbours = list(self.line.body)  # type: ignore[attr-defined]
        if len(neighbours) > 1:
            place = next(i for i, n in enumerate(neighbours) if n is self.node)
            if place + 1 < len(neighbours):
                return [Edit(start, layout.spans.of(neighbours[place + 1])[0], "", block)]
            return [Edit(layout.spans.of(neighbours[place - 1])[1], end, "", block)]
        line_start = layout.source.line_bounds(start)[0]
        blank = _BLANK.match(layout.text, end)
        assert blank
        after = blank.end()
        if layout.text.startswith(";", after):
            blank = _BLANK.match(layout.text, after + 1)
            assert blank
            after = blank.end()
        if layout.text.startswith("#", after):
            return [Edit(start, after, "", block)]
        line_end = layout.source.line_bounds(after)[1]
        if layout.text.startswith("\r\n", line_end):
            line_end += 2
        elif line_end < len(layout.text):
            line_end += 1
        return [Edit(line_start, line_end, "", block)]


@dataclass(frozen=True)
class InsertStatements:
    """Put lines of code before or after a statement that stands on a line of its own, at its indentation."""

    anchor: cst.BaseSmallStatement
    lines: tuple[str, ...]
    after: bool = False

    def wants(self) -> Iterator[cst.CSTNode]:
        """The anchor."""
        yield self.anchor

    def edits(self, layout: Layout) -> list[Edit]:
        """One insertion at the start of the anchor's line, or of the line behind it."""
        start, end = layout.spans.of(self.anchor)
        line_start = layout.source.line_bounds(start)[0]
        indent = layout.text[line_start:start]
        newline = layout.source.newline
        if not self.after:
            return [Edit(start, start, "".join(f"{line}{newline}{indent}" for line in self.lines))]
        line_end = layout.source.line_bounds(end)[1]
        return [Edit(line_end, line_end, "".join(f"{newline}{indent}{line}" for line in self.lines))]
