"""Removing and inserting whole statements. Comments stay, and no block is left empty."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from transforms.engine.changes import Layout
from transforms.engine.model import Edit, Row

_BLANK = re.compile(r"[ \t\f]*")
_BLANK_LINE = re.compile(r"[ \t\f]*(?:\r\n|\r|\n)")


def simple_statements(block: cst.CSTNode) -> Iterator[cst.BaseSmallStatement]:
    """The simple statements of a block itself, which may also stand behind its colon (`if x: a(); b()`)."""
    if isinstance(block, cst.SimpleStatementSuite):
        yield from block.body
    elif isinstance(block, (cst.IndentedBlock, cst.Module)):
        for line in block.body:
            if isinstance(line, cst.SimpleStatementLine):
                yield from line.body


@dataclass(frozen=True)
class RemoveStatement:
    """Take out a simple statement; a block that holds nothing else gets `pass`.

    Comments stay, but for those inside a statement that goes on over lines and shares its first or last one.
    """

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
        yield self.first

    @property
    def first(self) -> cst.CSTNode:
        """The first statement of the block, by whose place the block is known."""
        first = self.block.body[0]  # type: ignore[attr-defined]
        return first.body[0] if isinstance(first, cst.SimpleStatementLine) else first

    def edits(self, layout: Layout) -> list[Edit]:
        """One edit."""
        start, end = layout.spans.of(self.node)
        if self.count == 1:
            return [Edit(start, end, "pass" + self._comments_inside(layout, start, end, behind=True))]
        block = (layout.spans.of(self.first)[0], self.count, start, end) if self.count else None
        spans = tuple(layout.spans.of(n) for n in self.line.body)  # type: ignore[attr-defined]
        if len(spans) == 1:
            return [Edit(*self._line(layout, start, end), block)]
        row = Row(spans, *self._line(layout, spans[0][0], spans[-1][1]))
        place = spans.index((start, end))
        if place + 1 < len(spans):
            return [Edit(start, spans[place + 1][0], "", block, row=row, place=place)]
        return [Edit(spans[place - 1][1], end, "", block, row=row, place=place)]

    def _line(self, layout: Layout, start: int, end: int) -> tuple[int, int, str]:
        """The edit that takes out statements which fill their line; comments get lines of their own."""
        text = layout.text
        after = _space_end(text, end)
        if text.startswith(";", after):
            after = _space_end(text, after + 1)
        inside = self._comments_inside(layout, start, end)
        line_end = layout.source.line_bounds(after)[1]
        if text.startswith("#", after):
            return start, after, inside
        if inside:
            return start, line_end, inside.rstrip()
        newline = _BLANK_LINE.match(text, line_end)
        return layout.source.line_bounds(start)[0], self._blank_lines(layout, start, newline), ""

    def _blank_lines(self, layout: Layout, start: int, newline: re.Match[str] | None) -> int:
        """Where the removal of a whole line ends: of the blank lines on its two sides the longer run stays."""
        text = layout.text
        if newline is None:
            return len(text)
        end = newline.end()
        above = layout.source.line_bounds(start)[0]
        spare = len(text) if self._opens_block(layout, start) else 0
        while above and not text[(top := layout.source.line_bounds(above - 1)[0]) : above].strip():
            above, spare = top, spare + 1
        while spare and (blank := _BLANK_LINE.match(text, end)):
            end, spare = blank.end(), spare - 1
        return end

    def _opens_block(self, layout: Layout, start: int) -> bool:
        return self.count > 0 and layout.spans.of(self.first)[0] == start

    def _comments_inside(self, layout: Layout, start: int, end: int, behind: bool = False) -> str:
        """Comments between the lines of a statement, as lines at its indentation (`behind`: after other code)."""
        code = layout.text[start:end]
        if "#" not in code or not isinstance(self.line, cst.SimpleStatementLine):
            return ""
        indent = _BLANK.match(layout.text, layout.source.line_bounds(start)[0])
        assert indent
        between = layout.source.newline + indent.group()
        comments = comments_in(code)
        if behind:
            return "".join(("  " if i == 0 else between) + c for i, c in enumerate(comments))
        return "".join(c + between for c in comments)


def _space_end(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match
    return match.end()


def comments_in(code: str) -> list[str]:
    """The comments of a statement. Code that `tokenize` does not know gives none."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [t.string for t in tokens if t.type == tokenize.COMMENT]


@dataclass(frozen=True)
class InsertStatements:
    """Put simple statements before or after another one: on lines of their own, or on its line where it shares one."""

    anchor: cst.BaseSmallStatement
    lines: tuple[str, ...]
    after: bool = False

    def wants(self) -> Iterator[cst.CSTNode]:
        """The anchor."""
        yield self.anchor

    def edits(self, layout: Layout) -> list[Edit]:
        """One insertion: at the anchor, or at the end of its line."""
        start, end = layout.spans.of(self.anchor)
        line = layout.index.parent(self.anchor)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            if self.after:
                return [Edit(end, end, "".join(f"; {code}" for code in self.lines))]
            return [Edit(start, start, "".join(f"{code}; " for code in self.lines))]
        indent = layout.text[layout.source.line_bounds(start)[0] : start]
        newline = layout.source.newline
        if not self.after:
            return [Edit(start, start, "".join(f"{code}{newline}{indent}" for code in self.lines))]
        line_end = layout.source.line_bounds(end)[1]
        return [Edit(line_end, line_end, "".join(f"{newline}{indent}{code}" for code in self.lines))]
