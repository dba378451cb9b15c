"""Which root a run works on, which files it reads there, and which it leaves alone and why.

Only what no programmer edits is left out without a word: git's data, caches, environments, what .gitignore or the
`exclude` setting names. Vendored and generated files, links that lead out of the root, templates and files of kinds
that no rule reads are in the list with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from migrate.discover_walk import Entry, Walk
from migrate.journal_git import git_top
from migrate.settings import settings_file

__all__ = ["Entry", "UsageError", "discover", "find_root"]


class UsageError(Exception):
    """The paths can't be used; the message names them and the remedy."""


def find_root(paths: Sequence[Path]) -> Path:
    """The one root of all paths: the nearest folder with settings, else the git top level, else the path's folder.

    Raises UsageError for a path that does not exist and for paths of different roots.
    """
    roots: dict[Path, Path] = {}
    for path in paths:
        roots.setdefault(_root_of(_located(path)), path)
    (first, first_path), *others = roots.items()
    for other, other_path in others:
        raise UsageError(
            f"{first_path} belongs to {first}, but {other_path} to {other}: run the command once for each of them,"
            " or write a neuron-migrate.toml into a folder above both"
        )
    return first


def discover(root: Path, paths: Sequence[Path], exclude: Iterable[str] = ()) -> list[Entry]:
    """The files below `paths`, sorted by path. `exclude` holds gitignore-style patterns relative to the root.

    A path that is named is read even when git ignores it, but not when it is excluded, vendored or generated. Files and
    folders that vanish or can't be read never stop the search. Raises UsageError for a path that does not exist or
    lies outside of the root.
    """
    top = Path(os.path.realpath(root))
    walk = Walk(top, exclude)
    # Folders first, outer ones before inner ones: naming one lifts git's patterns from all that lies in it.
    for place in sorted(map(_located, paths), key=lambda place: (not place.is_dir(), len(place.parts))):
        if place != top and top not in place.parents:
            raise UsageError(f"{place}: lies outside of the root {top}")
        path = place.relative_to(top).as_posix() if place != top else ""
        if place.is_dir():
            walk.add_folder(path)
        else:
            walk.add_file(path)
    return walk.entries()


def _located(path: Path) -> Path:
    """The path without links on the way; a link to a file stays one, so that it can be told from the file itself."""
    if not os.path.lexists(path):
        raise UsageError(f"{path}: there is no such file or folder")
    if os.path.isdir(path):
        return Path(os.path.realpath(path))
    folder, name = os.path.split(os.path.abspath(path))
    return Path(os.path.realpath(folder), name)


def _root_of(place: Path) -> Path:
    folder = place if place.is_dir() else place.parent
    with_settings = (above for above in (folder, *folder.parents) if settings_file(above) is not None)
    return next(with_settings, None) or git_top(folder) or folder
