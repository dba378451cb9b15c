"""The review itself: shows a unit, waits for a key, does what the key says; writing and leaving."""

from __future__ import annotations

from migrate.journal import Journal, JournalError
from migrate.review import pages
from migrate.review.byhand import NotPossible
from migrate.review.deciding import Deciding
from migrate.review.keys import ACTIONS
from migrate.review.moving import Moving
from migrate.review.session import Session
from migrate.review.terminal import Terminal
from migrate.review.units import Unit
from migrate.review.write import (
    Outcome,
    accepted,
    changed_meanwhile,
    look_again,
    recover,
    touched,
    uncommitted,
    write,
)


class Review(Deciding, Moving):
    """One run of the command. `farewell` is what to say once the screen is given back."""

    def __init__(
        self, session: Session, journal: Journal, terminal: Terminal, color: str | None, only_undecided: bool
    ) -> None:
        super().__init__(session, terminal, color, only_undecided)
        self.journal = journal
        self.over = False
        self.exit_code = 0
        self.farewell: list[str] = []

    def run(self) -> int:
        """Until somebody leaves. Gives the exit code."""
        news = recover(self.session)
        if self.session.log.damaged:
            news.append(f"{self.session.log.damaged} damaged lines of {self.session.log.file} were passed over.")
        self.arrange()
        self.to_open(0)
        if self._greet(news) or self.over:
            return self.exit_code
        if not self.units:
            return self.exit_code
        while not self.over:
            self.draw()
            self._press(self.terminal.key())
        return self.exit_code

    def _press(self, key: str) -> None:
        if key == "resize":
            return
        self.message = ""
        action = ACTIONS.get(key)
        if action is None:
            self.message = f"{key!r} does nothing here; ? shows the keys" if key.isprintable() else ""
            return
        try:
            getattr(self, action)()
        except (JournalError, NotPossible) as error:
            self.message = str(error)

    def _greet(self, news: list[str]) -> bool:
        """What waits from before; True when it was written and nothing is left."""
        first = pages.greeting(self.session, 80, news)
        if not first:
            return False
        hint = "w writes now" + (", x drops the stale ones" if self.session.stale else "") + ", any other key goes on"
        key = self.page("neuron-migrate review", lambda width: pages.greeting(self.session, width, news), hint)
        if key == "w":
            self.write()
        elif key == "x" and self.session.stale:
            self.message = f"{pages.counted(self.session.drop_stale(), 'stale decision')} dropped"
        elif key in ("q", "eof", "\x03"):
            self.quit()
        return self.over

    def write(self) -> None:
        """Write what is decided, then go on with what is left."""
        session = self.session
        if not session.waiting_count:
            self.message = "nothing waits to be written"
            return
        paths = touched(session, accepted(session))
        changed = changed_meanwhile(session, paths)
        if changed:
            look_again(session, changed, self._busy)
            self.arrange()
            self.to_open(self.at)
            self.message = f"{', '.join(changed[:3])} changed meanwhile and was read again: w again writes"
            return
        dirty = uncommitted(session, paths)
        if dirty and self.units:
            shown = ", ".join(dirty[:2]) + (f" and {len(dirty) - 2} more" if len(dirty) > 2 else "")
            question = f"Uncommitted changes in {shown}: y writes all the same (undo takes it back), other keys wait"
            if self.choose(question, "y") != "y":
                self.message = "nothing written"
                return
        before = self.unit if self.units else None
        self._written(write(session, self.journal, self._busy), before)

    def _busy(self, what: str) -> None:
        self.message = f"{what} ..."
        if self.units:
            self.draw()
        self.message = ""

    def _written(self, outcome: Outcome, before: Unit | None) -> None:
        self.arrange()
        said = []
        if outcome.written:
            said.append(f"{pages.counted(len(outcome.written), 'file')} written (undo: neuron-migrate undo)")
        if outcome.lock:
            said.append("neuron-migrate.lock.json written: commit it")
        for path, reason in outcome.failed.items():
            said.append(f"{path}: not written: {reason}")
        if outcome.not_made:
            said.append(f"not made, as they clash with others, look again: {', '.join(outcome.not_made[:3])}")
        said += outcome.errors
        self.farewell += said
        self.exit_code = 1 if outcome.failed or outcome.errors else 0
        self.message = "; ".join(said) or "written"
        if before is not None:
            near = (n for n, u in enumerate(self.units) if (u.path, u.first.start) >= (before.path, before.first.start))
            self.go(next(near, 0))
        if not self.units or not self.to_open(self.at):
            if outcome.failed or outcome.not_made:
                return
            self.quit()

    def quit(self) -> None:
        """Leave; everything that is decided waits on the disk."""
        self.over = True
        waiting, left = self.session.waiting_count, self.session.left
        if waiting:
            many = pages.counted(waiting, "decision")
            self.farewell.append(f"{many} waiting: neuron-migrate review, then w, writes them")
        if left:
            self.farewell.append(f"{pages.counted(left, 'finding')} left: neuron-migrate review goes on")
        elif not waiting:
            self.farewell.append("everything is decided: neuron-migrate check shows what stays")

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.quit()
        self.exit_code = 130

    def suspend(self) -> None:
        """Ctrl-Z."""
        self.terminal.suspend()
