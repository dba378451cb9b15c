"""Text by hand in place of a fix: what the editor gets and gives, comments that suppress, and the check of both."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator

from migrate.result import FileState
from migrate.review.changes import drafts_edits, near, unit_edits
from migrate.review.log import Draft
from migrate.review.units import Unit
from migrate.suppression import find_suppressions

MARK = "#~"
MOST_COLUMNS = 100
"""A comment that would make its line longer than this goes on a line of its own."""

_NEWLINE = re.compile(r"\r\n|\n|\r")
_PLACE = re.compile(r"#~ (\d+)\.")
_ENDS_STATEMENT = re.compile(r"[ \t]*:?[ \t]*(#[^\r\n]*)?$")


class NotPossible(Exception):
    """The text can't be used; the message says where and why."""


def proposal(unit: Unit, files: dict[str, FileState], earlier: tuple[Draft, ...] = ()) -> tuple[str, list[Draft]]:
    """What the editor shows, and for each part the lines that it replaces, with the text that the fix gives them."""
    parts = list(earlier) or [d for path in unit.paths for d in _parts(unit, files[path])]
    lines = [
        f"{MARK} Write what the code shall become, save and leave the editor.",
        f"{MARK} Lines with {MARK} are dropped again; keep the numbered ones. With no code left, nothing happens.",
    ]
    for number, part in enumerate(parts, 1):
        source = files[part.path].source
        start = near(unit, part.path) + part.offset
        place = source.position(min(max(start, 0), len(source.text)))[0] if source is not None else 1
        lines += [f"{MARK} {number}. {part.path}:{place}", *_NEWLINE.split(part.new.rstrip("\r\n"))]
    return "\n".join(lines) + "\n", parts


def _parts(unit: Unit, file: FileState) -> Iterator[Draft]:
    from transforms.engine.compose import apply

    assert file.source is not None
    text = file.source.text
    starts = [0, *(m.end() for m in _NEWLINE.finditer(text))]
    edits, _ = unit_edits(unit, file)
    spans = [i.statement for i in unit.items if i.path == file.path] + [(e.start, e.end) for e in edits]
    for first, last in _line_ranges(starts, spans):
        begin, end = starts[first], starts[last + 1] if last + 1 < len(starts) else len(text)
        inside = [e for e in edits if begin <= e.start and e.end <= end]
        new = apply(text[:end], inside)[begin:]
        yield Draft(file.path, text[begin:end], new, begin - near(unit, file.path))


