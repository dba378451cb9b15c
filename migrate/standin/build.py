"""Build the stand-in once per torch, Python and source, into the user's cache.

The build happens in a folder of its own and is moved into place when it is whole, so a killed build leaves
nothing that later runs could trip over. The lock is the kernel's (flock): it ends with its process.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from migrate.cache import folder

from .errors import CannotRun
from .interpreter import Interpreter

SOURCES = Path(__file__).with_name("csrc")
BUILDER = Path(__file__).with_name("inject") / "builder.py"
LIBRARY = "neuron_standin_native.so"
BUILD_SECONDS = 900
LOG_LINES, LOG_WIDTH = 25, 400


def cache_folder() -> Path:
    """The tool's folder for built stand-ins."""
    return folder() / "standin"


def key(interpreter: Interpreter) -> str:
    """Names one build: torch, Python, and a hash of the sources."""
    digest = hashlib.sha256(f"{interpreter.torch_commit}\0{sys.platform}".encode())
    for path in sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h"), BUILDER]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    torch = interpreter.torch.replace("+", "_")
    return f"torch{torch}-{interpreter.cache_tag}-{digest.hexdigest()[:16]}"


def ensure(interpreter: Interpreter, place: Path | None = None, time_limit: float = BUILD_SECONDS) -> Path:
    """The library for `interpreter`, built now if it isn't in the cache.

    Raises CannotRun when something needed for the build is missing, when it fails or takes too long, or when
    another process holds the build for as long.
    """
    place = place or cache_folder()
    target = place / key(interpreter)
    if (target / LIBRARY).is_file():
        return target / LIBRARY
    if interpreter.missing:
        raise CannotRun(
            "the stand-in has to be compiled once, and this machine lacks:\n"
            + "".join(f"  - {item}\n" for item in interpreter.missing)
            + "Every other command of neuron-migrate works without it."
        )
    deadline = time.monotonic() + time_limit
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _lock(place / f"{target.name}.lock", deadline):
            if not (target / LIBRARY).is_file():
                _build(interpreter, place, target, deadline)
    except OSError as error:
        raise CannotRun(f"the cache folder {place} cannot be used: {error}") from None
    return target / LIBRARY


@contextmanager
def _lock(path: Path, deadline: float) -> Iterator[None]:
    with open(path, "w", encoding="utf-8") as file:
        said = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CannotRun(f"another process has been building the stand-in for too long ({path})") from None
                if not said:
                    print("waiting for another process that builds the stand-in", file=sys.stderr)
                    said = True
                time.sleep(0.2)
        yield


def _build(interpreter: Interpreter, folder: Path, target: Path, deadline: float) -> None:
    work = Path(tempfile.mkdtemp(prefix="building-", dir=folder))
    log = work / "build.log"
    try:
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [interpreter.path, str(BUILDER), str(SOURCES), str(work)],
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "CUDA_VISIBLE_DEVICES": ""},
            )
            try:
                _wait(process, f"building the stand-in for torch {interpreter.torch}, once", deadline)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if process.returncode or not (work / LIBRARY).is_file():
            raise CannotRun(f"the stand-in could not be compiled for torch {interpreter.torch}:\n{_why(log)}")
        for left in work.glob("*.o"):
            left.unlink()
        os.rename(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _why(log: Path) -> str:
    """The compiler's last words: what stands before torch's own traceback about it."""
    text = log.read_text(encoding="utf-8", errors="replace")
    said = text.partition("Traceback (most recent call last)")[0].strip() or text.strip()
    return "\n".join(line[:LOG_WIDTH] for line in said.splitlines()[-LOG_LINES:])


def _wait(process: subprocess.Popen[bytes], what: str, deadline: float) -> None:
    """Wait with a progress line on stderr: one that counts on a terminal, a single one elsewhere."""
    live = sys.stderr.isatty()
    started = time.monotonic()
    if not live:
        print(f"{what} (about a minute)", file=sys.stderr, flush=True)
    while process.poll() is None:
        now = time.monotonic()
        if now > deadline:
            raise CannotRun(f"{what}: stopped by the time limit")
        if live:
            print(f"\r{what}: {now - started:.0f} s (about a minute)", end="", file=sys.stderr, flush=True)
        time.sleep(0.25)
    if live:
        print(file=sys.stderr)
