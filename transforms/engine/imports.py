"""The edits of imports that fixes in force ask for: moved names, new imports, and imports that lost their last use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from transforms.engine.items import Items
from transforms.engine.model import Edit, Fix, ImportItem, ImportStatement, ImportTable
from transforms.engine.source import Source
from transforms.engine.statements import comments_in
from transforms.engine.words import is_specific


def resolve(table: ImportTable, fixes: Iterable[Fix], text: str, newline: str) -> list[Edit]:
    """Edits of the import block for the fixes in force: moved names, new imports, and imports that lost their last use.

    Nothing is taken out of a `try:` probe, of `__all__`, or of a package's `__init__.py`.
    """
    fixes = list(fixes)
    edits = sorted({e for f in fixes for e in f.edits}, key=lambda e: e.start)
    moves = {(m.local, m.old, m.binding): m.new for f in fixes for m in f.moves}
    requests = _requests(fixes)
    changed = [e for e in edits if e.moved is None]  # text that only moves keeps its names
    written = " ".join(e.text for e in changed)
    fates = [_Fate(s, *_fate(s, moves, changed, written, text)) for s in table.statements]
    staying = [f for f in fates if f.left]
    needed = _in_place_of_a_block([f.statement for f in fates if f.vanishes], edits)
    found: list[Edit] = []
    for fate in fates:
        if any(fate.gone) or any(fate.moved):
            found += _edit_statement(fate, requests, text, newline, staying, fate.statement.start in needed)
    return found + _additions(table, staying, requests, text, newline)


@dataclass(frozen=True)
class _Fate:
    """What becomes of the names of one import: where a name comes from in future, and whether nobody needs it."""

    statement: ImportStatement
    moved: list[str | None]
    gone: list[bool]

    @property
    def left(self) -> list[int]:
        """Places of the names that stay as they are."""
        return [i for i, (m, g) in enumerate(zip(self.moved, self.gone)) if not m and not g]

    @property
    def vanishes(self) -> bool:
        """Whether nothing takes the place of the statement, which fills its lines."""
        return bool(self.gone) and all(self.gone) and self.statement.alone


def _fate(
    statement: ImportStatement,
    moves: dict[tuple[str, str, int], str],
    edits: Sequence[Edit],
    written: str,
    text: str,
) -> tuple[list[str | None], list[bool]]:
    gone = [_unused(i, statement, edits, written) for i in statement.items]
    if all(gone) and not statement.alone and "#" in text[statement.start : statement.end]:
        gone = [False] * len(gone)  # its comments have no line to stand on
    moved = [
        None if g else moves.get((i.local, i.qualified, i.binding)) for i, g in zip(statement.items, gone)
    ]
    return moved, gone


def _requests(fixes: Sequence[Fix]) -> dict[str, int]:
    """Imports that fixes ask for, each with the place of the first edit that needs it: it must stand before."""
    found: dict[str, int] = {}
    for fix in fixes:
        for request in fix.requests:
            first = min((e.start for e in fix.edits), default=0)
            found[request] = min(first, found.get(request, first))
    return found


def _unused(item: ImportItem, statement: ImportStatement, edits: Sequence[Edit], written: str) -> bool:
    if not item.uses or item.exported or item.bound_again or statement.guarded:
        return False
    if not is_specific(item.qualified) and not item.qualified.startswith("torch."):
        return False
    if re.search(rf"(?<![\w.]){re.escape(item.local)}\b", written):
        return False
    return all(any(e.start <= a and b <= e.end for e in edits) for a, b in item.uses)


def _in_place_of_a_block(vanishing: Sequence[ImportStatement], edits: Sequence[Edit]) -> set[int]:
    """Starts of those imports that leave `pass` behind: one in each block that would hold nothing else."""
    removed = Counter(e.block[:2] for e in edits if e.block is not None)
    blocks: dict[tuple[int, int], list[ImportStatement]] = {}
    for statement in vanishing:
        if not statement.top_level:
            blocks.setdefault(statement.block, []).append(statement)
    return {found[0].start for block, found in blocks.items() if block[1] <= removed[block] + len(found)}


def _edit_statement(
    fate: _Fate,
    requests: dict[str, int],
    text: str,
    newline: str,
    staying: Sequence[_Fate],
    needed: bool,
) -> list[Edit]:
    statement, moved, gone = fate.statement, fate.moved, fate.gone
    modules = {m.rpartition(".")[0] for m in moved if m}
    if len(modules) == 1 and statement.module_span and not any(gone) and all(moved):
        same_names = all(
            m and m.rpartition(".")[2] == i.qualified.rpartition(".")[2] for m, i in zip(moved, statement.items)
        )
        if same_names:
            return [Edit(*statement.module_span, modules.pop())]
    fresh: dict[str, int] = {}
    for item, new in zip(statement.items, moved):
        if new:
            module, _, name = new.rpartition(".")
            line = f"from {module} import {name}" + (f" as {item.local}" if item.local != name else "")
            fresh[line] = min((start for start, _ in item.uses), default=statement.start)
    if fate.left:
        return _drop_items(fate, text) + _beside(statement, fresh, requests, text, newline, staying)
    new_lines = list(fresh) if statement.alone else []
    if statement.alone and statement.top_level:
        new_lines = [r for r in requests if _lands_here(r) and statement.start <= requests[r]] + new_lines
    requests |= fresh
    for line in new_lines:
        del requests[line]
    indent = text[statement.line_start : statement.start]
    if not statement.alone or indent.strip():
        return [Edit(statement.start, statement.end, "pass")]
    return [_instead(statement, new_lines, needed, text, newline + indent)]


def _instead(statement: ImportStatement, new_lines: list[str], needed: bool, text: str, between: str) -> Edit:
    """The edit that leaves of an import only other lines and its comments; `between` begins a line of its block."""
    start, end = statement.start, statement.end
    comments = comments_in(text[start:end])
    behind = re.compile(r"[ \t\f]*;?[ \t\f]*").match(text, end)
    assert behind
    if new_lines:
        return Edit(start, end, between.join([*comments, *new_lines]))
    if needed:
        return Edit(start, end, "pass" + "".join(("  ", between)[i > 0] + c for i, c in enumerate(comments)))
    if text.startswith("#", behind.end()):
        return Edit(start, behind.end(), "".join(c + between for c in comments))
    if comments:
        return Edit(start, behind.end(), between.join(comments))
    return Edit(statement.line_start, statement.line_end, "")


def _beside(
    statement: ImportStatement,
    fresh: dict[str, int],
    requests: dict[str, int],
    text: str,
    newline: str,
    staying: Sequence[_Fate],
) -> list[Edit]:
    """Moved names on lines of their own before the import that keeps the others, else as requests."""
    indent = text[statement.line_start : statement.start]
    merged = statement.top_level and any(_merge(staying, line, before) is not None for line, before in fresh.items())
    if not fresh or merged or not statement.alone or indent.strip():
        requests |= fresh
        return []
    return [Edit(statement.start, statement.start, "".join(line + newline + indent for line in fresh))]


def _lands_here(request: str) -> bool:
    return request.startswith("from torch")


def _drop_items(fate: _Fate, text: str) -> list[Edit]:
    """Take names out of an import that keeps others; comments between its parentheses stay, on their lines."""
    statement, left = fate.statement, fate.left
    items = statement.items
    gone = [i for i in range(len(items)) if i not in left]
    if gone and "#" in text[items[0].start : statement.end]:
        opening = text.index("(", statement.start)
        spans = [(i.start, i.end) for i in items]
        return Items(Source(b"", text, "utf-8", b""), opening + 1, statement.end - 1, spans).edits(gone)
    found = []
    for i in gone:
        if i < left[-1]:
            found.append(Edit(items[i].start, items[i + 1].start, ""))
        elif i == left[-1] + 1:
            found.append(Edit(items[left[-1]].end, items[-1].end, ""))
    return found


def _additions(
    table: ImportTable, staying: Sequence[_Fate], requests: dict[str, int], text: str, newline: str
) -> list[Edit]:
    found: list[Edit] = []
    fresh: dict[str, int] = {}
    for request, before in requests.items():
        if _present(staying, request, before):
            continue
        merged = _merge(staying, request, before)
        if merged is None:
            fresh[request] = before
        else:
            found.append(merged)
    if fresh:
        found.append(_place(table, list(fresh), min(fresh.values()), text, newline))
    return found


def _serving(imports: Sequence[_Fate], before: int) -> Iterator[tuple[ImportStatement, list[ImportItem]]]:
    """Imports that surely have run when the code at `before` runs: at top level, unguarded, and ahead of it. With
    each the names that stay."""
    for fate in imports:
        statement = fate.statement
        if statement.top_level and not statement.guarded and statement.end <= before:
            yield statement, [statement.items[i] for i in fate.left]


def _present(imports: Sequence[_Fate], request: str, before: int) -> bool:
    words = request.split()
    for statement, items in _serving(imports, before):
        for item in items:
            if words[0] == "import":
                local = words[3] if len(words) > 3 else words[1].split(".")[0]
                if (
                    item.local == local
                    and item.qualified in (words[1], words[1].split(".")[0])
                    and statement.module is None
                ):
                    return True
            elif item.qualified == f"{words[1]}.{words[3]}" and item.local == words[-1]:
                return True
    return False


def _merge(imports: Sequence[_Fate], request: str, before: int) -> Edit | None:
    """The request as one more name of an existing `from` import of the same module."""
    words = request.split()
    if words[0] != "from":
        return None
    for statement, items in _serving(imports, before):
        if statement.module == words[1] and items:
            at = items[-1].end
            return Edit(at, at, ", " + " ".join(words[3:]))
    return None


def _place(table: ImportTable, lines: list[str], before: int, text: str, newline: str) -> Edit:
    """New import lines: beside an import of the same package, else at the top of the imports or of the code.

    They stand ahead of `before`, the first code that needs them; what runs inside functions counts like the rest.
    """
    code = "".join(line + newline for line in lines)
    roots = {line.split()[1].split(".")[0] for line in lines}
    top = [s for s in table.statements if s.top_level and s.module != "__future__"]
    ahead = [s for s in top if s.alone and table.insert_at <= s.line_start <= before]
    for statement in ahead:
        names = [statement.module or ""] + [i.qualified for i in statement.items]
        if any(n.split(".")[0] in roots for n in names):
            return Edit(statement.line_start, statement.line_start, code)
    if ahead and top[0].alone:
        return Edit(ahead[0].line_start, ahead[0].line_start, code)
    if before < table.insert_at:  # the code stands on the line of the docstring or of a `__future__` import
        return Edit(table.behind, table.behind, "".join("; " + line for line in lines))
    blank = newline if table.blank_before or (table.insert_at and not table.blank_after) else ""
    if table.insert_at and not text[: table.insert_at].endswith(("\n", "\r")):
        blank = newline + blank
    return Edit(table.insert_at, table.insert_at, blank + code + (newline if table.blank_after else ""))
