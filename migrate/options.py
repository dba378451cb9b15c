"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("text", "json", "github", "sarif", "markdown")

paths_argument = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))


def shared(command: F) -> F:
    """Options that check, run and diff have in common."""
    options = [
        click.option("--select", multiple=True, metavar="RULE", help="Only these rules (codes, prefixes or names)."),
        click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules."),
        click.option(
            "--exclude", multiple=True, metavar="PATTERN", help="Leave out files (patterns as in .gitignore)."
        ),
        click.option("--tests", is_flag=True, default=None, help="Edit the repository's tests too."),
        click.option(
            "--level", type=click.Choice(["safe", "review", "offer"]), help="What is applied (default: review)."
        ),
        click.option("--config", type=click.Path(path_type=Path), help="Settings file to read."),
        click.option("--jobs", type=click.IntRange(1), metavar="N", help="Use at most N processes (default: all)."),
        click.option("--no-cache", is_flag=True, help="Look at every file anew."),
        click.option("-q", "--quiet", is_flag=True, help="No progress and no messages."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def reporting(command: F) -> F:
    """Options of commands that print a report."""
    options = [
        click.option(
            "--format",
            "formats",
            multiple=True,
            type=click.Choice(FORMATS),
            help="Format of the report; may be repeated.",
        ),
        click.option(
            "--output",
            "outputs",
            multiple=True,
            type=click.Path(path_type=Path),
            help="File for the format at the same place.",
        ),
        click.option("--show", "show", multiple=True, type=click.Choice(["kept", "open"]), help="List kept sites too."),
        click.option("--all", "everything", is_flag=True, help="List every finding, however many a file has."),
        click.option("--statistics", is_flag=True, help="Count open findings by rule."),
        click.option(
            "--fail-on", type=click.Choice(["error", "warning", "all", "none"]), help="What makes the exit code 1."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command
