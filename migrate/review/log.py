"""The log of a review: every decision, on the disk before the screen shows it.

`.neuron-migrate/decisions.jsonl` only grows; each line is one record, written and synced at once:

    {"do": "decide", "n": 7, "verdict": "accepted", "reason": null, "units": [{"sites": [[...]], "shows": "...", ...}]}
    {"do": "undo", "n": 8, "of": 7}
    {"do": "write", "n": 9, "files": {"train.py": {"old": "...", "new": "...", "ids": [...]}}}
    {"do": "settled", "n": 10, "ids": [...]}

A kill can only tear the last line, which was never shown as decided; it is passed over. Once nothing waits any more the
file is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from migrate.decisions import VERDICTS, Decision, Site
from migrate.journal import FOLDER, JournalError
from migrate.journal_files import sync_folder

NAME = "decisions.jsonl"
AGAIN = "open"
"""The verdict that takes an earlier one back, so that the finding is asked about again."""


@dataclass(frozen=True)
class Draft:
    """Text that somebody wrote in place of a fix: whole lines `old` of a file become `new`.

    `offset` is where they stand, seen from the first finding of the unit in that file.
    """

    path: str
    old: str
    new: str
    offset: int
    kind: str = "edit"  # edit | comment


@dataclass(frozen=True)
class Choice:
    """What was decided about the findings of one unit. `shows` is the hash of the change that was on the screen."""

    sites: tuple[Site, ...]
    verdict: str
    reason: str | None = None
    shows: str = ""
    drafts: tuple[Draft, ...] = ()
    number: int = 0


@dataclass(frozen=True)
class Written:
    """A file that a write was about to replace: hashes of its bytes, and the ids of what was accepted in it."""

    old: str
    new: str
    ids: tuple[str, ...]


_site = attrgetter(*(f.name for f in fields(Site)))
_draft = attrgetter(*(f.name for f in fields(Draft)))


class DecisionLog:
    """The log of one root. The caller holds the journal's lock."""

    def __init__(self, root: Path) -> None:
        self.file = root / FOLDER / NAME
        self.damaged = 0
        self.interrupted: dict[str, Written] = {}
        self._records: dict[int, tuple[Choice, ...]] = {}
        self._undone: set[int] = set()
        self._settled: dict[str, int] = {}
        self._number = 0
        self._torn = False
        self._load()

    @property
    def next_number(self) -> int:
        """The number that the next record will have."""
        return self._number + 1

    def decide(self, choices: Sequence[Choice]) -> None:
        """Note decisions that one key made, all with the next number. After a JournalError nothing counts."""
        first = choices[0]
        units = [
            {"sites": [_site(s) for s in c.sites], "shows": c.shows, "drafts": [_draft(d) for d in c.drafts]}
            for c in choices
        ]
        number = self._append({"do": "decide", "verdict": first.verdict, "reason": first.reason, "units": units})
        self._records[number] = tuple(choices)

    def undo(self) -> tuple[Choice, ...]:
        """Take the newest record of decisions back; empty when there is none left."""
        number = max(self._undoable(), default=0)
        if not number:
            return ()
        self._append({"do": "undo", "of": number})
        self._undone.add(number)
        return self._records[number]

    @property
    def undoable(self) -> int:
        """How many records can still be taken back."""
        return len(self._undoable())

    def _undoable(self) -> list[int]:
        live = {choice.number for choice in self.live()}
        return [n for n in self._records if n not in self._undone and n in live]

    def live(self) -> list[Choice]:
        """The decisions in force that are not written yet, each with the sites that still wait, oldest first."""
        latest: dict[str, int] = {}
        for number, choices in self._records.items():
            if number not in self._undone:
                latest.update({site.id: number for choice in choices for site in choice.sites})
        found = []
        for number, choices in self._records.items():
            if number in self._undone:
                continue
            for choice in choices:
                sites = tuple(
                    s for s in choice.sites if latest[s.id] == number and self._settled.get(s.id, 0) < number
                )
                if sites:
                    found.append(choice if len(sites) == len(choice.sites) else replace(choice, sites=sites))
        return found

    def begin_write(self, files: Mapping[str, Written]) -> None:
        """Note what is about to be written, so that a kill in the middle can't have a fix counted twice."""
        body = {path: {"old": f.old, "new": f.new, "ids": list(f.ids)} for path, f in files.items()}
        self._append({"do": "write", "files": body})

    def settle(self, ids: Iterable[str]) -> None:
        """These decisions are in the files or in the lock file by now; they wait no longer."""
        ids = list(ids)
        self._settle(ids, self._append({"do": "settled", "ids": ids}))
        self.interrupted = {}
        if not self.live():
            with contextlib.suppress(OSError):
                self.file.unlink()
            self._records.clear()
            self._undone.clear()

    def _settle(self, ids: Iterable[str], number: int) -> None:
        self._settled.update(dict.fromkeys(ids, number))

    def _append(self, record: dict[str, Any]) -> int:
        number = self._number + 1
        line = json.dumps({"n": number, **record}, ensure_ascii=True) + "\n"
        try:
            fresh = not self.file.exists()
            descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                _write_all(descriptor, ("\n" if self._torn else "").encode() + line.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if fresh:
                sync_folder(self.file.parent)
        except OSError as error:
            self._torn = True
            reason = f"the decision was not saved and does not count: {error.strerror}"
            raise JournalError(f"{self.file}: {reason}") from None
        self._torn = False
        self._number = number
        return number

    def _load(self) -> None:
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise JournalError(f"{self.file}: can't be read: {error.strerror}") from None
        lines = data.split(b"\n")
        self._torn = bool(lines[-1])
        for position, line in enumerate(lines):
            if not line:
                continue
            try:
                self._replay(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                # A torn last line was never shown as decided; the same line is in the middle once a session went on.
                self.damaged += position < len(lines) - 1

    def _replay(self, record: dict[str, Any]) -> None:
        number, kind = int(record["n"]), record["do"]
        if kind == "decide":
            verdict, reason = record["verdict"], record["reason"]
            if verdict not in (*VERDICTS, AGAIN):
                raise ValueError(verdict)
            self._records[number] = tuple(
                Choice(
                    tuple(Site(*site) for site in unit["sites"]),
                    verdict,
                    reason,
                    unit["shows"],
                    tuple(Draft(*draft) for draft in unit["drafts"]),
                    number,
                )
                for unit in record["units"]
            )
        elif kind == "undo":
            self._undone.add(int(record["of"]))
        elif kind == "write":
            self.interrupted = {p: Written(f["old"], f["new"], tuple(f["ids"])) for p, f in record["files"].items()}
        elif kind == "settled":
            self._settle(record["ids"], number)
            self.interrupted = {}
        else:
            raise ValueError(kind)
        self._number = max(self._number, number)


def decisions(choices: Sequence[Choice]) -> list[Decision]:
    """The choices site by site; `origin` is the position of the choice."""
    return [Decision(site, c.verdict, c.reason, n) for n, c in enumerate(choices) for site in c.sites]


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]

