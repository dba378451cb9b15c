"""What people decided about findings, and how a decision finds its finding again after the code has changed.

A decision is keyed by content: by the id of its finding; where that is gone, by the same statement in the same place
whatever its count; then without the path (a file was renamed, code moved to another file); then without the scope (a
function was renamed). Each pass pairs equal keys as multisets: of two equal sites with one decision each, deleting one
leaves one site and its decision.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from migrate.ledger import KEPT, OPEN, REJECTED, Item

ACCEPT, REJECT, KEEP, DONE = "accepted", "rejected", "kept", "done"
VERDICTS = (ACCEPT, REJECT, KEEP, DONE)
LASTING = (REJECT, KEEP, DONE)
"""Verdicts that the lock file holds; an accepted fix is in the code instead."""

MOST_TEXT = 160


@dataclass(frozen=True)
class Site:
    """What a decision is about. `text` is the statement, for people; the keys are those of `migrate.identity`."""

    path: str
    scope: str
    rule: str
    text: str
    id: str
    anywhere: str
    content: str

    @classmethod
    def of(cls, item: Item, text: str) -> Site:
        """The site of a finding in the text of its file."""
        statement = " ".join(text[slice(*item.statement)].split())
        shown = statement if len(statement) <= MOST_TEXT else statement[: MOST_TEXT - 3] + "..."
        return cls(item.path, item.scope, item.rule, shown, item.id, item.anywhere, item.content)


@dataclass(frozen=True)
class Decision:
    """One verdict about one site. `origin` is the line of the lock file, or the number of the record in the log."""

    site: Site
    verdict: str
    reason: str | None = None
    origin: int = 0


@dataclass
class Matching:
    """Which finding each decision is about; `left` are those that match none."""

    pairs: list[tuple[Item, Decision]] = field(default_factory=list)
    left: list[Decision] = field(default_factory=list)


def match(decisions: Iterable[Decision], items: Iterable[Item], movable: Callable[[Decision], bool]) -> Matching:
    """Pair decisions with findings, each at most once.

    `movable` says whether a decision may be about another file than the one it names: that file was looked at, or is
    gone. A file that was not looked at keeps its decisions.
    """
    found = Matching(left=list(decisions))
    free = sorted(items, key=lambda i: (i.path, i.start, i.end, not i.owner, i.rule))
    passes: tuple[tuple[Callable[[Item | Site], Hashable], bool], ...] = (
        (lambda x: x.id, False),
        (lambda x: x.anywhere and (x.path, x.anywhere), False),
        (lambda x: x.anywhere, True),
        (lambda x: x.content and (x.path, x.content), False),
        (lambda x: x.content, True),
    )
    for key, moves in passes:
        if not found.left:
            break
        free = _pair(found, free, key, movable if moves else lambda _: True)
    found.pairs.sort(key=lambda p: (p[0].path, p[0].start))
    return found


def _pair(
    found: Matching, free: list[Item], key: Callable[[Item | Site], Hashable], allowed: Callable[[Decision], bool]
) -> list[Item]:
    """One pass: pairs by one key, in order; gives the findings that are still free."""
    waiting: dict[Hashable, list[Decision]] = {}
    for decision in found.left:
        value = key(decision.site)
        if value and allowed(decision):
            waiting.setdefault(value, []).append(decision)
    taken: set[int] = set()
    still: list[Item] = []
    for item in free:
        queue = waiting.get(key(item))
        if queue:
            decision = queue.pop(0)
            taken.add(id(decision))
            found.pairs.append((item, decision))
        else:
            still.append(item)
    found.left = [d for d in found.left if id(d) not in taken]
    return still


def apply(pairs: Iterable[tuple[Item, Decision]]) -> None:
    """Close the open findings that somebody decided about. An accepted one stays open until its fix is written."""
    for item, decision in pairs:
        if item.status != OPEN or decision.verdict == ACCEPT:
            continue
        if decision.verdict == REJECT:
            item.status, item.reason = REJECTED, decision.reason or item.reason
            continue
        item.status, item.safety, item.severity = KEPT, None, None
        item.reason = decision.reason or "as decided in review"
        if decision.verdict == DONE:
            item.reason = f"done: {decision.reason or 'by hand'}"


def carry(known: Sequence[Item], fresh: Iterable[Item]) -> None:
    """Recognise the findings of a changed text: each takes the id of the one that it is, and what was decided on it."""
    was = [Decision(Site.of(item, ""), item.status, item.reason, n) for n, item in enumerate(known)]
    for item, same in match(was, fresh, lambda _: False).pairs:
        old = known[same.origin]
        item.id = old.id
        if item.status == OPEN and old.status in (REJECTED, KEPT):
            item.status, item.reason, item.safety, item.severity = old.status, old.reason, old.safety, old.severity
