"""What the journal notes about a run, and how it lies on the disk."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from migrate.journal_files import sync_folder

VERSION = 1
_MANIFEST, _OLD = "manifest.json", "old.zip"


class JournalError(Exception):
    """The journal can't do what was asked, and no file of the project was touched. The message names the place."""


@dataclass(frozen=True)
class FileRecord:
    """One file of a run; `old` and `new` are SHA-256 hashes, `old` is None for a created file."""

    path: str
    old: str | None
    new: str
    status: str = "planned"  # planned | written | failed
    reason: str | None = None  # why it failed


@dataclass(frozen=True)
class RunRecord:
    """One run: `state` is planned, writing, done, interrupted, undoing or undone."""

    id: str
    time: str
    state: str
    meta: dict[str, Any]
    files: tuple[FileRecord, ...]
    folders: tuple[str, ...]  # that did not exist before, innermost first

    @property
    def written(self) -> tuple[FileRecord, ...]:
        return tuple(record for record in self.files if record.status == "written")

    @property
    def failed(self) -> tuple[FileRecord, ...]:
        return tuple(record for record in self.files if record.status == "failed")


@dataclass(frozen=True)
class UndoReport:
    """What came of an undo, by path. Files that held their old bytes already are in none of the lists."""

    run_id: str
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()  # (path, why)
    failed: tuple[tuple[str, str], ...] = ()

    @property
    def complete(self) -> bool:
        return not self.refused and not self.failed


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Store:
    """The folder of all runs. Whoever writes holds the lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, run: RunRecord, old: Iterable[bytes]) -> RunRecord:
        """Stores the old bytes, then the manifest, both safe on the disk, and returns the run with its id."""
        try:
            self._folder.mkdir(exist_ok=True)
            run = replace(run, id=str(max(self._ids(), default=0) + 1))
            place = self._folder / run.id
            place.mkdir()
            self._write_old(place / _OLD, old)
            sync_folder(place)
            sync_folder(self._folder)
        except OSError as error:
            raise JournalError(f"{self._folder}: the journal can't be written, nothing was changed: {error}") from None
        return self.save(run)

    def save(self, run: RunRecord) -> RunRecord:
        """Replaces the manifest as a whole."""
        place = self._folder / run.id
        text = json.dumps({"version": VERSION, **asdict(run)}, indent=1, default=str)
        temporary = place / (_MANIFEST + ".tmp")
        try:
            with temporary.open("wb") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, place / _MANIFEST)
        except OSError as error:
            raise JournalError(f"{place / _MANIFEST}: the journal can't be written: {error.strerror}") from None
        sync_folder(place)
        return run

    def load_all(self) -> list[RunRecord]:
        """All runs that got as far as a manifest, oldest first."""
        places = [self._folder / str(number) / _MANIFEST for number in sorted(self._ids())]
        return [self._load(place) for place in places if place.exists()]

    def find(self, run_id: str) -> RunRecord:
        runs = {run.id: run for run in self.load_all()}
        if run_id not in runs:
            known = ", ".join(runs) or "none"
            raise JournalError(f"there is no run {run_id}; the runs here are: {known}")
        return runs[run_id]

    def old_bytes(self, run: RunRecord, hashes: Iterable[str]) -> dict[str, bytes]:
        """The stored bytes by hash. Raises JournalError when they are not what they were."""
        import zipfile
        import zlib

        place = self._folder / run.id / _OLD
        wanted = set(hashes)
        try:
            with zipfile.ZipFile(place) as archive:
                found = {name: archive.read(name) for name in wanted}
        except (OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise JournalError(f"{place}: the old bytes of run {run.id} can't be read: {error}") from None
        if any(digest(data) != name for name, data in found.items()):
            raise JournalError(f"{place}: the old bytes of run {run.id} are damaged")
        return found

    def drop_unfinished(self) -> None:
        """Removes runs that were killed before they had a plan: they have changed nothing."""
        for number in self._ids():
            if not (self._folder / str(number) / _MANIFEST).exists():
                shutil.rmtree(self._folder / str(number), ignore_errors=True)

    def _ids(self) -> list[int]:
        with contextlib.suppress(OSError):
            return [int(name) for name in os.listdir(self._folder) if name.isascii() and name.isdecimal()]
        return []

    def _write_old(self, place: Path, old: Iterable[bytes]) -> None:
        import zipfile

        with place.open("xb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in {digest(data): data for data in old}.items():
                    archive.writestr(name, data)
            stream.flush()
            os.fsync(stream.fileno())

    def _load(self, place: Path) -> RunRecord:
        try:
            content = json.loads(place.read_bytes())
            if content.pop("version") != VERSION:
                raise JournalError(f"{place}: another version of neuron-migrate wrote it; use that one to undo the run")
            content["files"] = tuple(FileRecord(**record) for record in content["files"])
            content["folders"] = tuple(content["folders"])
            return RunRecord(**content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise JournalError(
                f"{place}: can't be read: {error}; that run can't be undone, remove {place.parent} to go on without it"
            ) from None
