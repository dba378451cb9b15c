"""`explain`: the page of a rule, or everything that is known about a line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

import click

from migrate.ledger import KEPT, OPEN, SUPPRESSED, FixState, Item
from migrate.report.places import Places, line_count
from migrate.report.text import level_word
from migrate.report.wording import count
from migrate.result import FileState, Result
from transforms.engine.model import Edit
from transforms.engine.source import Source
from transforms.engine.words import is_specific


def explain_rule(word: str) -> str:
    """The page of a rule as Markdown. Raises click.UsageError with the nearest names."""
    from difflib import get_close_matches

    from migrate.pages import page
    from migrate.standin.codes import RUN_TIME
    from transforms.registry import find, rules

    rule = find(word)
    if rule is None:
        for code, name in RUN_TIME.items():
            if word.lower() in (code.lower(), name):
                return f"{code} {name} is met only while a program runs; docs/guides/verify.md explains it.\n"
        if os.path.exists(word):
            raise click.UsageError(f"say which line of {word} to explain, as in {word}:12")
        by_lower = {w.lower(): w for r in rules() for w in (r.code, r.name)}
        begun = [by_lower[w] for w in sorted(by_lower) if w.startswith(word.lower())]
        near = begun[:5] or [by_lower[w] for w in get_close_matches(word.lower(), by_lower, 3)]
        hint = f"; did you mean {', '.join(near)}?" if near else "; neuron-migrate rules lists them"
        raise click.UsageError(f"there is no rule {word}{hint}")
    return page(rule)


def explain_line(path: Path, line: int) -> str:
    """All that is known about a line: findings, kept sites, evidence, fixes, suppression, edits of imports.

    PATH:LINE:COLUMN is understood too, as reports print it. Raises click.UsageError for a line or file that is not
    there, and discover.UsageError for a path that can't be used.
    """
    from migrate.discover import find_root
    from migrate.pipeline import run_pipeline
    from migrate.settings import load_settings

    place = re.fullmatch(r"(.+):(\d+)", str(path))
    if place and not path.exists():
        path, line = Path(place[1]), int(place[2])
    if path.is_dir():
        raise click.UsageError(f"{path} is a folder; name a file and a line, as in {path / 'train.py'}:12")
    root = find_root([path])
    result = run_pipeline(root, [path], load_settings(root))
    if not result.files:
        raise click.UsageError(f"{path}: nothing is known about this file; it may be a link, or have vanished")
    return "\n".join(text for file in result.files for text in _Line(result, file, line).lines())


class _Line:
    def __init__(self, result: Result, file: FileState, line: int) -> None:
        self.result = result
        self.file = file
        self.line = line
        self.places = Places(result)
        self.told: set[int] = set()

    def lines(self) -> Iterator[str]:
        file = self.file
        source = file.source or self._as_text()
        if source is None:
            yield f"{file.path}: {file.reason or file.status}"
            return
        last = line_count(source)
        if not 1 <= self.line <= last:
            raise click.UsageError(f"{file.path} has {count(last, 'line')}; there is no line {self.line}")
        code = source.text[slice(*source.line_bounds(source.line_start(self.line)))].strip()
        yield f"{file.path}:{self.line}: {code}"
        if file.source is None or file.status in ("unreadable", "failed"):
            yield f"  {file.reason or file.status}" + (
                f"; {count(file.hits, 'mention')} of CUDA or XLA in the file" if file.hits else ""
            )
        if file.test and not self.result.settings.tests:
            yield "  a test: edited with --tests alone"
        told = list(self._findings(source)) + list(self._imports(source))
        if file.status == "not_read" and any(map(is_specific, re.findall(r"\w+", code))):
            told.append("  this line names CUDA or XLA")
        yield from told or ["  nothing is known about this line"]

    def _as_text(self) -> Source | None:
        """A file of a kind that no rule reads, as far as it is text."""
        if self.file.status == "skipped" or b"\0" in self.file.data[:8192]:
            return None
        return Source(self.file.data, self.file.data.decode("utf-8", "replace"), "utf-8", b"")

    def _findings(self, source: Source) -> Iterator[str]:
        elsewhere = []
        for item in self.file.items:
            first, _, last, _ = self.places.of(item)
            if first <= self.line <= last:
                yield from self._finding(item, source)
            elif self._in_statement(item, source):
                elsewhere.append(item)
        if elsewhere:
            yield "  in the same statement:"
        for item in elsewhere:
            yield f"    line {self.places.of(item)[0]}: {self._head(item)}"

    def _in_statement(self, item: Item, source: Source) -> bool:
        start, end = item.statement
        return source.position(start)[0] <= self.line <= source.position(end)[0]

    def _head(self, item: Item) -> str:
        status = "" if item.status in (OPEN, KEPT) else f", {item.status}"
        return f"{item.rule} {item.name}, {level_word(item)}{status}: {item.message}"

    def _finding(self, item: Item, source: Source) -> Iterator[str]:
        line, column, _, _ = self.places.of(item)
        yield f"  {line}:{column} {self._head(item)}"
        if not item.owner:
            yield "    related to another finding of this site, which is counted in its place"
        if item.status == SUPPRESSED:
            yield f"    held back by a comment{self._comment(item, source)}: {item.reason}"
        elif item.reason and item.reason != item.message:
            yield f"    because {item.reason}"
        for step in item.evidence:
            path, place = self.places.evidence(item, step)
            where = f"line {place[0]}" if path == item.path else f"{path}:{place[0]}"
            yield f"    evidence, {where}: {step.text}"
        if item.after:
            yield f"    comes up after the fixes of {', '.join(self._names(item.after))}"
        if (state := self.places.fix(item)) is not None:
            yield from self._fix(state)
        yield f"    more: neuron-migrate explain {item.rule}"

    def _names(self, ids: list[str]) -> list[str]:
        names = {i.id: f"{i.rule} in line {self.places.of(i)[0]}" for i in self.file.items}
        return [names.get(identity, identity) for identity in ids]

    def _fix(self, state: FixState) -> Iterator[str]:
        if id(state) in self.told:
            yield f"    fix: the same as above ({state.fix.description})"
            return
        self.told.add(id(state))
        yield f"    fix: {state.fix.description}"
        source = self.places.source(state.path)
        for edit in self.places.edits(state):
            assert source is not None
            yield f"      {_shown(edit, source)}"
        for request in (*state.fix.requests, *(f"{m.local} from {m.new}" for m in state.fix.moves)):
            yield f"      needs: {request}"
        for key in state.fix.numerics or {}:
            yield f"      changes numbers: {key} {(state.fix.numerics or {})[key]}"
        others = [x for x in state.group.fixes if x is not state] if state.group is not None else []
        if others:
            where = sorted({(i.path, self.places.of(i)[0]) for x in others for i in x.items})
            named = ", ".join(f"{path}:{line}" for path, line in where[:6])
            more = f" and {count(len(where) - 6, 'other line')}" if len(where) > 6 else ""
            yield f"      goes together with the fixes of {named}{more}"

    def _comment(self, item: Item, source: Source) -> str:
        """Where the comment stands that holds a finding back."""
        from migrate.suppression import Suppressions
        from transforms.registry import by_code

        known = {code: rule.name for code, rule in by_code().items()}
        first, last = source.position(item.statement[0])[0], source.position(max(item.statement))[0]
        held = Suppressions(source.text, known).match(item.rule, item.name, first, last)
        return "" if held is None else f" in line {held.line}"

    def _imports(self, source: Source) -> Iterator[str]:
        for edit in self.file.import_edits:
            first, last = source.position(edit.start)[0], source.position(max(edit.start, edit.end - 1))[0]
            if first <= self.line <= last:
                yield f"  the applied fixes change the imports here: {_shown(edit, source)}"


def _shown(edit: Edit, source: Source) -> str:
    """An edit in one line, or as a block where its text has several."""
    old = source.text[edit.start : edit.end]
    place = "{}:{}".format(*source.position(edit.start))
    if "\n" not in (old + edit.text).strip("\r\n"):
        return f"{place}: {old.strip()!r} becomes {edit.text.strip()!r}" if old else f"{place}: {edit.text!r} is put in"
    new = indent(edit.text.strip("\r\n"), "        + ") or "        (nothing)"
    return f"{place}:\n{indent(old.strip(chr(10)), '        - ')}\n{new}"
