"""Keys that decide."""

from __future__ import annotations

from migrate.decisions import ACCEPT, DONE, KEEP, REJECT
from migrate.review import pages, view
from migrate.review.byhand import suppressing
from migrate.review.desk import Desk
from migrate.review.editor import write_by_hand
from migrate.review.log import AGAIN, Draft
from migrate.review.units import Unit


class Deciding(Desk):
    """Each decision is saved before the screen shows it; a JournalError says that it was not."""

    def _decide(self, chosen: list[Unit], verdict: str, reason: str | None = None, by: str = "") -> None:
        if not chosen:
            self.message = "nothing is left to decide there"
            return
        start = self.unit
        self.session.decide(chosen, verdict, reason)
        self._said(chosen, verdict, by)
        self._on_from(start)

    def _said(self, chosen: list[Unit], verdict: str, by: str = "") -> None:
        if len(chosen) > 1:
            self.message = f"{len(chosen)} {verdict}{by}; u takes all of it back"
        elif len(chosen[0].fixes) > 1:
            self.message = f"{verdict}, with its companions: {len(chosen[0].fixes)} changes"
        else:
            self.message = f"{verdict}{by}"

    def _on_from(self, start: Unit) -> None:
        """After a decision: to the next undecided unit, those behind first."""
        if not self.to_open(self.units.index(start) + 1):
            self.message += ". Everything is decided: w writes it, u takes back, q leaves it waiting"

    def _fixable(self, verdict: str) -> bool:
        if self.unit.fixes:
            return True
        what = "accept" if verdict == ACCEPT else "reject"
        self.message = f"there is no change to {what} here: x when it is done, o to keep it, c for a comment"
        return False

    def accept(self) -> None:
        """Accept the unit on the screen."""
        if self._fixable(ACCEPT):
            self._decide([self.unit], ACCEPT)

    def reject(self) -> None:
        """Reject the unit on the screen."""
        if self._fixable(REJECT):
            self._decide([self.unit], REJECT)

    def accept_file(self) -> None:
        """Accept this unit and the undecided ones behind it in the file."""
        self._rest_of_file(ACCEPT)

    def reject_file(self) -> None:
        """Reject this unit and the undecided ones behind it in the file."""
        self._rest_of_file(REJECT)

    def _rest_of_file(self, verdict: str) -> None:
        group = self.files[self.unit.path]
        rest = group[group.index(self.unit) :]
        chosen = [u for u in rest if u.fixes and (u is self.unit or self.session.undecided(u))]
        hand = sum(not u.fixes and self.session.undecided(u) for u in rest)
        left = f"; {pages.counted(hand, 'finding')} without a change left for you" if hand else ""
        self._decide(chosen, verdict, by=f" in {self.unit.path}{left}")

    def whole_rule(self) -> None:
        """Decide all undecided units of this rule."""
        rule = self.unit.first.rule
        chosen = [u for u in self.units if rule in u.rules and self.session.undecided(u)]
        self._everywhere(f"{rule} {self.unit.first.name}", chosen)

    def whole_level(self) -> None:
        """Decide all undecided units of this level."""
        word = view.level_word(self.unit)
        chosen = [u for u in self.units if view.level_word(u) == word and self.session.undecided(u)]
        self._everywhere(f"level {word}", chosen)

    def _everywhere(self, what: str, chosen: list[Unit]) -> None:
        fixes = [u for u in chosen if u.fixes]
        offers = ["o keeps all, with a reason", "x says that all are done", "other keys go back"]
        if fixes:
            those = "all" if len(fixes) == len(chosen) else f"the {len(fixes)} with a change"
            offers = [f"y accepts {those}", f"n rejects {those}", *offers]
        where = f"{len(chosen)} undecided in {pages.counted(len({u.path for u in chosen}), 'file')}"
        key = self.choose(f"{what}: {where}. {', '.join(offers)}", "ynox" if fixes else "ox")
        if key in ("y", "n"):
            self._decide(fixes, ACCEPT if key == "y" else REJECT, by=f": {what}")
        elif key:
            self._with_reason(chosen, KEEP if key == "o" else DONE)

    def keep(self) -> None:
        """Keep the site as it is, with a reason."""
        self._with_reason([self.unit], KEEP)

    def done(self) -> None:
        """It is done by hand."""
        self._with_reason([self.unit], DONE)

    def _with_reason(self, chosen: list[Unit], verdict: str) -> None:
        question = "Why is it right as it is? " if verdict == KEEP else "Done how? (may stay empty) "
        reason = self.ask(question)
        if reason is None or (verdict == KEEP and not reason):
            self.message = "not kept: a reason is needed" if reason == "" else "nothing decided"
            return
        self._decide(chosen, verdict, reason or None)

    def again(self) -> None:
        """Ask about the unit again."""
        if self.session.undecided(self.unit):
            self.message = "nothing is decided here yet"
            return
        self.session.decide([self.unit], AGAIN)
        self.message = "undecided again"

    def comment(self) -> None:
        """Write a suppression comment instead of the change."""
        reason = self.ask("Reason for the comment (may stay empty): ")
        if reason is None:
            self.message = "nothing decided"
            return
        drafts = suppressing(self.unit, self.session.files, reason)
        self._by_hand(drafts, "a comment will hold it back")

    def edit(self) -> None:
        """Let the editor change the text of the fix."""
        drafts = write_by_hand(self.session, self.unit, self.terminal, self.choose)
        if drafts:
            self._by_hand(drafts, "your text is taken")
        else:
            self.message = self.message or "nothing changed, nothing decided"

    def _by_hand(self, drafts: tuple[Draft, ...], said: str) -> None:
        start = self.unit
        self.session.decide([start], ACCEPT, None, drafts)
        self.message = said
        self._on_from(start)

    def undo(self) -> None:
        """Take back the last decision."""
        gone = self.session.undo()
        if gone is None:
            self.message = "there is no decision left to take back"
            return
        unit, choice = gone
        if unit in self.places:
            self.go(self.units.index(unit))
        left = self.session.log.undoable
        self.message = f"taken back: {pages.taken_back(choice)}" + (f"; {left} more can be" if left else "")
