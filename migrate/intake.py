"""From what the engine says about a file to entries of the ledger: selection, suppression, ids, what a fix lacks."""

from __future__ import annotations

from migrate.ledger import OPEN, SUPPRESSED, FixState, Item, make_item
from migrate.looks import Look
from migrate.result import FileState
from migrate.settings import Settings
from migrate.suppression import Suppressions
from migrate.unreadable import report_unreadable, tool_item
from transforms.engine.model import WARNING, Analysis, Safety
from transforms.engine.source import Source


class Intake:
    """Takes looks at files into the ledger, by the settings of a run."""

    def __init__(self, settings: Settings) -> None:
        from transforms.registry import by_code

        self.settings = settings
        self.names = {code: rule.name for code, rule in by_code().items()}

    def first(self, file: FileState, look: Look) -> None:
        """Put the first look at a file into its state. Needs `file.source`, unless the look was refused."""
        if look.refused is not None:
            why, internal = look.refused.reason, look.refused.internal
            reason = f"internal error: {why}" if internal else why
            report_unreadable(file, reason, look.refused.line, self.settings, failed=internal)
            return
        assert file.source is not None
        suppressions = self.suppressions(file.source)
        file.analysis = look.analysis
        file.items, file.fixes = self.take(file.path, file.source, look, suppressions)
        file.items += self._unused(file, suppressions)
        file.items.sort(key=lambda i: (i.start, not i.owner, i.rule))

    def suppressions(self, source: Source) -> Suppressions:
        """The comments of a text that hold findings back."""
        return Suppressions(source.text, self.names)

    def take(
        self, path: str, source: Source, look: Look, suppressions: Suppressions
    ) -> tuple[list[Item], list[FixState]]:
        """Findings and fixes of a look as entries of the ledger, selection and suppressions applied."""
        settings = self.settings.for_path(path)
        analysis = look.analysis
        fixes = [FixState(path, fix, edits=fix.edits) for fix in analysis.fixes]
        chosen: dict[int, Item] = {}
        for n, (finding, identity) in enumerate(zip(analysis.findings, look.keys)):
            name = self.names[finding.rule]
            if not settings.enables(finding.rule, name):
                continue
            item = make_item(path, finding, identity.id, name)
            item.anywhere, item.content = identity.anywhere, identity.content
            first, last = source.position(finding.statement[0])[0], source.position(max(finding.statement))[0]
            held = suppressions.match(finding.rule, name, first, last) if item.status == OPEN else None
            if held is not None:
                item.status, item.reason = SUPPRESSED, held.reason or "neuron: keep"
            if finding.fix is not None:
                item.fix = fixes[finding.fix]
                fixes[finding.fix].items.append(item)
            chosen[n] = item
        for n, item in chosen.items():
            item.related = [chosen[m].id for m in analysis.findings[n].related if m in chosen]
            if not item.owner and not any(chosen[m].owner for m in analysis.findings[n].related if m in chosen):
                item.owner = all(m > n for m in analysis.findings[n].related if m in chosen)
        for state in fixes:
            state.missing = _missing(state, list(chosen.values()), source, analysis)
        return list(chosen.values()), [f for f in fixes if f.items]

    def _unused(self, file: FileState, suppressions: Suppressions) -> list[Item]:
        """Suppression comments that hold nothing back."""
        from transforms.registry import UNUSED_SUPPRESSION

        settings = self.settings.for_path(file.path)
        ran = [code for code, name in self.names.items() if settings.enables(code, name)]
        found: list[Item] = []
        for complaint in suppressions.unused(ran):
            item = tool_item(file, UNUSED_SUPPRESSION.code, complaint.message, complaint.start, complaint.end, WARNING)
            item.safety = Safety.NOTE
            item.id += f"-{n}" if (n := sum(i.message == item.message for i in found)) else ""
            found.append(item)
        return found


def _missing(state: FixState, chosen: list[Item], source: Source, analysis: Analysis) -> dict[tuple[int, int], str]:
    """What to do about the sites that a fix requires and that have no finding, by their ranges."""
    found: dict[tuple[int, int], str] = {}
    for start, end in set(state.fix.requires) - {(i.start, i.end) for i in chosen}:
        rules = sorted({f.rule for f in analysis.findings if (f.start, f.end) == (start, end)})
        place = "{}:{}".format(*source.position(start)) + f", {source.text[start:end]},"
        if rules:
            found[start, end] = f"it needs the change at {place} of {rules[0]}, which is not selected: select both"
        else:
            found[start, end] = f"it needs a change at {place} that no rule makes: change both by hand"
    return found
