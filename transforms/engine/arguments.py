"""Edits to the arguments of a call: drop, set, rename, add. Layout, trailing commas and comments are kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import libcst as cst

from transforms.engine.changes import Layout
from transforms.engine.items import Items
from transforms.engine.model import Edit

_GAP = re.compile(r"(?:[\s\\]|#[^\r\n]*)*")


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

    @property
    def lost(self) -> list[cst.BaseExpression]:
        """The values that are no longer written."""
        return [a.value for a in self._dropped] + [a.value for a, text in self._values if ":=" not in text]

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
        spans = layout.spans
        dropped = {id(a) for a in self._dropped}
        found: list[Edit] = []
        opening: list[Edit] = []
        for arg, text in self._values:
            start, end = spans.of(arg.value)
            if id(arg) not in dropped and layout.text[start:end] != text:
                found.append(Edit(start, end, text))
        for arg, keyword in self._renamed:
            assert arg.keyword is not None
            if id(arg) not in dropped:
                found.append(Edit(*spans.of(arg.keyword), keyword))
        for arg, keyword in self._named:
            start, end = spans.of(arg)
            bare = self._is_generator(arg) or (isinstance(arg.value, cst.NamedExpr) and not arg.value.lpar)
            opening.append(Edit(start, start, f"{keyword}=(" if bare else f"{keyword}="))
            found += [Edit(end, end, ")")] if bare else []
        if (self._first or self._last) and (generator := self._generator(dropped)) is not None:
            start, end = spans.of(generator)
            opening.append(Edit(start, start, "("))
            found.append(Edit(end, end, ")"))
        gone = [i for i, a in enumerate(self.call.args) if id(a) in dropped]
        ranges = [spans.of(a) for a in self.call.args]
        items = Items(layout.source, self._open(layout), spans.of(self.call)[1] - 1, ranges)
        return _joined(found + items.edits(gone, self._first, self._last) + opening)

    def _is_generator(self, arg: cst.Arg) -> bool:
        """Whether an argument is a generator that borrows the parentheses of the call."""
        return isinstance(arg.value, cst.GeneratorExp) and not arg.value.lpar

    def _generator(self, dropped: Collection[int]) -> cst.Arg | None:
        """The only argument, when it is a generator that needs parentheses of its own beside another argument."""
        named = {id(a) for a, _ in self._named}
        bare = (a for a in self.call.args if self._is_generator(a) and id(a) not in named)
        return next((a for a in bare if id(a) not in dropped), None)

    def _open(self, layout: Layout) -> int:
        """Offset behind the opening parenthesis."""
        at = layout.spans.of(self.call.func)[1]
        closers = len(self.call.func.rpar)
        while True:
            match = _GAP.match(layout.text, at)
            assert match
            at = match.end() + 1
            if layout.text[match.end()] == "(":
                return at
            assert closers, "an opening parenthesis is expected"
            closers -= 1


def _joined(edits: list[Edit]) -> list[Edit]:
    """Edits in order, insertions at one place made one: what ends an argument, then new ones, then what begins one."""
    found: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if found and found[-1].start == found[-1].end == edit.start and edit.start == edit.end:
            found[-1] = Edit(edit.start, edit.end, found[-1].text + edit.text)
        else:
            found.append(edit)
    return found
