"""From fixes in force to the new text of a file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from transforms.engine.model import Edit, Row


def overlaps(a: Edit, b: Edit) -> bool:
    """Whether two edits can't both be applied. Insertions at one place, or at the edge of a replacement, can; so can an
    edit inside a range that the other takes out."""
    if a == b or _travels(a, b) or _travels(b, a) or swallows(a, b) or swallows(b, a):
        return False
    if a.row is not None and a.row == b.row and a.place != b.place:
        return False  # neighbours on one line, whose removals are made to fit each other
    if a.start == a.end or b.start == b.end:
        return a.start < b.end and b.start < a.end and (a.start, a.end) != (b.start, b.end)
    return a.start < b.end and b.start < a.end


def _travels(inner: Edit, move: Edit) -> bool:
    """Whether an edit lies in the text that `move` takes out. An insertion at an edge of that text does not."""
    if not move.takes_out or inner.moved is not None:
        return False
    start, end, _ = move.moved or (0, 0, 0)
    if inner.start == inner.end:
        return start < inner.start <= end
    return start <= inner.start and inner.end <= end


def swallows(outer: Edit, inner: Edit) -> bool:
    """Whether `outer` takes out (text or whole statement) a range in which all of `inner` lies, so that nothing is left
    to do for `inner`."""
    if outer.moved is not None or outer.text not in ("", "pass") or outer.end - outer.start <= inner.end - inner.start:
        return False
    if inner.start == inner.end:
        if "\n" in inner.text or "; " in inner.text:
            return False  # a statement that is put beside the one that goes
        return outer.start < inner.start < outer.end
    return outer.start <= inner.start and inner.end <= outer.end


def effective(edits: Iterable[Edit]) -> list[Edit]:
    """The edits in order of place, without those in a range that another one takes out."""
    ordered = sorted(dict.fromkeys(edits), key=lambda e: (e.start, e.end))
    removals = [e for e in ordered if e.text in ("", "pass") and e.end > e.start and e.moved is None]
    if not removals:
        return ordered
    starts = [r.start for r in removals]

    def around(edit: Edit) -> list[Edit]:
        last = bisect_right(starts, edit.start)
        return removals[max(0, last - 4) : last]  # few begin in front of an edit and reach over it

    return [e for e in ordered if not any(swallows(r, e) for r in around(e))]


def clashes(edits: Iterable[Edit], taken: Sequence[Edit]) -> bool:
    """Whether any of the edits overlaps with one that is taken already."""
    return any(overlaps(e, t) for e in edits for t in taken)


def keep_blocks(edits: Sequence[Edit]) -> list[Edit]:
    """The edits, with `pass` in place of the first removed statement of each block that would become empty."""
    edits = list(dict.fromkeys(edits))
    removed: dict[tuple[int, int], list[Edit]] = {}
    for edit in edits:
        if edit.block is not None:
            removed.setdefault(edit.block[:2], []).append(edit)
    filled: dict[Edit, Edit] = {}
    for (_, count), group in removed.items():
        if len(group) == count:
            first = min(group, key=lambda e: e.start)
            assert first.block is not None
            comments = f"  {first.text.rstrip()}" if first.text.strip() else ""
            filled[first] = Edit(first.block[2], first.block[3], f"pass{comments}")
    return _join_rows([filled.get(e, e) for e in edits])


def _join_rows(edits: Sequence[Edit]) -> list[Edit]:
    """The edits, with removals of neighbours on one line (`a; b; c`) made to fit each other."""
    rows: dict[Row, list[int]] = {}
    for edit in edits:
        if edit.row is not None:
            rows.setdefault(edit.row, []).append(edit.place)
    found = [e for e in edits if e.row is None or len(rows[e.row]) == 1]
    for row, places in rows.items():
        if len(places) > 1:
            found += _without(row, places)
    return found


def _without(row: Row, gone: Sequence[int]) -> list[Edit]:
    spans = row.statements
    kept = [i for i in range(len(spans)) if i not in gone]
    if not kept:
        return [Edit(row.start, row.end, row.text)]
    found = [Edit(spans[0][0], spans[kept[0]][0], "")] if kept[0] else []
    for here, following in zip(kept, [*kept[1:], len(spans)]):
        if following == len(spans) and here + 1 < following:
            found.append(Edit(spans[here][1], spans[-1][1], ""))
        elif here + 1 < following:
            found.append(Edit(spans[here + 1][0], spans[following][0], ""))
    return found


class Taken:
    """Edits that are taken, found by place: a file with thousands of them must not compare each with each."""

    _WIDTH = 512

    def __init__(self) -> None:
        self._cells: dict[int, list[Edit]] = {}

    def _places(self, edit: Edit) -> range:
        return range((edit.start - 1) // self._WIDTH, (edit.end + 1) // self._WIDTH + 1)

    def add(self, edits: Iterable[Edit]) -> None:
        """Take edits."""
        for edit in edits:
            for place in self._places(edit):
                self._cells.setdefault(place, []).append(edit)

    def clash(self, edits: Iterable[Edit]) -> bool:
        """Whether any of the edits overlaps with one that is taken already."""
        return any(clashes([e], self._cells.get(place, ())) for e in edits for place in self._places(e))


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits, which must not overlap. Insertions at one place keep their order."""
    outer, travelling = _separate(edits)
    parts: list[str] = []
    at = 0
    for edit in outer:
        if edit.moved in travelling and not edit.takes_out:
            start, end, before = edit.moved  # type: ignore[misc]
            inner = [shifted(e, -start) for e in travelling[edit.moved]]
            new = apply(text[start:end], inner)
            edit = replace(edit, text=edit.text[:before] + new + edit.text[before + end - start :])
        assert edit.start >= at, f"edits overlap at {edit.start}"
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


