"""The report for people: what needs somebody first, then what the tool does by itself, the ledger, the next command."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from migrate.ledger import KEPT, OPEN, Item, sums
from migrate.pipeline import FileState, Result
from transforms.engine.model import Safety

MOST_PER_FILE = 20


@dataclass(frozen=True)
class View:
    """How much the text report shows."""

    command: str = "check"
    everything: bool = False
    kept: bool = False
    statistics: bool = False
    color: bool = False


def render(result: Result, view: View) -> str:
    """The report as text."""
    return "\n".join(_Report(result, view).lines()) + "\n"


class _Report:
    def __init__(self, result: Result, view: View) -> None:
        self.result = result
        self.view = view

    def lines(self) -> list[str]:
        lines: list[str] = []
        code = [f for f in self.result.files if not f.test or self.result.settings.tests]
        tests = [f for f in self.result.files if f.test and not self.result.settings.tests]
        lines += self._section("Needs you", code, lambda i: i.safety is Safety.MANUAL)
        if self.view.command != "run":
            lines += self._section("Can be applied", code, lambda i: i.safety in (Safety.SAFE, Safety.REVIEW))
        lines += self._section("On offer (not needed to run)", code, lambda i: i.safety is Safety.OFFER)
        lines += self._section("Notes", code, lambda i: i.safety is Safety.NOTE)
        if self.view.kept:
            lines += self._section("Kept", code, lambda i: i.status == KEPT, status=KEPT)
        lines += self._not_read()
        if any(f.items for f in tests):
            lines += self._tests(tests)
        lines += self._ledger()
        return lines

    def _section(self, title: str, files: list[FileState], wanted, status: str = OPEN) -> list[str]:  # type: ignore[no-untyped-def]
        body: list[str] = []
        for file in files:
            chosen = [i for i in file.items if i.status == status and wanted(i) and (i.owner or i.fix is None)]
            shown = chosen if self.view.everything else chosen[:MOST_PER_FILE]
            body += [self._line(i, file) for i in shown]
            if len(chosen) > len(shown):
                body.append(f"  {file.path}: {len(chosen) - len(shown)} more (--all shows them)")
        return [self._bold(title), *body, ""] if body else []

    def _line(self, item: Item, file: FileState) -> str:
        assert file.source is not None
        line, column = file.source.position(item.start)
        level = item.safety.value if item.safety is not None else "kept"
        if item.safety is Safety.MANUAL:
            level = item.severity or "manual"
        why = f" ({item.reason})" if item.reason and item.reason != item.message else ""
        return f"  {file.path}:{line}:{column}: {item.rule} {level}: {item.message}{why}"

    def _not_read(self) -> list[str]:
        files = [f for f in self.result.files if f.status == "not_read"]
        if not files:
            return []
        shown = files if self.view.everything else files[:MOST_PER_FILE]
        lines = [self._bold("Not read: no rule knows these kinds of files yet")]
        lines += [f"  {f.path}: {f.hits} mention{'s' if f.hits > 1 else ''} of CUDA or XLA" for f in shown]
        if len(files) > len(shown):
            lines.append(f"  {len(files) - len(shown)} more files (--all shows them)")
        return [*lines, ""]

    def _tests(self, files: list[FileState]) -> list[str]:
        items = [i for f in files for i in f.items]
        found = sums(items)
        open_sites = sum(found.open.values())
        names = [f.path for f in files if f.items]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return [self._bold("Tests (left alone without --tests)"), f"  {open_sites} open in {shown}", ""]

    def _ledger(self) -> list[str]:
        items = self.result.counted
        found = sums(items)
        opened = ", ".join(f"{level} {n}" for level, n in found.open.items() if n) or "none"
        closed = ", ".join(f"{status} {n}" for status, n in found.closed.items() if n and status != KEPT)
        lines = [f"Ledger: {found.total} sites; open: {opened}" + (f"; {closed}" if closed else "")]
        if found.closed[KEPT]:
            reasons = Counter(i.reason for i in items if i.status == KEPT and i.owner)
            named = ", ".join(f"{reason} {n}" for reason, n in reasons.most_common(5))
            lines.append(f"{found.closed[KEPT]} kept: {named}" + ("" if self.view.kept else "; --show kept lists them"))
        if self.view.statistics:
            rules = Counter((i.rule, i.name) for i in items if i.status == OPEN)
            lines += [f"  {rule} {name}: {n}" for (rule, name), n in sorted(rules.items())]
        unreadable = [f for f in self.result.files if f.status in ("unreadable", "failed")]
        if unreadable:
            lines.append(
                f"{len(unreadable)} file(s) could not be read or changed: {', '.join(f.path for f in unreadable[:5])}"
            )
        return lines + self._verdict(items)

    def _verdict(self, items: list[Item]) -> list[str]:
        needed = [i for i in items if i.needed]
        people = [i for i in needed if i.safety is Safety.MANUAL]
        changed = sum(f.changed for f in self.result.files)
        if self.view.command == "run":
            if not needed:
                return ["runnable: no required finding is open"]
            return [
                f"not runnable yet: {len(needed)} finding{'s need' if len(needed) > 1 else ' needs'} you",
                "Next: neuron-migrate check --show open .",
            ]
        if not needed:
            return ["Nothing is left to migrate." if not changed else f"{changed} file(s) can be improved."]
        fixable = len(needed) - len(people)
        return [
            f"{fixable} to apply in {changed} file(s), {len(people)} for you.",
            "Next: neuron-migrate run ."
            if fixable
            else "Next: read the list above; # neuron: keep holds a statement back.",
        ]

    def _bold(self, text: str) -> str:
        return f"\033[1m{text}\033[0m" if self.view.color else text


__all__ = ["View", "render"]
