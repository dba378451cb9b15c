"""A pseudo-terminal with the tool in it: sends keys, and knows what the screen shows."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PATIENCE = float(os.environ.get("REVIEW_PATIENCE", "60"))
"""Seconds until a test gives up on a screen that never comes; nothing is judged by how long it takes."""

UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
PAGE_UP, PAGE_DOWN, ESCAPE, ENTER = "\x1b[5~", "\x1b[6~", "\x1b", "\r"

_SEQUENCE = re.compile(r"\x1b(?:\[(?P<args>[?0-9;]*)(?P<final>[A-Za-z])|(?P<other>[=>]))")


class Screen:
    """What a terminal shows after some output: just the sequences that the review uses, others are errors."""

    def __init__(self, columns: int, lines: int) -> None:
        self.resize(columns, lines)
        self.alternate = False
        self.raw = ""
        self.styled = [""] * lines

    def resize(self, columns: int, lines: int) -> None:
        """Another size; what was there is gone, as the program draws all of it anew."""
        self.columns, self.rows = columns, lines
        self.cells = [[" "] * columns for _ in range(lines)]
        self.line = self.column = 0

    def feed(self, text: str) -> None:
        """Obey some output."""
        self.raw += text
        while self.raw:
            match = _SEQUENCE.match(self.raw)
            if match:
                self.raw = self.raw[match.end() :]
                if match["final"]:
                    self._obey(match["args"], match["final"])
            elif self.raw[0] == "\x1b":
                if len(self.raw) < 12:
                    return  # the rest of the sequence is still to come
                raise AssertionError(f"unknown sequence {self.raw[:12]!r}")
            else:
                self._put(self.raw[0])
                self.raw = self.raw[1:]

    @property
    def text(self) -> str:
        """The lines of the screen, without trailing blanks."""
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def _obey(self, args: str, final: str) -> None:
        if final in "mhl":
            if args == "?1049":
                self.alternate = final == "h"
                self.resize(self.columns, self.rows)
        elif final == "H":
            line, _, column = args.partition(";")
            self.line, self.column = int(line or 1) - 1, int(column or 1) - 1
        elif final == "K":
            self.cells[self.line][self.column :] = [" "] * (self.columns - self.column)
        elif final == "J":
            self.cells[self.line][self.column :] = [" "] * (self.columns - self.column)
            for row in range(self.line + 1, self.rows):
                self.cells[row] = [" "] * self.columns
        else:
            raise AssertionError(f"unknown sequence {args}{final}")

    def _put(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            if self.line + 1 < self.rows:
                self.line += 1
            else:
                self.cells = [*self.cells[1:], [" "] * self.columns]
        elif unicodedata.combining(character):
            pass
        else:
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if self.column + width <= self.columns:
                self.cells[self.line][self.column : self.column + width] = [character, ""][:width]
                self.column += width
            elif self.alternate:
                raise AssertionError(f"line {self.line + 1} is longer than the screen: {character!r} does not fit")


class Session:
    """A command of the tool that runs in a pseudo-terminal of its own."""

    def __init__(
        self, folder: Path, *arguments: str, columns: int = 80, lines: int = 24, **environment: str
    ) -> None:
        self.screen = Screen(columns, lines)
        self.transcript = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.master, slave = pty.openpty()
        self._set_size(columns, lines)
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "EDITOR", "VISUAL", "COLUMNS", "LINES")}
        env |= {"PYTHONPATH": str(CHECKOUT), "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "migrate.cli", *arguments],
            cwd=folder,
            env=env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self.master, keys.encode())

    def expect(self, *texts: str) -> str:
        """Wait until the screen shows all the texts, wherever their lines break; gives the screen."""

        def shows() -> bool:
            flat = " ".join(self.screen.text.split())
            return all(" ".join(t.split()) in flat for t in texts)

        return self.until(shows, f"{texts} on the screen")

    def press(self, keys: str, *texts: str) -> str:
        """Press keys, then wait for what the screen must show."""
        self.send(keys)
        return self.expect(*texts)

    def resize(self, columns: int, lines: int) -> None:
        """Make the window another size."""
        self.screen.resize(columns, lines)
        self._set_size(columns, lines)
        self.process.send_signal(signal.SIGWINCH)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Wait for the end of the command; gives its exit code."""
        self.until(lambda: self.process.poll() is not None, "the end of the command")
        self._read(0.05)
        return self.process.wait()

    @property
    def farewell(self) -> str:
        """What the command said after it had given the screen back."""
        return self.transcript.rpartition("\x1b[?1049l")[2].replace("\r\n", "\n")

    def until(self, condition: Callable[[], bool], what: str) -> str:
        """Wait until a condition holds; gives the screen."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline or (self.process.poll() is not None and not self._read(0.1)):
                raise AssertionError(f"never saw {what}; the screen is:\n{self.screen.text}\n{self.transcript[-2000:]}")
            self._read(0.1)
        return self.screen.text

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other side is closed
            time.sleep(0.01)
            return False
        text = self._decoder.decode(data)
        self.transcript += text
        self.screen.feed(text)
        return True

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
