"""Read what the processes of a run have written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Hazard:
    """One hazard at one place, with how often it was met over all processes. Line 0: no line of user code."""

    code: str
    severity: str
    message: str
    path: str
    line: int
    count: int


@dataclass(frozen=True)
class Region:
    """A function that was compiled, and how many graphs it took."""

    path: str
    line: int
    graphs: int


@dataclass(frozen=True)
class RegionCheck:
    """A compiled region beside the same code run eagerly. `equal` is None when they could not be compared."""

    name: str
    path: str
    line: int
    equal: bool | None
    exact: bool
    detail: str


@dataclass(frozen=True)
class Seen:
    """All records of a run. `processes` counts those that imported torch."""

    processes: int = 0
    hazards: tuple[Hazard, ...] = ()
    unverified: tuple[tuple[str, str, int], ...] = ()
    regions: tuple[Region, ...] = ()
    checks: tuple[RegionCheck, ...] = ()


@dataclass
class Taps:
    """The taps of one rank, by kind, each in the order of the run."""

    loss: list[dict[str, Any]] = field(default_factory=list)
    parameters: list[dict[str, Any]] = field(default_factory=list)
    save: list[dict[str, Any]] = field(default_factory=list)
    print: list[dict[str, Any]] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return len(self.parameters)


def read(session: Path, folder: str, moved: tuple[str, str] | None = None) -> Seen:
    """The records in `session`, with paths below `folder` relative to it. `moved` names a tree and its working copy."""
    processes = 0
    counts: dict[tuple[str, str, str, str, int], int] = {}
    unverified: set[tuple[str, str, int]] = set()
    graphs: dict[tuple[str, int], int] = {}
    checks: dict[tuple[str, str, int], RegionCheck] = {}
    for path in sorted(session.glob("records-*.jsonl")):
        own: dict[tuple[str, str, str, str, int], int] = {}  # later lines of a process carry the final count
        for row in _lines(path):
            place = (_relative(row["path"], folder, moved), int(row["line"])) if "path" in row else ("", 0)
            if row["kind"] == "process":
                processes += 1
            elif row["kind"] == "hazard":
                hazard = (row["code"], row["severity"], row["message"], place[0], place[1])
                own[hazard] = row["count"]
            elif row["kind"] == "unverified":
                unverified.add((row["name"], *place))
            elif row["kind"] == "region":
                graphs[place] = max(graphs.get(place, 0), row["graphs"])
            elif row["kind"] == "region-check":
                check = RegionCheck(row["name"], *place, row["equal"], row.get("exact", False), row["detail"])
                region = (check.name, check.path, check.line)
                checks[region] = min(checks.get(region, check), check, key=_badness)
        for key, count in own.items():
            counts[key] = counts.get(key, 0) + count
    hazards = [Hazard(*key, count) for key, count in counts.items()]
    hazards.sort(key=lambda h: (SEVERITIES.index(h.severity), h.path, h.line, h.code, h.message))
    regions = tuple(Region(*place, n) for place, n in sorted(graphs.items()))
    return Seen(processes, tuple(hazards), tuple(sorted(unverified)), regions, tuple(checks.values()))


def _badness(check: RegionCheck) -> tuple[int, bool]:
    """Different sorts before not compared, that before equal, and that before bit-equal."""
    return {False: 0, None: 1, True: 2}[check.equal], check.exact


def read_taps(session: Path) -> dict[int, Taps]:
    """The taps in `session` by rank."""
    ranks: dict[int, Taps] = {}
    for path in sorted(session.glob("taps-*.jsonl"), key=lambda p: p.stat().st_mtime):
        for row in _lines(path):
            getattr(ranks.setdefault(row["rank"], Taps()), row["tap"]).append(row)
    return ranks


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:  # the last line of a process that was killed
                return


def strayed(session: Path) -> list[str]:
    """The modules that a run in a working copy imported from the real tree."""
    rows = (row for path in sorted(session.glob("records-*.jsonl")) for row in _lines(path))
    return sorted({row["module"] for row in rows if row["kind"] == "strayed"})


def _relative(path: str, folder: str, moved: tuple[str, str] | None) -> str:
    if not path:
        return ""
    if moved is not None:
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(moved[1]))
        if not inside.startswith(os.pardir):
            path = os.path.join(moved[0], inside)
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
    return path if relative.startswith(os.pardir) else relative.replace(os.sep, "/")