def _separate(edits: Iterable[Edit]) -> tuple[list[Edit], dict[tuple[int, int, int] | None, list[Edit]]]:
    """Edits of the text at large in order, and for each whole move those that travel with its text."""
    ordered = effective(edits)
    put_in = {e.moved for e in ordered if e.moved is not None and not e.takes_out}
    moves = [e for e in ordered if e.takes_out and e.moved in put_in]
    if not moves:
        return ordered, {}
    travelling: dict[tuple[int, int, int] | None, list[Edit]] = {m.moved: [] for m in moves}
    outer: list[Edit] = []
    for edit in ordered:
        move = next((m for m in moves if _travels(edit, m)), None)
        (outer if move is None else travelling[move.moved]).append(edit)
    return outer, travelling


@dataclass
class Shift:
    """Maps offsets of an edited text back to the text as it was read."""

    starts: list[int]
    backs: list[tuple[int, int, int]]

    @classmethod
    def of(cls, edits: Iterable[Edit]) -> Shift:
        """The way back through these edits."""
        shift = cls([0], [(0, 0, -1)])
        outer, travelling = _separate(edits)
        shift._add(outer, 0, travelling)
        return shift

    def _add(
        self, edits: list[Edit], moved: int, travelling: dict[tuple[int, int, int] | None, list[Edit]]
    ) -> int:
        """Note edits whose places are `moved` characters further on; gives by how much the text behind them is."""
        for edit in edits:
            new_start = edit.start + moved
            if edit.moved in travelling and not edit.takes_out:
                start, _, before = edit.moved  # type: ignore[misc]
                self._note(new_start, start, start)
                self._note(new_start + before, start, -1)
                by = new_start + before - start
                moved += self._add(travelling[edit.moved], by, {}) - by
            else:
                self._note(new_start, edit.start, edit.start)
            moved += len(edit.text) - (edit.end - edit.start)
            self._note(edit.end + moved, edit.end, -1)
        return moved

    def _note(self, new: int, old: int, fixed: int) -> None:
        self.starts.append(new)
        self.backs.append((new, old, fixed))

    def back(self, offset: int) -> int:
        """Offset in the old text; what lies in a replacement comes from where that begins."""
        new, old, fixed = self.backs[bisect_right(self.starts, offset) - 1]
        return fixed if fixed >= 0 else old + offset - new

    def back_end(self, offset: int) -> int:
        """The same for the end of a range: it belongs to what lies before it, where text that stayed lies there."""
        new, old, fixed = self.backs[max(0, bisect_left(self.starts, offset) - 1)]
        return self.back(offset) if fixed >= 0 else old + offset - new


def shifted(edit: Edit, by: int) -> Edit:
    """The edit, `by` characters further on."""
    return replace(edit, start=edit.start + by, end=edit.end + by)
