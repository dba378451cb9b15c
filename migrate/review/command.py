"""The command `review`: everything before the first screen and after the last."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from migrate.settings import Settings

NO_TERMINAL = (
    "review needs a terminal for its keys and its screen, and {} is none."
    " neuron-migrate diff prints all changes, check reports them, run applies them."
)


def review(
    root: Path,
    paths: Sequence[Path],
    settings: Settings,
    only_undecided: bool,
    progress: Callable[[int, int, str], None] | None = None,
    cached: bool = False,
) -> int:
    """Review what the tool finds below `paths`; gives the exit code.

    Without `--level` offers are shown too. `cached`: what earlier runs found out may be used. Raises click.UsageError
    without a terminal, LockfileError, LockHeld.
    """
    _need_terminal()
    from rich.console import Console

    from migrate import lockfile
    from migrate.cache import opened
    from migrate.composer import LEVELS
    from migrate.journal import Journal
    from migrate.pipeline import run_pipeline
    from migrate.review.app import Review
    from migrate.review.log import DecisionLog
    from migrate.review.session import Session
    from migrate.review.terminal import Terminal
    from transforms.engine.model import Safety

    level = LEVELS[settings.level] if "level" in settings.given else Safety.OFFER
    journal = Journal(root)
    with journal.lock():
        lock = lockfile.read(root)
        log = DecisionLog(root)
        # Everything is open in a review; what the lock file says is put on top, so that it can be changed.
        everything = replace(settings, baseline=None)
        none = lockfile.Lockfile()
        with opened(cached) as cache:
            result = run_pipeline(root, paths, everything, progress, lock=none, compose=False, cache=cache)
        if progress is not None:
            click.echo("\r\033[K", nl=False, err=True)
        for message in result.errors:
            click.echo(f"neuron-migrate: {message}", err=True)
        result.errors = []
        whole = any(path.resolve() == root.resolve() for path in paths)
        session = Session(result, log, lock, level, whole)
        if not session.units and not session.waiting_count and not session.stale:
            click.echo("Nothing is left to review.")
            return 0
        # What was found stays until the end: no key shall wait for it to be searched for garbage.
        gc.collect()
        gc.freeze()
        terminal = Terminal()
        app = Review(session, journal, terminal, Console().color_system, only_undecided)
        with terminal.opened():
            code = app.run()
    for line in app.farewell or (["Nothing is left to review."] if not app.units else []):
        click.echo(line)
    return code


def _need_terminal() -> None:
    for stream, name in ((sys.stdin, "the input"), (sys.stdout, "the output")):
        if not stream.isatty():
            raise click.UsageError(NO_TERMINAL.format(name))
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise click.UsageError(NO_TERMINAL.format(f"TERM={os.environ.get('TERM', '')!r}"))
    try:
        import termios  # noqa: F401
    except ImportError:
        raise click.UsageError("review needs a POSIX terminal; on Windows run it in WSL") from None
