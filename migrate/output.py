"""What a command writes: reports to files and to the terminal, the patch, messages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from migrate.result import Result


def emit(result: Result, command: str, paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    """Write the reports: format and output in pairs, a format without an output goes to stdout."""
    formats = list(options["formats"]) or [result.settings.format]
    outputs: list[Path | None] = list(options["outputs"])
    if len(outputs) > len(formats):
        raise click.UsageError("more --output than --format: they go in pairs")
    outputs += [None] * (len(formats) - len(outputs))
    for name, output in zip(formats, outputs):
        text = _render(result, name, command, paths, options, output is None)
        if output is None:
            _print(text)
        else:
            try:
                output.write_text(text, encoding="utf-8")
            except OSError as error:
                raise click.UsageError(f"{output}: can't be written: {error.strerror}") from None
    if not options["quiet"]:
        messages(result)


def open_streams() -> None:
    """Give the standard streams that were closed when the program began to the null device.

    Else Python has none of them, and the next file that is opened takes the place, and all that is printed.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            place = os.open(os.devnull, os.O_RDWR)
            if place != number:
                os.dup2(place, number)
                os.close(place)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def messages(result: Result) -> None:
    """Tell of the faults of the tool, on stderr."""
    for message in result.errors:
        click.echo(f"neuron-migrate: {message}", err=True)


def _render(
    result: Result, name: str, command: str, paths: tuple[Path, ...], options: dict[str, Any], terminal: bool
) -> str:
    if name == "text":
        from migrate.report.text import View, render

        color = terminal and sys.stdout.isatty() and "NO_COLOR" not in os.environ
        view = View(
            command=command,
            everything=options["everything"],
            kept="kept" in options["show"],
            statistics=options["statistics"],
            color=color,
            paths=tuple(map(str, paths)),
        )
        return render(result, view)
    from importlib import import_module

    rendered: str = import_module(f"migrate.report.{name}").render(result)
    return rendered


def _print(text: str) -> None:
    """Print, whatever the terminal can show: a character that it lacks is escaped, never fatal."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(encoding, "backslashreplace"))
    sys.stdout.buffer.flush()


def patch(result: Result) -> bytes:
    """The patch that turns the old bytes of all changed files into the new ones."""
    from migrate.diff import unified

    parts = []
    for path, (old, new) in sorted(result.changes.items()):
        try:
            mode = os.stat(result.root / path).st_mode
        except OSError:
            mode = None
        parts.append(unified(path, old, new, mode))
    return b"".join(parts)
