"""`neuron-migrate verify`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from .errors import CannotRun

if TYPE_CHECKING:
    from .launch import Program
    from .verify import Request

EPILOG = """\b
Examples:
  neuron-migrate verify train.py -- --steps 20
  neuron-migrate verify train.py --against git:HEAD~1 --steps 20
  neuron-migrate verify train.py --nproc 2 --against run:3 -- --epochs 1
"""

DEFAULT_TIME_LIMIT = 900.0


@click.command(epilog=EPILOG)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module, as in python -m.")
@click.option("--against", metavar="OLD", help="Compare with the original: a script, a folder, git:REV or run:ID.")
@click.option(
    "--numerics",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON file with the numeric changes that the migration declares.",
)
@click.option("--compiled-vs-eager", is_flag=True, help="Compare each compiled region with the same code run eagerly.")
@click.option("--steps", type=click.IntRange(min=1), help="End each process after this many optimizer steps.")
@click.option("--nproc", type=click.IntRange(min=1), help="Run under torchrun with this many processes.")
@click.option("--devices", type=click.IntRange(1, 128), default=1, show_default=True, help="Devices a process sees.")
@click.option("--python", "python", metavar="PATH", help="Python with your torch (default: the active environment's).")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0),
    default=DEFAULT_TIME_LIMIT,
    show_default=True,
    help="Seconds for each run; 0 for none.",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to this file.")
def verify(
    script: str,
    arguments: tuple[str, ...],
    module: bool,
    against: str | None,
    numerics: Path | None,
    compiled_vs_eager: bool,
    steps: int | None,
    nproc: int | None,
    devices: int,
    python: str | None,
    time_limit: float,
    format_: str,
    output: Path | None,
) -> None:
    """Run a migrated program on a CPU stand-in for the neuron device.

    Reports what would fail or be slow on the device, and, with --against, proves that the program computes bit for
    bit what its CUDA original computes. Arguments of the script come after --. Exit code 0: it runs (and is the
    same), 1: an error or a difference, 2: nothing is proven.
    """
    from . import numerics as numerics_file
    from .launch import Program
    from .verify import Request

    program = Program(script, arguments, os.getcwd(), module, nproc)
    try:
        if not module and not os.path.isfile(script):
            raise CannotRun(f"{script}: there is no such script")
        request = Request(
            program,
            against=against,
            numerics=numerics_file.load(numerics) if numerics else {},
            compare_eager=compiled_vs_eager,
            steps=steps,
            devices=devices,
            time_limit=time_limit or None,
        )
        code = _run(request, python, format_, output)
    except CannotRun as error:
        click.echo(f"neuron-migrate verify: {error}", err=True)
        code = 2
        if format_ == "json":
            _write_failure(program, str(error), output)
    except KeyboardInterrupt:
        click.echo("neuron-migrate verify: interrupted; all processes of the run have been ended", err=True)
        code = 130
    sys.exit(code)


def _run(request: Request, python: str | None, format_: str, output: Path | None) -> int:
    from . import interpreter, render
    from .verify import verify

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    # Where the report goes to stdout for a program to read, the script's own output must not be in it.
    script_output = sys.stderr if format_ == "json" and output is None else None
    report = verify(request, interpreter.examine(interpreter.choose(python)), stdout=script_output)
    content = render.as_json(report) if format_ == "json" else render.text(report)
    _write(content, output)
    return report.exit_code


def _write(content: str, output: Path | None) -> None:
    if output is None:
        click.echo(content, nl=False)
        return
    try:
        output.write_text(content, encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"--output {output}: {error.strerror}") from None


def _write_failure(program: Program, reason: str, output: Path | None) -> None:
    """A program that reads JSON gets the reason too. Where --output itself is at fault, stderr has said so."""
    from . import render

    with contextlib.suppress(CannotRun):
        _write(render.failure_as_json(program, reason), output)


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
