"""What every key works with: the session, the unit on the screen, the screen, and questions to the user."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from migrate.review import view
from migrate.review.keys import ACTIONS
from migrate.review.layout import DIM, fold, wrap
from migrate.review.prompt import LineInput
from migrate.review.session import Session
from migrate.review.terminal import Terminal
from migrate.review.units import Unit

HINTS = ("y accept", "n reject", "e edit", "v why", "j next", "u undo", "w write", "q quit", "? keys")
HAND_HINTS = ("x done", "o keep", "c comment", "v why", "j next", "u undo", "w write", "q quit", "? keys")
Page = Callable[[int], list[Text]]


class Desk:
    """One review in one terminal. `color` is a colour system of rich, None for no colours."""

    def __init__(self, session: Session, terminal: Terminal, color: str | None, only_undecided: bool) -> None:
        self.session = session
        self.terminal = terminal
        self.color = color
        self.hidden: set[str] = set()
        if only_undecided:
            self.hidden = {i.id for u in session.choices for i in u.items}
        self.at = 0
        self.top = 0
        self.room = 1
        self.message = ""
        self.arrange()

    # where we are -----------------------------------------------------------------------------------------------

    @property
    def unit(self) -> Unit:
        """The unit on the screen."""
        return self.units[self.at]

    def arrange(self) -> None:
        """The units to walk through, and the place of each in its file."""
        self.units = [u for u in self.session.units if not all(i.id in self.hidden for i in u.items)]
        by_file: dict[str, list[Unit]] = {}
        for unit in self.units:
            by_file.setdefault(unit.path, []).append(unit)
        self.files = by_file
        numbers = {path: n for n, path in enumerate(by_file, 1)}
        self.places = {u: (numbers[p], n) for p, group in by_file.items() for n, u in enumerate(group, 1)}
        self.at = min(self.at, max(len(self.units) - 1, 0))

    def position(self) -> str:
        """Such as "file 3/12  fix 2/7  41 left"."""
        file, number = self.places[self.unit]
        in_file = len(self.files[self.unit.path])
        return f"file {file}/{len(self.files)}  fix {number}/{in_file}  {self.session.left} left"

    def go(self, index: int) -> None:
        self.at = index
        self.top = 0

    def to_open(self, start: int, step: int = 1) -> bool:
        """To the next undecided unit from `start` on, around the end; False when there is none."""
        count = len(self.units)
        for distance in range(count):
            index = (start + step * distance) % count
            if self.session.undecided(self.units[index]):
                self.go(index)
                return True
        return False

    # drawing ----------------------------------------------------------------------------------------------------

    def draw(self, foot: list[Text] | None = None) -> None:
        """Show the unit, with the message and the keys at the foot unless something else is to stand there."""
        width, height = self.terminal.size
        head = [*view.head(self.session, self.unit, self.position(), width), self._rule(width, "")]
        body = view.body(self.session, self.unit, width)
        self.compose(head, body, foot or self._foot(width), height)

    def compose(self, head: list[Text], body: list[Text], foot: list[Text], height: int) -> None:
        """Fill the screen: the body scrolls between head and foot."""
        width = self.terminal.size[0]
        room = max(height - len(head) - len(foot) - 1, 1)
        self.room = room
        self.top = max(0, min(self.top, len(body) - room))
        below = len(body) - self.top - room
        more = f" {below} more lines: space " if below > 0 else " b: back up " if self.top else ""
        shown = body[self.top : self.top + room]
        blank = [Text()] * (room - len(shown))
        self.terminal.show(self._ansi([*head, *shown, *blank, self._rule(width, more), *foot]))

    def _foot(self, width: int) -> list[Text]:
        message = wrap(self.message, width, "  ", "bold")[:4] if self.message else [Text()]
        hints = HINTS if self.unit.fixes else HAND_HINTS
        words = []
        for hint in hints:
            key, _, what = hint.partition(" ")
            count = f" {self.session.waiting_count}" if what == "write" and self.session.waiting_count else ""
            words.append(Text.assemble((key, "bold"), f" {what}{count}"))
        line = Text("  ").join(words)
        return [*message, *fold(line, width)[:1]]

    def _rule(self, width: int, label: str) -> Text:
        dash = "-" if self._ascii else "─"
        return Text(label.center(width, dash) if label else dash * width, style=DIM)

    @property
    def _ascii(self) -> bool:
        return "utf" not in self.terminal.encoding.lower()

    def _ansi(self, lines: Sequence[Text]) -> list[str]:
        width = self.terminal.size[0]
        console = Console(
            file=io.StringIO(),
            width=width,
            force_terminal=True,
            color_system=self.color,  # type: ignore[arg-type]
            no_color=self.color is None or "NO_COLOR" in os.environ,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
        with console.capture() as capture:
            for line in lines:
                console.print(line, no_wrap=True, overflow="crop", crop=True)
        return capture.get().rstrip("\n").split("\n") if lines else []

    # pages, questions -------------------------------------------------------------------------------------------

    def page(self, title: str, page: Page, hint: str = "q goes back", keys: str = "") -> str:
        """A page over everything; gives the key that ended it: one of `keys`, or anything that does not scroll."""
        before, self.top = self.top, 0
        while True:
            width, height = self.terminal.size
            head = [Text(title, style="bold"), self._rule(width, "")]
            self.compose(head, page(width), wrap(hint, width, "  ", DIM), height)
            key = self.terminal.key()
            scroll = ACTIONS.get(key, "")
            if key in keys or key in ("q", "eof", "esc", "\x03"):
                break
            if scroll in ("page_down", "page_up", "line_down", "line_up"):
                top = self.top
                getattr(self, scroll)()
                self.compose(head, page(width), [], height)
                if scroll == "page_down" and self.top == top and not keys:
                    break  # the end has been read
            elif key != "resize" and not keys:
                break
        self.top = before
        return key

    def choose(self, question: str, keys: str) -> str:
        """One of some keys; everything else gives up."""
        while True:
            width = self.terminal.size[0]
            self.draw(wrap(question, width, "  ", "bold"))
            key = self.terminal.key()
            if key != "resize":
                self.message = ""
                return key if key in keys else ""

    def ask(self, question: str, text: str = "") -> str | None:
        """A line of text; None when somebody gives up with Esc."""
        line = LineInput(question, text)
        while True:
            width, height = self.terminal.size
            head = [*view.head(self.session, self.unit, self.position(), width), self._rule(width, "")]
            shown, column = line.shown(width)
            foot = [Text(shown, style="bold"), Text("Enter takes it, Esc gives up", style=DIM)]
            body = view.body(self.session, self.unit, width)
            self.compose(head, body, foot, height)
            self.terminal.show_cursor(height - 1, column)
            answer = line.press(self.terminal.key())
            if answer is not None:
                return line.text.strip() if answer else None
