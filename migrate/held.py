"""What the lock file holds back in a run, and which of its entries hold nothing any more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from migrate.decisions import LASTING, Decision, Matching, apply, match
from migrate.identity import digest
from migrate.lockfile import NAME, Lockfile

if TYPE_CHECKING:
    from migrate.result import FileState, Result


def hold(result: Result, lock: Lockfile, whole: bool) -> None:
    """Close the findings that the lock file decides, before fixes are grouped, and add a note for each stale entry.

    `whole` says that the run looked at the whole root; otherwise no entry is called stale.
    """
    if not lock.decisions:
        return
    reach = Reach(result)
    matching = reach.match(lock.decisions)
    apply(matching.pairs)
    file = stale_notes(reach, lock, matching, whole)
    if file is not None:
        result.files.append(file)
        result.files.sort(key=lambda f: f.path)


class Reach:
    """Which decisions a run can judge: those whose file was read, or is gone."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self._read = {f.path for f in result.files if f.status in ("unchanged", "changed")}

    def match(self, decisions: Iterable[Decision]) -> Matching:
        """The findings of the run that these decisions are about."""
        return match(decisions, self.result.items(), self.movable)

    def movable(self, decision: Decision) -> bool:
        """Whether the site may be in another file by now."""
        path = decision.site.path
        return path in self._read or not os.path.lexists(self.result.root / path)

    def stale(self, decision: Decision) -> bool:
        """Whether a decision that matched nothing should have matched something."""
        from transforms.registry import by_code

        rule = by_code().get(decision.site.rule)
        settings = self.result.settings.for_path(decision.site.path)
        return (rule is None or settings.enables(rule.code, rule.name)) and self.movable(decision)


def stale_notes(reach: Reach, lock: Lockfile, matching: Matching, whole: bool) -> FileState | None:
    """The lock file with a note for each entry that matches nothing any more, or now holds a site of another file."""
    from migrate.result import FileState
    from migrate.unreadable import tool_item
    from transforms.engine.model import Safety
    from transforms.engine.source import Source
    from transforms.registry import STALE_DECISION

    notes = [(d, f"now holds a site of {i.path}") for i, d in matching.pairs if i.path != d.site.path]
    if whole:
        notes += [(d, "matches nothing any more") for d in matching.left if reach.stale(d)]
    settings = reach.result.settings.for_path(NAME)
    if not notes or not settings.enables(STALE_DECISION.code, STALE_DECISION.name):
        return None
    source = Source(lock.data or b"", lock.text, "utf-8", b"")
    file = FileState(NAME, "json", False, data=source.data, source=source)
    for decision, what in sorted((n for n in notes if n[0].origin), key=lambda n: n[0].origin):
        start, end = source.line_bounds(source.line_start(decision.origin))
        site = decision.site
        message = f"the entry {decision.verdict} {site.rule} in {site.path} ({site.text}) {what}"
        item = tool_item(file, STALE_DECISION.code, message, start, end, None)
        item.id, item.safety = stale_id(decision), Safety.NOTE
        file.items.append(item)
    return file


def with_waiting(root: Path, lock: Lockfile) -> tuple[Lockfile, int]:
    """The lock file as it will be once the decisions of an unfinished review are written, and how many of them last.

    Raises JournalError when they can't be read.
    """
    from migrate.journal import FOLDER
    from migrate.review.log import NAME as LOG
    from migrate.review.log import DecisionLog, decisions

    if not (root / FOLDER / LOG).exists():
        return lock, 0
    waiting = {d.site.id: replace(d, origin=0) for d in decisions(DecisionLog(root).live())}
    kept = [d for d in lock.decisions if d.site.id not in waiting]
    lasting = [d for d in waiting.values() if d.verdict in LASTING]
    return replace(lock, decisions=(*kept, *lasting)), len(lasting)


def stale_id(decision: Decision) -> str:
    """The id of the note about an entry of the lock file."""
    from transforms.registry import STALE_DECISION

    return digest(STALE_DECISION.code, decision.site.id)
