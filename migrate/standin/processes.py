"""Run one command with a time limit, and end everything that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Ended:
    """How a command ended. `code` is negative for a signal, as in subprocess."""

    code: int
    timed_out: bool
    seconds: float


def run(
    command: list[str],
    *,
    env: Mapping[str, str],
    marker: str,
    cwd: str,
    stdout: IO[Any] | int | None,
    stderr: IO[Any] | int | None,
    time_limit: float | None,
) -> Ended:
    """Run `command`. `marker` is a string of its environment that no other process has.

    On the time limit, and on any exception (Ctrl-C above all), the command and all its descendants are ended:
    first asked by SIGINT, so that they can flush, then killed.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        command, env=dict(env), cwd=cwd, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, start_new_session=True
    )
    timed_out = False
    try:
        try:
            process.wait(timeout=time_limit)
        except subprocess.TimeoutExpired:
            timed_out = True
    finally:
        _end(process, marker)
    return Ended(process.returncode, timed_out, time.monotonic() - started)


def _end(process: subprocess.Popen[Any], marker: str) -> None:
    """End the process and its descendants; does nothing when all have ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        living = _living(process, marker)
        if not living:
            return
        _signal(living, number)
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline and _living(process, marker):
            time.sleep(0.05)
    _signal(_living(process, marker), signal.SIGKILL)
    process.wait()


def _living(process: subprocess.Popen[Any], marker: str) -> list[int]:
    """The process, and those that inherited its environment: torchrun gives its workers sessions of their own."""
    found = [] if process.poll() is not None else [process.pid]
    needle = marker.encode()
    try:
        entries = os.listdir("/proc")
    except OSError:  # no /proc: torchrun passes signals on to its workers
        return found
    for entry in entries:
        if not entry.isdigit() or int(entry) in found:
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if needle not in file.read():
                    continue
            with open(f"/proc/{entry}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"Z":
                    continue
        except OSError:
            continue
        found.append(int(entry))
    return found


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
