"""The journal: what each run wrote, so that it can be undone byte for byte, even a run that was killed.

It lies in `.neuron-migrate/` at the root, which git ignores by a file of its own:

    lock                    held while a process writes
    runs/3/old.zip          the old bytes of all files of run 3, by their SHA-256
    runs/3/manifest.json    paths, hashes, states; replaced whole at each step

A run stores all old bytes and its plan before it touches a file (state `planned`), then replaces file after file
(`writing`), then notes what came of it (`done`). At every moment each file holds its old bytes or its new ones, and the
hashes tell which. A run that was killed is `interrupted` from the next run on, and can be undone like any other.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from migrate.journal_files import WriteRefused, inside, read_or_none, sync_folder, write_atomically
from migrate.journal_git import uncommitted
from migrate.journal_lock import LockHeld, hold_lock
from migrate.journal_records import FileRecord, JournalError, RunRecord, Store, UndoReport, digest

__all__ = ["FOLDER", "FileRecord", "Journal", "JournalError", "LockHeld", "RunRecord", "UndoReport", "dirty_paths"]

FOLDER = ".neuron-migrate"


class Journal:
    """The journal of one root. Making the object writes nothing."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self._folder = self.root / FOLDER
        self._store = Store(self._folder / "runs")
        self._locked = False

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other processes from writing in this root; may be nested. Raises LockHeld, JournalError.

        Processes forked inside share the lock, and hold it until they end too.
        """
        if self._locked:
            yield
            return
        self._prepare()
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(hold_lock(self._folder / "lock", self.root))
            except OSError as error:
                raise JournalError(f"{self._folder / 'lock'}: can't be locked: {error.strerror}") from None
            self._locked = True
            try:
                yield
            finally:
                self._locked = False

    def write_run(
        self,
        changes: Mapping[str, tuple[bytes, bytes]],
        created: Mapping[str, bytes],
        meta: Mapping[str, Any],
    ) -> RunRecord:
        """Writes files and returns what came of each: `changes` maps paths to (bytes as analysed, new bytes).

        Paths are relative to the root, with `/`. A file that no longer holds the analysed bytes, exists although it was
        to be created, leads out of the root or can't be written stays as it is and is in `failed`; the others go on.
        Raises JournalError, before any file is touched, when the journal can't be written, and LockHeld.
        With nothing to write nothing is recorded, and the id of the answer is empty.
        """
        bodies: dict[str, tuple[bytes | None, bytes]] = {path: (None, new) for path, new in created.items()}
        bodies.update({path: (old, new) for path, (old, new) in changes.items() if old != new})
        time = datetime.now(timezone.utc).isoformat(timespec="seconds")
        if not bodies:
            return RunRecord("", time, "done", dict(meta), (), ())
        with self.lock():
            self._recover()
            files = self._plan(bodies)
            run = RunRecord("", time, "planned", dict(meta), files, self._missing_folders(files))
            run = self._store.add(run, [old for old, _ in bodies.values() if old is not None])
            run = self._store.save(replace(run, state="writing"))
            done = tuple(
                record if record.status == "failed" else self._write(record, run.id, number, path, *body)
                for number, (record, (path, body)) in enumerate(zip(files, bodies.items(), strict=True))
            )
            run = replace(run, state="done", files=done)
            self._sync(record.path for record in run.written)
            # A disk that is full by now is no reason to fail: the plan is stored, and the hashes tell what was written.
            with contextlib.suppress(JournalError):
                self._store.save(run)
            return run

    def undo(self, run_id: str | None = None, partial: bool = False) -> UndoReport:
        """Gives the files of a run (default: the newest that is not undone) their old bytes; created ones go.

        A file that was changed or deleted since is refused. Then nothing at all is restored, so that the tree does not
        end up between two versions, unless `partial` asks for the others. Nothing that somebody wrote since is ever
        overwritten. Raises JournalError for an unknown run or a damaged journal, and LockHeld.
        """
        if not self._folder.is_dir():
            raise JournalError(f"{self.root}: no run has written anything here, so there is nothing to undo")
        with self.lock():
            self._recover()
            run = self._run_to_undo(run_id)
            report, pending = self._compare(run)
            if report.refused and not partial:
                return report
            needed = [run.files[number].old for number in pending]
            old_bytes = self._store.old_bytes(run, [old for old in needed if old is not None])
            self._store.save(replace(run, state="undoing"))
            for number, current in pending.items():
                report = self._restore(run, number, current, old_bytes, report)
            for folder in run.folders:
                with contextlib.suppress(OSError):  # somebody else's files may lie there by now
                    (self.root / folder).rmdir()
            self._sync((*report.restored, *report.removed))
            with contextlib.suppress(JournalError):
                self._store.save(replace(run, state="undone" if report.complete else run.state))
            return report

    def runs(self) -> tuple[RunRecord, ...]:
        """All runs, oldest first. Raises JournalError when a manifest can't be read."""
        return tuple(self._store.load_all())

    def state_before(self, run_id: str) -> dict[str, bytes | None]:
        """What the files held before that run and all later ones, by path; None where they did not exist.

        Runs that are undone do not count. Raises JournalError for an unknown run.
        """
        first = self._store.find(run_id)
        before: dict[str, bytes | None] = {}
        for run in reversed(self.runs()):
            if int(run.id) < int(first.id) or run.state == "undone":
                continue
            records = [record for record in run.files if record.status != "failed"]
            old_bytes = self._store.old_bytes(run, [record.old for record in records if record.old is not None])
            before.update({r.path: None if r.old is None else old_bytes[r.old] for r in records})
        return before

    def last_run_hashes(self) -> dict[str, str]:
        """SHA-256 by path of what the newest run that wrote the file made of it; undone runs do not count."""
        hashes: dict[str, str] = {}
        for run in self.runs():
            if run.state != "undone":
                hashes.update({record.path: record.new for record in run.files if record.status != "failed"})
        return hashes

    def _prepare(self) -> None:
        try:
            if self._folder.is_symlink():
                raise JournalError(f"{self._folder}: is a symbolic link; the journal has to lie in the root itself")
            self._folder.mkdir(exist_ok=True)
            ignore = self._folder / ".gitignore"
            if not ignore.exists():
                ignore.write_bytes(b"*\n")
        except OSError as error:
            raise JournalError(f"{self._folder}: the journal can't be written: {error.strerror}") from None

    def _recover(self) -> None:
        """Removes what a killed process left behind; the files themselves are whole by construction."""
        for run in self._store.load_all():
            if run.state in ("planned", "writing", "undoing"):
                for number, record in enumerate(run.files):
                    with contextlib.suppress(OSError, WriteRefused):
                        _temporary(inside(self.root, record.path), run.id, number).unlink()
                self._store.save(replace(run, state="interrupted"))
        self._store.drop_unfinished()

    def _plan(self, bodies: Mapping[str, tuple[bytes | None, bytes]]) -> tuple[FileRecord, ...]:
        files: list[FileRecord] = []
        taken: set[str] = set()
        for path, (old, new) in bodies.items():
            record = FileRecord(path, None if old is None else digest(old), digest(new))
            try:
                real = inside(self.root, path).relative_to(self.root).as_posix()
                if real in taken:
                    raise WriteRefused(f"is the same file as {real}, which this run writes already")
                taken.add(real)
                files.append(replace(record, path=real))
            except WriteRefused as refusal:
                files.append(replace(record, status="failed", reason=str(refusal)))
        return tuple(files)

    def _missing_folders(self, files: Iterable[FileRecord]) -> tuple[str, ...]:
        missing = {
            parent.as_posix()
            for record in files
            if record.old is None and record.status != "failed"
            for parent in Path(record.path).parents
            if parent != Path() and not os.path.lexists(self.root / parent)
        }
        return tuple(sorted(missing, key=lambda folder: folder.count("/"), reverse=True))

    def _write(
        self, record: FileRecord, run_id: str, number: int, path: str, old: bytes | None, new: bytes
    ) -> FileRecord:
        try:
            target = inside(self.root, record.path)
            if old is None:
                target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, new, _temporary(target, run_id, number), old)
        except (OSError, WriteRefused) as error:
            return replace(record, path=path, status="failed", reason=_reason(error))
        return replace(record, status="written")

    def _run_to_undo(self, run_id: str | None) -> RunRecord:
        if run_id is not None:
            run = self._store.find(run_id)
            if run.state == "undone":
                raise JournalError(f"run {run.id} is undone already")
            return run
        for run in reversed(self.runs()):
            if run.state != "undone" and any(record.status != "failed" for record in run.files):
                return run
        raise JournalError(f"{self.root}: there is no run left to undo")

    def _compare(self, run: RunRecord) -> tuple[UndoReport, dict[int, bytes]]:
        """What undoing would refuse, and by number the files that still hold what the run wrote, with these bytes."""
        refused: list[tuple[str, str]] = []
        pending: dict[int, bytes] = {}
        for number, record in enumerate(run.files):
            if record.status == "failed":
                continue
            try:
                current = read_or_none(inside(self.root, record.path))
            except (OSError, WriteRefused) as error:
                refused.append((record.path, _reason(error)))
                continue
            found = None if current is None else digest(current)
            if current is not None and found == record.new:
                pending[number] = current
            elif found != record.old:
                refused.append((record.path, "was deleted since" if current is None else "was changed since"))
        return UndoReport(run.id, refused=tuple(refused)), pending

    def _restore(
        self, run: RunRecord, number: int, current: bytes, old_bytes: Mapping[str, bytes], report: UndoReport
    ) -> UndoReport:
        record = run.files[number]
        try:
            target = inside(self.root, record.path)
            if record.old is not None:
                write_atomically(target, old_bytes[record.old], _temporary(target, run.id, number), current)
                return replace(report, restored=(*report.restored, record.path))
            if read_or_none(target) != current:
                raise WriteRefused("has changed since it was read")
            target.unlink()
            return replace(report, removed=(*report.removed, record.path))
        except (OSError, WriteRefused) as error:
            return replace(report, failed=(*report.failed, (record.path, _reason(error))))

    def _sync(self, paths: Iterable[str]) -> None:
        for folder in sorted({(self.root / path).parent for path in paths}):
            sync_folder(folder)


def dirty_paths(root: Path, paths: Iterable[str]) -> list[str] | None:
    """Those of the paths (relative to the root) that hold changes which git has not committed; None without git.

    Untracked files count, ignored ones do not. A file whose bytes are exactly what our newest run wrote does not count.
    """
    found = uncommitted(root)
    if found is None:
        return None
    dirty = sorted(found & set(paths))
    if not dirty:
        return []
    ours = Journal(root).last_run_hashes()
    return [path for path in dirty if path not in ours or _digest_of(root / path) != ours[path]]


def _digest_of(file: Path) -> str | None:
    try:
        return digest(file.read_bytes())
    except OSError:
        return None


def _temporary(target: Path, run_id: str, number: int) -> Path:
    """The same name at the next start, so that leftovers can be found; short, as the file's own name may be long."""
    return target.with_name(f".neuron-migrate-{run_id}-{number}.tmp")


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
