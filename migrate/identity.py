"""Ids of findings and fixes: by content, so that they survive line moves, unrelated edits and applied neighbours."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from transforms.engine.compose import apply, clashes, effective, shifted
from transforms.engine.model import Analysis, Edit

_COMMENT_OR_SPACE = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\#[^\r\n]*|[\s\\]+""")


@dataclass(frozen=True)
class Keys:
    """What a finding is recognised by: its id, the same without path and count, and the same without the scope too."""

    id: str
    anywhere: str
    content: str


def finding_ids(path: str, text: str, analysis: Analysis) -> list[str]:
    """One id per finding, in their order."""
    return [keys.id for keys in finding_keys(path, text, analysis)]


def finding_keys(path: str, text: str, analysis: Analysis) -> list[Keys]:
    """The keys of each finding, in their order.

    The id hashes rule, path, enclosing definition, the statement as it reads once all fixes are applied, and where in
    it the site stands. Equal ones are counted, so that two equal statements in one function have two ids.
    """
    statements = {finding.statement: _Statement(text, finding.statement) for finding in analysis.findings}
    spans = sorted(statements)
    for fix in analysis.fixes:
        for edit in fix.edits:
            for span in _holding(spans, edit) if edit.moved is None else ():
                statements[span].add(edit)
    seen: Counter[str] = Counter()
    ids = []
    for finding in analysis.findings:
        content = statements[finding.statement].content(finding.start)
        key = "\0".join((finding.rule, path, finding.scope, *content))
        identity = digest(key, str(seen[key]))
        ids.append(Keys(identity, digest(finding.rule, finding.scope, *content), digest(finding.rule, *content)))
        seen[key] += 1
    return ids


def _holding(spans: list[tuple[int, int]], edit: Edit) -> list[tuple[int, int]]:
    found = []
    place = bisect_right(spans, (edit.start, len(spans) + (1 << 60)))
    for span in reversed(spans[max(0, place - 8) : place]):
        if span[0] <= edit.start and edit.end <= span[1]:
            found.append(span)
    return found


class _Statement:
    """A statement with all its fixes: how it reads then, and where its sites stand in that."""

    def __init__(self, text: str, span: tuple[int, int]) -> None:
        self.start, end = span
        self.text = text[self.start : end]
        self.edits: list[Edit] = []

    def add(self, edit: Edit) -> None:
        """Take an edit in, unless it overlaps with one that is there; neighbours are all that can."""
        place = bisect_right(self.edits, (edit.start, edit.end), key=lambda e: (e.start, e.end))
        around = self.edits[max(0, place - 3) : place + 2]
        if edit not in around and not clashes([edit], around):
            self.edits.insert(place, edit)

    @cached_property
    def applied(self) -> list[Edit]:
        """The edits that take effect, in order."""
        return effective(self.edits)

    @cached_property
    def written(self) -> str:
        """The statement after all fixes."""
        return apply(self.text, [shifted(e, -self.start) for e in self.applied])

    @cached_property
    def whole(self) -> str:
        """The same without comments and white space."""
        return normal(self.written)

    @cached_property
    def _grown(self) -> list[int]:
        return [0, *accumulate(len(e.text) - (e.end - e.start) for e in self.applied)]

    @cached_property
    def _left_out(self) -> tuple[list[int], list[int]]:
        """Ends of the stretches that `normal` leaves out, and how much has gone by then."""
        gone = [m.span() for m in _COMMENT_OR_SPACE.finditer(self.written) if m[1] is None]
        return [end for _, end in gone], [0, *accumulate(end - start for start, end in gone)]

    def content(self, site: int) -> tuple[str, str]:
        """What the statement says, and the place of a site in it."""
        before = bisect_right(self.applied, site, key=lambda e: e.end)
        at = site - self.start + self._grown[before]
        ends, gone = self._left_out
        return self.whole, str(at - gone[bisect_right(ends, at)])


def normal(code: str) -> str:
    """Code without comments and white space outside of strings."""
    return _COMMENT_OR_SPACE.sub(lambda m: m[1] or "", code)


def digest(*parts: str) -> str:
    """Sixteen hexadecimal digits for some texts."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
