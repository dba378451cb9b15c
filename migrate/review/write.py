"""Writing what is decided: accepted changes into the files, lasting decisions into the lock file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from migrate import lockfile
from migrate.decisions import ACCEPT, DONE, LASTING, Decision
from migrate.held import stale_id
from migrate.journal import Journal, dirty_paths
from migrate.ledger import FixState, Group, Item
from migrate.pipeline import compose_accepted, run_pipeline
from migrate.review.changes import drafts_edits
from migrate.review.log import Draft, Written
from migrate.review.session import Session
from migrate.review.units import Unit
from migrate.version import VERSION
from transforms.engine.model import Fix, Safety


@dataclass
class Outcome:
    """What a write did. `failed` gives the reason by path; `not_made` are accepted changes that did not go together."""

    run: str = ""
    written: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    not_made: list[str] = field(default_factory=list)
    lock: bool = False
    errors: list[str] = field(default_factory=list)


def accepted(session: Session) -> list[Unit]:
    """Units whose change is to be written."""
    return [u for u in session.units if (c := session.choices.get(u)) is not None and c.verdict == ACCEPT]


def touched(session: Session, units: Iterable[Unit]) -> list[str]:
    """Files that these units change."""
    found = {path for u in units for path in (*u.paths, *(d.path for d in session.choices[u].drafts))}
    return sorted(found - {lockfile.NAME})


def changed_meanwhile(session: Session, paths: Iterable[str]) -> list[str]:
    """Files that somebody else changed since they were read."""
    found = []
    for path in paths:
        try:
            same = (session.root / path).read_bytes() == session.files[path].data
        except OSError:
            same = False
        if not same:
            found.append(path)
    return found


def uncommitted(session: Session, paths: Iterable[str]) -> list[str]:
    """Files with changes that neither git nor our own last run knows."""
    return dirty_paths(session.root, paths) or []


def write(session: Session, journal: Journal, tell: Callable[[str], None]) -> Outcome:
    """Write everything that is decided, then look at the changed files again. A failure costs its own file only.

    `tell` hears what is going on. Raises JournalError before anything is written.
    """
    outcome = Outcome()
    tell("working out the new texts")
    session.rematch()
    chosen = accepted(session)
    paths = touched(session, chosen)
    items = {id(i) for u in chosen for i in u.items}
    made = _compose(session, chosen, items)
    outcome.errors += session.result.errors
    session.result.errors = []
    changes = {p: c for p, c in session.result.changes.items() if p in set(paths)}
    ids = {p: tuple(i.id for i in made if i.path == p) for p in changes}
    if changes:
        tell(f"writing {len(changes)} files")
        session.log.begin_write({p: Written(_hash(old), _hash(new), ids[p]) for p, (old, new) in changes.items()})
        meta = {"command": "review", "version": VERSION, "numerics": _numerics(made)}
        record = journal.write_run(changes, {}, meta)
        outcome.run = record.id
        outcome.written = [f.path for f in record.written]
        outcome.failed = {f.path: f.reason or "not written" for f in record.failed}
    settled = {i for p in outcome.written for i in ids.get(p, ())}
    try:
        outcome.lock = lockfile.write(session.root, session.lock, _lasting(session))
        session.lock = lockfile.read(session.root)
        stale = {d.site.id for d in session.stale}
        settled |= {s.id for c in session.log.live() if c.verdict != ACCEPT for s in c.sites} - stale
    except lockfile.LockfileError as error:
        outcome.errors.append(str(error))
    if settled:
        session.log.settle(settled)
    in_text = {id(i) for i in made}
    outcome.not_made = [f"{u.path}: {u.first.rule}" for u in chosen if not all(id(i) in in_text for i in u.items)]
    look_again(session, paths, tell)
    return outcome


def _compose(session: Session, chosen: list[Unit], items: set[int]) -> list[Item]:
    """Compose the accepted units; gives the findings whose change is in the new texts."""
    replaced: set[int] = set()
    for unit in chosen:
        drafts = session.choices[unit].drafts
        if drafts:
            replaced |= {id(f) for f in unit.fixes}
            _put_in(session, unit, drafts)

    def wanted(state: FixState) -> bool:
        still = [i for i in state.items if i.status == "open"]
        return id(state) not in replaced and all(id(i) in items for i in still)

    compose_accepted(session.result, wanted)
    return [i for u in chosen for i in u.items if i.fix is not None and i.fix.applied]


def _put_in(session: Session, unit: Unit, drafts: tuple[Draft, ...]) -> None:
    """Give a unit one fix per file, made from the text by hand, that goes before all others."""
    group = Group(level=Safety.SAFE)
    comment = all(d.kind == "comment" for d in drafts)
    for path, edits in (drafts_edits(drafts, unit, session.files) or {}).items():
        old = [f.fix for f in unit.fixes if f.path == path and not comment]
        fix = Fix("text by hand", tuple(edits), requests=tuple(r for f in old for r in f.requests))
        state = FixState(path, fix, [i for i in unit.items if i.path == path], group, fix.edits)
        group.fixes.append(state)
        session.files[path].fixes.insert(0, state)
        for item in state.items:
            item.fix = state


def _lasting(session: Session) -> list[Decision]:
    """All that the lock file is to hold: what is decided by now, and entries about files that were not looked at."""
    notes = [u for u, c in session.choices.items() if u.path == lockfile.NAME and c.verdict == DONE]
    dropped = {i.id for u in notes for i in u.items}
    found = [d for d in session.of_lock.left if stale_id(d) not in dropped]
    said: dict[int, tuple[Item, str, str | None]] = {}
    for item, entry in session.of_lock.pairs:
        said[id(item)] = (item, entry.verdict, entry.reason)
    for item, entry in session.of_log.pairs:
        said[id(item)] = (item, entry.verdict, entry.reason)
    for item, verdict, reason in said.values():
        if verdict in LASTING and item.path != lockfile.NAME:
            found.append(Decision(session.sites([item])[0], verdict, reason))
    for decision in session.of_log.left:
        if decision.verdict in LASTING and decision.site.path != lockfile.NAME and not session.reach.stale(decision):
            found.append(decision)
    return list({d.site.id: replace(d, origin=0) for d in found}.values())


def look_again(session: Session, paths: Iterable[str], tell: Callable[[str], None]) -> None:
    """Read files again, with all files that share a fix with them, and match the decisions anew."""

    def progress(number: int, total: int, path: str) -> None:
        if number % 10 == 0:
            tell(f"reading again what changed, {number}/{total}")

    tell("reading again what changed")
    again = set(paths)
    for unit in session.units:
        if not again.isdisjoint(unit.paths):
            again |= set(unit.paths)
    there = [session.root / p for p in sorted(again) if (session.root / p).exists()]
    kept = [f for f in session.result.files if f.path not in again]
    if there:
        settings = session.result.settings
        fresh = run_pipeline(session.root, there, settings, progress, lockfile.Lockfile(), compose=False)
        session.result.repository = fresh.repository
        session.result.errors += fresh.errors
        kept += fresh.files
    session.result.files = sorted(kept, key=lambda f: f.path)
    session.refresh()


def recover(session: Session) -> list[str]:
    """After a kill in the middle of a write: settle what got into the files. Gives what to tell about it."""
    told: list[str] = []
    done: list[str] = []
    written: list[str] = []
    unclear: list[str] = []
    for path, file in session.log.interrupted.items():
        try:
            found = _hash((session.root / path).read_bytes())
        except OSError:
            found = ""
        if found == file.old:
            continue
        done += file.ids
        (written if found == file.new else unclear).append(path)
    if done:
        session.log.settle(done)
        session.refresh()
    if written:
        told.append(f"The last write was interrupted: {', '.join(written)} had been written (undo takes it back).")
    if unclear:
        told.append(f"The last write was interrupted and {', '.join(unclear)} changed since: decide about it again.")
    return told


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _numerics(items: Iterable[Item]) -> list[dict[str, str]]:
    """What the changes do to the numbers, for comparing with the run before."""
    found: list[dict[str, str]] = []
    for item in items:
        if item.fix is not None and item.fix.fix.numerics and item.fix.fix.numerics not in found:
            found.append(item.fix.fix.numerics)
    return found
