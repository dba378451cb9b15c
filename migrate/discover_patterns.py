"""gitignore patterns, each asked about one entry alone.

`pathspec` answers for a whole path at once: a pattern that names a folder also speaks for all that lies in it. A walk
asks about each entry of a folder that is not ignored, where that goes wrong: with the patterns `data` and `!src` it
takes `src/data/` back in, which git ignores. The tests compare these patterns with git itself.
Source: git's gitignore documentation, "PATTERN FORMAT", and the comments of its wildmatch.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_TOKEN = re.compile(
    r"""
    (?P<any_folders>(?:(?<=/)|^)\*\*/(?:\*\*/)*)
  | (?P<all_below>(?<=/)\*\*$)
  | (?P<star>\*+)
  | (?P<one>\?)
  | \[(?P<negated>[!^]?)(?P<set>\]?(?:\[:\w+:\]|\\.|[^\]\\])*)\]
  | \\(?P<escaped>.)
  | (?P<plain>[^\[\\])
    """,
    re.VERBOSE | re.DOTALL,
)
_SET_ITEM = re.compile(r"\[:(?P<name>\w+):\]|\\(?P<escaped>.)|(?P<dash>-)|(?P<plain>.)", re.DOTALL)


@dataclass(frozen=True)
class Pattern:
    """One line of an ignore file; `ignores` is False for a line that begins with `!`."""

    ignores: bool
    folders_only: bool
    by_name: bool  # asks about the last part of the path alone
    regex: re.Pattern[str]

    def matches(self, path: str, name: str, is_folder: bool) -> bool:
        """`path` is relative to the folder of the ignore file, `name` its last part."""
        if self.folders_only and not is_folder:
            return False
        return self.regex.fullmatch(name if self.by_name else path) is not None


def parse(line: str) -> Pattern | None:
    """The pattern of a line; None for a comment, an empty line and a broken pattern, which matches nothing."""
    if line.startswith("#"):
        return None
    text = re.sub(r"(?<!\\) +$", "", line)
    ignores = not text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    by_name = "/" not in text
    regex = _translated(text.removeprefix("/"), by_name)
    return None if not text or regex is None else Pattern(ignores, folders_only, by_name, regex)


def _translated(text: str, by_name: bool) -> re.Pattern[str] | None:
    parts = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None  # a bracket that is not closed, or a backslash at the end
        position = token.end()
        if token["any_folders"]:
            parts.append("(?:.*/)?")
        elif token["all_below"] or (token["star"] and text == "**" and not by_name):
            parts.append(".+")
        elif token["star"]:
            parts.append("[^/]*")
        elif token["one"]:
            parts.append("[^/]")
        elif token["set"] is not None:
            parts.append(_set(token["set"], bool(token["negated"])))
        else:
            parts.append(re.escape(token["escaped"] or token["plain"]))
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        return None  # a range from a later character to an earlier one


def _set(text: str, negated: bool) -> str:
    items = []
    for item in _SET_ITEM.finditer(text):
        if item["name"]:
            items.append(_CLASSES.get(item["name"], ""))
        elif item["dash"]:
            at_an_end = item.start() == 0 or item.end() == len(text)
            items.append(r"\-" if at_an_end else "-")
        else:
            items.append(re.escape(item["escaped"] or item["plain"]))
    return f"(?!/)[{'^' if negated else ''}{''.join(items)}]"
