"""Compare the taps of two runs: the same values, bit for bit, in the same order?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import printed
from .results import Taps

KINDS = ("loss", "parameters", "save", "print")
COUNTED = {"loss": "calls of backward()", "parameters": "optimizer steps", "save": "calls of torch.save"}
NAMES = {"loss": "backward()", "parameters": "parameters after step", "save": "saved file"}
Key = tuple[int, str, str]  # rank, kind, which one


@dataclass(frozen=True)
class Difference:
    """One value that differs, with the optimizer step (from 0) before which it was taken."""

    rank: int
    kind: str
    step: int
    name: str
    original: str
    migrated: str
    key: Key

    def __str__(self) -> str:
        where = f"step {self.step}" + (f", rank {self.rank}" if self.rank else "")
        return f"{where}: {self.name}: original {self.original}, migrated {self.migrated}"


@dataclass
class Comparison:
    """`counts` says how many values of each kind were equal; `differences` holds the first of each kind and rank."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not self.differences

    @property
    def first(self) -> Difference | None:
        """The earliest difference: by step, and within a step in the order in which a step computes."""
        order = {kind: i for i, kind in enumerate(KINDS)}
        return min(self.differences, key=lambda d: (d.step, order[d.kind], d.rank), default=None)


def compare(
    original: Mapping[int, Taps], migrated: Mapping[int, Taps], ignore: frozenset[Key] = frozenset()
) -> Comparison:
    """Compare two runs. Values whose key is in `ignore` are left out (they vary from run to run)."""
    result = Comparison()
    if sorted(original) != sorted(migrated) and original and migrated:
        ranks = (str(sorted(original)), str(sorted(migrated)))
        result.differences.append(Difference(0, "loss", 0, "ranks", *ranks, (0, "loss", "ranks")))
    for rank in sorted(set(original) & set(migrated)):
        for kind in KINDS:
            found = [d for d in _pairs(rank, kind, original[rank], migrated[rank]) if not d or d.key not in ignore]
            differing = [d for d in found if d]
            result.counts[kind] += len(found) - len(differing)
            result.differences.extend(differing[:1])
    return result


def varying(first: Mapping[int, Taps], second: Mapping[int, Taps]) -> frozenset[Key]:
    """The keys of the values that differ between two runs of the same program."""
    return frozenset(
        d.key
        for rank in set(first) & set(second)
        for kind in KINDS
        for d in _pairs(rank, kind, first[rank], second[rank])
        if d
    )


def readable(keys: frozenset[Key]) -> list[str]:
    """What people call the values of these keys: each once, over all ranks and all numbers of one printed line."""

    def word(kind: str, key: str) -> str:
        if kind == "print":
            return f"printed number in {key.rsplit('/', 2)[0].strip()[:100]!r}"
        return f"{NAMES[kind]} {key}" if key.isdigit() else f"number of {COUNTED[kind]}"

    ordered = sorted(keys, key=lambda k: (KINDS.index(k[1]), k[2].rjust(12) if k[2].isdigit() else k[2], k[0]))
    return list(dict.fromkeys(word(kind, key) for _rank, kind, key in ordered))


def _pairs(rank: int, kind: str, original: Taps, migrated: Taps) -> Iterator[Difference | None]:
    """One item for each value: nothing where both runs agree."""
    if kind == "print":
        yield from _printed(rank, original.print, migrated.print)
        return
    old, new = getattr(original, kind), getattr(migrated, kind)
    for i, (a, b) in enumerate(zip(old, new)):
        if kind == "loss":
            different = None if a["hash"] == b["hash"] else ("value of backward()", _shown(a), _shown(b))
        elif kind == "parameters":
            different = _parameters(a, b)
        else:
            different = _saved(a, b)
        yield Difference(rank, kind, b["step"], *different, (rank, kind, str(i))) if different else None
    if len(old) != len(new):
        what = COUNTED[kind]
        step = min(len(original.parameters), len(migrated.parameters))
        yield Difference(rank, kind, step, what, str(len(old)), str(len(new)), (rank, kind, "count"))


def _shown(row: Mapping[str, Any]) -> str:
    return repr(row["value"]) if row["value"] is not None else f"tensor {row['hash']}"


def _parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str, str] | None:
    if old["hashes"] == new["hashes"]:
        return None
    if len(old["hashes"]) != len(new["hashes"]):
        return "number of parameters", str(len(old["hashes"])), str(len(new["hashes"]))
    i = next(i for i, (a, b) in enumerate(zip(old["hashes"], new["hashes"])) if a != b)
    name = new["names"][i] if i < len(new["names"]) else f"parameter {i}"
    return f"{name} after the step", f"tensor {old['hashes'][i]}", f"tensor {new['hashes'][i]}"


def _saved(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str, str] | None:
    a, b = old["entries"], new["entries"]
    for name in [*b, *(n for n in a if n not in b)]:
        if a.get(name) != b.get(name):
            here = f"{new['file']}: {name}" if name else new["file"]
            return f"saved to {here}", _entry(a, name), _entry(b, name)
    return None


def _entry(entries: Mapping[str, str], name: str) -> str:
    return f"value {entries[name]}" if name in entries else "absent"


def _printed(rank: int, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[Difference | None]:
    """Lines are matched by their text without numbers: a line that only one run prints is no number to compare."""
    waiting: dict[str, list[list[str]]] = {}
    for row in old:
        text, numbers = printed.split(row["text"])
        waiting.setdefault(text, []).append(numbers)
    seen: dict[str, int] = {}
    for row in new:
        text, numbers = printed.split(row["text"])
        nth = seen[text] = seen.get(text, -1) + 1
        lines = waiting.get(text, [])
        if nth >= len(lines):
            continue
        for i, (a, b) in enumerate(zip(lines[nth], numbers)):
            key = (rank, "print", f"{text}/{nth}/{i}")
            line = f"printed number in {row['text'].strip()[:100]!r}"
            yield None if a == b else Difference(rank, "print", row["step"], line, a, b, key)


@dataclass(frozen=True)
class Effect:
    """What a declared change does to the losses: the largest distance with its place, and the last values."""

    losses: int
    largest: float
    step: int
    at_largest: tuple[float, float]
    last: tuple[float, float]


def effect(original: Mapping[int, Taps], migrated: Mapping[int, Taps]) -> Effect | None:
    """The distance between the losses of the untouched original and the migrated program (rank 0)."""
    if 0 not in original or 0 not in migrated:
        return None
    rows = [
        (b["step"], a["value"], b["value"])
        for a, b in zip(original[0].loss, migrated[0].loss)
        if a["value"] is not None and b["value"] is not None
    ]
    if not rows:
        return None
    step, a, b = max(rows, key=lambda row: abs(row[1] - row[2]))
    return Effect(len(rows), abs(a - b), step, (a, b), rows[-1][1:])
