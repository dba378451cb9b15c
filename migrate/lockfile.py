"""neuron-migrate.lock.json: the decisions that last, at the root, meant for git.

    {
    "version": 1,
    "about": "...",
    "decisions": [
    {"path": "train.py", "scope": "main", "rule": "TN101", "decision": "rejected", "reason": null, "text": "...",
     "id": "...", "anywhere": "...", "content": "..."},
    {}
    ]
    }

Each entry is one line, sorted by path, scope, rule, text and id, and the last entry is empty, so that all lines of
entries end alike: two branches that decide about different places merge without a conflict, and a conflict is resolved
by keeping the lines of both sides.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migrate.decisions import KEEP, LASTING, Decision, Site
from migrate.journal_files import WriteRefused, sync_folder, write_atomically
from migrate.settings import SettingsError

NAME = "neuron-migrate.lock.json"
VERSION = 1
ABOUT = "Decisions of neuron-migrate review. Commit this file. One entry per line: in a merge, keep both sides."
_FIELDS = ("path", "scope", "rule", "decision", "reason", "text", "id", "anywhere", "content")
_MARKERS = re.compile(r"^(<{7}|\|{7}|={7}|>{7})( .*)?$", re.M)


class LockfileError(SettingsError):
    """The lock file can't be used; the message names the line and the remedy."""


@dataclass(frozen=True)
class Lockfile:
    """The file as it was read; `data` is None when there is none. `origin` of a decision is its line."""

    decisions: tuple[Decision, ...] = ()
    data: bytes | None = None

    @property
    def text(self) -> str:
        """The decoded text."""
        return (self.data or b"").decode("utf-8")


def read(root: Path) -> Lockfile:
    """The lock file of a root. Raises LockfileError for conflict markers, malformed and contradicting entries."""
    file = root / NAME
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return Lockfile()
    except OSError as error:
        raise LockfileError(f"{file}: can't be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LockfileError(f"{file}:{line}: is not UTF-8; restore the file from git") from None
    return Lockfile(tuple(_distinct(file, _parse(file, text))), data)


def render(decisions: Iterable[Decision]) -> bytes:
    """The bytes of a lock file with these decisions."""
    head = json.dumps({"version": VERSION, "about": ABOUT}, indent=0)[:-2]
    lines = [json.dumps(_entry(d), ensure_ascii=False) for d in sorted(set(decisions), key=_order)]
    # Characters that some tools take for a line end must not tear an entry apart.
    lines = [re.sub("[\x85\u2028\u2029]|[\ud800-\udfff]", lambda m: f"\\u{ord(m.group()):04x}", line) for line in lines]
    return (head + ',\n"decisions": [\n' + "".join(line + ",\n" for line in lines) + "{}\n]\n}\n").encode("utf-8")


def write(root: Path, old: Lockfile, decisions: Iterable[Decision]) -> bool:
    """Replace the file as a whole; False when it holds these decisions already, or there is nothing to hold.

    Raises LockfileError when somebody changed it since `old` was read, or it can't be written.
    """
    decisions = list(decisions)
    data = render(decisions)
    if data == old.data or (old.data is None and not decisions):
        return False
    file = Path(os.path.realpath(root / NAME))
    temporary = file.with_name(".neuron-migrate-lock.tmp")
    with contextlib.suppress(OSError):
        temporary.unlink()
    try:
        write_atomically(file, data, temporary, old.data)
    except (OSError, WriteRefused) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise LockfileError(f"{file}: not written: {reason}; the decisions wait in .neuron-migrate/") from None
    sync_folder(file.parent)
    return True


def _entry(decision: Decision) -> dict[str, str | None]:
    site = decision.site
    return {
        "path": site.path,
        "scope": site.scope,
        "rule": site.rule,
        "decision": decision.verdict,
        "reason": decision.reason,
        "text": site.text,
        "id": site.id,
        "anywhere": site.anywhere,
        "content": site.content,
    }


def _order(decision: Decision) -> tuple[str, ...]:
    site = decision.site
    return (site.path, site.scope, site.rule, site.text, site.id)


def _parse(file: Path, text: str) -> Iterator[Decision]:
    marker = _MARKERS.search(text)
    if marker is not None:
        raise LockfileError(
            f"{file}:{_line(text, marker.start())}: a git conflict is not resolved ({marker.group()[:7]}): keep the"
            " entries of both sides, each is one line, and delete the lines of <, |, = and > signs"
        )
    try:
        document = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise LockfileError(
            f"{file}:{line}: is no valid JSON ({getattr(error, 'msg', error)}): each entry is one line that ends with"
            " a comma, and {} is the last; repair the line, or restore the file from git"
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("decisions"), list):
        raise LockfileError(f'{file}:1: has to be an object with the list "decisions"; restore the file from git')
    if document.get("version") != VERSION:
        found = document.get("version")
        raise LockfileError(f"{file}:1: version {found!r} is not {VERSION}: use the neuron-migrate that wrote it")
    lines = _entry_lines(text, len(document["decisions"]))
    for entry, line in zip(document["decisions"], lines):
        if entry != {}:
            yield _decision(file, line, entry)


def _entry_lines(text: str, count: int) -> Iterator[int]:
    """The line of each entry, however the file was formatted since."""
    decoder = json.JSONDecoder()
    place = re.search(r'"decisions"\s*:\s*\[', text)
    at = place.end() if place else 0
    for _ in range(count):
        start = re.compile(r"[\s,]*").match(text, at)
        assert start is not None
        yield _line(text, start.end())
        at = decoder.raw_decode(text, start.end())[1]


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _decision(file: Path, line: int, entry: Any) -> Decision:
    problem = _problem(entry)
    if problem:
        raise LockfileError(f"{file}:{line}: {problem}: repair the entry, or delete its line to decide again")
    names = [entry[f] or "" for f in ("path", "scope", "rule", "text", "id", "anywhere", "content")]
    return Decision(Site(*names), entry["decision"], entry["reason"] or None, line)


def _problem(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "an entry has to be an object"
    for name in _FIELDS:
        if name not in entry:
            return f"the entry has no {name!r}"
        if not isinstance(entry[name], str) and not (name == "reason" and entry[name] is None):
            return f"{name!r} has to be a string"
    for name in ("path", "rule", "id"):
        if not entry[name]:
            return f"{name!r} is empty"
    extra = [name for name in entry if name not in _FIELDS]
    if extra:
        return f"{extra[0]!r} is no field of an entry"
    if entry["decision"] not in LASTING:
        return f"the decision {entry['decision']!r} is none of {', '.join(LASTING)}"
    if entry["decision"] == KEEP and not (entry["reason"] or "").strip():
        return "a kept site needs a reason"
    return ""


def _distinct(file: Path, decisions: Iterable[Decision]) -> Iterator[Decision]:
    """Entries that a merge doubled count once; two that contradict each other are an error."""
    seen: dict[str, Decision] = {}
    for decision in decisions:
        first = seen.setdefault(decision.site.id, decision)
        if first is decision:
            yield decision
        elif (first.verdict, first.reason) != (decision.verdict, decision.reason):
            raise LockfileError(
                f"{file}:{decision.origin}: decides the same site ({decision.site.rule} in {decision.site.path})"
                f" differently from line {first.origin}: delete one of the two lines"
            )
