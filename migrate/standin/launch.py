"""Start a script on the stand-in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from . import processes
from .interpreter import Interpreter

STARTUP = Path(__file__).with_name("inject") / "startup"
MARKER = "_NEURON_MIGRATE_STANDIN"


@dataclass(frozen=True)
class Program:
    """What is run: a script file or a module (`-m`), its arguments, and the folder it runs in."""

    target: str
    arguments: tuple[str, ...] = ()
    folder: str = "."
    is_module: bool = False
    processes: int | None = None

    def command(self, interpreter: Interpreter) -> list[str]:
        """The command line, under torchrun when a number of processes is given."""
        target = ["-m", self.target] if self.is_module else [self.target]
        if self.processes is None:
            return [interpreter.path, *target, *self.arguments]
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={self.processes}"]
        return [interpreter.path, *launcher, *target, *self.arguments]


@dataclass(frozen=True)
class Mode:
    """How it is run: as the migrated program or as the original, with or without taps."""

    role: str = "migrated"
    taps: bool = False
    stop_after: int | None = None
    devices: int = 1
    compare_eager: bool = False
    numerics: Mapping[str, Any] = field(default_factory=dict)


def start(
    program: Program,
    mode: Mode,
    interpreter: Interpreter,
    library: Path,
    session: Path,
    *,
    time_limit: float | None,
    moved: tuple[str, str] | None = None,
    stdout: IO[Any] | int | None = None,
    stderr: IO[Any] | int | None = None,
) -> processes.Ended:
    """Run `program`; what it did is in `session` afterwards. Its stdin is empty.

    `moved` names a real tree and the working copy that stands for it: paths of imports are led to the copy.
    """
    session.mkdir(parents=True, exist_ok=True)
    settings = {
        "library": str(library),
        "role": mode.role,
        "taps": mode.taps,
        "seed": 0 if mode.taps else None,
        "stop_after": mode.stop_after,
        "devices": max(mode.devices, program.processes or 1),
        "compare_eager": mode.compare_eager,
        "numerics": dict(mode.numerics),
        "moved": moved,
    }
    (session / "session.json").write_text(json.dumps(settings), encoding="utf-8")
    return processes.run(
        program.command(interpreter),
        env=environment(session, compared=mode.taps, launched=program.processes is not None),
        marker=f"{MARKER}={session}",
        cwd=program.folder,
        stdout=stdout,
        stderr=stderr,
        time_limit=time_limit,
    )


def environment(session: Path, *, compared: bool, launched: bool) -> dict[str, str]:
    """The environment of the run: the start-up hook first on PYTHONPATH, no real device, no real backend."""
    env = dict(os.environ)
    paths = [str(STARTUP), *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    env["PYTHONPATH"] = os.pathsep.join(paths)
    env[MARKER] = str(session)
    env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    env["CUDA_VISIBLE_DEVICES"] = ""
    if compared:
        env.setdefault("PYTHONHASHSEED", "0")
    if launched:
        env.setdefault("OMP_NUM_THREADS", "1")  # what torchrun chooses, without its warning
    if sys.platform.startswith("linux"):
        env.setdefault("GLOO_SOCKET_IFNAME", "lo")
    return env
