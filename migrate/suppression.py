"""Comments that keep a statement as it is: `# neuron: keep` and `# neuron: keep[TN101, device-string] reason`.

A comment holds for a statement when it stands on any of the statement's lines, or alone on a line of the comment block
directly above it. For a compound statement the unit is its header, so the caller passes the header's lines.

What is written wrong is always reported. When the word `keep` is there, the comment still holds (for all rules when
its list can't be read): an edit that somebody tried to forbid is worse than a missing one.
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from migrate.settings import did_you_mean, selector_length

_CANDIDATE = re.compile(r"[#]\s*neuron\b", re.IGNORECASE)
# A directive ends where another comment begins, as in `# neuron: keep  # type: ignore`.
_DIRECTIVE = re.compile(
    r"(?:^|(?<=\s))[#]+\s*neuron\s*(?P<colon>:?)\s*(?P<verb>[a-z][\w-]*)(?P<rest>(?:[^#]|(?<!\s)[#])*)", re.IGNORECASE
)
_CODES = re.compile(r"\s*\[(?P<codes>[^\[\]]*)\](?P<reason>.*)", re.DOTALL)
_BARE_CODE = re.compile(r"\s*TN\d{1,3}\b")
_FORM = "'# neuron: keep' or '# neuron: keep[CODE] reason'"
_OTHER_VERBS = ("ignore", "skip", "noqa", "disable", "off")
_NEWLINE = re.compile(r"\r\n|\n|\r")
_STRING_OR_COMMENT = re.compile(
    r"""(?P<string>
          \"\"\"(?:\\.|[^\\])*?\"\"\" | '''(?:\\.|[^\\])*?'''
        | "(?:\\(?:\r\n|.)|[^"\\\r\n])*"? | '(?:\\(?:\r\n|.)|[^'\\\r\n])*'?)
      | (?P<comment>\#[^\r\n]*)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Suppression:
    """One comment. `line` counts from 1; `start` and `end` are character offsets of the directive in the text."""

    line: int
    codes: tuple[str, ...]  # empty: all rules
    reason: str
    start: int
    end: int
    alone: bool  # nothing but the comment stands on its line
    holds: bool = True
    problem: str | None = None  # what is written wrong


@dataclass(frozen=True)
class Complaint:
    """Something to tell about a suppression: it is malformed, names an unknown rule, or holds nothing back."""

    line: int
    start: int
    end: int
    message: str


def find_suppressions(text: str) -> list[Suppression]:
    """All suppression comments of a decoded source text, in order; a `#` inside a string is no comment.

    A text that the tokenizer of this Python refuses is scanned line by line with what is known about strings.
    """
    if not _CANDIDATE.search(text):
        return []  # the tokenizer costs as much as a parse, and few files hold a directive
    line_starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    found = []
    try:
        comments = list(_tokenized_comments(text, line_starts))
    except (tokenize.TokenError, SyntaxError):
        comments = list(_scanned_comments(text, line_starts))
    for line, start, comment in comments:
        alone = not text[line_starts[line - 1] : start].strip(" \t\f\ufeff")
        for match in _DIRECTIVE.finditer(comment):
            suppression = _read(match, line, start, alone)
            if suppression is not None:
                found.append(suppression)
    return found


class Suppressions:
    """The suppressions of one file, and which of them held something back.

    `known` maps the codes of all rules to their names; a listed code, prefix or name that is none of them is reported.
    """

    def __init__(self, text: str, known: Mapping[str, str]) -> None:
        self.found = find_suppressions(text)
        self._known = known
        self._used: dict[Suppression, set[str]] = {}
        self._by_line: dict[int, list[Suppression]] = {}
        for suppression in self.found:
            self._by_line.setdefault(suppression.line, []).append(suppression)
        self._comment_lines = _comment_lines(text) if self.found else frozenset()

    def match(self, code: str, name: str, first_line: int, last_line: int) -> Suppression | None:
        """The comment that keeps the statement on these lines from the rule, if there is one; it counts as used."""
        for line in self._lines_that_hold(first_line, last_line):
            for suppression in self._by_line.get(line, ()):
                if not suppression.holds or (line < first_line and not suppression.alone):
                    continue
                if not suppression.codes or any(selector_length(c, code, name) for c in suppression.codes):
                    self._used.setdefault(suppression, set()).add(code)
                    return suppression
        return None

    def unused(self, ran: Collection[str]) -> list[Complaint]:
        """What is wrong with the comments: malformed ones, unknown codes, and those that held nothing back.

        Whether a comment held something back is judged only when all rules that it names are among the codes that
        `ran`; for a comment without a list these are all known rules.
        """
        complaints = []
        for suppression in self.found:
            used = self._used.get(suppression, set())
            if suppression.problem is not None:
                complaints.append(_complaint(suppression, suppression.problem))
            elif not suppression.codes:
                if not used and self._known.keys() <= set(ran):
                    complaints.append(_complaint(suppression, "unused: no rule has anything to say here"))
            else:
                messages = [self._judge(selector, used, ran) for selector in suppression.codes]
                text = "; ".join(message for message in messages if message)
                if text:
                    complaints.append(_complaint(suppression, text))
        return complaints

    def _judge(self, selector: str, used: Collection[str], ran: Collection[str]) -> str:
        named = {code for code, name in self._known.items() if selector_length(selector, code, name)}
        if not named:
            return f"no rule is called {selector!r}" + did_you_mean(selector, [*self._known, *self._known.values()])
        if named & set(used) or not named <= set(ran):
            return ""
        return f"unused: {selector} has nothing to say here"

    def _lines_that_hold(self, first_line: int, last_line: int) -> Iterator[int]:
        yield from range(first_line, last_line + 1)
        above = first_line - 1
        while above in self._comment_lines:
            yield above
            above -= 1


def _complaint(suppression: Suppression, message: str) -> Complaint:
    return Complaint(suppression.line, suppression.start, suppression.end, message)


def _read(match: re.Match[str], line: int, offset: int, alone: bool) -> Suppression | None:
    """The suppression that a comment means, or None for a comment that only begins with the same word."""
    verb, rest = match["verb"].lower(), match["rest"].rstrip()
    start, end = offset + match.start(), offset + match.start("rest") + len(rest)
    if verb != "keep":
        misspelt = verb[0] == "k" and get_close_matches(verb, ("keep",), cutoff=0.75)
        foreign = verb in _OTHER_VERBS and (not rest or rest.lstrip().startswith("["))
        if not match["colon"] or not (misspelt or foreign):
            return None
        problem = f"{match['verb']!r} is not understood and nothing is kept; write {_FORM}"
        return Suppression(line, (), rest.strip(), start, end, alone, holds=False, problem=problem)
    codes, reason, problem_of_list = _read_list(rest)
    if match["colon"]:
        return Suppression(line, codes, reason, start, end, alone, problem=problem_of_list)
    if rest and not rest.lstrip().startswith("["):
        return None
    return Suppression(line, codes, reason, start, end, alone, problem=f"the colon is missing; write {_FORM}")


def _read_list(rest: str) -> tuple[tuple[str, ...], str, str | None]:
    """The codes, the reason, and what is wrong with what stands behind the word `keep`."""
    listed = _CODES.match(rest)
    if listed is not None:
        codes = tuple(code for code in re.split(r"[,\s]+", listed["codes"]) if code)
        problem = None if codes else "the list of codes is empty, so all rules are held back"
        return codes, listed["reason"].strip(), problem
    if rest.lstrip().startswith("["):
        return (), "", "the bracket behind 'keep' is not closed, so all rules are held back"
    if _BARE_CODE.match(rest):
        return (), rest.strip(), f"codes stand in brackets, and without them all rules are held back; write {_FORM}"
    return (), rest.strip(), None


def _tokenized_comments(text: str, line_starts: list[int]) -> Iterator[tuple[int, int, str]]:
    """(line, offset, comment) by the tokenizer. It gets one kind of newline, so that it counts lines as we do."""
    body = text.removeprefix("\ufeff")
    shift = len(text) - len(body)
    lines = (line + "\n" for line in _NEWLINE.split(body))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            yield line, line_starts[line - 1] + column + (shift if line == 1 else 0), token.string


def _scanned_comments(text: str, line_starts: list[int]) -> Iterator[tuple[int, int, str]]:
    line = 1
    for match in _STRING_OR_COMMENT.finditer(text):
        if match["comment"] is None:
            continue
        while line < len(line_starts) and line_starts[line] <= match.start():
            line += 1
        yield line, match.start(), match["comment"]


def _comment_lines(text: str) -> frozenset[int]:
    """Lines that begin with `#`. Such a line inside a string does no harm: no suppression is ever found there."""
    lines = enumerate(_NEWLINE.split(text), 1)
    return frozenset(number for number, line in lines if line.lstrip(" \t\f\ufeff").startswith("#"))
