"""Edits to a bracketed list of items (arguments of a call, entries of a dict): layout and comments are kept.

The list is seen as *joints*: what lies between two items that stay, or between one and a bracket. A joint holds commas,
space, comments and the items that go. Its new text is worked out, and only the tokens that differ become an edit, so
that the text of the items that stay is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from transforms.engine.model import Edit
from transforms.engine.source import Source

_TOKEN = re.compile(
    r"(?P<newline>\\?(?:\r\n|\r|\n))|(?P<comment>#[^\r\n]*)|(?P<comma>,)|(?P<space>[ \t\f]+)|(?P<other>.)", re.S
)
_SPACE = " \t\f\r\n"

Token = tuple[str, str]
"""(kind, text); kinds: newline, comment, comma, space, item, other."""


@dataclass(frozen=True)
class Items:
    """A list between two brackets: offset behind the opening one, offset of the closing one, ranges of the items."""

    source: Source
    open: int
    close: int
    spans: Sequence[tuple[int, int]]

    def edits(self, gone: Collection[int] = (), first: Sequence[str] = (), last: Sequence[str] = ()) -> list[Edit]:
        """Edits that take out the items at the given positions and add new ones in front and at the end."""
        if not (gone or first or last):
            return []
        kept = [i for i in range(len(self.spans)) if i not in gone]
        if not kept:
            return [self._fill(e) for e in self._edit(None, None, self._all_new([*first, *last]))]
        found: list[Edit] = []
        for left, right in zip([None, *kept], [*kept, None]):
            new = self._without(left, right)
            if left is None and right is not None:
                new += self._in_front(right, new, first)
            elif right is None and left is not None and last:
                new = self._at_end(left, new, last)
            found += self._edit(left, right, new)
        return found

    def _fill(self, edit: Edit) -> Edit:
        """An edit of an empty list takes its bracket along: two that fill the same list must not meet in it."""
        if self.spans or edit.start != edit.end:
            return edit
        return Edit(edit.start - 1, edit.end, self.source.text[edit.start - 1] + edit.text)

    # joints -----------------------------------------------------------------------------------------------------

    def _range(self, left: int | None, right: int | None) -> tuple[int, int]:
        start = self.open if left is None else self.spans[left][1]
        return start, self.close if right is None else self.spans[right][0]

    def _tokens(self, left: int | None, right: int | None) -> list[Token]:
        """What a joint holds."""
        at, end = self._range(left, right)
        first = 0 if left is None else left + 1
        found: list[Token] = []
        for start, stop in self.spans[first : len(self.spans) if right is None else right]:
            found += [*_split(self.source.text[at:start]), ("item", self.source.text[start:stop])]
            at = stop
        return found + _split(self.source.text[at:end])

    def _edit(self, left: int | None, right: int | None, new: str) -> list[Edit]:
        """The difference between a joint and its new text, cut down to whole tokens.

        What goes and what comes are two edits, so that one inside an item that goes is seen to have nothing left to do.
        """
        start, end = self._range(left, right)
        tokens = self._tokens(left, right)
        old = [t for _, t in tokens]
        fresh = [t for _, t in _split(new)]
        while old and fresh and old[0] == fresh[0]:
            start += len(old.pop(0))
            fresh.pop(0)
        while old and fresh and old[-1] == fresh[-1]:
            end -= len(old.pop())
            fresh.pop()
        if old and fresh and any(kind == "item" for kind, _ in tokens):
            return [Edit(start, end, ""), Edit(end, end, "".join(fresh))]
        return [Edit(start, end, "".join(fresh))] if old or fresh else []

    @property
    def _trailing(self) -> bool:
        """Whether a comma follows the last item."""
        return bool(self.spans) and any(k == "comma" for k, _ in self._tokens(len(self.spans) - 1, None))

    def _starts_line(self, at: int) -> bool:
        return not self.source.text[self.source.line_bounds(at)[0] : at].strip()

    def _indent(self, at: int) -> str:
        """The white space that the line of an offset begins with."""
        line = self.source.text[self.source.line_bounds(at)[0] : at]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    @property
    def _one_per_line(self) -> bool:
        """Whether each item but perhaps the first begins a line."""
        return all(self._starts_line(start) for start, _ in self.spans[1:])

    # taking out -------------------------------------------------------------------------------------------------

    def _without(self, left: int | None, right: int | None) -> str:
        """A joint without its items; comments stay, on their lines."""
        tokens = self._tokens(left, right)
        if not any(kind == "item" for kind, _ in tokens):
            return "".join(t for _, t in tokens)
        lines = _lines(self._mark(tokens, left, right))
        first, last = lines[0], lines[-1]
        for line in lines:
            line.close_up(first=line is first, last=line is last, opens=left is None)
        kept = _without_emptied(lines)
        if right is None and len(kept) > 1 and last.emptied and last.held_item:
            self._pull_up_bracket(kept)
        if left is None and right is not None and len(kept) == 2 and first.emptied:
            return ""  # `f(mode=1,` above the first item that stays: it moves up to the bracket
        return "".join(line.text for line in kept)

    def _mark(self, tokens: list[Token], left: int | None, right: int | None) -> list[Token]:
        """The tokens with `gone` in place of items and of commas that separate nothing any more."""
        commas = [i for i, (kind, _) in enumerate(tokens) if kind == "comma"]
        stays = None
        if left is not None and commas and (right is not None or self._trailing):
            newline = next((i for i, (kind, _) in enumerate(tokens) if kind == "newline"), len(tokens))
            stays = commas[0] if commas[0] < newline else commas[-1]
        idle = {i for i in commas if i != stays}
        return [("gone", t) if k == "item" or i in idle else (k, t) for i, (k, t) in enumerate(tokens)]

    def _pull_up_bracket(self, lines: list[_Line]) -> None:
        """A bracket that followed an item which goes now follows what stays, unless that is a comment."""
        while len(lines) > 1 and not lines[-1].code and not lines[-2].comment:
            lines.pop()
            lines[-1].newline = ""

    # adding -----------------------------------------------------------------------------------------------------

    def _in_front(self, right: int, joint: str, new: Sequence[str]) -> str:
        start = self.spans[right][0]
        between = ", "
        if self._starts_line(start) and self._one_per_line and joint.strip(" \t\f"):
            between = "," + self.source.newline + self._indent(start)
        return "".join(t + between for t in new)

    def _at_end(self, left: int, joint: str, new: Sequence[str]) -> str:
        """The joint before the closing bracket with new items: each on a line of its own where the others are."""
        start, end = self.spans[left]
        broken = "\n" in (rest := self.source.text[end : self.close]) or "\r" in rest
        if not (self._starts_line(start) and self._one_per_line and (broken or len(self.spans) > 1)):
            return "".join(f", {t}" for t in new) + joint
        return self._below(joint if self._trailing else "," + joint, self._indent(start), new)

    def _below(self, joint: str, indent: str, new: Sequence[str]) -> str:
        """New items on lines of their own, behind everything that the joint holds."""
        body = joint.rstrip(_SPACE)
        between = self.source.newline + indent
        added = between + ("," + between).join(new) + ("," if self._trailing else "")
        return body + added + (joint[len(body) :] if self._starts_line(self.close) else "")

    def _all_new(self, new: Sequence[str]) -> str:
        """The text between the brackets when no item stays."""
        joint = self._without(None, None)
        if "#" in joint:
            return self._below(joint, self._indent_of_comments(), new) if new else joint
        if not new or not self.spans:
            return ", ".join(new)
        start, end = self.spans[0][0], self.spans[-1][1]
        alone = self._starts_line(start) and self._one_per_line
        between = "," + self.source.newline + self._indent(start) if alone else ", "
        return self.source.text[self.open : start] + between.join(new) + self.source.text[end : self.close]

    def _indent_of_comments(self) -> str:
        """Indentation for items in a list that holds comments alone."""
        text = self.source.text
        places = [s for s, _ in self.spans]
        places += [self.open + m.start() for m in re.finditer("#", text[self.open : self.close])]
        alone = next((p for p in places if self._starts_line(p)), None)
        return self._indent(alone) if alone is not None else self._indent(self.open) + self.source.indent


@dataclass
class _Line:
    """The part of a joint that lies on one line."""

    tokens: list[Token]
    newline: str
    held_item: bool = False
    touched: bool = False

    @property
    def code(self) -> str:
        return "".join(t for _, t in self.tokens).strip(" \t\f")

    @property
    def comment(self) -> bool:
        return any(kind == "comment" for kind, _ in self.tokens)

    @property
    def emptied(self) -> bool:
        return self.touched and not self.code

    @property
    def blank(self) -> bool:
        return not self.touched and not self.code

    @property
    def text(self) -> str:
        return "".join(t for _, t in self.tokens) + self.newline

    def close_up(self, first: bool, last: bool, opens: bool) -> None:
        """Leave out what is gone, and of the space on its two sides one."""
        self.touched = any(kind == "gone" for kind, _ in self.tokens)
        self.held_item = any(kind == "gone" and text != "," for kind, text in self.tokens)
        if not self.touched:
            return
        found: list[Token] = []
        at = 0
        while at < len(self.tokens):
            end = at
            while end < len(self.tokens) and self.tokens[end][0] in ("gone", "space"):
                end += 1
            run = self.tokens[at:end]
            if not any(kind == "gone" for kind, _ in run):
                end = max(end, at + 1)
                found += self.tokens[at:end]
            elif end < len(self.tokens) or last:
                comment = end < len(self.tokens) and self.tokens[end][0] == "comment"
                side = run[0] if at == 0 and (not first or (opens and not comment)) else run[-1]
                found += [side] if side[0] == "space" else []
            at = end
        self.tokens = found


def _without_emptied(lines: Sequence[_Line]) -> list[_Line]:
    """The first and last line, and those between that hold something; blank lines around others do not pile up."""
    found, gap = [lines[0]], False
    for line in lines[1:-1]:
        if line.emptied:
            gap = True
        elif not (gap and line.blank and found[-1].blank):
            found.append(line)
            gap = False
    return [*found, *lines[1:][-1:]]


def _lines(tokens: Sequence[Token]) -> list[_Line]:
    found = [_Line([], "")]
    for kind, text in tokens:
        if kind == "newline":
            found[-1].newline = text
            found.append(_Line([], ""))
        else:
            found[-1].tokens.append((kind, text))
    return found


def _split(text: str) -> list[Token]:
    return list(_matches(text))


def _matches(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        assert match.lastgroup
        yield match.lastgroup, match.group()
