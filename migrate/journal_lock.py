"""A lock on a root that the operating system frees when its holder dies, however it dies."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path


class LockHeld(Exception):
    """Another process works in the same root; `pid` and `since` are None when it has not written them yet."""

    def __init__(self, root: Path, pid: int | None, since: str | None) -> None:
        self.pid, self.since = pid, since
        who = f"process {pid}, since {since}" if pid is not None else "process unknown"
        super().__init__(f"another neuron-migrate ({who}) works in {root}: wait until it ends, then try again")


@contextmanager
def hold_lock(file: Path, root: Path) -> Iterator[None]:
    """Holds the lock on `file`, which stays there afterwards: removing it would let two processes in.

    Raises LockHeld when another process has it. A dead process has none, so nothing is ever stale.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    try:
        if not _try_lock(descriptor):
            raise LockHeld(root, *_holder(file))
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "time": now}).encode())
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        # Windows refuses others to read what is locked, so the lock lies behind the text.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _holder(file: Path) -> tuple[int | None, str | None]:
    try:
        content = json.loads(file.read_bytes())
        return int(content["pid"]), str(content["time"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, None