def _line_ranges(starts: list[int], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """First and last line of spans, those that touch joined."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, max(end - 1, start)) - 1
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def edited(text: str, parts: list[Draft], files: dict[str, FileState]) -> tuple[Draft, ...]:
    """What somebody made of a proposal; empty when nothing was changed or all was deleted. Raises NotPossible."""
    pieces: dict[int, list[str]] = {}
    current: list[str] | None = None
    for line in _NEWLINE.split(text):
        place = _PLACE.match(line)
        if place:
            current = pieces.setdefault(int(place[1]), [])
        elif not line.startswith(MARK):
            if current is None and line.strip():
                raise NotPossible(f"the text before the first numbered {MARK} line belongs nowhere: {line.strip()}")
            if current is not None:
                current.append(line)
    if not any(line.strip() for lines in pieces.values() for line in lines):
        return ()
    if sorted(pieces) != list(range(1, len(parts) + 1)):
        raise NotPossible(f"a numbered {MARK} line is missing or doubled, so it is unclear what the text replaces")
    found = []
    for number, part in enumerate(parts, 1):
        source = files[part.path].source
        newline = source.newline if source is not None else "\n"
        lines = pieces[number]
        while lines and not lines[-1].strip():
            lines.pop()
        new = newline.join(lines) + (newline if lines and part.old.endswith(("\n", "\r")) else "")
        found.append(Draft(part.path, part.old, new, part.offset))
    if all(d.new == p.new for d, p in zip(found, parts, strict=True)):
        return ()
    return tuple(found)


def check(unit: Unit, drafts: tuple[Draft, ...], files: dict[str, FileState]) -> None:
    """Raises NotPossible unless every file still parses with the text in place."""
    from transforms.engine.parse import on_big_stack

    on_big_stack(lambda: _check(unit, drafts, files))


def _check(unit: Unit, drafts: tuple[Draft, ...], files: dict[str, FileState]) -> None:
    from transforms.engine.compose import apply
    from transforms.engine.parse import compiles, parse
    from transforms.engine.source import Source, Unreadable

    found = drafts_edits(drafts, unit, files)
    if found is None:
        raise NotPossible("the lines that the text replaces are not there any more")
    for path, edits in found.items():
        source = files[path].source
        assert source is not None
        text = apply(source.text, edits)
        error = compiles(text) if compiles(source.text) is None else None
        if error is not None:
            raise NotPossible(f"{path} would not compile: line {error.lineno}: {error.msg}")
        try:
            parse(Source.read(source.encode(text)))
        except Unreadable as problem:
            raise NotPossible(f"{path} would not parse: line {problem.line}: {problem.reason}") from None
        except UnicodeEncodeError:
            raise NotPossible(f"{path} is {source.encoding} and can't hold a character of the text") from None


# comments -----------------------------------------------------------------------------------------------------------


def suppressing(unit: Unit, files: dict[str, FileState], reason: str) -> tuple[Draft, ...]:
    """The unit's statements with comments that hold its rules back. Raises NotPossible where no comment can stand."""
    codes: dict[tuple[str, int], list[str]] = {}
    ends: dict[tuple[str, int], int] = {}
    for item in unit.items:
        source = files[item.path].source
        if source is None:
            raise NotPossible("the file can't be read")
        line = source.line_bounds(item.statement[0])[0]
        listed = codes.setdefault((item.path, line), [])
        if item.rule not in listed:
            listed.append(item.rule)
        ends[item.path, line] = max(item.statement[1], ends.get((item.path, line), 0))
    drafts = tuple(
        _commented(unit, files[path], line, ends[path, line], listed, reason) for (path, line), listed in codes.items()
    )
    check(unit, drafts, files)
    _check_comments(unit, drafts, files)
    return drafts


def _commented(unit: Unit, file: FileState, line: int, end: int, codes: list[str], reason: str) -> Draft:
    assert file.source is not None
    source = file.source
    # A "#" in the reason would begin another comment.
    words = " ".join(reason.replace("#", " ").split())
    comment = f"# neuron: keep[{', '.join(codes)}] {words}".rstrip()
    stop = source.line_bounds(line)[1]
    old = source.text[line:stop]
    inline = f"{old.rstrip()}  {comment}"
    if end <= stop and _ENDS_STATEMENT.match(source.text, end, stop) and len(inline.expandtabs()) <= MOST_COLUMNS:
        new = inline
    else:
        indent = old[: len(old) - len(old.lstrip(" \t\f"))]
        new = f"{indent}{comment}{source.newline}{old}"
    return Draft(file.path, old, new, line - near(unit, file.path), "comment")


def _check_comments(unit: Unit, drafts: tuple[Draft, ...], files: dict[str, FileState]) -> None:
    """The code is the same, and there is one more comment for each draft: none landed inside a string."""
    from transforms.engine.compose import apply

    for path, edits in (drafts_edits(drafts, unit, files) or {}).items():
        source = files[path].source
        assert source is not None
        text = apply(source.text, edits)
        count = sum(d.path == path for d in drafts)
        more = len(find_suppressions(text)) - len(find_suppressions(source.text))
        if more != count or _tree(text) != _tree(source.text):
            raise NotPossible("no comment can stand at this statement; o keeps it with a reason in the lock file")


def _tree(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return ""

