"""Moving whole statements. What other fixes change inside the moved text travels with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from transforms.engine.changes import Layout
from transforms.engine.index import children
from transforms.engine.model import Edit

_BLANK = re.compile(r"[ \t\f]*")
_DIRECTIVE = re.compile(r"#\s*neuron:")
"""A comment that says something to this tool about the statement below it."""


@dataclass(frozen=True)
class MoveStatement:
    """Move a statement with its lines to another place in its block: behind `anchor`, or in front of it.

    Both stand on lines of their own. Other fixes may change what is inside the moved text. A comment line directly
    above the statement goes along when it is about nothing else: the statement stands alone between blank lines, or
    `comment` finds a word of its subject, or it holds the statement back from this tool. Blank lines around a statement
    that stood alone do not pile up.
    """

    statement: cst.BaseStatement
    anchor: cst.BaseStatement
    before: bool = False
    comment: re.Pattern[str] | None = None

    def wants(self) -> Iterator[cst.CSTNode]:
        """First and last simple statement of both."""
        for node in (self.statement, self.anchor):
            yield _first(node)
            yield last_simple(node)

    def edits(self, layout: Layout) -> list[Edit]:
        """The two halves of a move."""
        start, end = self._lines(layout, self.statement)
        anchor_start, anchor_end = self._lines(layout, self.anchor)
        newline = layout.source.newline
        start = self._with_comments(layout, start, end)
        alone = self._blank(layout, start, -1)
        behind = _line_behind(layout, end)
        while alone and behind < len(layout.text) and self._blank(layout, behind, 0):
            behind = _line_behind(layout, layout.source.line_bounds(behind)[1])
        text = layout.text[start:end]
        moved = (start, end, 0 if self.before else len(newline))
        if self.before:
            at = self._with_comments(layout, anchor_start, anchor_end)
            if behind == end:  # the last line of a file without a final newline
                start -= len(newline)
            return [Edit(at, at, text + newline, moved=moved), Edit(start, behind, "", moved=moved)]
        return [Edit(start, behind, "", moved=moved), Edit(anchor_end, anchor_end, newline + text, moved=moved)]

    def _lines(self, layout: Layout, node: cst.BaseStatement) -> tuple[int, int]:
        """From the start of the first line to the end of the last one, deeper comments behind a block included."""
        start = layout.source.line_bounds(layout.spans.of(_first(node))[0])[0]
        end = layout.source.line_bounds(layout.spans.of(last_simple(node))[1])[1]
        indent = _indent(layout.text, start)
        if not isinstance(node, cst.SimpleStatementLine):
            behind = _line_behind(layout, end)
            while behind < len(layout.text) and _is_comment(layout.text, behind, lambda own: len(own) > len(indent)):
                end = layout.source.line_bounds(behind)[1]
                behind = _line_behind(layout, end)
        return start, end

    def _with_comments(self, layout: Layout, start: int, end: int) -> int:
        """The start of the comment lines directly above that go along with the statement."""
        text, indent = layout.text, _indent(layout.text, start)
        top = start
        while top > 0:
            above = layout.source.line_bounds(top - 1)[0]
            if text[above:top].isspace() or not _is_comment(text, above, lambda own: own == indent):
                break
            top = above
        behind = _line_behind(layout, end)
        paragraph = self._blank(layout, top, -1) and (behind >= len(text) or self._blank(layout, behind, 0))
        comments = text[top:start]
        named = _DIRECTIVE.search(comments) or (self.comment is not None and self.comment.search(comments))
        return top if paragraph or named else start

    def _blank(self, layout: Layout, at: int, by: int) -> bool:
        """Whether the line at `at`, or the one above it, is blank; above the first line of a block counts as blank."""
        if by:
            if at == 0:
                return True
            at = layout.source.line_bounds(at - 1)[0]
        line = layout.text[at : layout.source.line_bounds(at)[1]]
        return not line.strip() or (by != 0 and line.split("#")[0].rstrip().endswith(":"))


def _first(node: cst.BaseStatement) -> cst.CSTNode:
    return node.body[0] if isinstance(node, cst.SimpleStatementLine) else node


def last_simple(node: cst.CSTNode) -> cst.CSTNode:
    """The simple statement that stands last in a statement."""
    found = node
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, cst.BaseSmallStatement):
            return here
        stack += [c for c in children(here) if isinstance(c, _HOLDERS)]
    return found


_HOLDERS = (
    cst.BaseStatement,
    cst.BaseSuite,
    cst.BaseSmallStatement,
    cst.Else,
    cst.Finally,
    cst.ExceptHandler,
    cst.ExceptStarHandler,
    cst.MatchCase,
)


def _line_behind(layout: Layout, line_end: int) -> int:
    """Start of the line behind the one that ends at `line_end`."""
    if layout.text.startswith("\r\n", line_end):
        return line_end + 2
    return min(line_end + 1, len(layout.text))


def _indent(text: str, line_start: int) -> str:
    blank = _BLANK.match(text, line_start)
    assert blank
    return blank.group()


def _is_comment(text: str, line_start: int, fits: Callable[[str], bool]) -> bool:
    indent = _indent(text, line_start)
    return text.startswith("#", line_start + len(indent)) and fits(indent)
