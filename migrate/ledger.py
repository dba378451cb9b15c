"""The ledger: what became of each site. Every site has one owner, and the sum of the columns is the number of sites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from transforms.engine.model import ERROR, Edit, Evidence, Finding, Fix, Safety

OPEN, KEPT, SUPPRESSED, BASELINE, APPLIED, REJECTED = "open", "kept", "suppressed", "baseline", "applied", "rejected"
STATUSES = (OPEN, KEPT, SUPPRESSED, BASELINE, APPLIED, REJECTED)


@dataclass(eq=False)
class Item:
    """A finding in the ledger. Offsets are those of the text as it was read (mapped back for later rounds)."""

    path: str
    id: str
    rule: str
    name: str
    message: str
    start: int
    end: int
    statement: tuple[int, int]
    scope: str
    safety: Safety | None
    severity: str | None
    status: str
    reason: str | None
    owner: bool
    evidence: tuple[Evidence, ...] = ()
    fix: FixState | None = None
    after: list[str] = field(default_factory=list)
    related: list[str] = field(default_factory=list)
    anywhere: str = ""
    content: str = ""

    @property
    def needed(self) -> bool:
        """Whether the program needs it to run on Neuron: safe, review, and manual of severity error."""
        if self.status != OPEN or not self.owner:
            return False
        if self.safety is Safety.MANUAL:
            return self.severity == ERROR
        return self.safety in (Safety.SAFE, Safety.REVIEW)


@dataclass(eq=False)
class FixState:
    """A fix of one file in one round, and the group of fixes that stands or falls with it."""

    path: str
    fix: Fix
    items: list[Item] = field(default_factory=list)
    group: Group | None = None
    edits: tuple[Edit, ...] = ()
    applied: bool = False
    missing: dict[tuple[int, int], str] = field(default_factory=dict)
    """What to do about required sites that have no finding, by their ranges."""

    @property
    def id(self) -> str:
        """Hash of the ids of its findings."""
        from migrate.identity import digest

        return digest(*(item.id for item in self.items))


@dataclass(eq=False)
class Group:
    """Fixes that go together, at the level of the least certain finding among them."""

    fixes: list[FixState] = field(default_factory=list)
    blocked: str = ""
    level: Safety = Safety.SAFE


def make_item(path: str, finding: Finding, identity: str, name: str) -> Item:
    """The ledger's view of a finding, before anything is decided."""
    kept = finding.safety is None
    return Item(
        path,
        identity,
        finding.rule,
        name,
        finding.message,
        finding.start,
        finding.end,
        finding.statement,
        finding.scope,
        finding.safety,
        finding.severity,
        KEPT if kept else OPEN,
        finding.reason,
        finding.owner,
        finding.evidence,
    )


def group_fixes(fixes: list[FixState], items: Iterable[Item]) -> list[Group]:
    """Ties fixes together by the sites that they require and by their value, and finds out what holds a group back.

    A group goes whole, at its least certain level. One that requires a site which stays (kept, suppressed, rejected,
    manual, not selected) becomes manual, with the reason.
    """
    owners = {(i.path, i.start, i.end): i for i in items if i.owner}
    leader: dict[int, int] = {n: n for n in range(len(fixes))}
    place = {id(f): n for n, f in enumerate(fixes)}

    def find(n: int) -> int:
        while leader[n] != n:
            leader[n] = leader[leader[n]]
            n = leader[n]
        return n

    def join(a: int, b: int) -> None:
        leader[find(a)] = find(b)

    blocked: dict[int, str] = {}
    values: dict[tuple[str, str], int] = {}
    for n, state in enumerate(fixes):
        if state.fix.group:
            join(n, values.setdefault((state.path, state.fix.group), n))
        for start, end in state.fix.requires:
            owner = owners.get((state.path, start, end))
            if owner is None:
                blocked[n] = state.missing.get((start, end), "it requires a change elsewhere that no rule makes")
            elif owner.fix is None or owner.status not in (OPEN, APPLIED):
                blocked[n] = f"it requires a change that is not made ({owner.rule}: {owner.reason or owner.message})"
            else:
                join(n, place[id(owner.fix)])
        for item in state.items:
            if item.status in (SUPPRESSED, REJECTED, KEPT):
                blocked[n] = f"a part of it is {item.status}"
    groups: dict[int, Group] = {}
    for n, state in enumerate(fixes):
        group = groups.setdefault(find(n), Group())
        group.fixes.append(state)
        state.group = group
        if n in blocked and not group.blocked:
            group.blocked = blocked[n]
        for item in state.items:
            if item.safety is not None:
                group.level = group.level.at_most(item.safety)
    for group in groups.values():
        _settle(group)
    return list(groups.values())


def _settle(group: Group) -> None:
    """Give the findings of a group the group's level, or make them manual."""
    for state in group.fixes:
        for item in state.items:
            if item.status != OPEN:
                continue
            if group.blocked:
                item.safety, item.severity = Safety.MANUAL, item.severity or ERROR
                item.reason = group.blocked
                item.fix = None
            elif item.safety is not None and item.safety.rank < group.level.rank:
                item.safety = group.level


@dataclass
class Sums:
    """The columns of the ledger."""

    open: dict[str, int] = field(default_factory=lambda: {s.value: 0 for s in Safety if s is not Safety.NOTE})
    closed: dict[str, int] = field(default_factory=lambda: {s: 0 for s in STATUSES if s != OPEN})

    def add(self, item: Item) -> None:
        """Count an owner finding; notes and related findings are no sites."""
        if not item.owner or item.safety is Safety.NOTE:
            return
        if item.status == OPEN:
            assert item.safety is not None
            self.open[item.safety.value] += 1
        else:
            self.closed[item.status] += 1

    @property
    def total(self) -> int:
        """Number of sites."""
        return sum(self.open.values()) + sum(self.closed.values())

    def as_dict(self) -> dict[str, object]:
        """The shape of `summary.sites` in the JSON report."""
        return {"open": dict(self.open), **self.closed}


def sums(items: Iterable[Item]) -> Sums:
    """The ledger of some findings."""
    found = Sums()
    for item in items:
        found.add(item)
    return found
