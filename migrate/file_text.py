"""The text of one file as it changes from round to round, and the way back to the text as it was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from migrate.ledger import OPEN, FixState, Item
from migrate.result import FileState
from transforms.engine.compose import Shift, apply, keep_blocks
from transforms.engine.model import Edit, ImportTable, Safety
from transforms.engine.source import Source, Unreadable


class FileText:
    """The text of one file as it changes from round to round."""

    def __init__(self, file: FileState, compiles: Callable[[str], bool]) -> None:
        assert file.source is not None
        self.file = file
        self.compiles = compiles
        self.source = file.source
        self.analysis = file.analysis
        self.broken = False
        self.rounds = 0
        self.shifts: list[Shift] = []
        self.after: list[str] = []  # ids of the findings that made the current text, for those of later rounds
        self._read = file.source.text

    @property
    def imports(self) -> ImportTable:
        """Imports of the current text."""
        return self.analysis.imports

    def edits(self, chosen: list[FixState]) -> tuple[list[Edit], list[Edit]]:
        """Edits of some fixes, and those that the imports need for them."""
        from transforms.engine.imports import resolve

        edits = keep_blocks(list(dict.fromkeys(e for x in chosen for e in x.edits)))
        imports = resolve(self.imports, [x.fix for x in chosen], self.source.text, self.source.newline)
        return edits, imports

    def would_hold(self, chosen: list[FixState]) -> bool:
        """Whether the text still compiles with just these fixes."""
        edits, imports = self.edits(chosen)
        return self._sound(edits + imports) is not None

    def take(self, edits: list[Edit], imports: list[Edit]) -> bool:
        """Make the edits, unless they break the file."""
        new = self._sound(edits + imports)
        if new is None:
            return False
        if not self.rounds:
            self.file.import_edits = imports
        self.shifts.append(Shift.of(edits + imports))
        self.rounds += 1
        self.source = new
        self.file.new_source = new
        self.file.status = "changed" if self.file.changed else "unchanged"
        return True

    def _sound(self, edits: list[Edit]) -> Source | None:
        """The text with some edits; None where that can't be, or no longer compiles although the text as read did."""
        try:
            text = apply(self.source.text, edits)
            source = Source.read(self.source.encode(text))
        except (UnicodeEncodeError, Unreadable, AssertionError):
            return None
        if not self.compiles(text) and self.compiles(self._read):
            return None
        return source

    def back(self, offset: int, end: bool = False) -> int:
        """An offset of the current text, or the end of a range, in the text as it was read."""
        for shift in reversed(self.shifts):
            offset = shift.back_end(offset) if end else shift.back(offset)
        return offset

    def merge(self, items: list[Item], offers: bool = False) -> None:
        """Bring the findings of a later round into the ledger; those that were there already are the same finding.

        New offers come in where they are to be applied; on a site that has an owner already they are related to it.
        """
        waiting = [i for i in self.file.items if i.fix is None or not i.fix.applied]
        known: dict[str, list[Item]] = {}
        places: dict[tuple[str, int, int], list[Item]] = {}
        for item in waiting:
            known.setdefault(item.id, []).append(item)
            places.setdefault((item.rule, item.start, item.end), []).append(item)
        met: set[int] = set()
        self.after = [i.id for i in self.file.items if i.fix is not None and i.fix.applied][-5:]
        for item in items:
            start, end = item.start, item.end
            item.start, item.end = self.back(start), self.back(end, end=True)
            item.statement = (self.back(item.statement[0]), self.back(item.statement[1], end=True))
            item.evidence = tuple(replace(e, start=self.back(e.start)) if not e.path else e for e in item.evidence)
            # By its id, or by its place: an id changes with the statement, which other fixes may have edited.
            same = [*known.get(item.id, ()), *places.get((item.rule, item.start, item.end), ())]
            old = next((i for i in same if id(i) not in met), None)
            if old is not None:
                met.add(id(old))
                self._replace(old, item)
            elif item.status == OPEN and item.safety is not Safety.NOTE and (offers or item.safety is not Safety.OFFER):
                item.after = self.after
                self._own(item)
                self.file.items.append(item)
        self.file.items.sort(key=lambda i: (i.start, not i.owner, i.rule))

    def _own(self, item: Item) -> None:
        """A site has one owner: what a later round finds there takes over, unless it is an offer."""
        here = [i for i in self.file.items if i.owner and (i.start, i.end) == (item.start, item.end)]
        if here and item.safety is Safety.OFFER:
            item.owner = False
        elif item.owner:
            for old in here:
                old.owner = False
                old.related.append(item.id)
                item.related.append(old.id)

    def _replace(self, old: Item, new: Item) -> None:
        """The old entry goes on, with the fix as it is in the new text."""
        if old.fix is not None and new.fix is not None:
            new.fix.items = [old if i is new else i for i in new.fix.items]
            new.fix.edits = new.fix.fix.edits
            old.fix = new.fix
