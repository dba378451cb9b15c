"""The command line: what each command reads, writes and returns."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from migrate.options import paths_argument, reporting, shared
from migrate.standin.command import verify
from migrate.version import VERSION

if TYPE_CHECKING:
    from migrate.lockfile import Lockfile
    from migrate.result import Result
    from migrate.settings import Settings

DONE, OPEN, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130


class _Group(click.Group):
    """Turns what users can cause into one line on stderr and the right exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted; nothing is half-written", err=True)
            sys.stderr.flush()
            os._exit(INTERRUPTED)  # the analysis thread is in native code, which an orderly exit would run into
        except (click.exceptions.Exit, click.ClickException, SystemExit):
            raise
        except Exception as error:
            code = _user_error(error)
            if code is None:
                import traceback

                traceback.print_exc()
                click.echo("neuron-migrate: internal error, please report it; nothing is half-written", err=True)
                code = INTERNAL
            else:
                click.echo(f"neuron-migrate: {error}", err=True)
            ctx.exit(code)


def _user_error(error: Exception) -> int | None:
    from migrate.discover import UsageError
    from migrate.journal import JournalError, LockHeld
    from migrate.settings import SettingsError

    if isinstance(error, (UsageError, SettingsError, LockHeld)):
        return USAGE
    return OPEN if isinstance(error, (JournalError, OSError)) else None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="neuron-migrate")
def cli() -> None:
    """Make a PyTorch repository written for CUDA or PyTorch/XLA run on AWS Trainium.

    \b
    neuron-migrate check .     what is to do; changes nothing
    neuron-migrate run .       apply what is needed to run
    neuron-migrate review .    look at every change, and decide
    neuron-migrate undo        take the last run back
    neuron-migrate verify train.py     run the result without the device
    """


cli.add_command(verify)


@cli.command()
@paths_argument
@shared
@reporting
@click.option("--diff", "with_diff", is_flag=True, help="Add the patch.")
@click.pass_context
def check(ctx: click.Context, /, paths: tuple[Path, ...], with_diff: bool, **options: Any) -> None:
    """Report what is not migrated yet; write nothing.

    \b
    Example: neuron-migrate check --format json src/
    """
    from migrate.output import emit, patch

    result = _pipeline(paths, options, settle=with_diff)
    emit(result, "check", paths, options)
    if with_diff:
        sys.stdout.flush()
        sys.stdout.buffer.write(patch(result))
    ctx.exit(_verdict(result, options))


@cli.command()
@paths_argument
@shared
@reporting
@click.option("--allow-dirty", is_flag=True, help="Write files that have uncommitted changes in git.")
@click.pass_context
def run(ctx: click.Context, /, paths: tuple[Path, ...], allow_dirty: bool, **options: Any) -> None:
    """Apply what is needed to run on Trainium.

    \b
    Example: neuron-migrate run .          (undo takes it back)
             neuron-migrate run --level safe src/
    """
    from migrate.journal import Journal, dirty_paths
    from migrate.output import emit
    from migrate.result import mark_applied

    root = _root(paths)
    journal = Journal(root)
    with journal.lock():
        result = _pipeline(paths, options, _decided(root, options))
        changes = result.changes
        dirty = [] if allow_dirty else dirty_paths(root, changes) or []
        if dirty:
            shown = ", ".join(dirty[:5]) + (f" and {len(dirty) - 5} more" if len(dirty) > 5 else "")
            raise click.UsageError(f"uncommitted changes in {shown}: commit them first, or say --allow-dirty")
        meta = {"command": "run", "level": result.settings.level, "version": VERSION, "numerics": _numerics(result)}
        record = journal.write_run(changes, {}, meta)
    failed = {f.path: f for f in record.failed}
    mark_applied(result, set(changes) - set(failed))
    emit(result, "run", paths, options)
    for path, file in failed.items():
        click.echo(f"neuron-migrate: {path}: not written: {file.reason}", err=True)
    if record.id and not options["quiet"]:
        click.echo(f"{len(record.written)} file(s) written; neuron-migrate undo takes it back", err=True)
    if result.errors:
        ctx.exit(INTERNAL)
    ctx.exit(OPEN if failed or not result.runnable else DONE)


@cli.command()
@paths_argument
@shared
@click.option("--only-undecided", is_flag=True, help="Leave out what is decided already.")
@click.pass_context
def review(ctx: click.Context, /, paths: tuple[Path, ...], only_undecided: bool, **options: Any) -> None:
    """Look at every change, and decide, key by key; ? shows the keys.

    \b
    Example: neuron-migrate review .       (leave with q, go on another day)
             neuron-migrate review --select TN1 src/
    """
    from migrate.review.command import review as start

    root = _root(paths)
    progress = _progress if sys.stderr.isatty() and not options["quiet"] else None
    places = list(paths) or [Path(".")]
    ctx.exit(start(root, places, _settings(root, options), only_undecided, progress, not options["no_cache"]))


@cli.command()
@paths_argument
@shared
@click.pass_context
def diff(ctx: click.Context, /, paths: tuple[Path, ...], **options: Any) -> None:
    """Print the patch that `run` with the same options would write.

    \b
    Example: neuron-migrate diff . > neuron.patch; git apply neuron.patch
    """
    from migrate.output import messages, patch

    result = _pipeline(paths, options, _decided(_root(paths), options))
    sys.stdout.flush()
    sys.stdout.buffer.write(patch(result))
    sys.stdout.buffer.flush()
    messages(result)
    ctx.exit(INTERNAL if result.errors else DONE)


