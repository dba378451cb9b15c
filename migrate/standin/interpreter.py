"""The user's interpreter: which one it is, and what it has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import CannotRun

SUPPORTED_TORCH = ("2.13", "2.14")
PROBE = Path(__file__).with_name("inject") / "probe.py"
PROBE_SECONDS = 120


@dataclass(frozen=True)
class Interpreter:
    """A Python with a supported torch. `missing` names what a build of the stand-in would lack there."""

    path: str
    python: str
    cache_tag: str
    torch: str
    torch_commit: str
    missing: tuple[str, ...]


def choose(option: str | None) -> str:
    """The interpreter to use: `--python`, else the active virtual environment's, else `python` on PATH.

    Raises CannotRun when there is none.
    """
    if option:
        found = shutil.which(option) or (option if os.path.isfile(option) else None)
        if not found:
            raise CannotRun(f"--python {option}: there is no such interpreter")
        return os.path.abspath(found)
    environment = os.environ.get("VIRTUAL_ENV")
    if environment:
        for folder, name in (("bin", "python"), ("Scripts", "python.exe")):
            candidate = os.path.join(environment, folder, name)
            if os.path.isfile(candidate):
                return candidate
    found = shutil.which("python") or shutil.which("python3")
    if not found:
        raise CannotRun("no Python found: activate the environment of your project, or give --python PATH")
    return os.path.abspath(found)


def examine(path: str) -> Interpreter:
    """Ask the interpreter at `path` about itself, without importing torch.

    Raises CannotRun when it doesn't start, has no torch, or a torch that the stand-in doesn't support.
    """
    try:
        done = subprocess.run(
            [path, str(PROBE)],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        facts = json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        raise CannotRun(f"{path} does not run: {(error.stderr or '').strip()[-400:]}") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{path} does not answer like a Python interpreter: {error}") from None
    supported = ", ".join(SUPPORTED_TORCH)
    if not facts["torch"]:
        raise CannotRun(
            f"{path} has no torch. The stand-in needs torch {supported}: "
            "activate the environment of your project, or give --python PATH"
        )
    release = ".".join(facts["torch"].split(".")[:2])
    if release not in SUPPORTED_TORCH:
        raise CannotRun(f"torch {facts['torch']} in {path} is not supported. Supported: {supported}")
    return Interpreter(
        path, facts["python"], facts["cache_tag"], facts["torch"], facts["torch_commit"], tuple(facts["missing"])
    )
