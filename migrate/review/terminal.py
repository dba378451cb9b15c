"""The terminal: one key at a time in, one whole screen at a time out, and everything as it was afterwards."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from types import FrameType

_ENTER = "\x1b[?1049h\x1b[?7l\x1b[?25l"  # other screen, no wrapping, no cursor
_LEAVE = "\x1b[?25h\x1b[?7h\x1b[?1049l"
_NAMES = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\t": "tab", "\x1b": "esc"}
_SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "[H": "home",
    "[F": "end",
    "[1~": "home",
    "[4~": "end",
    "[5~": "page up",
    "[6~": "page down",
    "[Z": "back tab",
}
_ESCAPE_SECONDS = 0.05
"""How long a lone escape waits for the rest of a key, which a slow line may deliver later."""


class Terminal:
    """A terminal in its raw mode, between `opened()` and its end."""

    def __init__(self) -> None:
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self.encoding = sys.stdout.encoding or "utf-8"
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending: list[str] = []
        self._resized = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake_read, False)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Terminal]:
        """Takes the screen, and gives it back however the block ends, a polite kill included."""
        self._saved = termios.tcgetattr(self._in)
        before = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, self._on_resize),
            signal.SIGTERM: signal.signal(signal.SIGTERM, self._on_kill),
            signal.SIGHUP: signal.signal(signal.SIGHUP, self._on_kill),
        }
        old_wake = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._take()
        try:
            yield self
        finally:
            self._give()
            signal.set_wakeup_fd(old_wake)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._wake_read)
            os.close(self._wake_write)

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Gives the screen to another program, such as an editor."""
        self._give()
        try:
            yield
        finally:
            self._take()

    def suspend(self) -> None:
        """What Ctrl-Z means: back to the shell until it says `fg`."""
        self._give()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines, never less than the smallest screen that makes sense."""
        try:
            columns, lines = os.get_terminal_size(self._out)
        except OSError:
            columns, lines = 80, 24
        return max(columns or 80, 30), max(lines or 24, 8)

    def key(self) -> str:
        """The next key: a character, a name such as `up`, `resize` after a change of size, `eof` at the end."""
        while not self._pending:
            if self._resized:
                self._resized = False
                return "resize"
            ready, _, _ = select.select([self._in, self._wake_read], [], [])
            if self._wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 1024)
            elif self._in in ready and not self._receive():
                return "eof"
        return self._next_key()

    def show(self, lines: Sequence[str]) -> None:
        """Replace what the screen shows."""
        # Each line is erased before it is written, so that a full line keeps its last character.
        self._write("\x1b[?25l\x1b[H" + "\r\n".join("\x1b[K" + line for line in lines) + "\x1b[J")

    def show_cursor(self, line: int, column: int) -> None:
        """Let the cursor be seen, line and column from 1, until the next `show`."""
        self._write(f"\x1b[{line};{column}H\x1b[?25h")

    def _write(self, text: str) -> None:
        data = text.encode(self.encoding, "backslashreplace")
        while data:
            data = data[os.write(self._out, data) :]

    def _receive(self) -> bool:
        try:
            data = os.read(self._in, 1024)
        except OSError:
            return False
        self._pending += self._decoder.decode(data)
        return bool(data)

    def _next_key(self) -> str:
        first = self._pending.pop(0)
        if first != "\x1b":
            return _NAMES.get(first, first)
        if not self._pending and select.select([self._in], [], [], _ESCAPE_SECONDS)[0]:
            self._receive()
        if not self._pending or self._pending[0] not in "[O":
            return "esc"
        sequence = "[" if self._pending.pop(0) in "[O" else ""
        while self._pending:
            sequence += self._pending.pop(0)
            if sequence[-1].isalpha() or sequence[-1] == "~":
                break
        return _SEQUENCES.get(sequence, "unknown")

    def _take(self) -> None:
        tty.setraw(self._in, termios.TCSADRAIN)
        os.write(self._out, _ENTER.encode())

    def _give(self) -> None:
        os.write(self._out, _LEAVE.encode())
        termios.tcsetattr(self._in, termios.TCSADRAIN, self._saved)

    def _on_resize(self, number: int, frame: FrameType | None) -> None:
        self._resized = True

    def _on_kill(self, number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)
