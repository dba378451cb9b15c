"""The report for people: what needs somebody first, then what the tool does by itself, the ledger, the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from textwrap import wrap

import click

from migrate.ledger import KEPT, OPEN, Item, sums
from migrate.report.places import Places, shown
from migrate.report.wording import CUDA_GIVEN_UP, State, count, next_command, verdict, visible
from migrate.result import FileState, Result
from transforms.engine.model import ERROR, WARNING, Safety

MOST_PER_FILE = 20
WIDTH = 80
_COLORS = {"error": "red", "warning": "yellow", "safe": "green", "review": "cyan", "offer": "blue"}
_ORDER = {ERROR: 0, WARNING: 1, "review": 2, "safe": 3}


@dataclass(frozen=True)
class View:
    """How much the text report shows. `paths` are those that were given, for the command to type next."""

    command: str = "check"
    everything: bool = False
    kept: bool = False
    statistics: bool = False
    color: bool = False
    paths: tuple[str, ...] = ()


def render(result: Result, view: View | None = None) -> str:
    """The report as text."""
    return "\n".join(_Report(result, view or View()).lines()) + "\n"


def level_word(item: Item) -> str:
    """The word that stands for a finding: error or warning for manual ones, else its safety, or kept."""
    if item.safety is None:
        return "kept"
    return item.severity or ERROR if item.safety is Safety.MANUAL else item.safety.value


class _Report:
    def __init__(self, result: Result, view: View) -> None:
        self.result = result
        self.view = view
        self.places = Places(result)
        self.state = State.of(result)
        self.left: dict[str, int] = {f.path: MOST_PER_FILE for f in result.files}

    def lines(self) -> list[str]:
        code = [f for f in self.result.files if not f.test or self.result.settings.tests]
        tests = [f for f in self.result.files if f.test and not self.result.settings.tests]
        lines = self._section("Needs you", code, lambda i: i.safety is Safety.MANUAL)
        if self.view.command == "run":
            lines += self._section("Not applied", code, lambda i: i.safety in (Safety.SAFE, Safety.REVIEW))
        else:
            lines += self._section("Can be applied", code, lambda i: i.safety in (Safety.SAFE, Safety.REVIEW))
        lines += self._section("On offer, not needed to run", code, lambda i: i.safety is Safety.OFFER)
        lines += self._section("Notes", code, lambda i: i.safety is Safety.NOTE)
        if self.view.kept:
            lines += self._section("Kept", code, lambda i: True, KEPT)
        lines += self._tests(tests)
        lines += self._not_read()
        lines += self._statistics()
        return [*lines, *self._ledger(), "", *self._end()]

    # Findings -------------------------------------------------------------------------------------------------------

    def _section(
        self, title: str, files: Iterable[FileState], wanted: Callable[[Item], bool], status: str = OPEN
    ) -> list[str]:
        """One block per file, the files with the gravest findings first."""
        chosen = {f.path: [i for i in shown(f.items) if i.status == status and wanted(i)] for f in files}
        ordered = sorted((p for p in chosen if chosen[p]), key=lambda p: (min(map(_rank, chosen[p])), p))
        if not ordered:
            return []
        left = self.left if status == OPEN else dict.fromkeys(ordered, MOST_PER_FILE)
        lines = [self._bold(f"{title} ({_counted([i for items in chosen.values() for i in items])})")]
        for path in ordered:
            lines += [f"  {visible(path)}", *self._file(path, chosen[path], left)]
        return [*lines, ""]

    def _file(self, path: str, items: list[Item], left: dict[str, int]) -> list[str]:
        """The findings of a file, equal ones in one entry; no more of them than the report has room for."""
        groups: dict[tuple[str, ...], list[Item]] = {}
        for item in sorted(items, key=lambda i: (_rank(i), i.start)):
            groups.setdefault((level_word(item), item.rule, item.message, item.reason or ""), []).append(item)
        hidden = len(items)
        room = hidden if self.view.everything else left[path]
        lines: list[str] = []
        for group in groups.values():
            if part := group[:room]:
                lines += self._entry(part)
                room -= len(part)
                hidden -= len(part)
        left[path] = room
        if hidden:
            lines.append(f"    {count(hidden, 'more finding')}; --all shows {'it' if hidden == 1 else 'them'}")
        return lines

    def _entry(self, group: list[Item]) -> list[str]:
        first, *others = group
        word = level_word(first)
        text = first.message
        if first.reason and first.reason != first.message:
            text += f" ({first.reason})"
        margin = " " * 28
        line, column = self.places.of(first)[:2]
        head = f"    {f'{line}:{column}':>7}  {word:<7} {first.rule:<6} "
        body = _wrapped(visible(text), WIDTH - len(margin)) or [""]
        if others:
            places = dict.fromkeys("{}:{}".format(*self.places.of(i)[:2]) for i in others)
            places.pop(f"{line}:{column}", None)
            body += _wrapped(f"also at {', '.join(places)}", WIDTH - len(margin)) if places else []
        return [self._colored(head, word) + body[0], *(margin + part for part in body[1:])]

    # What stands beside the findings --------------------------------------------------------------------------------

    def _tests(self, files: list[FileState]) -> list[str]:
        """Findings of the repository's tests, in sum for each file, or one by one with --all."""
        held = [f for f in files if any(_open_site(i) for i in f.items)]
        if not held:
            return []
        total = sum(_open_site(i) for f in held for i in f.items)
        lines = [self._bold(f"Tests, left alone without --tests ({total:,} open)")]
        if self.view.everything:
            for file in held:
                lines += [
                    f"  {visible(file.path)}",
                    *self._file(file.path, list(filter(_open_site, file.items)), self.left),
                ]
            return [*lines, ""]
        return [*lines, *self._listed([(f.path, _counted(filter(_open_site, f.items))) for f in held]), ""]

    def _not_read(self) -> list[str]:
        files = [f for f in self.result.files if f.status == "not_read"]
        if not files:
            return []
        title = self._bold("Not read: no rule knows these kinds of files yet")
        rows = sorted(files, key=lambda f: (-f.hits, f.path))
        return [title, *self._listed([(f.path, f"{count(f.hits, 'mention')} of CUDA or XLA") for f in rows]), ""]

    def _listed(self, rows: list[tuple[str, str]]) -> list[str]:
        told = rows if self.view.everything else rows[:MOST_PER_FILE]
        lines = [f"  {visible(path)}: {text}" for path, text in told]
        if len(rows) > len(told):
            lines.append(f"  {count(len(rows) - len(told), 'more file')}; --all shows them")
        return lines

    def _statistics(self) -> list[str]:
        if not self.view.statistics:
            return []
        rules = Counter((i.rule, i.name) for i in self.result.counted if i.status == OPEN)
        rows = [f"  {n:>6,}  {rule}  {name}" for (rule, name), n in sorted(rules.items(), key=lambda r: (-r[1], r[0]))]
        return [self._bold("Open findings by rule"), *(rows or ["  none"]), ""]

    # The end --------------------------------------------------------------------------------------------------------

    def _ledger(self) -> list[str]:
        items = self.result.counted
        found = sums(items)
        opened = ", ".join(f"{level} {n:,}" for level, n in found.open.items() if n) or "none"
        closed = "".join(f"; {status} {n:,}" for status, n in found.closed.items() if n)
        lines = [self._bold("Ledger: ") + f"{count(found.total, 'site')}; open: {opened}{closed}"]
        if found.closed[KEPT]:
            reasons = Counter(i.reason for i in items if i.status == KEPT and i.owner)
            named = ", ".join(f"{reason} {n:,}" for reason, n in reasons.most_common(5))
            more = f" and {count(len(reasons) - 5, 'other reason')}" if len(reasons) > 5 else ""
            hint = "" if self.view.kept else "; --show kept lists them"
            lines += _wrapped(f"{found.closed[KEPT]:,} kept: {named}{more}{hint}", WIDTH)
        return lines + self._left_out()

    def _left_out(self) -> list[str]:
        """Files that were not looked at, or can't be changed."""
        lines: list[str] = []
        failed = [f for f in self.result.files if f.status in ("unreadable", "failed")]
        if failed:
            names = ", ".join(visible(f.path) for f in failed[:5]) + (", ..." if len(failed) > 5 else "")
            lines += _wrapped(f"{count(len(failed), 'file')} could not be read or changed: {names}", WIDTH)
        skipped = Counter(visible(f.reason or "") for f in self.result.files if f.status == "skipped")
        if skipped:
            named = "; ".join(
                f"{reason} ({n:,})" if len(skipped) > 1 else reason for reason, n in skipped.most_common(3)
            )
            more = f"; {count(len(skipped) - 3, 'other reason')}" if len(skipped) > 3 else ""
            lines += _wrapped(f"{count(sum(skipped.values()), 'file')} skipped: {named}{more}", WIDTH)
        return lines

    def _end(self) -> list[str]:
        lines = [self._bold(verdict(self.state, self.view.command))]
        if self.state.changed:
            lines.append(CUDA_GIVEN_UP)
        if command := next_command(self.result, self.state, self.view.command, self.view.paths):
            lines.append(f"Next: {visible(command)}")
        return lines

    def _bold(self, text: str) -> str:
        return click.style(text, bold=True) if self.view.color else text

    def _colored(self, text: str, word: str) -> str:
        if not self.view.color or word not in _COLORS:
            return text
        return text.replace(word, click.style(word, fg=_COLORS[word]), 1)


def _rank(item: Item) -> int:
    return _ORDER.get(level_word(item), 9)


def _open_site(item: Item) -> bool:
    return item.status == OPEN and item.owner and item.safety is not Safety.NOTE


def _counted(items: Iterable[Item]) -> str:
    """`2 errors, 1 warning`, `5 safe`, or the bare number of other findings."""
    levels = Counter(map(level_word, items))
    if not _ORDER.keys() & levels.keys():
        return f"{sum(levels.values()):,}"
    ordered = sorted(levels.items(), key=lambda pair: _ORDER.get(pair[0], 9))
    return ", ".join(count(n, word) if word in (ERROR, WARNING) else f"{n:,} {word}" for word, n in ordered)


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_on_hyphens=False, break_long_words=False)


__all__ = ["View", "level_word", "render"]
