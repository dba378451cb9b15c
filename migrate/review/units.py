"""What a person decides about at once: the fixes that stand or fall together, or one finding that has no fix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from migrate.ledger import OPEN, FixState, Item
from migrate.result import FileState, Result
from transforms.engine.model import Safety


@dataclass(eq=False)
class Unit:
    """One step of the review, shown in the file of its first finding. Without `fixes` nothing can be applied."""

    items: list[Item]
    fixes: list[FixState] = field(default_factory=list)

    @property
    def first(self) -> Item:
        """The finding that the unit is named after."""
        return self.items[0]

    @property
    def path(self) -> str:
        """The file under which it is shown."""
        return self.first.path

    @property
    def level(self) -> Safety:
        """How sure the change is: that of the least certain finding."""
        found = Safety.SAFE
        for item in self.items:
            found = found.at_most(item.safety or Safety.SAFE)
        return found

    @property
    def paths(self) -> list[str]:
        """All files that its fixes touch, the one under which it is shown first."""
        return list(dict.fromkeys([self.path, *(f.path for f in self.fixes)]))

    @property
    def rules(self) -> list[str]:
        """Codes of its findings, each once."""
        return list(dict.fromkeys(i.rule for i in self.items))


def units(result: Result, level: Safety) -> list[Unit]:
    """All units of a result, in the order of files and places, notes last in each file.

    Fixes of levels beyond `level` are left out; findings without a fix never are. The tests of the repository are only
    in it when they may be edited.
    """
    found = [u for f in result.files if not f.test or result.settings.tests for u in _of_file(f)]
    return [u for u in found if not u.fixes or u.level.rank <= level.rank]


def _of_file(file: FileState) -> Iterator[Unit]:
    singles, groups = [], {}
    for item in file.items:
        if item.status != OPEN:
            continue
        group = item.fix.group if item.fix is not None else None
        if group is None:
            singles.append(Unit([item]))
        elif id(group) not in groups:
            items = [i for state in group.fixes for i in state.items if i.status == OPEN]
            if min(i.path for i in items) == file.path:
                groups[id(group)] = Unit(sorted(items, key=_order), list(group.fixes))
    yield from sorted([*singles, *groups.values()], key=lambda u: (u.level is Safety.NOTE, _order(u.first)))


def _order(item: Item) -> tuple[str, int, bool, str]:
    return (item.path, item.start, not item.owner, item.rule)
