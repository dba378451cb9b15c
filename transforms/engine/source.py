"""The bytes of a file and their decoded text, kept so that nothing outside an edit can change."""

from __future__ import annotations

import codecs
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cached_property

MAX_BYTES = 10_000_000
"""Larger files are reported, not parsed: LibCST needs several seconds and over 200 MB for 10 MB."""

MAX_DEPTH = 200
"""Nested brackets allowed; CPython's own parser refuses more, and LibCST's crashes the process at about 1,500."""

_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_SPLIT = re.compile(
    r"""(?:[^\\'"#()\[\]{}]+|\\.)|(?P<quote>'{3}|"{3}|'|")|(?P<comment>\#[^\r\n]*)|(?P<bracket>.)""", re.S
)


class Unreadable(Exception):
    """A file that can't be analysed. `line` is where the trouble is (1 when it concerns the whole file)."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class Source:
    """A file as it was read. `text` keeps every newline as it stands in the bytes; `encode` is its exact inverse."""

    data: bytes
    text: str
    encoding: str
    bom: bytes

    @classmethod
    def read(cls, data: bytes) -> Source:
        """Decode `data` as Python would (BOM, coding cookie, else UTF-8). Raises `Unreadable`."""
        if len(data) > MAX_BYTES:
            raise Unreadable(f"larger than {MAX_BYTES:,} bytes")
        bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError as error:
            missing = "invalid or missing encoding declaration" in str(error)
            raise Unreadable("not valid utf-8, and no encoding is declared" if missing else str(error)) from None
        if encoding == "utf-8-sig":
            encoding = "utf-8"
        try:
            text = data[len(bom) :].decode(encoding)
        except (UnicodeDecodeError, LookupError) as error:
            place = data.count(b"\n", 0, getattr(error, "start", 0)) + 1
            raise Unreadable(f"not valid {encoding}: {error}", place) from None
        source = cls(data, text, encoding, bom)
        if source.encode(text) != data:
            raise Unreadable(f"the encoding {encoding} does not map back to the same bytes")
        if "\0" in text:
            raise Unreadable("contains null bytes", text.count("\n", 0, text.index("\0")) + 1)
        return source

    def encode(self, text: str) -> bytes:
        """Bytes of `text` in this file's encoding, BOM included. Raises UnicodeEncodeError for characters it lacks."""
        return self.bom + text.encode(self.encoding)

    @cached_property
    def newline(self) -> str:
        """The first newline met, which inserted lines use."""
        match = re.search(r"\r\n|\n|\r", self.text)
        return match.group() if match else "\n"

    @cached_property
    def indent(self) -> str:
        """One level of indentation, as the file's first indented line has it."""
        match = re.search(r"^([ \t]+)(?=[^\s#])", self.text, re.M)
        if not match:
            return "    "
        return "\t" if match.group().startswith("\t") else match.group()

    @cached_property
    def _left_out(self) -> list[int]:
        """Offsets of characters that LibCST 1.9 loses: form feeds at line starts, blanks on an unended last line.

        Python ignores both, so the parser is given the text without them.
        """
        found = (
            [m.start() for m in re.finditer(r"(?:^|(?<=[\r\n]))\f(?=[^\r\n])", self.text)] if "\f" in self.text else []
        )
        tail = re.search(r"(?<=[\r\n])[ \t\f]+\Z", self.text)
        if tail:
            found = [at for at in found if at < tail.start()] + list(range(tail.start(), len(self.text)))
        return found

    @cached_property
    def parsed(self) -> str:
        """The text that LibCST is given. `offset` leads from there back to `text`."""
        gone = self._left_out
        if not gone:
            return self.text
        starts = [0, *(at + 1 for at in gone)]
        return "".join(self.text[a:b] for a, b in zip(starts, [*gone, len(self.text)]))

    def offset(self, parsed: int) -> int:
        """Offset in `text` of an offset in `parsed`."""
        if not self._left_out:
            return parsed
        at = parsed
        for gone in self._left_out:
            if gone > at:
                break
            at += 1
        return at

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer(r"\r\n|\n|\r", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column (both from 1, columns in characters) of an offset of `text`."""
        from bisect import bisect_right

        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_start(self, line: int) -> int:
        """Offset of the first character of a line (from 1)."""
        return self._starts[line - 1]

    def line_bounds(self, offset: int) -> tuple[int, int]:
        """Start of the line that holds `offset`, and its end without the newline."""
        line = self.position(offset)[0]
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return start, end


def guard_depth(text: str) -> None:
    """Raises `Unreadable` where brackets nest deeper than `MAX_DEPTH`, strings and comments left out.

    A scan of the text, because the parsers that could tell are the ones that die of it. Strings of one line that never
    close and odd string prefixes may be read wrongly; that can only matter beyond the limit.
    """
    if text.count("(") + text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth, at = 0, 0
    while match := _SPLIT.match(text, at):
        at = match.end()
        if quote := match["quote"]:
            end = re.compile(r"(?:[^\\]|\\.)*?" + re.escape(quote), re.S).match(text, at)
            at = end.end() if end else len(text)
        elif bracket := match["bracket"]:
            if bracket in _OPEN:
                depth += 1
                if depth > MAX_DEPTH:
                    raise Unreadable(f"more than {MAX_DEPTH} nested brackets", text.count("\n", 0, at) + 1)
            elif bracket in _CLOSE:
                depth = max(0, depth - 1)
