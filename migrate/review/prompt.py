"""A line of text that somebody types at the foot of the screen."""

from __future__ import annotations

from rich.cells import cell_len


class LineInput:
    """What has been typed so far."""

    def __init__(self, question: str, text: str = "") -> None:
        self.question = question
        self.text = text

    def press(self, key: str) -> bool | None:
        """Take a key: True when the line is taken, False when it is given up, None while it goes on."""
        if key == "enter":
            return True
        if key in ("esc", "\x03", "eof"):
            return False
        if key == "backspace":
            self.text = self.text[:-1]
        elif key == "\x15":  # Ctrl-U
            self.text = ""
        elif key == "\x17":  # Ctrl-W
            self.text = self.text.rstrip().rpartition(" ")[0]
        elif len(key) == 1 and key.isprintable():
            self.text += key
        return None

    def shown(self, width: int) -> tuple[str, int]:
        """The line as it fits, and the column of the cursor (from 1); of a long text the end is shown."""
        text = self.text
        while text and cell_len(self.question + text) > width - 1:
            text = text[1:]
        line = self.question + text
        return line, min(cell_len(line) + 1, width)
