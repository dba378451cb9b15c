"""Edits to the arguments of a call: drop, set, rename, add. Layout, trailing commas and comments are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from transforms.engine.changes import Layout
from transforms.engine.model import Edit

_GAP = re.compile(r"(?:[\s\\]|#[^\r\n]*)*")
_BLANK = re.compile(r"[ \t]*")


def find_argument(call: cst.Call, name: str, position: int | None = None) -> cst.Arg | None:
    """The argument given for a parameter: by keyword, or at `position` when nothing is unpacked before it."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return arg
    if position is None:
        return None
    for i, arg in enumerate(call.args):
        if arg.star or arg.keyword is not None:
            return None
        if i == position:
            return arg
    return None


def unpacks(call: cst.Call) -> bool:
    """Whether the call passes `*args` or `**kwargs`, so that an argument may be given unseen."""
    return any(arg.star for arg in call.args)


@dataclass
class Arguments:
    """A change to the arguments of one call. Build it step by step, then hand it to a fix."""

    call: cst.Call
    _dropped: list[cst.Arg] = field(default_factory=list)
    _values: list[tuple[cst.Arg, str]] = field(default_factory=list)
    _renamed: list[tuple[cst.Arg, str]] = field(default_factory=list)
    _named: list[tuple[cst.Arg, str]] = field(default_factory=list)
    _first: list[str] = field(default_factory=list)
    _last: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether anything is to be changed."""
        return any((self._dropped, self._values, self._renamed, self._named, self._first, self._last))

    def drop(self, arg: cst.Arg) -> Arguments:
        """Take an argument out."""
        self._dropped.append(arg)
        return self

    def value(self, arg: cst.Arg, text: str) -> Arguments:
        """Give an argument another value."""
        self._values.append((arg, text))
        return self

    def rename(self, arg: cst.Arg, keyword: str) -> Arguments:
        """Give a keyword argument another keyword."""
        self._renamed.append((arg, keyword))
        return self

    def to_keyword(self, arg: cst.Arg, keyword: str) -> Arguments:
        """Pass a positional argument by keyword. Positional ones after it must be moved or dropped too."""
        self._named.append((arg, keyword))
        return self

    def prepend(self, text: str) -> Arguments:
        """Add a first (positional) argument."""
        self._first.append(text)
        return self

    def append(self, text: str) -> Arguments:
        """Add a last argument."""
        self._last.append(text)
        return self

    def set(self, keyword: str, text: str, position: int | None = None) -> Arguments:
        """Give a parameter a value, where its argument stands, or by keyword at the end."""
        arg = find_argument(self.call, keyword, position)
        return self.append(f"{keyword}={text}") if arg is None else self.value(arg, text)

    def wants(self) -> Iterator[cst.CSTNode]:
        """The call, its function and all arguments."""
        yield self.call
        yield self.call.func
        yield from self.call.args
        for arg in self.call.args:
            yield arg.value
            if arg.keyword is not None:
                yield arg.keyword

    def edits(self, layout: Layout) -> list[Edit]:
        """Edits that touch nothing but the named arguments."""
        found: list[Edit] = []
        for arg, text in self._values:
            start, end = layout.spans.of(arg.value)
            if layout.text[start:end] != text:
                found.append(Edit(start, end, text))
        for arg, keyword in self._renamed:
            assert arg.keyword is not None
            start, end = layout.spans.of(arg.keyword)
            found.append(Edit(start, end, keyword))
        for arg, keyword in self._named:
            start = layout.spans.of(arg)[0]
            found.append(Edit(start, start, f"{keyword}="))
        return found + _Placement(self, layout).edits()

    @property
    def dropped(self) -> list[cst.Arg]:
        """Arguments that are taken out."""
        return self._dropped

    @property
    def added(self) -> tuple[list[str], list[str]]:
        """New arguments: first ones and last ones."""
        return self._first, self._last


class _Placement:
    """Where removed and added arguments begin and end in the text of a call."""

    def __init__(self, change: Arguments, layout: Layout) -> None:
        call = change.call
        self.text = layout.text
        self.newline = layout.source.newline
        self.line_bounds = layout.source.line_bounds
        self.spans = [layout.spans.of(a) for a in call.args]
        self.close = layout.spans.of(call)[1] - 1
        self.open = self._open(layout.spans.of(call.func)[1], len(call.func.rpar))  # type: ignore[attr-defined]
        gone = {id(a) for a in change.dropped}
        self.kept = [i for i, a in enumerate(call.args) if id(a) not in gone]
        self.gone = [i for i, a in enumerate(call.args) if id(a) in gone]
        self.first, self.last = change.added
        self.generator = (
            len(call.args) == 1
            and isinstance(call.args[0].value, cst.GeneratorExp)
            and not call.args[0].value.lpar
            and not call.args[0].keyword
        )

    def _open(self, at: int, closers: int) -> int:
        while True:
            match = _GAP.match(self.text, at)
            assert match
            at = match.end()
            if closers and self.text[at] == ")":
                closers -= 1
                at += 1
                continue
            return at

    def edits(self) -> list[Edit]:
        if not self.kept:
            return self._all_new()
        found: list[Edit] = []
        if self.generator and (self.first or self.last):
            start, end = self.spans[0]
            found += [Edit(start, start, "("), Edit(end, end, ")")]
        if self.first:
            start = self.spans[self.kept[0]][0]
            between = ", "
            if self._starts_line(start):
                between = "," + self.newline + self._indent(start)
            found.append(Edit(start, start, "".join(t + between for t in self.first)))
        tail = [i for i in self.gone if i > self.kept[-1]]
        for run in _runs([i for i in self.gone if i < self.kept[-1]]):
            found += self._drop(run)
        return found + self._end(tail)

    def _all_new(self) -> list[Edit]:
        new = ", ".join([*self.first, *self.last])
        if not self.spans:
            if not new:
                return []
            at = self.open + 1
            return [Edit(at, at, new)]
        if any("#" in self.text[a:b] for a, b in self._gaps()):
            found = [e for i in self.gone for e in self._alone(i)]
            return (
                [Edit(self.spans[0][0], self.spans[0][0], new + ("," if len(found) > 1 else ""))] if new else []
            ) + found
        end = self.spans[-1][1]
        if not new:
            end = self._comma(end) or end
            blank = _BLANK.match(self.text, end)
            assert blank
            end = blank.end() if blank.end() == self.close else end
        return [Edit(self.spans[0][0], end, new)]

    def _gaps(self) -> list[tuple[int, int]]:
        ends = [e for _, e in self.spans]
        starts = [s for s, _ in self.spans[1:]]
        return list(zip(ends, [*starts, self.close]))

    def _drop(self, run: list[int]) -> list[Edit]:
        """Take out neighbours that have a kept argument behind them."""
        first, last = run[0], run[-1]
        start, following = self.spans[first][0], self.spans[last + 1][0]
        between = self.text[self.spans[first][0] : following]
        outside = "".join(self.text[a:b] for a, b in self._gaps()[first : last + 1])
        if "#" in outside or any(self._starts_line(self.spans[i][0]) for i in run):
            return [e for i in run for e in self._alone(i)]
        if "\n" not in outside and "\r" not in outside:
            return [Edit(start, following, "")]
        if first:
            after_comma = self._comma(self.spans[first - 1][1])
            end = self._comma(self.spans[last][1])
            if after_comma and end:
                return [Edit(after_comma, end, "")]
        del between
        return [Edit(start, following, "")]

    def _alone(self, i: int) -> list[Edit]:
        """Take out one argument with its comma; a comment behind it stays, on a line of its own."""
        start, end = self.spans[i]
        end = self._comma(end) or end
        blank = _BLANK.match(self.text, end)
        assert blank
        end = blank.end()
        rest = self.text[end : end + 1]
        if self._starts_line(start) and rest in ("\n", "\r"):
            line_start = self.line_bounds(start)[0]
            end += 2 if self.text.startswith("\r\n", end) else 1
            return [Edit(line_start, end, "")]
        return [Edit(start, end, "")]

    def _end(self, tail: list[int]) -> list[Edit]:
        """Drop what stands behind the last kept argument, and add the new last ones."""
        last = self.kept[-1]
        start, end = self.spans[last]
        comma = self._comma(end)
        final = self.spans[-1][1]
        trailing = self._comma(final) is not None
        if self._starts_line(start) and "\n" in self.text[end : self.close].replace("\r", "\n"):
            found = [e for i in tail for e in self._alone(i)]
            if self.last:
                if comma is None:
                    found.append(Edit(end, end, ","))
                line_end = self.line_bounds(comma or end)[1]
                between = "," + self.newline + self._indent(start)
                added = between.join(self.last) + ("," if trailing or tail else "")
                found.append(Edit(line_end, line_end, self.newline + self._indent(start) + added))
            return found
        new = "".join(f", {t}" for t in self.last)
        if not tail:
            return [Edit(end, end, new)] if new else []
        if "#" in "".join(self.text[a:b] for a, b in self._gaps()[last:-1]):
            found = [e for i in tail for e in self._alone(i)]
            return ([Edit(end, end, new)] if new else []) + found
        return [Edit(end, final, new)]

    def _comma(self, at: int) -> int | None:
        """Offset behind the comma that follows `at`, None when there is none."""
        match = _GAP.match(self.text, at)
        assert match
        return match.end() + 1 if self.text[match.end() : match.end() + 1] == "," else None

    def _starts_line(self, at: int) -> bool:
        return not self.text[self.line_bounds(at)[0] : at].strip()

    def _indent(self, at: int) -> str:
        return self.text[self.line_bounds(at)[0] : at]


def _runs(indices: list[int]) -> Iterator[list[int]]:
    run: list[int] = []
    for i in indices:
        if run and i != run[-1] + 1:
            yield run
            run = []
        run.append(i)
    if run:
        yield run
