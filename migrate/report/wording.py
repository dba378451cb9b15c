"""Sentences that the reports share: how it stands, and the command to type next."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from migrate.ledger import REJECTED, Item
from migrate.result import Result
from migrate.settings import settings_file
from transforms.engine.model import ERROR, Safety

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
CUDA_GIVEN_UP = "The new code is for neuron: running it on CUDA hosts is given up."


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def visible(text: str) -> str:
    """Text of a user's files that can be printed anywhere: control characters and lone surrogates become escapes."""
    escaped = _UNPRINTABLE.sub(lambda m: m[0].encode("unicode_escape").decode(), text)
    return escaped.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class State:
    """How a repository stands. `fixable` and `people` are needed findings, with a fix to apply and without one.

    `failed` are files that a fault of the tool left out, `unread` those that name CUDA and could not be read.
    """

    fixable: int
    people: int
    offers: int
    rejected: int
    changed: int
    python_files: int
    failed: int = 0
    unread: int = 0

    @classmethod
    def of(cls, result: Result) -> State:
        """Counts of the findings that decide the exit code."""
        items = result.counted
        needed = [i for i in items if i.needed]
        people = sum(i.safety is Safety.MANUAL for i in needed)
        return cls(
            fixable=len(needed) - people,
            people=people,
            offers=sum(i.status == "open" and i.safety is Safety.OFFER for i in items),
            rejected=sum(i.status == REJECTED and i.owner and _was_needed(i) for i in items),
            changed=sum(f.changed for f in result.files),
            python_files=sum(f.kind == "python" and f.status != "skipped" for f in result.files),
            failed=sum(f.status == "failed" for f in result.files),
            unread=sum(
                f.status == "unreadable" and f.hits > 0 and (not f.test or result.settings.tests)
                for f in result.files
            ),
        )

    @property
    def needed(self) -> int:
        """Findings that a program needs to run."""
        return self.fixable + self.people


def _was_needed(item: Item) -> bool:
    return item.severity == ERROR if item.safety is Safety.MANUAL else item.safety in (Safety.SAFE, Safety.REVIEW)


def verdict(state: State, command: str) -> str:
    """One sentence: how it stands after `check` or `run`, and what it does not speak of."""
    said = _verdict(state, command)
    if state.failed:
        failed = f"{count(state.failed, 'file')} could not be handled, through a fault of neuron-migrate"
        if state.needed:
            return f"{said.rstrip('.')}; {failed}{'.' * (command != 'run')}"
        return f"not runnable yet: {failed}" if command == "run" else f"{failed[0].upper()}{failed[1:]}."
    if state.unread and not state.needed and state.python_files:
        stop = "." * said.endswith(".")
        return f"{said.rstrip('.')} in the files that could be read; {state.unread:,} could not be read{stop}"
    return said


def _verdict(state: State, command: str) -> str:
    if command == "run":
        if state.needed:
            return f"not runnable yet: {count(state.needed, 'finding')} need{'s' * (state.needed == 1)} you"
        if state.rejected:
            return f"runnable, except {state.rejected} you rejected"
        return "runnable: no required finding is open"
    if not state.needed:
        if not state.python_files:
            return "Nothing to migrate: there is no Python file to read here."
        rejected = f", except {state.rejected} that you rejected" if state.rejected else ""
        return f"Nothing that is needed to run is open{rejected}."
    if not state.people:
        return f"{count(state.fixable, 'finding')} can be applied in {count(state.changed, 'file')}; none needs you."
    needs = f"{count(state.people, 'finding')} need{'s' * (state.people == 1)} you"
    if not state.fixable:
        return f"{needs}; none can be applied."
    return f"{needs}, {state.fixable:,} can be applied in {count(state.changed, 'file')}."


def next_command(result: Result, state: State, command: str, paths: Sequence[str] = ()) -> str:
    """The command to type next, with the paths and options that were given; empty when nothing is to be done."""
    if state.fixable:
        as_given = command == "check" and state.changed > 0
        return _command(result, "run", paths, "" if as_given else "review")
    if state.people:
        if command == "run":
            return _command(result, "check", paths)
        return f"neuron-migrate explain {shlex.quote(_first_place(result))}"
    if state.offers and command == "check":
        return _command(result, "run", paths, "offer")
    return ""


def _command(result: Result, name: str, paths: Sequence[str], level: str = "") -> str:
    """A command line with the settings of this run, or with another level."""
    settings = result.settings
    words = ["neuron-migrate", name]
    for key in ("select", "ignore", "exclude"):
        if key in settings.given:
            words += [word for value in getattr(settings, key) for word in (f"--{key}", value)]
    if not level and "level" in settings.given:
        level = settings.level
    if level and (level != "review" or settings.source is not None):
        words += ["--level", level]
    if "tests" in settings.given:
        words.append("--tests")
    if settings.source is not None and settings.source != settings_file(result.root):
        words += ["--config", str(settings.source)]
    words += list(paths) or [typed(result.root)]
    return " ".join(map(shlex.quote, words))


def _first_place(result: Result) -> str:
    """PATH:LINE of the first finding that only a person can settle, as it can be typed from here."""
    for file in result.files:
        for item in file.items:
            if item.needed and item.safety is Safety.MANUAL and file.source is not None:
                return f"{typed(result.root / file.path)}:{file.source.position(item.start)[0]}"
    return typed(result.root)


def typed(path: Path) -> str:
    """A path as somebody would type it in the current folder."""
    real, here = os.path.realpath(path), os.path.realpath(".")
    if real == here or real.startswith(here.rstrip(os.sep) + os.sep):
        return os.path.relpath(real, here)
    return real
