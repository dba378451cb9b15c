"""All transforms and rules of the tool, in the order in which they speak."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from transforms.engine.model import Rule, Safety
from transforms.engine.residue import UNKNOWN_SITE
from transforms.engine.transform import Transform

FAMILIES = ("device", "precision", "compile", "distributed", "layout", "shapes", "xla", "kernels", "project")
"""Packages whose modules hold one transform each."""

UNREADABLE_FILE = Rule(
    code="TN001",
    name="unreadable-file",
    summary="A file that can't be parsed; its text was still searched",
    best=Safety.MANUAL,
    argument="It never edits.",
    source="The Python language reference, LibCST",
    why="A file that is left out without a word would look migrated.",
)
UNUSED_SUPPRESSION = Rule(
    code="TN002",
    name="unused-suppression",
    summary="A `# neuron: keep` comment that holds nothing back",
    best=Safety.MANUAL,
    argument="It never edits.",
    source="Practice of linters",
    why="A stale comment hides the next finding on its line.",
)
STALE_DECISION = Rule(
    code="TN004",
    name="stale-decision",
    summary="An entry of the lock file that matches no finding any more",
    best=Safety.NOTE,
    argument="It never edits.",
    source="Practice of linters",
    why="Entries that match nothing should leave the lock file.",
)
TOOL_RULES = (UNREADABLE_FILE, UNUSED_SUPPRESSION, UNKNOWN_SITE, STALE_DECISION)


@lru_cache(maxsize=1)
def transforms() -> tuple[Transform, ...]:
    """One instance of every transform."""
    found: list[Transform] = []
    here = Path(__file__).parent
    for family in FAMILIES:
        for file in sorted((here / family).glob("[a-z]*.py")):
            name = f"transforms.{family}.{file.stem}"
            for value in vars(import_module(name)).values():
                if isinstance(value, ABCMeta) and issubclass(value, Transform) and value.__module__ == name:
                    found.append(value())
    return tuple(sorted(found, key=lambda t: t.rule.code))


def rules() -> Iterator[Rule]:
    """Every rule, the tool's own first."""
    yield from TOOL_RULES
    seen: set[str] = set()
    for transform in transforms():
        for rule in transform.rules:
            if rule.code not in seen:
                seen.add(rule.code)
                yield rule


@lru_cache(maxsize=1)
def by_code() -> dict[str, Rule]:
    """Rules by code."""
    return {rule.code: rule for rule in rules()}


def find(word: str) -> Rule | None:
    """The rule of a code or name, in any case."""
    for rule in rules():
        if word.lower() in (rule.code.lower(), rule.name):
            return rule
    return None
