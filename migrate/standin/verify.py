"""`verify`: run a program on the stand-in, compare it with its original, and judge."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from . import against, build, compare, launch, results, shadow
from .errors import CannotRun
from .interpreter import Interpreter
from .processes import Ended

OUTPUT_TAIL = 30
RANK_TRACEBACK = re.compile(r"\[rank(\d+)\]: Traceback")
LAUNCHER_LINE = re.compile(r"torch[./]distributed[./](?:elastic|run)|elastic[./]multiprocessing")


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    program: launch.Program
    against: str | None = None
    numerics: Mapping[str, Any] = field(default_factory=dict)
    compare_eager: bool = False
    steps: int | None = None
    devices: int = 1
    time_limit: float | None = None


@dataclass
class Report:
    """What came out.

    `unstable` names values that differ between two runs of the migrated program itself. `undeclared` is the run whose
    numeric changes were not made to an original that differs, and these changes.
    """

    request: Request
    interpreter: Interpreter
    ended: Ended
    seen: results.Seen
    steps: int = 0
    original: against.Original | None = None
    numerics: dict[str, Any] = field(default_factory=dict)
    comparison: compare.Comparison | None = None
    unstable: frozenset[compare.Key] = frozenset()
    effect: compare.Effect | None = None
    undeclared: tuple[str, dict[str, Any]] | None = None

    @property
    def undecided(self) -> str | None:
        """Why nothing is proven, if so."""
        if self.ended.timed_out:
            return "stopped by the time limit: give the script fewer steps, or use --steps or --time-limit"
        if self.ended.code == 0 and not self.seen.processes:
            return "the script did not import torch, so nothing was run on the stand-in"
        if any(kind != "print" for _rank, kind, _key in self.unstable):
            return "two runs of the migrated script itself differ: seed its random numbers, then compare again"
        compared = self.comparison
        if compared and compared.equal and not any(compared.counts.values()):
            return "nothing to compare: no backward(), no optimizer step, no torch.save and no printed number"
        return None

    @property
    def exit_code(self) -> int:
        """0 same and no error, 1 a difference or an error, 2 nothing is proven."""
        errors = any(h.severity == "error" for h in self.seen.hazards)
        different = self.comparison is not None and not self.comparison.equal
        failed = self.ended.code != 0 and not self.ended.timed_out
        if failed or errors or any(check.equal is False for check in self.seen.checks):
            return 1
        if self.undecided:
            return 2
        return 1 if different else 0


def verify(request: Request, interpreter: Interpreter, stdout: IO[Any] | int | None = None) -> Report:
    """Run the program, and its original first when there is one. Raises CannotRun."""
    library = build.ensure(interpreter)
    with tempfile.TemporaryDirectory(prefix="neuron-migrate-verify-") as scratch:
        return _Verification(request, interpreter, library, Path(scratch), stdout).run()


class _Verification:
    def __init__(
        self, request: Request, interpreter: Interpreter, library: Path, scratch: Path, stdout: IO[Any] | int | None
    ) -> None:
        self.request = request
        self.interpreter = interpreter
        self.library = library
        self.scratch = scratch
        self.stdout = stdout

    def run(self) -> Report:
        request = self.request
        original = against.resolve(request.against, request.program) if request.against else None
        declared = {**(original.numerics if original else {}), **request.numerics}
        reference = untouched = None
        if original is not None:
            reference = self._original(original, "reference", declared)
            if declared:
                untouched = self._original(original, "untouched", {})
            _say("running the migrated program")
        ended = self._migrated(original, "migrated", self._mode(), self.stdout, None)
        moved = (str(original.root), str(self.scratch / "tree-migrated")) if original is not None else None
        seen = results.read(self.scratch / "migrated", request.program.folder, moved)
        report = Report(request, self.interpreter, ended, seen, numerics=declared)
        taps = results.read_taps(self.scratch / "migrated")
        report.steps = max((rank.steps for rank in taps.values()), default=0)
        if original is not None and reference is not None and ended.code == 0 and not ended.timed_out:
            report.original = original
            report.comparison = compare.compare(reference, taps)
            if not report.comparison.equal:
                self._set_varying_aside(original, report, reference, taps)
                if not declared:
                    report.undeclared = against.declaring_run(request.program.folder)
            if untouched is not None:
                report.effect = compare.effect(untouched, taps)
        return report

    def _mode(self, **changes: Any) -> launch.Mode:
        asked = {
            "taps": self.request.against is not None,
            "stop_after": self.request.steps,
            "devices": self.request.devices,
            "compare_eager": self.request.compare_eager,
        }
        return launch.Mode(**{**asked, **changes})

    def _original(self, original: against.Original, name: str, declared: Mapping[str, Any]) -> dict[int, results.Taps]:
        _say(f"running the original ({original.label})" + (" as it is" if name == "untouched" else ""))
        tree = self.scratch / f"tree-{name}"
        program, copy = against.lay_out_original(original, self.request.program, tree)
        mode = self._mode(role="original", numerics=declared, compare_eager=False)
        log = self.scratch / f"{name}.log"
        with open(log, "wb") as out:
            ended = self._start(program, mode, name, copy, out, out)
        if ended.timed_out:
            raise CannotRun(f"the original ({original.label}) was stopped by the time limit: see --steps, --time-limit")
        if ended.code:
            how = f"failed with exit code {ended.code}" if ended.code > 0 else f"was ended by signal {-ended.code}"
            why = _last_words(log.read_text(encoding="utf-8", errors="replace"))
            raise CannotRun(f"the original ({original.label}) {how} on the stand-in, nothing was compared:\n{why}")
        self._check_isolation(original, name, copy)
        shutil.rmtree(tree, ignore_errors=True)
        return results.read_taps(self.scratch / name)

    def _check_isolation(self, original: against.Original, name: str, copy: shadow.Shadow) -> None:
        """The original must neither have changed what the migrated program reads nor have run parts of it."""
        changed = copy.written_through()
        if changed:
            raise CannotRun(
                f"the original ({original.label}) wrote to {changed[0]}, which the migrated program would start from: "
                "let it write elsewhere, or move the file away"
            )
        strayed = results.strayed(self.scratch / name) if original.script is None else []
        if strayed:
            raise CannotRun(
                f"the original ({original.label}) imported {strayed[0]} from the migrated tree, so nothing is proven: "
                "start it with the old tree on its path"
            )

    def _migrated(
        self,
        original: against.Original | None,
        name: str,
        mode: launch.Mode,
        stdout: IO[Any] | int | None,
        stderr: IO[Any] | None,
    ) -> Ended:
        """Run the migrated program: in its own folder, or, for a comparison, in a working copy."""
        if original is None:
            return self._start(self.request.program, mode, name, None, stdout, stderr)
        program, copy = against.lay_out_migrated(original, self.request.program, self.scratch / f"tree-{name}")
        return self._start(program, mode, name, copy, stdout, stderr)

    def _set_varying_aside(
        self,
        original: against.Original,
        report: Report,
        reference: Mapping[int, results.Taps],
        taps: Mapping[int, results.Taps],
    ) -> None:
        """Run the migrated program once more: what differs between its own two runs proves nothing."""
        _say("they differ: running the migrated program once more, to see what varies by itself")
        with open(self.scratch / "again.log", "wb") as out:
            self._migrated(original, "again", self._mode(compare_eager=False), out, out)
        report.unstable = compare.varying(taps, results.read_taps(self.scratch / "again"))
        if report.unstable:
            report.comparison = compare.compare(reference, taps, report.unstable)

    def _start(
        self,
        program: launch.Program,
        mode: launch.Mode,
        name: str,
        copy: shadow.Shadow | None,
        stdout: IO[Any] | int | None,
        stderr: IO[Any] | None,
    ) -> Ended:
        return launch.start(
            program,
            mode,
            self.interpreter,
            self.library,
            self.scratch / name,
            time_limit=self.request.time_limit,
            moved=(str(copy.root), str(copy.into)) if copy is not None else None,
            stdout=stdout,
            stderr=stderr,
        )


def _last_words(output: str) -> str:
    """Why a run failed: its last lines, or the traceback of the first rank that has one.

    torchrun lets each rank's traceback go by, and then writes pages about it.
    """
    lines = output.splitlines()
    ranks = [match.group(1) for line in lines if (match := RANK_TRACEBACK.match(line))]
    if ranks:
        lines = [line for line in lines if line.startswith(f"[rank{ranks[0]}]:")]
    else:
        launcher = next((i for i, line in enumerate(lines) if LAUNCHER_LINE.search(line)), len(lines))
        lines = lines[:launcher] or lines
    return "\n".join(lines[-OUTPUT_TAIL:])


def _say(what: str) -> None:
    """Progress goes to stderr: stdout belongs to the script and the report."""
    print(f"verify: {what}", file=sys.stderr, flush=True)
