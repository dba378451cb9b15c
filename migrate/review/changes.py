"""What a decision would do to the text: the edits of a unit, with what follows from them, as lines of a diff."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from migrate.identity import digest
from migrate.result import FileState
from migrate.review.log import Draft
from migrate.review.units import Unit
from transforms.engine.model import Edit

CONTEXT = 3
MOST_TOKENS = 3000
"""Longer replacements are shown without marks on words: comparing them would make a key wait."""

_NEWLINE = re.compile(r"\r\n|\n|\r")
_TOKEN = re.compile(r"\w+|[^\S\r\n]+|\r\n|.", re.S)


@dataclass(frozen=True)
class Line:
    """One line of a diff: `sign` is " ", "-" or "+"; `number` that of the old text; `marks` the parts that differ."""

    sign: str
    number: int | None
    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass
class FileChange:
    """The change of one file: groups of lines with context, and the import lines that follow from it."""

    path: str
    hunks: list[list[Line]] = field(default_factory=list)
    companions: list[str] = field(default_factory=list)


def unit_edits(unit: Unit, file: FileState) -> tuple[list[Edit], list[Edit]]:
    """Edits that the fixes of a unit make in one file, and those of the imports that follow."""
    from transforms.engine.compose import keep_blocks
    from transforms.engine.imports import resolve

    states = [f for f in unit.fixes if f.path == file.path]
    assert file.source is not None
    edits = keep_blocks(list(dict.fromkeys(e for s in states for e in s.edits)))
    imports = resolve(file.analysis.imports, [s.fix for s in states], file.source.text, file.source.newline)
    return edits, imports


def fingerprint(unit: Unit, files: dict[str, FileState]) -> str:
    """Hash of what a unit changes, wherever it stands: an accepted change must still be the one that was shown."""
    parts = []
    for state in unit.fixes:
        source = files[state.path].source
        assert source is not None
        parts += [f"{source.text[e.start : e.end]}\0{e.text}" for e in state.edits]
        parts += [*state.fix.requests, *(f"{m.local}\0{m.new}" for m in state.fix.moves)]
    return digest(*sorted(parts)) if parts else ""


def unit_changes(unit: Unit, files: dict[str, FileState]) -> list[FileChange]:
    """The change of a unit in each file that it touches."""
    found = []
    for path in unit.paths:
        source = files[path].source
        if not unit.fixes or source is None:
            continue
        edits, imports = unit_edits(unit, files[path])
        change = FileChange(path, diff(source.text, edits + imports))
        change.companions = [_import_line(source.text, e) for e in imports]
        found.append(change)
    return found


def draft_changes(drafts: Sequence[Draft], files: dict[str, FileState], unit: Unit) -> list[FileChange]:
    """The change that a text by hand makes."""
    edits = drafts_edits(drafts, unit, files) or {}
    return [FileChange(p, diff(source.text, e)) for p, e in edits.items() if (source := files[p].source) is not None]


def drafts_edits(drafts: Sequence[Draft], unit: Unit, files: dict[str, FileState]) -> dict[str, list[Edit]] | None:
    """By file the edits that put text by hand in place; None when the lines that it replaces are gone."""
    found: dict[str, list[Edit]] = {}
    places = set()
    for draft in drafts:
        file = files.get(draft.path)
        start = None if file is None else _locate(draft, file, near(unit, draft.path) + draft.offset)
        if start is None or (draft.path, start) in places:
            return None
        places.add((draft.path, start))
        found.setdefault(draft.path, []).extend(_draft_edits(draft, start))
    return found


def near(unit: Unit, path: str) -> int:
    """Where in a file a unit is."""
    return next((i.start for i in unit.items if i.path == path), 0)


def _locate(draft: Draft, file: FileState, place: int) -> int | None:
    """Where the lines that a draft replaces are by now: the occurrence that is nearest to `place`."""
    text = file.source.text if file.source is not None else ""
    starts = [m.start() for m in re.finditer(re.escape(draft.old), text) if _at_line_start(text, m.start())]
    return min(starts, key=lambda s: abs(s - place), default=None)


def _draft_edits(draft: Draft, start: int) -> list[Edit]:
    """A draft in as few edits as it needs, so that other fixes of the same lines still fit."""
    old, new = _TOKEN.findall(draft.old), _TOKEN.findall(draft.new)
    offsets = [start]
    for token in old:
        offsets.append(offsets[-1] + len(token))
    codes = [c for c in _opcodes(old, new) if c[0] != "equal"]
    return [Edit(offsets[a], offsets[b], "".join(new[c:d])) for _, a, b, c, d in codes]


def _at_line_start(text: str, offset: int) -> bool:
    return offset == 0 or text[offset - 1] in "\r\n"


def _import_line(text: str, edit: Edit) -> str:
    new = " ".join(edit.text.split()).strip(", ")
    old = " ".join(text[edit.start : edit.end].split()).strip(", ")
    if not new:
        return f"{old} leaves the imports"
    return f"{new} takes the place of {old}" if old else f"{new} joins the imports"


# lines --------------------------------------------------------------------------------------------------------------


def diff(text: str, edits: Sequence[Edit]) -> list[list[Line]]:
    """The lines that edits change, with context, in groups as in a unified diff."""
    from transforms.engine.compose import apply

    if not edits:
        return []
    starts = [0, *(m.end() for m in _NEWLINE.finditer(text))]
    lines = _split(text)
    groups: list[list[Line]] = []
    shown = 0  # old lines before this one are in the diff already
    for first, last, inside in _blocks(starts, edits):
        begin = starts[first]
        end = starts[last] if last < len(starts) else len(text)
        # The whole text is edited, so that text that moves arrives; outside of the block nothing changes.
        new = apply(text[:end], inside)[begin:]
        body, first, last = _trim(lines, first, last, _split(new))
        if not body:
            continue
        before = max(first - CONTEXT, 0)
        if groups and before <= shown + CONTEXT:
            groups[-1] += _context(lines, shown, first)
        else:
            if groups:
                groups[-1] += _context(lines, shown, min(shown + CONTEXT, first))
            groups.append(_context(lines, before, first))
        groups[-1] += body
        shown = last
    if groups:
        groups[-1] += _context(lines, shown, min(shown + CONTEXT, len(lines)))
    return groups


def _split(text: str) -> list[str]:
    lines = _NEWLINE.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def _blocks(starts: list[int], edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
    """Ranges of lines (first, one behind the last) with their edits. A move joins all that lies between."""
    found: list[tuple[int, int, list[Edit]]] = []
    moves = any(e.moved is not None for e in edits)
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        first = bisect_right(starts, edit.start) - 1
        last = bisect_right(starts, edit.end) - 1
        whole = edit.start == starts[first] and edit.end == starts[last] and (edit.text[-1:] in ("", "\n", "\r"))
        if not whole:
            last += 1
        if found and (moves or first < found[-1][1]):
            found[-1] = (found[-1][0], max(found[-1][1], last), [*found[-1][2], edit])
        else:
            found.append((first, last, [edit]))
    return found


def _trim(lines: list[str], first: int, last: int, new: list[str]) -> tuple[list[Line], int, int]:
    """Diff lines for old lines first to last and their new text, without the equal lines at both ends."""
    old = lines[first:last]
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    first += head
    return list(_body(old, new, first)), first, first + len(old)


def _body(old: list[str], new: list[str], first: int) -> list[Line]:
    found: list[Line] = []
    for tag, a, b, c, d in _opcodes(old, new):
        if tag == "equal":
            found += [Line(" ", first + n + 1, old[n]) for n in range(a, b)]
            continue
        gone, come = _marks(old[a:b], new[c:d])
        found += [Line("-", first + a + n + 1, text, marks) for n, (text, marks) in enumerate(zip(old[a:b], gone))]
        found += [Line("+", None, text, marks) for text, marks in zip(new[c:d], come)]
    return found


def _opcodes(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


_Marks = list[tuple[tuple[int, int], ...]]


def _marks(old: list[str], new: list[str]) -> tuple[_Marks, _Marks]:
    """For each old and each new line the parts that differ; none where nearly everything does."""
    nothing: tuple[_Marks, _Marks] = ([()] * len(old), [()] * len(new))
    before, after = _TOKEN.findall("\n".join(old)), _TOKEN.findall("\n".join(new))
    if not old or not new or len(before) + len(after) > MOST_TOKENS:
        return nothing
    codes = _opcodes(before, after)
    same = sum(len("".join(before[a:b]).strip()) for tag, a, b, _, _ in codes if tag == "equal")
    if same * 4 < len("".join(before).strip()):
        return nothing
    gone = _by_line(before, [(a, b) for tag, a, b, _, _ in codes if tag != "equal"])
    come = _by_line(after, [(c, d) for tag, _, _, c, d in codes if tag != "equal"])
    return gone, come


def _by_line(tokens: list[str], ranges: list[tuple[int, int]]) -> _Marks:
    marked = {n for a, b in ranges for n in range(a, b)}
    found: list[list[tuple[int, int]]] = [[]]
    at = 0
    for n, token in enumerate(tokens):
        if token == "\n":
            found.append([])
            at = 0
            continue
        if n in marked:
            last = found[-1]
            if last and last[-1][1] == at:
                last[-1] = (last[-1][0], at + len(token))
            else:
                last.append((at, at + len(token)))
        at += len(token)
    return [tuple(line) for line in found]


def _context(lines: list[str], first: int, last: int) -> list[Line]:
    return [Line(" ", n + 1, lines[n]) for n in range(first, min(last, len(lines)))]
