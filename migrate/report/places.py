"""Where things stand: lines and columns of offsets, and the edits of a fix in the text as it was read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from migrate.ledger import FixState, Item
from migrate.result import FileState, Result
from transforms.engine.model import Edit, Evidence
from transforms.engine.source import Source, Unreadable
from transforms.engine.words import is_specific

Span = tuple[int, int, int, int]
"""Line, column, last line and column behind the end, all from 1, columns in characters."""


class Places:
    """Answers questions about places for all files of a result."""

    def __init__(self, result: Result) -> None:
        self._root = result.root
        self._sources: dict[str, Source | None] = {f.path: f.source for f in result.files}
        self._first_round = {id(i): x for f in result.files for x in f.fixes for i in x.items}

    def source(self, path: str) -> Source | None:
        """The text of a file, read from the root when the run was not asked for it; None when it can't be read."""
        if path not in self._sources:
            try:
                self._sources[path] = Source.read((self._root / path).read_bytes())
            except (OSError, Unreadable):
                self._sources[path] = None
        return self._sources[path]

    def span(self, path: str, start: int, end: int) -> Span:
        """Place of a range of a file; the first character where the text is not known."""
        source = self.source(path)
        if source is None:
            return 1, 1, 1, 1
        return (*source.position(min(start, len(source.text))), *source.position(min(end, len(source.text))))

    def of(self, item: Item) -> Span:
        """Place of a finding."""
        return self.span(item.path, item.start, item.end)

    def evidence(self, item: Item, step: Evidence) -> tuple[str, Span]:
        """File and place of a step of the reasoning."""
        path = step.path or item.path
        return path, self.span(path, step.start, step.start)

    def fix(self, item: Item) -> FixState | None:
        """The fix of a finding, as it was found in the text as read; a fix of a later round has no earlier form."""
        return None if item.fix is None else self._first_round.get(id(item), item.fix)

    def is_first_round(self, state: FixState) -> bool:
        """Whether the offsets of a fix are those of the text as it was read."""
        return any(self._first_round.get(id(i)) is state for i in state.items)

    def edits(self, state: FixState) -> list[Edit]:
        """What a fix does by itself to the text as read; nothing for a fix that only a later round could find."""
        source = self.source(state.path)
        if source is None or not self.is_first_round(state):
            return []
        return plain(source.text, state.fix.edits)


def plain(text: str, edits: Sequence[Edit]) -> list[Edit]:
    """The same change without removed blocks and moves: edits in order that do not overlap."""
    from transforms.engine.compose import apply, keep_blocks

    kept = keep_blocks(list(dict.fromkeys(edits)))
    if all(e.moved is None for e in kept):
        return sorted((Edit(e.start, e.end, e.text) for e in kept), key=lambda e: (e.start, e.end))
    return [_difference(text, apply(text, kept))]


def _difference(old: str, new: str) -> Edit:
    """The smallest single replacement that turns one text into the other."""
    shortest = min(len(old), len(new))
    start = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    most = shortest - start
    same = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    return Edit(start, len(old) - same, new[start : len(new) - same])


def first_hit(file: FileState) -> int:
    """Line of the first CUDA- or XLA-specific word of a file that no rule reads."""
    for match in re.finditer(rb"[A-Za-z_0-9]+", file.data):
        if is_specific(match.group().decode("ascii", "replace")):
            return file.data.count(b"\n", 0, match.start()) + 1
    return 1


def line_count(source: Source) -> int:
    """Number of lines; an empty rest behind the last newline is none."""
    line, column = source.position(len(source.text))
    return line - 1 if column == 1 and line > 1 else line


def below_checkout(root: Path) -> str:
    """What to put before a path of the report to make it relative to the git checkout, as CI systems want it."""
    from migrate.journal_git import git_top

    real = Path(os.path.realpath(root))
    top = git_top(real)
    return "" if top is None or top == real else real.relative_to(top).as_posix() + "/"


def shown(items: Iterable[Item]) -> list[Item]:
    """Findings that a person wants to read: one per site and fix. What only shares the owner's fix is left out."""
    every = list(items)
    told = {id(i.fix) for i in every if i.owner and i.fix is not None}
    return [i for i in every if i.owner or i.fix is None or id(i.fix) not in told]
