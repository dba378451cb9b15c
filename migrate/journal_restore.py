"""A copy of the tree as it was before a run, to compare programs with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from migrate.journal import FOLDER, Journal, JournalError

_NEVER_COPIED = frozenset({".git", FOLDER, "__pycache__", "node_modules"})


def restore_run(root: Path, run_id: str, into: Path) -> None:
    """Copies the tree at `root` into the new or empty folder `into`, as it was before the run and all later ones.

    git's data, the journal, virtual environments and caches are left out. Raises JournalError for an unknown run, a
    folder that holds something, and when copying fails.
    """
    journal = Journal(root)
    before = journal.state_before(run_id)
    destination = Path(os.path.realpath(into))
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise JournalError(f"{into}: has to be a new or empty folder")

    def left_out(folder: str, names: list[str]) -> set[str]:
        paths = {name: os.path.join(folder, name) for name in names}
        return {
            name
            for name, path in paths.items()
            if name in _NEVER_COPIED or path == str(destination) or os.path.exists(os.path.join(path, "pyvenv.cfg"))
        }

    try:
        shutil.copytree(journal.root, destination, symlinks=True, ignore=left_out, dirs_exist_ok=True)
        for path, data in before.items():
            copy = destination / path
            if data is None:
                copy.unlink(missing_ok=True)
            else:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(data)
    except OSError as error:  # shutil.Error, which lists all files, is one
        raise JournalError(f"{into}: copying {journal.root} failed: {error}") from None
