"""The walk over the folders of a root: what is pruned, what is listed, and where links lead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from migrate.discover_ignore import Rules, rules_above, submodules
from migrate.discover_kinds import HEAD, READ_KINDS, is_generated, is_test, kind_of, kind_of_script
from migrate.journal_git import git_top, tracked_although_ignored

_NEVER_READ = frozenset(
    {".git", ".hg", ".svn", ".neuron-migrate", "__pycache__", "node_modules", "site-packages", ".tox", ".nox", ".eggs"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"}
)
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")
# These names are common for source folders too ("dist" for distributed), so a build is told by its neighbours.
_BUILD_FOLDERS = frozenset({"build", "dist", "_build"})
_BUILD_FILES = frozenset(
    {"setup.py", "setup.cfg", "pyproject.toml", "CMakeLists.txt", "package.json", "conf.py", "Makefile"}
)
_VENDORED = frozenset({"third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendored", "_vendor"})
_EXCLUDED = "is excluded by the settings"


@dataclass(frozen=True)
class Entry:
    """One file. `path` is relative to the root, with `/`; of a linked file it is the path of the file itself.

    `kind` is python, notebook, yaml, shell, dockerfile, requirements, toml, json, markdown, cuda, template, binary,
    other, or folder for a folder that was left out as a whole. `status` is read, skipped (never edited) or not_read
    (no rule reads such files). `links` are the symbolic links that were met and lead to this file.
    """

    path: str
    kind: str
    test: bool
    status: str
    reason: str | None = None
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Folder:
    """What holds for the entries of one folder."""

    rules: Rules
    left_out: str | None = None  # why nothing in it is read or listed
    skipped: str | None = None  # why its files are listed but never edited
    ignored: bool = False  # git leaves it out


class Walk:
    """Collects the entries of one root. All paths are relative to it, "" for the root itself."""

    def __init__(self, root: Path, exclude: Iterable[str]) -> None:
        self._root = root
        self._exclude = Rules().with_lines(exclude)
        top = git_top(root)
        # Ignore files speak of paths below the git top, which may lie above the root.
        self._prefix = "" if top is None or top == root else root.relative_to(top).as_posix() + "/"
        self._submodules = submodules(top) if top is not None else frozenset[str]()
        self._in_git = top is not None
        above = rules_above(top, root) if top is not None else Rules()
        self._folders = {"": _Folder(self._with_own_rules(above, ""))}
        self._walked: set[str] = set()
        self._found: dict[str, Entry] = {}
        self._links: dict[str, set[str]] = {}

    def entries(self) -> list[Entry]:
        """What was found, sorted by path."""
        found = (replace(e, links=tuple(sorted(self._links.get(e.path, ())))) for e in self._found.values())
        return sorted(found, key=lambda entry: entry.path)

    def add_folder(self, path: str) -> None:
        """A folder that somebody named: git's patterns do not hold for it."""
        folder = self._folder(path)
        if folder.left_out is not None:
            self._skip(path, "folder", folder.left_out)
            return
        if folder.ignored:
            self._folders[path] = replace(folder, ignored=False, rules=self._with_own_rules(Rules(), path))
        self._walk(path)

    def add_file(self, path: str) -> None:
        """A file, or a link to one, that somebody named: git's patterns do not hold for it."""
        folder = self._folder(_parent(path))
        reason = folder.left_out or (_EXCLUDED if self._exclude.ignore(path) else None)
        if reason is not None:
            self._skip(path, kind_of(path) or "other", reason)
        elif os.path.islink(self._disk(path)):
            self._add_link(path, named=True)
        elif not os.path.isfile(self._disk(path)):
            self._skip(path, "other", "is no regular file")
        else:
            self._add(path)

    # Folders ----------------------------------------------------------------------------------------------------------

    def _folder(self, path: str) -> _Folder:
        known = self._folders.get(path)
        if known is None:
            known = self._folders[path] = self._enter(self._folder(_parent(path)), path)
        return known

    def _enter(self, above: _Folder, path: str) -> _Folder:
        if above.left_out is not None:
            return above
        left_out = self._why_left_out(path)
        if left_out is not None:
            return replace(above, left_out=left_out)
        skipped = above.skipped
        if skipped is None and path.rpartition("/")[2].lower() in _VENDORED:
            skipped = f"vendored: lies in {path}/"
        elif skipped is None and self._prefix + path in self._submodules:
            skipped = f"vendored: {path}/ is a git submodule"
        ignored = above.ignored or above.rules.ignore(f"{self._prefix}{path}/")
        return _Folder(self._with_own_rules(above.rules, path), skipped=skipped, ignored=ignored)

    def _why_left_out(self, path: str) -> str | None:
        name = path.rpartition("/")[2]
        if name in _NEVER_READ or name.endswith(".egg-info"):
            return f"{name}/ is never read"
        if any(os.path.lexists(os.path.join(self._disk(path), mark)) for mark in _ENVIRONMENT_MARKS):
            return "is an environment with installed packages"
        return _EXCLUDED if self._exclude.ignore(path + "/") else None

    def _with_own_rules(self, rules: Rules, path: str) -> Rules:
        base = f"{self._prefix}{path}/" if path else self._prefix
        return rules.with_file(os.path.join(self._disk(path), ".gitignore"), base)

    def _walk(self, start: str) -> None:
        pending = [start]
        while pending:
            path = pending.pop()
            if path in self._walked:
                continue
            self._walked.add(path)
            folder = self._folder(path)
            entries = self._scan(path)
            siblings = {entry.name for entry in entries}
            for entry in entries:
                below = f"{path}/{entry.name}" if path else entry.name
                if entry.name in _NEVER_READ:
                    continue  # `.git` may be a file too
                if entry.is_dir(follow_symlinks=False):
                    if self._descends(below, siblings):
                        pending.append(below)
                elif self._hidden(below, folder) or self._exclude.ignore(below):
                    continue
                elif entry.is_symlink():
                    pending += self._add_link(below, named=False)
                elif entry.is_file(follow_symlinks=False):  # no pipes, no sockets
                    self._add(below)

    def _scan(self, path: str) -> Sequence[os.DirEntry[str]]:
        try:
            with os.scandir(self._disk(path)) as found:
                return list(found)
        except FileNotFoundError:
            return ()  # it vanished meanwhile
        except OSError as error:
            self._skip(path or ".", "folder", f"can't be read: {error.strerror}")
            return ()

    def _descends(self, path: str, siblings: set[str]) -> bool:
        folder = self._folder(path)
        if folder.left_out is not None:
            return False
        if folder.ignored:
            return path in self._tracked_folders
        if self._is_build(path, siblings):
            self._skip(path, "folder", "holds the output of a build")
            return False
        return True

    def _is_build(self, path: str, siblings: set[str]) -> bool:
        named_so = path.rpartition("/")[2] in _BUILD_FOLDERS and not siblings.isdisjoint(_BUILD_FILES)
        return named_so and not os.path.lexists(os.path.join(self._disk(path), "__init__.py"))

    def _hidden(self, path: str, folder: _Folder) -> bool:
        """Whether git ignores the file. A committed file is never ignored, whatever the patterns say."""
        return (folder.ignored or folder.rules.ignore(self._prefix + path)) and path not in self._tracked

    @cached_property
    def _tracked(self) -> frozenset[str]:
        return tracked_although_ignored(self._root) if self._in_git else frozenset()

    @cached_property
    def _tracked_folders(self) -> frozenset[str]:
        return frozenset(parent.as_posix() for path in self._tracked for parent in Path(path).parents)

    # Files ------------------------------------------------------------------------------------------------------------

    def _add_link(self, path: str, named: bool) -> list[str]:
        """Lists the file behind a link; of a link to a folder it returns that folder, to be walked in its own place."""
        try:
            real = Path(os.path.realpath(self._disk(path)))
        except OSError:  # the link went away since it was listed
            return []
        reason = None
        target = ""
        if not os.path.exists(real):
            reason = "is a broken link"
        elif real != self._root and self._root not in real.parents:
            reason = "is a link that leads out of the root"
        else:
            target = real.relative_to(self._root).as_posix() if real != self._root else ""
            if f"{path}/".startswith(f"{target}/") or not target:
                return []  # upwards: what lies there is met anyway, or was not asked for
            reason = self._why_not_behind(target, real.is_dir(), named)
        if reason is not None:
            self._skip(path, "folder" if real.is_dir() else kind_of(path) or "other", reason)
            return []
        if real.is_dir():
            return [target]
        self._links.setdefault(target, set()).add(path)
        self._add(target)
        return []

    def _why_not_behind(self, target: str, is_folder: bool, named: bool) -> str | None:
        folder = self._folder(target if is_folder else _parent(target))
        if folder.left_out is not None or self._exclude.ignore(target):
            return f"is a link to {target}, which {folder.left_out or _EXCLUDED}"
        hidden = folder.ignored if is_folder else self._hidden(target, folder)
        return f"is a link to {target}, which git ignores" if hidden and not named else None

    def _add(self, path: str) -> None:
        if path not in self._found:
            entry = self._entry(path, self._folder(_parent(path)).skipped)
            if entry is not None:
                self._found[path] = entry

    def _entry(self, path: str, skipped: str | None) -> Entry | None:
        kind = kind_of(path)
        test = is_test(path)
        if skipped is not None:
            return Entry(path, kind or "other", test, "skipped", skipped)
        if not kind or kind in READ_KINDS:
            head = self._head(path)
            if head is None:
                return None
            kind = kind or kind_of_script(head)
            if kind in READ_KINDS and is_generated(head):
                return Entry(path, kind, test, "skipped", "generated: its first lines say so")
        if kind in READ_KINDS:
            return Entry(path, kind, test, "read")
        reason = "is a template" if kind == "template" else f"no rule reads files of the kind {kind}"
        return Entry(path, kind, test, "not_read", reason)

    def _head(self, path: str) -> bytes | None:
        """The first bytes; none of a file that can't be read, as its reader will say so; None if it has vanished."""
        try:
            with open(self._disk(path), "rb", buffering=0) as stream:
                return stream.read(HEAD)
        except FileNotFoundError:
            return None
        except OSError:
            return b""

    def _skip(self, path: str, kind: str, reason: str) -> None:
        self._found[path] = Entry(path, kind, is_test(path), "skipped", reason)

    def _disk(self, path: str) -> str:
        return os.path.join(self._root, path) if path else str(self._root)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
