"""Which files git would leave out: .gitignore files at all levels and .git/info/exclude.

The caller walks downwards and does not enter an ignored folder, like git; so a path is only ever asked about when the
folder that it lies in is not ignored. Source of the rules: git's gitignore documentation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from migrate.discover_patterns import Pattern, parse


@dataclass(frozen=True)
class Rules:
    """The patterns of all ignore files that hold for a folder, with the folders that these lie in.

    Such a folder is "" for the git top, or a path relative to it that ends with `/`.
    """

    _levels: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()

    def ignore(self, path: str) -> bool:
        """Whether the patterns name the entry; `path` is relative to the git top, a folder's ends with `/`.

        The last pattern that matches decides, and the file in the deeper folder goes first.
        """
        is_folder = path.endswith("/")
        path = path.removesuffix("/")
        name = path.rpartition("/")[2]
        for base, patterns in reversed(self._levels):
            below = path[len(base) :]
            for pattern in reversed(patterns):
                if pattern.matches(below, name, is_folder):
                    return pattern.ignores
        return False

    def with_lines(self, lines: Iterable[str], base: str = "") -> Rules:
        """These rules and those of a file in the folder `base`."""
        patterns = tuple(pattern for line in lines if (pattern := parse(line)) is not None)
        return Rules((*self._levels, (base, patterns))) if patterns else self

    def with_file(self, file: str, base: str) -> Rules:
        """These rules and those of an ignore file, if it is there and can be read."""
        try:
            with open(file, "rb") as stream:
                text = os.fsdecode(stream.read())
        except OSError:
            return self
        return self.with_lines((line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")), base)


def rules_above(top: Path, root: Path) -> Rules:
    """What holds at the root before its own .gitignore: the repository's exclude file and the folders above the root.

    Nothing, when they ignore the root itself: who names it means it.
    """
    found = Rules().with_file(os.path.join(_git_folder(top), "info", "exclude"), "")
    folder, base = top, ""
    for part in root.relative_to(top).parts:
        found = found.with_file(os.path.join(folder, ".gitignore"), base)
        folder, base = folder / part, base + part + "/"
        if found.ignore(base):
            return Rules()
    return found


def _git_folder(top: Path) -> Path:
    """Where the repository's common data lies; `.git` is a file in worktrees and submodules."""
    place = top / ".git"
    try:
        if place.is_file():
            place = top / place.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        common = place / "commondir"
        return place / common.read_text(encoding="utf-8").strip() if common.is_file() else place
    except (OSError, UnicodeDecodeError):
        return place


def submodules(top: Path) -> frozenset[str]:
    """The folders of the submodules that .gitmodules names, relative to the git top."""
    try:
        text = os.fsdecode((top / ".gitmodules").read_bytes())
    except OSError:
        return frozenset()
    pairs = (line.partition("=") for line in text.splitlines())
    return frozenset(value.strip().strip('"').strip("/") for key, _, value in pairs if key.strip() == "path")
