"""Files that can't be analysed: why, and the sites that a plain search of their text finds."""

from __future__ import annotations

from collections import Counter

from migrate.identity import digest
from migrate.ledger import OPEN, Item
from migrate.result import FileState
from migrate.settings import Settings
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.engine.source import Source

MOST_SEARCHED = 1000
"""Sites listed of one file that can't be parsed; the rest is counted."""


def report_unreadable(file: FileState, reason: str, line: int, settings: Settings, failed: bool = False) -> None:
    """Report a file that can't be parsed, and the sites that a plain search of its text finds.

    `failed`: it is the tool's fault, so whatever the file needs is unknown and the program can't be called runnable.
    """
    from transforms.registry import UNREADABLE_FILE

    file.status, file.reason = "failed" if failed else "unreadable", reason
    severity = ERROR if failed else WARNING
    utf16 = file.data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = file.data.decode("utf-16" if utf16 else "utf-8", "replace") if file.source is None else file.source.text
    file.source = file.source or Source(file.data, text, "utf-8", b"")
    chosen = settings.for_path(file.path)
    start = file.source.line_start(min(line, file.source.position(len(text))[0]))
    if chosen.enables(UNREADABLE_FILE.code, UNREADABLE_FILE.name):
        end = file.source.line_bounds(start)[1]
        file.items.append(tool_item(file, UNREADABLE_FILE.code, f"{reason}; it is never edited", start, end, severity))
    if chosen.enables("TN003", "unknown-site"):
        search(file, text, "in a file that could not be analysed" if failed else "in a file that can't be parsed")


def search(file: FileState, text: str, where: str) -> None:
    """Put the names of a text without findings that speak of CUDA or XLA into the ledger."""
    import re

    from transforms.engine.words import is_specific

    seen: Counter[str] = Counter()
    for match in re.finditer(r"[A-Za-z_][\w.]*", text):
        if not is_specific(match.group()):
            continue
        file.hits += 1
        if file.hits > MOST_SEARCHED:
            continue
        message = f"{match.group()} {where}"
        item = tool_item(file, "TN003", message, match.start(), match.end(), WARNING)
        item.id += f"-{seen[message]}"
        seen[message] += 1
        file.items.append(item)
    if file.hits > MOST_SEARCHED:
        file.items[-1].message += f", as {file.hits - MOST_SEARCHED:,} more that are not listed"


def tool_item(file: FileState, code: str, message: str, start: int, end: int, severity: str | None) -> Item:
    """A finding of the tool itself about a range of a file."""
    from transforms.registry import by_code

    return Item(
        file.path,
        digest(code, file.path, message),
        code,
        by_code()[code].name,
        message,
        start,
        end,
        (start, end),
        "",
        Safety.MANUAL,
        severity,
        OPEN,
        None,
        True,
    )
