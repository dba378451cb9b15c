"""Keys that move and search, and keys that show more."""

from __future__ import annotations

import re

from migrate.ledger import Item
from migrate.review import pages
from migrate.review.desk import Desk


class Moving(Desk):
    """Everything that decides nothing."""

    pattern = ""

    # looking ----------------------------------------------------------------------------------------------------

    def help(self) -> None:
        """The keys."""
        self.page("Keys", pages.keys_page)

    def evidence(self) -> None:
        """Why the tool says so."""
        unit = self.unit
        self.page("Evidence", lambda width: pages.evidence_page(self.session, unit, width))

    def rule_page(self) -> None:
        """What the rule is about."""
        from migrate.explain import explain_rule

        text = explain_rule(self.unit.first.rule)
        self.page(f"Rule {self.unit.first.rule}", lambda width: pages.markdown_page(text, width))

    def page_down(self) -> None:
        """Further down in a long change."""
        self.top += max(self.room - 1, 1)

    def page_up(self) -> None:
        """Further up."""
        self.top -= max(self.room - 1, 1)

    def line_down(self) -> None:
        """One line further down."""
        self.top += 1

    def line_up(self) -> None:
        """One line further up."""
        self.top -= 1

    # moving -----------------------------------------------------------------------------------------------------

    def next_open(self) -> None:
        """To the next undecided unit."""
        if not self.to_open(self.at + 1):
            self.message = "everything is decided: w writes it"

    def previous_open(self) -> None:
        """To the undecided unit before."""
        if not self.to_open(self.at - 1, -1):
            self.message = "everything is decided: w writes it"

    def next(self) -> None:
        """To the next unit."""
        self._step(1)

    def previous(self) -> None:
        """To the unit before."""
        self._step(-1)

    def _step(self, by: int) -> None:
        if 0 <= self.at + by < len(self.units):
            self.go(self.at + by)
        else:
            self.message = "this is the last one" if by > 0 else "this is the first one"

    def next_file(self) -> None:
        """To the first unit of the next file."""
        behind = (n for n in range(self.at, len(self.units)) if self.units[n].path != self.unit.path)
        target = next(behind, None)
        if target is None:
            self.message = "this is the last file"
        else:
            self.go(target)

    def previous_file(self) -> None:
        """To the first unit of this file, then of the file before."""
        first = self.units.index(self.files[self.unit.path][0])
        if self.at > first or first == 0:
            self.go(first)
        else:
            self.go(self.units.index(self.files[self.units[first - 1].path][0]))

    def search(self) -> None:
        """To the next unit that holds a text."""
        pattern = self.ask(f"Search{f' ({self.pattern})' if self.pattern else ''}: ")
        if pattern is None:
            return
        self.pattern = pattern or self.pattern
        if not self.pattern:
            return
        flags = 0 if any(c.isupper() for c in self.pattern) else re.IGNORECASE
        try:
            wanted = re.compile(self.pattern, flags)
        except re.error:
            wanted = re.compile(re.escape(self.pattern), flags)
        count = len(self.units)
        for distance in range(1, count + 1):
            index = (self.at + distance) % count
            if any(wanted.search(text) for item in self.units[index].items for text in self._words(item)):
                self.go(index)
                return
        self.message = f"{self.pattern!r} is nowhere"

    def _words(self, item: Item) -> tuple[str, ...]:
        statement = self.session.text(item.path)[slice(*item.statement)]
        return (item.path, f"{item.rule} {item.name}", item.message, statement)
