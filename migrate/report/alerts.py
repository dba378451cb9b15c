"""Findings as CI systems want them: a level (error, warning, note), a place in the checkout, a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from migrate.ledger import APPLIED, KEPT, OPEN, Item
from migrate.report.places import Places, Span, below_checkout, first_hit, shown
from migrate.report.wording import count
from migrate.result import FileState, Result
from transforms.engine.model import ERROR, WARNING, Safety

NOTE = "note"
LEVELS = (ERROR, WARNING, NOTE)
UNREAD_RULE = "TN003"
"""Words in files that no rule reads are sites that no rule knows."""


@dataclass(frozen=True)
class Alert:
    """One finding for CI. `item` is None for a file that no rule reads; `path` is relative to the checkout."""

    level: str
    rule: str
    path: str
    place: Span
    text: str
    item: Item | None = None

    @property
    def open(self) -> bool:
        """Whether it is still to be dealt with."""
        return self.item is None or self.item.status == OPEN


def alerts(result: Result, places: Places) -> list[Alert]:
    """What is open, suppressed, rejected or in the baseline, and the files that no rule reads; most important first.

    `error` is what makes `check` exit with 1: the needed findings. Those of tests that are left alone are notes.
    """
    prefix = below_checkout(result.root)
    found: list[tuple[tuple[int, int], Alert]] = []
    for file in result.files:
        counted = not file.test or result.settings.tests
        if file.status == "not_read" and not file.items:
            found.append(((LEVELS.index(NOTE), 9), _unread(file, prefix)))
        for item in shown(file.items):
            if item.status not in (KEPT, APPLIED):
                level = level_of(item) if counted else NOTE
                alert = Alert(level, item.rule, prefix + item.path, places.of(item), sentence(item), item)
                found.append(((LEVELS.index(level), _order(item) if counted else 8), alert))
    found.sort(key=lambda pair: (pair[0], pair[1].path, pair[1].place))
    return [alert for _, alert in found]


def level_of(item: Item) -> str:
    """Error for what a program needs to run, warning for the other manual findings, note for the rest."""
    if item.safety is Safety.MANUAL:
        return item.severity or ERROR
    return ERROR if item.safety in (Safety.SAFE, Safety.REVIEW) else NOTE


def sentence(item: Item) -> str:
    """Message and reason of a finding, and whether the tool can do it by itself."""
    text = item.message
    if item.reason and item.reason != item.message:
        text += f" ({item.reason})"
    if item.status == OPEN and item.fix is not None and item.safety in (Safety.SAFE, Safety.REVIEW):
        text += f" [{item.safety.value}: neuron-migrate run applies it]"
    elif item.status == OPEN and item.safety is Safety.OFFER:
        text += " [offer: neuron-migrate run --level offer applies it]"
    return text


def _order(item: Item) -> int:
    """What only a person can do comes before what the tool applies by itself."""
    return 0 if item.safety in (Safety.MANUAL, Safety.NOTE, None) else 1 + (item.safety is Safety.SAFE)


def _unread(file: FileState, prefix: str) -> Alert:
    line = first_hit(file)
    text = f"{count(file.hits, 'mention')} of CUDA or XLA: {file.reason or 'no rule reads such files'}"
    return Alert(NOTE, UNREAD_RULE, prefix + file.path, (line, 1, line, 1), text)
