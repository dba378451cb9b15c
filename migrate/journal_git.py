"""What git says about a root, by one process each; everything is None or empty where there is no git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# They would lead git to another repository than the one of the root, as in a hook of an enclosing one.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def git_top(folder: Path) -> Path | None:
    """The nearest folder from `folder` upwards that holds `.git`, a folder or (in worktrees and submodules) a file."""
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


def git_output(folder: Path, *arguments: str) -> bytes | None:
    """What a reading git command prints; None without git, outside a repository and on any error of git."""
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    # No lock is taken, and no program that a repository's configuration names is started.
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def uncommitted(root: Path) -> set[str] | None:
    """Paths below the root, relative to it, that differ from the last commit or are untracked; None without git."""
    top = git_top(Path(os.path.realpath(root)))
    if top is None:
        return None
    output = git_output(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", ".")
    if output is None:
        return None
    prefix = os.path.relpath(os.path.realpath(root), top).replace(os.sep, "/")
    prefix = "" if prefix == "." else prefix + "/"
    paths = (os.fsdecode(entry[3:]) for entry in output.split(b"\0") if entry)
    return {path[len(prefix) :] for path in paths if path.startswith(prefix)}


def tracked_although_ignored(root: Path) -> frozenset[str]:
    """Files below the root that are committed although a .gitignore pattern names them: git reads them all the same."""
    output = git_output(root, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
    return frozenset(os.fsdecode(entry) for entry in (output or b"").split(b"\0") if entry)
