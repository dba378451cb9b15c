"""Ids of findings and fixes: by content, so that they survive line moves, unrelated edits and applied neighbours."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass

from transforms.engine.compose import apply, clashes, shifted
from transforms.engine.model import Analysis, Edit, Finding

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
    statements: dict[tuple[int, int], list[Edit]] = {}
    for finding in analysis.findings:
        statements.setdefault(finding.statement, [])
    spans = sorted(statements)
    for fix in analysis.fixes:
        for edit in fix.edits:
            for span in _holding(spans, edit) if edit.moved is None else ():
                if edit not in statements[span] and not clashes([edit], statements[span]):
                    statements[span].append(edit)
    seen: Counter[str] = Counter()
    ids = []
    for finding in analysis.findings:
        content = _content(text, finding, statements[finding.statement])
        key = "\0".join((finding.rule, path, finding.scope, *content))
        identity = digest(key, str(seen[key]))
        ids.append(Keys(identity, digest(finding.rule, finding.scope, *content), digest(finding.rule, *content)))
        seen[key] += 1
    return ids


def _holding(spans: list[tuple[int, int]], edit: Edit) -> list[tuple[int, int]]:
    from bisect import bisect_right

    found = []
    place = bisect_right(spans, (edit.start, len(spans) + (1 << 60)))
    for span in reversed(spans[max(0, place - 8) : place]):
        if span[0] <= edit.start and edit.end <= span[1]:
            found.append(span)
    return found


def _content(text: str, finding: Finding, edits: list[Edit]) -> tuple[str, str]:
    start, end = finding.statement
    before = [shifted(e, -start) for e in edits if e.end <= finding.start]
    inside = [shifted(e, -start) for e in edits]
    whole = normal(apply(text[start:end], inside))
    offset = len(normal(apply(text[start : finding.start], before)))
    return whole, str(offset)


def normal(code: str) -> str:
    """Code without comments and white space outside of strings."""
    return _COMMENT_OR_SPACE.sub(lambda m: m[1] or "", code)


def digest(*parts: str) -> str:
    """Sixteen hexadecimal digits for some texts."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
