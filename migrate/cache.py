"""What earlier runs found out about texts, in one SQLite file in the user's cache folder.

A cache may fail in any way at any time (read-only home, full disk, a torn file): then the work is done again, and
nobody hears of it. Values are pickles of plain data; reading one can make nothing but the classes named here. Each
stands behind a hash of itself and its key: SQLite does not notice pages that a power cut left half-written.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import sqlite3
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

FILE = "cache.sqlite"
VARIABLE = "NEURON_MIGRATE_CACHE_DIR"
KEPT_DAYS = 30
WRITE_EVERY = 200
_COLUMNS = ["key", "value", "day"]
_HASH = 16
_CLASSES = {
    "transforms.engine.model": (
        *("Analysis", "Edit", "Evidence", "Finding", "Fix", "ImportItem", "ImportStatement", "ImportTable"),
        *("Move", "Row", "Safety"),
    ),
    "migrate.identity": ("Keys",),
    "migrate.looks": ("Look", "Refused"),
    "transforms.flow.repository": ("Repository",),
}


def folder() -> Path:
    """Where the cache lies: `NEURON_MIGRATE_CACHE_DIR`, else the place that the system has for caches."""
    from platformdirs import user_cache_path

    return Path(os.environ.get(VARIABLE) or user_cache_path("neuron-migrate", appauthor=False))


@cache
def fingerprint() -> bytes:
    """A hash of all that decides what an analysis says of a text: the tool's own files, LibCST, Python."""
    from importlib.metadata import version

    found = hashlib.blake2b(f"{sys.version}\0{version('libcst')}".encode(), digest_size=16)
    here = Path(__file__).parent.parent
    for package in ("transforms", "migrate"):
        for file in sorted((here / package).rglob("*.py")):
            found.update(file.read_bytes())
    return found.digest()


def key(*parts: bytes) -> bytes:
    """The key of a value: a hash of the parts that it follows from, and of the tool that worked it out."""
    found = hashlib.blake2b(fingerprint(), digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


class Cache:
    """Values by key. Values that are put in are written from time to time, and by `close`."""

    def __init__(self, place: Path | None = None) -> None:
        self._place = place or folder()
        self._fresh: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()
        self._today = int(time.time() // 86400)
        self._open: sqlite3.Connection | None = None
        with self._harmless():
            self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open = self._connect()

    def get(self, key: bytes) -> Any:
        """The value of a key, None for none."""
        if key in self._fresh:
            return _unpacked(key, self._fresh[key])
        with self._harmless():
            if self._open is not None:
                row = self._open.execute("SELECT value, day FROM entries WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    value = _unpacked(key, row[0])
                    if value is not None and row[1] != self._today:
                        self._used.add(key)
                    return value
        return None

    def put(self, key: bytes, value: Any) -> None:
        """Keep a value."""
        self._fresh[key] = _packed(key, value)
        if len(self._fresh) >= WRITE_EVERY:
            self._write()

    def close(self) -> None:
        """Write what is new, and drop what nobody used for a month."""
        if self._fresh or self._used:
            self._write()
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connect(self) -> sqlite3.Connection:
        found = self._database()
        columns = [row[1] for row in found.execute("PRAGMA table_info(entries)")]
        if columns != _COLUMNS:  # of another version of this file
            found.close()
            self._begin_again()
            found = self._database()
        return found

    def _database(self) -> sqlite3.Connection:
        found = sqlite3.connect(self._place / FILE, timeout=5, isolation_level=None, check_same_thread=False)
        try:
            found.execute("PRAGMA synchronous = OFF")
            found.execute(
                "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB, day INTEGER) WITHOUT ROWID"
            )
        except sqlite3.Error:
            found.close()
            raise
        return found

    def _begin_again(self) -> None:
        (self._place / FILE).unlink(missing_ok=True)

    def _write(self) -> None:
        fresh, self._fresh = self._fresh, {}
        used, self._used = self._used, set()
        with self._harmless():
            if self._open is not None:
                rows = [(k, v, self._today) for k, v in fresh.items()]
                self._open.execute("BEGIN IMMEDIATE")
                self._open.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
                self._open.executemany("UPDATE entries SET day = ? WHERE key = ?", [(self._today, k) for k in used])
                self._open.execute("DELETE FROM entries WHERE day < ?", (self._today - KEPT_DAYS,))
                self._open.execute("COMMIT")

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        """A fault of the cache ends the cache for this run, not the run. A file that is torn, or no database, goes."""
        try:
            yield
        except Exception as error:
            if self._open is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._open.close()
            self._open = None
            if type(error) is sqlite3.DatabaseError:
                with contextlib.suppress(OSError):
                    self._begin_again()


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name not in _CLASSES.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} is none of the cache's classes")
        return super().find_class(module, name)


@contextlib.contextmanager
def opened(wanted: bool) -> Iterator[Cache | None]:
    """The user's cache for the time of a run, None when it is not wanted."""
    if not wanted:
        yield None
        return
    with contextlib.closing(Cache()) as found:
        yield found


def _packed(key: bytes, value: Any) -> bytes:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _hash(key, data) + data


def _unpacked(key: bytes, found: object) -> Any:
    """The value, None where what was found is not what was written for this key, or can't be read."""
    if not isinstance(found, bytes) or _hash(key, data := found[_HASH:]) != found[:_HASH]:
        return None
    try:
        return _Plain(io.BytesIO(data)).load()
    except Exception:  # damaged or foreign pickles raise nearly everything
        return None


def _hash(key: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(key + data, digest_size=_HASH).digest()
