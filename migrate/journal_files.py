"""Single files, written so that whoever looks at any moment sees the old bytes or the new ones."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path


class WriteRefused(Exception):
    """A file is not in the state in which it was analysed or written, so it is left alone; the message says why."""


def read_or_none(file: Path) -> bytes | None:
    """The bytes of the file, None if there is none. Other errors come out as OSError."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def inside(root: Path, path: str) -> Path:
    """The file that `path` (relative to `root`) leads to through symbolic links; WriteRefused outside the root."""
    target = Path(os.path.realpath(root / path))
    if target == root or root not in target.parents:
        raise WriteRefused(f"leads out of {root}")
    return target


def write_atomically(target: Path, data: bytes, temporary: Path, expected: bytes | None) -> None:
    """Gives `target` the bytes `data`; permission bits and owner stay.

    `expected` are the bytes that it must hold at the last moment (None: it must not exist), else WriteRefused.
    `temporary` has to lie in the same folder. On any error the old bytes are still there and `temporary` is gone.
    """
    try:
        status = target.stat() if expected is not None else None
    except (FileNotFoundError, NotADirectoryError):
        raise WriteRefused("is gone since it was read") from None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666 if status is None else 0o600)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if status is not None:
                _copy_owner_and_mode(temporary, status)
            os.fsync(stream.fileno())
        if read_or_none(target) != expected:
            raise WriteRefused("has changed since it was read" if expected is not None else "exists by now")
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _copy_owner_and_mode(file: Path, status: os.stat_result) -> None:
    if hasattr(os, "chown"):
        # Only root may give files away; for everybody else the owner is right already or can't be kept.
        with contextlib.suppress(PermissionError):
            os.chown(file, status.st_uid, status.st_gid)
    os.chmod(file, stat.S_IMODE(status.st_mode))


def sync_folder(folder: Path) -> None:
    """Makes renames in the folder last through a power failure, where the system can do that."""
    if os.name == "nt":
        return  # Windows opens no folders
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
