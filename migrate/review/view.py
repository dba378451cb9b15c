"""What a unit looks like: head, reasons, companions and the diff, as lines of a given width."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from migrate.decisions import ACCEPT, DONE, KEEP, REJECT
from migrate.ledger import Item
from migrate.review.changes import CONTEXT, FileChange, Line, draft_changes, unit_changes
from migrate.review.layout import DIM, STYLES, fold, printable, shorten, spread, wrap
from migrate.review.log import Choice
from migrate.review.session import Session
from migrate.review.units import Unit
from transforms.engine.model import Safety

MOST_EVIDENCE = 3
MOST_CODE = 12
LEVEL_STYLES = {
    "safe": "green",
    "review": "yellow",
    "offer": "cyan",
    "error": "red",
    "warning": "yellow",
    "note": "cyan",
}
VERDICT_STYLES = {ACCEPT: "bold green", REJECT: "bold red", KEEP: "bold cyan", DONE: "bold cyan"}


def level_word(unit: Unit) -> str:
    """The level as people see it: a manual finding is an error or a warning."""
    if unit.level is Safety.MANUAL:
        return next((i.severity for i in unit.items if i.severity), None) or "manual"
    return str(unit.level.value)


def head(session: Session, unit: Unit, position: str, width: int) -> list[Text]:
    """Where we are, what it is, and what is decided about it."""
    path = Text(shorten(unit.path, max(width - len(position) - 2, 10)), style="bold")
    first = unit.first
    level = level_word(unit)
    what = Text.assemble((f"{first.rule} {first.name}", "bold"), "  ", (level, LEVEL_STYLES.get(level, "")))
    others = [r for r in unit.rules if r != first.rule]
    if others:
        what.append(f"  with {', '.join(others)}", style=DIM)
    return [spread(path, Text(position, style=DIM), width), spread(what, verdict(session.choices.get(unit)), width)]


def verdict(choice: Choice | None) -> Text:
    """A decision in a few words."""
    if choice is None:
        return Text("undecided", style=DIM)
    kinds = {draft.kind for draft in choice.drafts}
    word = "your own text" if "edit" in kinds else "suppressed by a comment" if kinds else choice.verdict
    return Text(word, style=VERDICT_STYLES.get(choice.verdict, "bold"))


def body(session: Session, unit: Unit, width: int) -> list[Text]:
    """Everything that helps to decide, the change itself last."""
    choice = session.choices.get(unit)
    lines: list[Text] = []
    note = session.notes.get(unit)
    if note:
        lines += [*wrap(f"! {note}", width, "  ", "bold yellow"), Text()]
    if choice is not None and choice.reason:
        lines += [*wrap(f"{choice.verdict}: {choice.reason}", width, "  ", "cyan"), Text()]
    lines += _reasons(session, unit, width)
    changes = draft_changes(choice.drafts, session.files, unit) if choice is not None and choice.drafts else None
    if changes is None:
        changes = unit_changes(unit, session.files)
    lines += _companions(unit, changes, width)
    lines.append(Text())
    if not changes:
        lines += code(session, unit.first, width)
    for change in changes:
        if len(changes) > 1:
            lines.append(Text(shorten(change.path, width), style="bold underline"))
        lines += diff_lines(change.hunks, width)
    return lines


def _reasons(session: Session, unit: Unit, width: int) -> list[Text]:
    """What each rule says, findings with the same words on one line, then the first steps of the evidence."""
    said: dict[tuple[str, str, str, str], list[int]] = {}
    for item in unit.items:
        reason = item.reason if item.reason and item.reason != item.message else ""
        said.setdefault((item.path, item.rule, item.message, reason), []).append(line_of(session, item))
    lines: list[Text] = []
    for (path, rule, message, reason), numbers in said.items():
        places = ", ".join(map(str, dict.fromkeys(numbers)))
        where = "" if len(unit.items) == 1 else f"{rule} line{'s' if ', ' in places else ''} {places}: "
        if where and path != unit.path:
            where = f"{path}: {where}"
        lines += wrap(where + message, width, "  ")
        if reason:
            lines += wrap(f"  because {reason}", width, "    ")
    told = [f"{place_of(session, i, s.start, s.path)}: {s.text}" for i in unit.items for s in i.evidence]
    steps = list(dict.fromkeys(told))
    for step in steps[:MOST_EVIDENCE]:
        lines += wrap(f"  {step}", width, "    ", DIM)
    if len(steps) > MOST_EVIDENCE:
        lines.append(Text(f"  {len(steps) - MOST_EVIDENCE} more steps: v", style=DIM))
    return lines


def _companions(unit: Unit, changes: Iterable[FileChange], width: int) -> list[Text]:
    lines: list[Text] = []
    if len(unit.fixes) > 1:
        files = f" in {len(unit.paths)} files" if len(unit.paths) > 1 else ""
        lines += wrap(f"These {len(unit.fixes)} changes{files} go together or not at all.", width, "  ", "cyan")
    for change in changes:
        for companion in change.companions:
            lines += wrap(f"Follows by itself: {companion}.", width, "  ", "cyan")
    for numerics in [f.fix.numerics for f in unit.fixes if f.fix.numerics]:
        named = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in numerics.items())
        lines += wrap(f"Changes the numbers: {named}.", width, "  ", "cyan")
    return lines


def line_of(session: Session, item: Item) -> int:
    """The line of a finding."""
    source = session.files[item.path].source
    return source.position(item.start)[0] if source is not None else 1


def place_of(session: Session, item: Item, start: int, path: str) -> str:
    """Where a step of evidence stands: its line, and its file when that is another one."""
    file = session.files.get(path or item.path)
    if file is None or file.source is None:
        return path or item.path
    line = file.source.position(min(start, len(file.source.text)))[0]
    return f"{path}:{line}" if path and path != item.path else f"line {line}"


def code(session: Session, item: Item, width: int) -> list[Text]:
    """The lines of a finding that changes nothing, with the site marked."""
    source = session.files[item.path].source
    if source is None or (item.safety is Safety.NOTE and item.start == 0):
        return []
    first, last = source.position(item.start)[0], source.position(max(item.end - 1, item.start))[0]
    count = source.position(max(len(source.text) - 1, 0))[0]
    lines = []
    for number in range(max(first - CONTEXT, 1), min(min(last, first + MOST_CODE) + CONTEXT, count) + 1):
        start, end = source.line_bounds(source.line_start(number))
        mark = (max(item.start - start, 0), min(item.end, end) - start) if first <= number <= last else (0, 0)
        marks = (mark,) if mark[0] < mark[1] else ()
        lines.append(Line(" ", number, source.text[start:end], marks))
    return diff_lines([lines], width)


def diff_lines(hunks: Iterable[list[Line]], width: int) -> list[Text]:
    """A diff with line numbers; long lines go on below themselves, behind the numbers."""
    found: list[Text] = []
    for number, hunk in enumerate(hunks):
        if number:
            found.append(Text("   ...", style=DIM))
        for line in hunk:
            found += _diff_line(line, width)
    return found


def _diff_line(line: Line, width: int) -> list[Text]:
    style = STYLES[line.sign]
    label = f"{line.number:5}" if line.number is not None else " " * 5
    pieces = fold(printable(line.text, line.marks, style), max(width - 9, 10))
    found = []
    for n, piece in enumerate(pieces):
        gutter = Text(label if not n else " " * 5, style=DIM)
        found.append(Text.assemble(gutter, (f" {line.sign} ", style), piece))
    return found
