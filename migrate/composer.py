"""Rounds of changes: fixes go in whole groups, each new text is checked, and looked at again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from migrate.decisions import carry
from migrate.file_text import FileText
from migrate.intake import Intake
from migrate.ledger import OPEN, FixState, group_fixes
from migrate.looks import Looks, Text
from migrate.result import FileState, Result
from transforms.engine.model import ERROR, Safety

MOST_ROUNDS = 6
LEVELS = {"safe": Safety.SAFE, "review": Safety.REVIEW, "offer": Safety.OFFER}


class Composer:
    """Applies groups of fixes, round by round, until nothing is deferred and nothing new comes up.

    Without `settle`, a text is looked at again only where a fix had to wait: enough for a report, at half the cost.
    """

    def __init__(
        self,
        result: Result,
        looks: Looks,
        accepted: Callable[[FixState], bool] | None = None,
        settle: bool = True,
    ) -> None:
        self.result = result
        self.looks = looks
        self.intake = Intake(result.settings)
        self.accepted = accepted
        self.settle = settle
        self.waiting: set[str] = set()

    def run(self, files: list[FileState]) -> None:
        """Work out the new text of every file."""
        editable = [f for f in files if f.source is not None and (not f.test or self.result.settings.tests)]
        states = {f.path: FileText(f, self.looks.compiles) for f in editable if f.fixes}
        fixes = [x for f in editable for x in f.fixes]
        for _ in range(MOST_ROUNDS):
            taken = self._choose(fixes, states)
            if not taken:
                return
            for path, chosen in _by_path(taken).items():
                self._write(states[path], chosen)
            touched = {x.path for x in taken}
            fixes = self._next(states, touched if self.settle else touched & self.waiting)
        rules = sorted({i.rule for x in fixes for i in x.items})
        for path in {x.path for x in fixes}:
            file = states[path].file
            file.status, file.reason, file.new_source = "failed", f"fixes of {' and '.join(rules)} never settle", None
            self.result.errors.append(f"{path}: internal error: {file.reason}; the file stays as it was")

    def _level(self, path: str) -> Safety:
        return LEVELS[self.result.settings.for_path(path).level]

    def _choose(self, fixes: list[FixState], states: dict[str, FileText]) -> list[FixState]:
        """Fixes that go in this round: whole groups, within the level, without overlaps."""
        from transforms.engine.compose import Taken

        taken: dict[str, Taken] = defaultdict(Taken)
        chosen: list[FixState] = []
        self.waiting = set()
        groups = list({id(x.group): x.group for x in fixes if x.group is not None}.values())
        for group in sorted(groups, key=lambda g: g.level.rank):
            if group.blocked or not all(self._wanted(x, states, group.level) for x in group.fixes):
                continue
            if any(taken[x.path].clash(x.edits) for x in group.fixes):
                self.waiting |= {x.path for x in group.fixes}
                continue
            for state in group.fixes:
                taken[state.path].add(state.edits)
                chosen.append(state)
        return chosen

    def _wanted(self, state: FixState, states: dict[str, FileText], level: Safety) -> bool:
        return (
            not state.applied
            and state.path in states
            and not states[state.path].broken
            and (level.rank <= self._level(state.path).rank if self.accepted is None else self.accepted(state))
            and any(i.status == OPEN for i in state.items)
        )

    def _write(self, text: FileText, chosen: list[FixState]) -> None:
        """Apply fixes to a file's current text; roll back those that break it."""
        while chosen:
            edits, imports = text.edits(chosen)
            if text.take(edits, imports):
                for state in chosen:
                    state.applied = True
                    for item in state.items:
                        item.after = item.after or text.after
                return
            guilty = [x for x in chosen if not text.would_hold([x])] or chosen
            for state in guilty:
                chosen = [x for x in chosen if x is not state]
                for item in state.items:
                    item.safety, item.severity, item.fix = Safety.MANUAL, ERROR, None
                    item.reason = "rolled back: the text after the change does not compile"
                    self.result.errors.append(f"{state.path}: internal error: a fix of {item.rule} was rolled back")
                if state.group is not None:
                    state.group.blocked = "rolled back"

    def _next(self, states: dict[str, FileText], touched: set[str]) -> list[FixState]:
        """Look at the changed files again: what was deferred, and what the changes brought up."""
        found: list[FixState] = []
        paths = sorted(touched)
        for path, look in zip(paths, self.looks.at([Text(p, states[p].source.data) for p in paths])):
            text = states[path]
            if look.refused is not None:
                text.file.status, text.file.reason = "failed", f"after the change: {look.refused.reason}"
                text.file.new_source = None
                text.broken = True
                self.result.errors.append(f"{path}: internal error: {text.file.reason}; the file stays as it was")
                continue
            items, fixes = self.intake.take(path, text.source, look, self.intake.suppressions(text.source))
            text.analysis = look.analysis
            carry([i for i in text.file.items if i.fix is None or not i.fix.applied], items)
            group_fixes(fixes, items)
            text.merge(items, offers=self._level(path) is Safety.OFFER)
            found += fixes
        return found


def _by_path(fixes: list[FixState]) -> dict[str, list[FixState]]:
    found: dict[str, list[FixState]] = {}
    for state in fixes:
        found.setdefault(state.path, []).append(state)
    return found
