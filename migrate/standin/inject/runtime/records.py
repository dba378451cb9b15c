"""Where hazards are collected: each place once with a count, written as soon as it is seen.

Every process writes a file of its own (`records-<pid>.jsonl`), line by line, so that a run that is killed,
or a child that leaves by `os._exit`, loses nothing but its last counts.
"""

from __future__ import annotations

import atexit
import collections
import json
import os
import sys
import sysconfig
import threading
from dataclasses import dataclass
from types import FrameType
from typing import Any

Place = tuple[str, int]

_counts: collections.Counter[tuple[str, str, str, Place]] = collections.Counter()
_lock = threading.RLock()


@dataclass
class _State:
    folder: str = ""
    torch: str = "\0"  # where torch lies; no path starts with this
    quiet: int = 0
    first_use: Place = ("", 0)


_state = _State()

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = tuple({sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib")})
_PACKAGES = tuple(os.sep + name + os.sep for name in ("site-packages", "dist-packages"))
FIRST_USE = "first use"  # what the C++ side says in place of a code, once
FLOAT64_INSIDE_TORCH = ("amp", "optim", os.path.join("nn", "utils"), "_dynamo", "_tensor_str", "testing")


def install(folder: str, torch_file: str) -> None:
    """Start collecting into `folder`."""
    _state.folder = folder
    _state.torch = os.path.dirname(os.path.abspath(torch_file)) + os.sep
    atexit.register(flush)
    write({"kind": "process", "rank": os.environ.get("RANK"), "pid": os.getpid()})
    os.register_at_fork(after_in_child=_counts.clear)


def is_user_file(path: str) -> bool:
    """Whether `path` is code of the user, not of Python, of an installed package or of the stand-in."""
    if path.startswith(("<", _OWN, _state.torch)) or any(part in path for part in _PACKAGES):
        return False
    return not path.startswith(_STDLIB)


def user_place(frame: FrameType | None = None) -> Place:
    """File and line of the innermost frame of user code; ("", 0) when there is none."""
    frame = frame or sys._getframe(1)
    current: FrameType | None = frame
    while current is not None:
        if is_user_file(current.f_code.co_filename):
            return current.f_code.co_filename, current.f_lineno
        current = current.f_back
    return "", 0


def direct_place(depth: int) -> Place | None:
    """The place of the frame `depth` above the caller, if that frame itself is user code."""
    frame = sys._getframe(depth + 1)
    if is_user_file(frame.f_code.co_filename):
        return frame.f_code.co_filename, frame.f_lineno
    return None


class quiet:
    """Nothing is recorded inside: for work of the stand-in itself."""

    def __enter__(self) -> None:
        _state.quiet += 1

    def __exit__(self, *_exc: object) -> None:
        _state.quiet -= 1


def add(code: str, severity: str, message: str, place: Place | None = None) -> None:
    """Record one hazard at `place` (default: the innermost frame of user code)."""
    if _state.quiet:
        return
    key = (code, severity, message, place or user_place(sys._getframe(1)))
    with _lock:
        _counts[key] += 1
        if _counts[key] == 1:
            write({"kind": "hazard", **_row(key), "count": 1})


def native(code: str, severity: str, message: str) -> None:
    """Entry for the C++ side. Float64 that torch itself makes for a moment is no finding of the user's code."""
    frame = sys._getframe(1)
    if code == FIRST_USE:
        _state.first_use = user_place(frame)
        return
    if code == "TN204" and not _made_by_user(frame):
        return
    add(code, severity, message, user_place(frame))


def first_use() -> str:
    """The line of user code that used the device first, as `file:line`; empty when there is none."""
    path, line = _state.first_use
    return f"{os.path.basename(path)}:{line}" if path else ""


def _made_by_user(frame: FrameType) -> bool:
    """torch's loss scaler, optimizers, clipping and printing compute in float64 for a moment, on every device."""
    inner = frame.f_code.co_filename
    return not inner.startswith(tuple(_state.torch + part for part in FLOAT64_INSIDE_TORCH))


def _row(key: tuple[str, str, str, Place]) -> dict[str, Any]:
    code, severity, message, (path, line) = key
    return {"code": code, "severity": severity, "message": message, "path": path, "line": line}


def write(row: dict[str, Any]) -> None:
    """Append one line to this process's file."""
    if not _state.folder:
        return
    with _lock, open(os.path.join(_state.folder, f"records-{os.getpid()}.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def flush() -> None:
    """Write the final counts."""
    with _lock:
        for key, count in _counts.items():
            if count > 1:
                write({"kind": "hazard", **_row(key), "count": count})


def rows() -> list[dict[str, Any]]:
    """What has been collected so far."""
    with _lock:
        return [{**_row(key), "count": count} for key, count in sorted(_counts.items())]


def clear() -> None:
    """Forget everything; for tests."""
    with _lock:
        _counts.clear()
