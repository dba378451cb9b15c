"""From paths to a ledger and new texts: discover, look at each file, group the fixes, compose."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from migrate.cache import Cache, key
from migrate.composer import Composer
from migrate.discover import Entry, discover
from migrate.intake import Intake
from migrate.ledger import FixState, group_fixes
from migrate.lockfile import Lockfile
from migrate.looks import Look, Looks, Refused, Text
from migrate.result import FileState, Result
from migrate.settings import Settings
from migrate.unreadable import report_unreadable
from transforms.engine.source import Source, Unreadable
from transforms.flow.repository import Repository, scan

Progress = Callable[[int, int, str], None]
"""Called with the number of files looked at, the number of all, and the path at hand."""


def run_pipeline(
    root: Path,
    paths: Sequence[Path],
    settings: Settings,
    progress: Progress | None = None,
    lock: Lockfile | None = None,
    compose: bool = True,
    settle: bool = True,
    cache: Cache | None = None,
) -> Result:
    """Look at everything below `paths` and work out the new texts. Writes nothing but the cache.

    `lock` holds the decisions to go by (default: those of the lock file). With `compose=False` the work ends with the
    groups of fixes; `compose_accepted` goes on from there. `settle=False` leaves out the look at the new texts that
    shows that nothing more comes up. Raises discover.UsageError and lockfile.LockfileError.
    """
    from migrate import lockfile
    from migrate.held import hold
    from transforms.engine.parse import on_big_stack

    started = time.monotonic()
    result = Result(root, settings)
    lock = lockfile.read(root) if lock is None else lock
    entries = [e for e in discover(root, paths, settings.exclude) if e.path != lockfile.NAME]
    result.files = [_read(root, entry) for entry in entries]
    result.repository = _survey(root, result, cache)
    whole = any(path.resolve() == root.resolve() for path in paths)

    def work() -> None:
        assert result.repository is not None
        with Looks(result.repository, settings.probe, settings.jobs, cache) as looks:
            python = _first_looks(result, looks, progress)
            hold(result, lock, whole)
            group_fixes([x for f in python for x in f.fixes], [i for f in python for i in f.items])
            if compose:
                Composer(result, looks, settle=settle).run(python)

    on_big_stack(work)
    result.seconds = time.monotonic() - started
    return result


def compose_accepted(result: Result, accepted: Callable[[FixState], bool]) -> None:
    """Work out the new texts of a result that was made with `compose=False`, from the accepted fixes alone."""
    from transforms.engine.parse import on_big_stack

    repository, settings = result.repository, result.settings
    assert repository is not None
    files = [f for f in result.files if f.fixes and any(accepted(x) for x in f.fixes)]

    def work() -> None:
        with Looks(repository, settings.probe, settings.jobs) as looks:
            Composer(result, looks, accepted).run(files)

    on_big_stack(work)


def _read(root: Path, entry: Entry) -> FileState:
    file = FileState(entry.path, entry.kind, entry.test, reason=entry.reason)
    if entry.status == "skipped":
        file.status = "skipped"
        return file
    try:
        file.data = (root / entry.path).read_bytes()
    except OSError as error:
        file.status, file.reason = "unreadable", f"can't be read: {error.strerror or error}"
    return file


def _survey(root: Path, result: Result, cache: Cache | None) -> Repository:
    """Facts of the whole root, also when only a part of it is to be looked at."""
    known = {f.path: f.data for f in result.files if f.kind == "python"}
    for entry in discover(root, [root], result.settings.exclude):
        if entry.path not in known and entry.kind == "python" and entry.status != "skipped":
            try:
                known[entry.path] = (root / entry.path).read_bytes()
            except OSError:
                continue
    if cache is None:
        return scan(known)
    place = key(b"repository", *(part for path in sorted(known) for part in (os.fsencode(path), known[path])))
    found: Repository | None = cache.get(place)
    if found is None:
        found = scan(known)
        cache.put(place, found)
    return found


def _first_looks(result: Result, looks: Looks, progress: Progress | None) -> list[FileState]:
    """Put what there is to say about each file into its state; gives the files that hold Python."""
    intake = Intake(result.settings)
    python = []
    for file in result.files:
        if file.status == "unreadable":
            report_unreadable(file, file.reason or "can't be read", 1, result.settings)
        elif file.status != "skipped" and file.kind == "python":
            python.append(file)
        elif file.status != "skipped":
            _other_kind(file, result.settings)
    readable = []
    for file in python:
        try:
            file.source = Source.read(file.data)
            readable.append(file)
        except Unreadable as error:
            intake.first(file, Look(refused=Refused(error.reason, error.line)))
    for file, look in zip(readable, looks.at([Text(f.path, f.data) for f in readable], progress)):
        intake.first(file, look)
        if file.status == "failed":
            result.errors.append(f"{file.path}: {file.reason}; the file stays as it is")
    return python


def _other_kind(file: FileState, settings: Settings) -> None:
    """Count what speaks of CUDA or XLA in a file that no rule reads."""
    from transforms.engine.words import count
    from transforms.tables.requirements import CUDA_REQUIREMENTS, REQUIREMENT_KINDS

    file.hits = 0 if b"\0" in file.data[:8192] else count(file.data)
    if file.kind in REQUIREMENT_KINDS:
        file.hits += len(CUDA_REQUIREMENTS.findall(file.data))
    file.status = "not_read" if file.hits else "unchanged"
    if file.kind == "template" and file.hits:
        report_unreadable(file, file.reason or "a template, not Python", 1, settings)
