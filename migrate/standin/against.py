"""Find the original that a migrated program is compared with, and lay out a working copy for each run."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import numerics, shadow
from .errors import CannotRun
from .launch import Program


@dataclass(frozen=True)
class Original:
    """What `--against` names: `root` is the tree that both programs belong to.

    `script` is the original's file where it has one of its own, `tree` the folder of an old tree, `revision` and
    `run` say how to make the old tree from the new one. `numerics` are the declared changes of the run, `restored`
    its files and those of later runs, which alone are put back, and `changed_since` what else differs from git's HEAD
    (None: git does not know).
    """

    label: str
    root: Path
    script: Path | None = None
    tree: Path | None = None
    revision: str | None = None
    run: str | None = None
    numerics: dict[str, Any] = field(default_factory=dict)
    restored: tuple[str, ...] = ()
    changed_since: tuple[str, ...] | None = None


def resolve(old: str, program: Program) -> Original:
    """The meaning of `--against OLD`: a script, a folder with the old tree, `git:REV`, or `run:ID`.

    Raises CannotRun when there is no such thing.
    """
    kind, colon, name = old.partition(":")
    if colon and kind == "git":
        root = Path(_git(program.folder, "rev-parse", "--show-toplevel").decode().strip())
        return Original(old, root, revision=_commit(root, name))
    if colon and kind == "run":
        root = _project_root(program.folder)
        numerics, restored = _declared(root, name)
        changed = _differs_from_head(root)
        since = None if changed is None else tuple(sorted(changed - set(restored)))
        return Original(old, root, run=name, numerics=numerics, restored=restored, changed_since=since)
    path, folder = Path(program.folder, old), Path(program.folder).resolve()
    if path.is_dir():
        return Original(old, folder, tree=path.resolve())
    if not path.is_file():
        raise CannotRun(f"--against {old}: there is no such file or folder (or say git:REV, or run:ID)")
    if program.is_module:
        raise CannotRun(f"--against {old}: with -m give the folder of the old tree, git:REV or run:ID")
    return Original(old, folder, script=path.resolve())


def declaring_run(folder: str) -> tuple[str, dict[str, Any]] | None:
    """The first run in force that declares numeric changes, as `run:ID`, and what it and later ones declare."""
    from migrate.journal import Journal, JournalError

    try:
        root = _project_root(folder)
        runs = [r for r in Journal(root).runs() if r.state != "undone" and r.meta.get("numerics")]
        return (f"run:{runs[0].id}", _declared(root, runs[0].id)[0]) if runs else None
    except (CannotRun, JournalError):
        return None


def lay_out_migrated(original: Original, program: Program, into: Path) -> tuple[Program, shadow.Shadow]:
    """The migrated program in a working copy at `into`."""
    copy = shadow.make(original.root, into)
    return _moved(program, copy), copy


def lay_out_original(original: Original, program: Program, into: Path) -> tuple[Program, shadow.Shadow]:
    """The original program in a working copy at `into`. Raises CannotRun."""
    if original.run is not None:
        _restore(original.root, original.run, into)
        return _moved(program, shadow.Shadow(original.root.resolve(), into)), shadow.Shadow(original.root, into)
    copy = shadow.make(original.tree or original.root, into)
    if original.revision is not None:
        _check_out(original.root, original.revision, into)
    if original.script is not None:
        moved = _moved(program, copy)
        return replace(moved, target=copy.moved(str(original.script))), copy
    # A program of the new tree, at the same place in the old one.
    return _moved(program, shadow.Shadow(original.root.resolve(), into)), copy


def _moved(program: Program, copy: shadow.Shadow) -> Program:
    folder = copy.moved(program.folder)
    if program.is_module:
        return replace(program, folder=folder)
    real = os.path.realpath(os.path.join(program.folder, program.target))
    target = copy.moved(real)
    if target != real and not os.path.isfile(target):
        raise CannotRun(f"the old tree has no {os.path.relpath(target, copy.into)}: was it renamed?")
    same_words = not os.path.isabs(program.target) and target != real
    return replace(program, folder=folder, target=program.target if same_words else target)


def _declared(root: Path, run_id: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The numeric changes declared by the run and by later ones that are in force, and the files of these runs."""
    from migrate.journal import Journal, JournalError

    try:
        restored = tuple(sorted(Journal(root).state_before(run_id)))  # says so when there is no such run
        runs = [r for r in Journal(root).runs() if int(r.id) >= int(run_id) and r.state != "undone"]
    except (JournalError, ValueError) as error:
        raise CannotRun(f"--against run:{run_id}: {error}") from None
    declared: list[Any] = []
    for run in runs:
        given = run.meta.get("numerics") or []
        declared.extend(given if isinstance(given, list) else [given])
    return numerics.merge(declared, f"run {run_id}"), restored


def _restore(root: Path, run_id: str, into: Path) -> None:
    from migrate.journal import JournalError
    from migrate.journal_restore import restore_run

    try:
        restore_run(root, run_id, into)
    except JournalError as error:
        raise CannotRun(f"--against run:{run_id}: {error}") from None


def _project_root(folder: str) -> Path:
    """The folder at or above `folder` that holds a journal."""
    start = Path(folder).resolve()
    for candidate in (start, *start.parents):
        if (candidate / ".neuron-migrate").is_dir():
            return candidate
    raise CannotRun(f"--against run:ID: no run of neuron-migrate is recorded in {start} or above it")


def _git(folder: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=True)
    except FileNotFoundError:
        raise CannotRun("--against git:REV needs git, which is not on PATH") from None
    except subprocess.CalledProcessError as error:
        raise CannotRun(f"git {arguments[0]}: {error.stderr.decode(errors='replace').strip()}") from None
    return done.stdout


def _differs_from_head(root: Path) -> set[str] | None:
    """The tracked files below `root` that are not as in HEAD; None without git or a commit."""
    try:
        names = _git(str(root), "diff", "--name-only", "--no-renames", "--no-ext-diff", "--relative", "-z", "HEAD")
    except CannotRun:
        return None
    found = set(filter(None, names.decode(errors="surrogateescape").split("\0")))
    return {name for name in found if not name.startswith(".neuron-migrate/")}


def _commit(root: Path, revision: str) -> str:
    try:
        found = _git(str(root), "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    except CannotRun:
        raise CannotRun(f"--against git:{revision}: {root} has no such revision") from None
    return found.decode().strip()


def _check_out(root: Path, commit: str, into: Path) -> None:
    """Replace what git tracks in the working copy by the state of `commit`; other files (data) stay."""
    for name in filter(None, _git(str(root), "ls-files", "-z").decode(errors="surrogateescape").split("\0")):
        path = into / name
        if path.is_symlink() or path.is_file():
            path.unlink()
    with tarfile.open(fileobj=io.BytesIO(_git(str(root), "archive", "--format=tar", commit))) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(into, filter="data")
        else:
            tar.extractall(into)
