"""A working copy of a tree for one run, so that compared runs don't find each other's files.

A script that saves a checkpoint often starts from it the next time. Each compared run therefore gets a tree of its
own: folders are real, small files are copies, large ones are links, and a link that was written through is noticed.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from .errors import CannotRun

COPIED_UP_TO = 1 << 20  # bytes; larger files are data or weights, too many to copy for each run
ENTRIES = 20_000  # from here on, folders that are still to come are linked as a whole
LEFT_OUT = frozenset({".neuron-migrate", "__pycache__"})
LINKED = frozenset({".git", "node_modules", ".venv", "venv"})


@dataclass
class Shadow:
    """The copy at `into` of the tree at `root`."""

    root: Path
    into: Path
    links: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def moved(self, path: str) -> str:
        """Where `path` lies in the copy; itself when it is outside the tree."""
        relative = os.path.relpath(os.path.realpath(path), self.root)
        return path if relative.startswith(os.pardir) else str(self.into / relative)

    def written_through(self) -> list[str]:
        """Large files of the real tree that have changed since the copy was made."""
        return sorted(str(p.relative_to(self.root)) for p, known in self.links.items() if _state(p) != known)


def make(root: Path, into: Path) -> Shadow:
    """Copy the tree at `root` into the folder `into`. Raises CannotRun when that fails."""
    shadow = Shadow(Path(os.path.realpath(root)), into)
    try:
        _fill(shadow)
    except OSError as error:
        raise CannotRun(f"{root} can't be copied for a compared run: {error}") from None
    return shadow


def _fill(shadow: Shadow) -> None:
    shadow.into.mkdir(parents=True, exist_ok=True)
    waiting = deque([shadow.root])
    seen = 0
    while waiting:
        folder = waiting.popleft()
        for entry in os.scandir(folder):
            seen += 1
            source = Path(entry.path)
            target = shadow.into / source.relative_to(shadow.root)
            if entry.name in LEFT_OUT or source == shadow.into:
                continue
            if entry.is_symlink():
                target.symlink_to(os.path.realpath(source))
            elif entry.is_dir():
                if entry.name in LINKED or seen > ENTRIES:
                    target.symlink_to(source)
                else:
                    target.mkdir()
                    waiting.append(source)
            elif entry.is_file():
                if entry.stat().st_size <= COPIED_UP_TO or source.suffix == ".py":
                    shutil.copy2(source, target)
                else:
                    shadow.links[source] = _state(source)
                    target.symlink_to(source)


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, -1
    return found.st_mtime_ns, found.st_size
