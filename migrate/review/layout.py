"""Text for a terminal of a given width: tabs, control characters and wide characters take the cells that they need."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from rich.cells import cell_len
from rich.text import Text

TAB = 4

# Quiet on light and dark backgrounds alike: plain ANSI colours, never a background.
STYLES = {"-": "red", "+": "green", " ": ""}
MARK = "bold reverse"
DIM = "dim"


def printable(text: str, marks: Iterable[tuple[int, int]] = (), style: str = "", mark: str = MARK) -> Text:
    """One line of source as it can be shown; `marks` are ranges of `text` that stand out.

    A tab fills up to the next multiple of four. What a terminal would obey or swallow is written as an escape.
    """
    shown: list[str] = []
    places = [0]
    column = 0
    for character in text:
        if character == "\t":
            piece = " " * (TAB - column % TAB)
        elif unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            piece = "^" + chr(ord(character) + 64) if ord(character) < 32 else f"<U+{ord(character):04X}>"
        else:
            piece = character
        shown.append(piece)
        column += cell_len(piece)
        places.append(places[-1] + len(piece))
    line = Text("".join(shown), style=style)
    for start, end in marks:
        line.stylize(f"{style} {mark}".strip(), places[min(start, len(text))], places[min(end, len(text))])
    return line


def fold(line: Text, width: int) -> list[Text]:
    """The line in pieces of at most `width` cells, cut behind a word where one ends near the edge."""
    cuts = [0]
    place, used = 0, 0
    soft: tuple[int, int] | None = None  # the last good place for a cut, and the cells up to there
    text = line.plain
    while place < len(text):
        size = cell_len(text[place])
        if used + size > width and place > cuts[-1]:
            if soft is not None and soft[1] * 3 >= width * 2:
                place = soft[0]
            cuts.append(place)
            used, soft = 0, None
            continue
        used += size
        place += 1
        if text[place - 1] in " ,([{=":
            soft = (place, used)
    return list(line.divide(cuts[1:])) if len(cuts) > 1 else [line]


def wrap(text: str, width: int, indent: str = "", style: str = "") -> list[Text]:
    """Prose in lines of at most `width` cells, broken at spaces, later lines indented as `indent` says."""
    found: list[Text] = []
    line, lead = "", ""
    for word in text.split():
        if line and cell_len(lead + line) + 1 + cell_len(word) > width:
            found.append(Text(lead + line, style=style))
            line, lead = word, indent
        else:
            line = f"{line} {word}" if line else word
    pieces = fold(Text(lead + line, style=style), width)
    return [piece for part in found for piece in fold(part, width)] + pieces


def shorten(text: str, width: int) -> str:
    """The end of a path that is too long, as the end tells more."""
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 3:
        text = text[1:]
    return "..." + text


def spread(left: Text, right: Text, width: int) -> Text:
    """Two texts at the two ends of a line; the right one gives way when there is no room for both."""
    gap = width - left.cell_len - right.cell_len
    if gap < 1:
        return left
    return Text.assemble(left, " " * gap, right)
