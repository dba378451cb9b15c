"""Unified diffs in bytes that `git apply` takes.

A patch is made of bytes, since the file that it changes may hold any encoding or none. Lines end at the line feed
alone, as git counts them: a carriage return, a form feed or a byte that is no UTF-8 is part of its line.
The format is the one of git's `diff-generate-patch` documentation.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from difflib import SequenceMatcher

CONTEXT = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"
_NAMED_ESCAPES = {0x07: b"\\a", 0x08: b"\\b", 0x09: b"\\t", 0x0A: b"\\n", 0x0B: b"\\v", 0x0C: b"\\f", 0x0D: b"\\r"}
_Group = list[tuple[str, int, int, int, int]]


def unified(path: str, old: bytes | None, new: bytes, mode: int | None = None) -> bytes:
    """The patch that turns the bytes `old` of the file `path` into `new`; empty when they are equal.

    `path` is relative to the root, with `/`. `old` is None for a file that the patch creates. `mode` is the file's
    permission bits, where they are known: git keeps them, and gives them to a created file (0o644 without it).
    """
    if old == new:
        return b""
    before, after = _quoted("a/" + path), _quoted("b/" + path)
    git_mode = b"100755" if mode is not None and mode & 0o100 else b"100644"
    head = [b"diff --git " + before + b" " + after + b"\n"]
    index = b"index " + _blob_hash(old) + b".." + _blob_hash(new)
    if old is None:
        head.append(b"new file mode " + git_mode + b"\n")
    elif mode is not None:
        # The mode stands here, and git warns when it is not the file's; so it is left out where nobody knows it.
        index += b" " + git_mode
    head.append(index + b"\n")
    hunks = b"".join(_hunks(_lines(old or b""), _lines(new)))
    if hunks:
        # git ends a name that holds a space with a tab, so that a reader can tell where it ends.
        tab = b"\t" if " " in path else b""
        head.append(b"--- " + (b"/dev/null" if old is None else before + tab) + b"\n")
        head.append(b"+++ " + after + tab + b"\n")
    return b"".join(head) + hunks


def _quoted(path: str) -> bytes:
    """The path as git writes it: in C quotes when it holds a quote, a backslash, a control or non-ASCII byte."""
    raw = os.fsencode(path)
    out = bytearray()
    for byte in raw:
        if byte in b'"\\':
            out += b"\\" + bytes([byte])
        elif byte in _NAMED_ESCAPES:
            out += _NAMED_ESCAPES[byte]
        elif byte < 0x20 or byte >= 0x7F:
            out += b"\\%03o" % byte
        else:
            out.append(byte)
    return bytes(out) if bytes(out) == raw else b'"' + bytes(out) + b'"'


def _blob_hash(data: bytes | None) -> bytes:
    """The object name that git gives these bytes, which lets `git apply --3way` find the blob."""
    if data is None:
        return b"0" * 40
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().encode()


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[bytes]:
    for group in _groups(old, new):
        first, last = group[0], group[-1]
        yield b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4]))
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (_line(b" ", line) for line in old[old_start:old_end])
            else:
                yield from (_line(b"-", line) for line in old[old_start:old_end])
                yield from (_line(b"+", line) for line in new[new_start:new_end])


def _groups(old: list[bytes], new: list[bytes]) -> Iterator[_Group]:
    """Groups of opcodes with their context. Equal ends are cut off first: most files change in few places."""
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    core = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail]).get_opcodes()
    codes: _Group = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in core]
    if head:
        codes.insert(0, ("equal", 0, head, 0, head))
    if tail:
        codes.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    whole = SequenceMatcher(None, "", "")
    whole.opcodes = codes  # type: ignore[attr-defined]  # its grouping is what is wanted, not its comparison
    yield from whole.get_grouped_opcodes(CONTEXT)


def _range(start: int, end: int) -> bytes:
    length = end - start
    if length == 1:
        return b"%d" % (start + 1)
    # An empty range names the line before it.
    return b"%d,%d" % (start + 1 if length else start, length)


def _line(mark: bytes, line: bytes) -> bytes:
    return mark + (line if line.endswith(b"\n") else line + _NO_NEWLINE)
