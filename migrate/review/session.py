"""The state of a review: the units, what is decided about each, and what of it waits to be written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from migrate import lockfile
from migrate.decisions import ACCEPT, Decision, Site
from migrate.held import Reach, stale_notes
from migrate.ledger import Item
from migrate.result import FileState, Result
from migrate.review.changes import drafts_edits, fingerprint
from migrate.review.log import AGAIN, Choice, DecisionLog, Draft, decisions
from migrate.review.units import Unit, units
from transforms.engine.model import Safety


class Session:
    """A result under review. All findings are open in it; decisions come from the lock file and the log."""

    def __init__(self, result: Result, log: DecisionLog, lock: lockfile.Lockfile, level: Safety, whole: bool) -> None:
        self.result = result
        self.log = log
        self.lock = lock
        self.level = level
        self.whole = whole
        self.refresh()

    @property
    def root(self) -> Path:
        """The root of the repository."""
        return self.result.root

    def refresh(self) -> None:
        """Match the decisions with the findings again, after findings or decisions changed as a whole."""
        result = self.result
        result.files = [f for f in result.files if f.path != lockfile.NAME]
        self.reach = Reach(result)
        self.of_lock = self.reach.match(self.lock.decisions)
        notes = stale_notes(self.reach, self.lock, self.of_lock, self.whole)
        if notes is not None:
            result.files.append(notes)
        self.files: dict[str, FileState] = {f.path: f for f in result.files}
        self.units = units(result, self.level)
        self.rematch()

    def rematch(self) -> None:
        """Find out what is decided about each unit."""
        self._before: dict[int, list[tuple[Unit, Choice | None, str, bool]]] = {}
        choices = self.log.live()
        self.of_log = self.reach.match(decisions(choices))
        self.stale = [d for d in self.of_log.left if self.reach.stale(d)]
        locked = {id(item): d for item, d in self.of_lock.pairs}
        self._logged = {id(item): choices[d.origin] for item, d in self.of_log.pairs}
        self.choices: dict[Unit, Choice] = {}
        self.notes: dict[Unit, str] = {}
        self.waiting: set[Unit] = set()
        self._waiting_elsewhere = {d.origin for d in self.of_log.left if not self.reach.stale(d)}
        for unit in self.units:
            self._decided(unit, locked)

    def _decided(self, unit: Unit, locked: dict[int, Decision]) -> None:
        found: list[Choice | None] = []
        for item in unit.items:
            entry = locked.get(id(item))
            old = Choice((entry.site,), entry.verdict, entry.reason) if entry is not None else None
            found.append(self._logged.get(id(item), old))
        first = found[0]
        verdicts = {c.verdict if c is not None else AGAIN for c in found}
        if verdicts == {AGAIN}:
            if first is not None:
                self.waiting.add(unit)
        elif len(verdicts) > 1 or first is None:
            said = next(c.verdict for c in found if c is not None and c.verdict != AGAIN)
            self.notes[unit] = f"a part of it is {said}, but its changes go together: decide again"
        else:
            problem = self._problem(unit, first)
            if problem:
                self.notes[unit] = problem
            else:
                self.choices[unit] = first
            if first.number:
                self.waiting.add(unit)

    def _problem(self, unit: Unit, choice: Choice) -> str:
        """Why an accepted change can't be taken as accepted any more."""
        if choice.verdict != ACCEPT:
            return ""
        if choice.drafts and drafts_edits(choice.drafts, unit, self.files) is None:
            return "the lines that your own text replaces have changed: decide again (e shows your text)"
        if not choice.drafts and not unit.fixes:
            return "what you accepted can't be applied any more: decide again"
        if choice.shows != fingerprint(unit, self.files):
            return "the change is another one than the one that you accepted: decide again"
        return ""

    # questions --------------------------------------------------------------------------------------------------

    def undecided(self, unit: Unit) -> bool:
        """Whether nobody decided about it yet."""
        return unit not in self.choices

    @property
    def left(self) -> int:
        """How many units are undecided."""
        return len(self.units) - len(self.choices)

    @property
    def waiting_count(self) -> int:
        """How many decisions wait to be written, those about files that are not shown included."""
        return len(self.waiting) + len(self._waiting_elsewhere)

    def earlier_drafts(self, unit: Unit) -> tuple[Draft, ...]:
        """Text by hand of a decision that does not fit any more."""
        return next((c.drafts for i in unit.items if (c := self._logged.get(id(i))) is not None), ())

    def drop_stale(self) -> int:
        """Forget the decisions that fit nothing any more; gives how many."""
        gone = {d.site.id for d in self.stale}
        self.log.settle(gone)
        self.rematch()
        return len(gone)

    # decisions --------------------------------------------------------------------------------------------------

    def decide(
        self, chosen: Sequence[Unit], verdict: str, reason: str | None = None, drafts: tuple[Draft, ...] = ()
    ) -> None:
        """Save one decision about some units, then count it. Raises JournalError when it can't be saved."""
        number = self.log.next_number
        made = [
            Choice(self.sites(u.items), verdict, reason, fingerprint(u, self.files), drafts, number) for u in chosen
        ]
        self.log.decide(made)
        self._before[number] = [(u, self.choices.get(u), self.notes.get(u, ""), u in self.waiting) for u in chosen]
        for unit, choice in zip(chosen, made, strict=True):
            self._set(unit, None if verdict == AGAIN else choice, "", True)

    def _set(self, unit: Unit, choice: Choice | None, note: str, waits: bool) -> None:
        self.choices.pop(unit, None)
        self.notes.pop(unit, None)
        self.waiting.discard(unit)
        if choice is not None:
            self.choices[unit] = choice
        if note:
            self.notes[unit] = note
        if waits:
            self.waiting.add(unit)

    def undo(self) -> tuple[Unit | None, Choice] | None:
        """Take the last decision back; gives the first unit that it was about (if it is shown), and what it was."""
        gone = self.log.undo()
        if not gone:
            return None
        before = self._before.pop(gone[0].number, None)
        if before is not None:
            for unit, choice, note, waits in before:
                self._set(unit, choice, note, waits)
            return before[0][0], gone[0]
        place = {id(i) for i, d in self.of_log.pairs if d.site in gone[0].sites}
        self.rematch()
        return next((u for u in self.units if any(id(i) in place for i in u.items)), None), gone[0]

    def sites(self, items: Iterable[Item]) -> tuple[Site, ...]:
        """The sites of some findings."""
        return tuple(Site.of(i, self.text(i.path)) for i in items)

    def text(self, path: str) -> str:
        """The text of a file as it was read."""
        source = self.files[path].source
        return source.text if source is not None else ""