@cli.command()
@click.argument("run_id", required=False)
@click.option("--root", type=click.Path(path_type=Path), default=Path("."), help="A folder of the repository.")
@click.option("--partial", is_flag=True, help="Restore the files that nobody changed since, and leave the others.")
@click.pass_context
def undo(ctx: click.Context, run_id: str | None, root: Path, partial: bool) -> None:
    """Give the files of a run (default: the last) their old bytes.

    \b
    Example: neuron-migrate undo
    """
    from migrate.journal import Journal

    report = Journal(_root((root,))).undo(run_id, partial)
    for path in report.restored:
        click.echo(f"restored {path}")
    for path in report.removed:
        click.echo(f"removed {path}")
    for path, reason in dict(report.refused).items():
        click.echo(f"refused {path}: {reason}", err=True)
    for path, reason in dict(report.failed).items():
        click.echo(f"failed {path}: {reason}", err=True)
    ctx.exit(DONE if report.complete else OPEN)


@cli.command()
def rules() -> None:
    """List all rules with their codes and names.

    \b
    Example: neuron-migrate rules
    """
    from transforms.registry import rules as every

    for rule in every():
        click.echo(f"{rule.code}  {rule.name:<24} {rule.best.value:<7} {rule.summary}")


@cli.command()
@click.argument("what")
def explain(what: str) -> None:
    """Show the page of a rule (CODE or name), or all that is known about a line (PATH:LINE).

    \b
    Example: neuron-migrate explain TN101
             neuron-migrate explain train.py:12
    """
    from migrate.explain import explain_line, explain_rule

    path, _, line = what.rpartition(":")
    if path and line.isdigit():
        click.echo(explain_line(Path(path), int(line)))
    else:
        click.echo(explain_rule(what))


# helpers ------------------------------------------------------------------------------------------------------------


def _root(paths: Sequence[Path]) -> Path:
    from migrate.discover import find_root

    return find_root(list(paths) or [Path(".")])


def _settings(root: Path, options: dict[str, Any]) -> Settings:
    from migrate.settings import load_settings
    from transforms.registry import by_code

    config = options.get("config")
    names = ("select", "ignore", "exclude", "tests", "level", "fail_on", "jobs")
    settings = load_settings(root, config).merged({n: options.get(n) for n in names})
    settings.check_rules({code: rule.name for code, rule in by_code().items()})
    return settings


def _decided(root: Path, options: dict[str, Any]) -> Lockfile:
    """The lock file, with the decisions of a review that was left before it wrote them."""
    from migrate import lockfile
    from migrate.held import with_waiting

    lock, waiting = with_waiting(root, lockfile.read(root))
    if waiting and not options["quiet"]:
        many = "1 decision of a review waits" if waiting == 1 else f"{waiting} decisions of a review wait"
        click.echo(f"{many}; run and diff go by it; neuron-migrate review, then w, writes it down", err=True)
    return lock


def _pipeline(
    paths: tuple[Path, ...], options: dict[str, Any], lock: Lockfile | None = None, settle: bool = True
) -> Result:
    from migrate.cache import opened
    from migrate.pipeline import run_pipeline

    root = _root(paths)
    settings = _settings(root, options)
    progress = _progress if sys.stderr.isatty() and not options.get("quiet") else None
    with opened(not options["no_cache"]) as cache:
        result = run_pipeline(root, list(paths) or [Path(".")], settings, progress, lock, settle=settle, cache=cache)
    if progress is not None:
        click.echo("\r\033[K", nl=False, err=True)
    return result


def _progress(number: int, total: int, path: str) -> None:
    if number % 10 == 0:
        click.echo(f"\r\033[K{number}/{total} {path[-60:]}", nl=False, err=True)


def _numerics(result: Result) -> list[dict[str, str]]:
    """What the applied fixes change about the numbers, for `verify --against run:ID`."""
    found: list[dict[str, str]] = []
    for item in result.items():
        if item.fix is not None and item.fix.applied and item.fix.fix.numerics and item.fix.fix.numerics not in found:
            found.append(item.fix.fix.numerics)
    return found


def _verdict(result: Result, options: dict[str, Any]) -> int:
    from transforms.engine.model import WARNING, Safety

    if result.errors:
        return INTERNAL
    fail_on = result.settings.fail_on
    if fail_on == "none":
        return DONE
    still = [i for i in result.counted if i.status == "open" and i.owner]
    if any(i.needed for i in still):
        return OPEN
    if fail_on in ("warning", "all") and any(i.severity == WARNING and i.safety is Safety.MANUAL for i in still):
        return OPEN
    if fail_on == "all" and any(i.safety is Safety.OFFER for i in still):
        return OPEN
    return DONE


def main() -> None:
    """Entry point of the command. The current folder may hold modules of our names, so it leaves the search path."""
    from migrate.output import open_streams

    open_streams()
    try:
        here, own = os.getcwd(), str(Path(__file__).parent.parent)
    except FileNotFoundError:
        click.echo("neuron-migrate: the current folder does not exist any more: change to another", err=True)
        sys.exit(USAGE)
    sys.path[:] = [p for p in sys.path if p == own or (p not in ("", ".") and os.path.abspath(p) != here)]
    cli()


if __name__ == "__main__":
    main()
