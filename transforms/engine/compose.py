"""From fixes in force to the new text of a file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from transforms.engine.model import Edit


def overlaps(a: Edit, b: Edit) -> bool:
    """Whether two edits can't both be applied. Insertions at one place, or at the edge of a replacement, can."""
    if a == b:
        return False
    if a.start == a.end or b.start == b.end:
        return a.start < b.end and b.start < a.end and (a.start, a.end) != (b.start, b.end)
    return a.start < b.end and b.start < a.end


def clashes(edits: Iterable[Edit], taken: Sequence[Edit]) -> bool:
    """Whether any of the edits overlaps with one that is taken already."""
    return any(overlaps(e, t) for e in edits for t in taken)


def keep_blocks(edits: Sequence[Edit]) -> list[Edit]:
    """The edits, with `pass` in place of the first removed statement of each block that would become empty."""
    removed: dict[tuple[int, int], list[Edit]] = {}
    for edit in edits:
        if edit.block is not None:
            removed.setdefault(edit.block[:2], []).append(edit)
    filled: dict[Edit, Edit] = {}
    for (_, count), group in removed.items():
        if len(group) == count:
            first = group[0]
            assert first.block is not None
            filled[first] = Edit(first.block[2], first.block[3], "pass")
    return [filled.get(e, e) for e in edits]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits, which must not overlap. Insertions at one place keep their order."""
    parts: list[str] = []
    at = 0
    for edit in sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end)):
        assert edit.start >= at, f"edits overlap at {edit.start}"
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


@dataclass
class Shift:
    """Maps offsets of an edited text back to the text as it was read."""

    starts: list[int]
    backs: list[tuple[int, int, int]]

    @classmethod
    def of(cls, edits: Iterable[Edit]) -> Shift:
        """The way back through these edits."""
        starts, backs, moved = [0], [(0, 0, -1)], 0
        for edit in sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end)):
            new_start = edit.start + moved
            moved += len(edit.text) - (edit.end - edit.start)
            starts.append(new_start)
            backs.append((new_start, edit.start, edit.start + 0))
            new_end = edit.end + moved
            starts.append(new_end)
            backs.append((new_end, edit.end, -1))
        return cls(starts, backs)

    def back(self, offset: int) -> int:
        """Offset in the old text; what lies in a replacement comes from where that begins."""
        place = bisect_right(self.starts, offset) - 1
        new, old, fixed = self.backs[place]
        return fixed if fixed >= 0 else old + offset - new


def shifted(edit: Edit, by: int) -> Edit:
    """The edit, `by` characters further on."""
    return replace(edit, start=edit.start + by, end=edit.end + by)
