"""The stand-in, built once per session, and ways to run programs on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from standin_support import TIME_LIMIT, Run, RunProgram

from migrate.standin import build, interpreter, launch, results


@pytest.fixture(scope="session")
def python() -> interpreter.Interpreter:
    """The interpreter of the tests: it must have a supported torch."""
    return interpreter.examine(sys.executable)


@pytest.fixture(scope="session")
def library(python: interpreter.Interpreter) -> Path:
    """The stand-in, built or taken from the cache."""
    return build.ensure(python)


@pytest.fixture(scope="session")
def run_program(python: interpreter.Interpreter, library: Path, tmp_path_factory: pytest.TempPathFactory) -> RunProgram:
    """Run a script on the stand-in: `run_program(path, *arguments, processes=2, mode=launch.Mode(...))`."""

    def run(
        script: Path,
        *arguments: str,
        processes: int | None = None,
        mode: launch.Mode | None = None,
        plain: bool = False,
    ) -> Run:
        folder = tmp_path_factory.mktemp("run")
        program = launch.Program(str(script), arguments, str(folder), False, processes)
        if plain:  # the same interpreter without the stand-in
            done = subprocess.run(
                program.command(python), check=False, cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT
            )
            return Run(done.returncode, done.stdout, done.stderr, results.Seen(), {})
        session = folder / "session"
        with open(folder / "out", "w+", encoding="utf-8") as out, open(folder / "err", "w+", encoding="utf-8") as err:
            ended = launch.start(
                program,
                mode or launch.Mode(),
                python,
                library,
                session,
                time_limit=TIME_LIMIT,
                stdout=out,
                stderr=err,
            )
        said, complained = (folder / "out").read_text("utf-8"), (folder / "err").read_text("utf-8")
        assert not ended.timed_out, complained
        return Run(ended.code, said, complained, results.read(session, str(script.parent)), results.read_taps(session))

    return run


@pytest.fixture
def run_text(run_program: RunProgram, tmp_path: Path) -> RunProgram:
    """As `run_program`, for a program given as text."""

    def run(text: str, *arguments: str, **options: object) -> Run:
        script = tmp_path / "script.py"
        script.write_text(text, encoding="utf-8")
        return run_program(script, *arguments, **options)

    return run
