"""From findings said in nodes to findings and edits said in offsets: one pass over the generated text."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from transforms.engine.arguments import Arguments
from transforms.engine.changes import Layout
from transforms.engine.context import Context, PendingFinding, PendingFix
from transforms.engine.entries import Entries
from transforms.engine.import_findings import ImportFindings
from transforms.engine.import_nodes import ImportNodes
from transforms.engine.index import below
from transforms.engine.model import ERROR, WARNING, Analysis, Edit, Evidence, Finding, Fix, Safety
from transforms.engine.residue import Residue
from transforms.engine.source import Unreadable
from transforms.engine.spans import Spans

_UNITS = (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.Decorator, cst.MatchCase, cst.ExceptHandler, cst.Else)
_SEVERAL = "; it stands in the CUDA branch of code for several accelerators, which stays"
Unit = tuple[cst.CSTNode, cst.CSTNode | None]


def lower(cx: Context) -> Analysis:
    """The analysis of a file whose transforms have run. Raises `Unreadable` when LibCST can't give the text back."""
    cx.settle_guards()
    _hold(cx)
    _keep_bound_names(cx)
    residue = Residue(cx)
    imports = ImportNodes(cx)
    cx.findings += ImportFindings(imports).findings(cx.findings)
    if not cx.findings and not residue.candidates:
        return Analysis()
    fixes = _unique(f.fix for f in cx.findings)
    units = {id(f.site): unit_of(cx, f.site) for f in cx.findings}
    units.update({id(n): unit_of(cx, n) for n in residue.candidates})
    spans = Spans(cx.module, _wanted(cx, fixes, units, residue, imports), cx.source)
    if spans.text != cx.source.parsed:
        raise Unreadable(
            "LibCST does not give back the same text", _first_difference(cx, spans.text)
        )
    layout = Layout(cx.source, cx.index, spans)
    lowered = _Lowering(cx, layout, units)
    for fix in fixes:
        lowered.fix(fix)
    for finding in cx.findings:
        lowered.finding(finding)
    for pending in residue.uncovered(spans, [(f.start, f.end) for f in lowered.findings]):
        lowered.finding(pending)
    findings = _owners(lowered.findings)
    return Analysis(findings, lowered.fixes, imports.table(layout))


def _hold(cx: Context) -> None:
    """Make manual what a transform has asked to hold: every fix with a site inside a held block, in all its parts."""
    if not cx.held:
        return
    held = {id(block) for block in cx.held}
    stopped: dict[int, str] = {}
    for f in cx.findings:
        if f.fix is not None:
            block = next((id(a) for a in (f.site, *cx.index.ancestors(f.site)) if id(a) in held), None)
            if block is not None:
                stopped.setdefault(id(f.fix), cx.held_why.get(block, _SEVERAL))
    for finding in cx.findings:
        inside = next((id(a) for a in (finding.site, *cx.index.ancestors(finding.site)) if id(a) in cx.held_kept), None)
        if inside is not None and finding.safety is not None:
            finding.fix, finding.safety, finding.severity = None, None, None
            finding.reason = cx.held_why.get(inside, _SEVERAL)
        if finding.fix is not None and id(finding.fix) in stopped:
            why = stopped[id(finding.fix)]
            finding.fix, finding.safety, finding.severity = None, Safety.MANUAL, WARNING
            finding.message += why


def _keep_bound_names(cx: Context) -> None:
    """Make manual what takes out an argument whose value sets a name that is read elsewhere (`mode=(m := "x")`)."""
    if not cx.index.nodes(cst.NamedExpr):
        return
    stopped: dict[int, str] = {}
    for fix in _unique(f.fix for f in cx.findings):
        lost = [v for c in fix.changes if isinstance(c, (Arguments, Entries)) for v in c.lost]
        for node in (n for value in lost for n in below(value)):
            if isinstance(node, cst.NamedExpr) and _read_elsewhere(cx, node, lost):
                stopped[id(fix)] = f"; {cx.code(node)} sets a name that is read elsewhere"
    for finding in cx.findings:
        if finding.fix is not None and id(finding.fix) in stopped:
            finding.message += stopped[id(finding.fix)]
            finding.fix, finding.safety, finding.severity = None, Safety.MANUAL, ERROR


def _read_elsewhere(cx: Context, node: cst.NamedExpr, lost: list[cst.BaseExpression]) -> bool:
    if not isinstance(node.target, cst.Name):
        return False
    name, scope = node.target.value, cx.names.binding_scope(node.target.value, cx.names.scope(node))
    inside = {id(n) for value in lost for n in below(value)}
    return scope is not None and any(id(use) not in inside for use in cx.names.uses(name, scope))


def unit_of(cx: Context, node: cst.CSTNode) -> Unit:
    """The statement that a site belongs to, and its body when it is the header of a compound one."""
    here: cst.CSTNode | None = node
    while here is not None and not isinstance(here, _UNITS):
        here = cx.parent(here)
    if here is None:
        return cx.module, None
    body = getattr(here, "body", None)
    if isinstance(here, cst.Match):
        body = here.cases[0]
    return here, body if isinstance(body, cst.CSTNode) else None


def _unique(fixes: Iterable[PendingFix | None]) -> list[PendingFix]:
    seen: dict[int, PendingFix] = {}
    for fix in fixes:
        if fix is not None:
            seen.setdefault(id(fix), fix)
    return list(seen.values())


def _wanted(
    cx: Context, fixes: list[PendingFix], units: dict[int, Unit], residue: Residue, imports: ImportNodes
) -> Iterable[cst.CSTNode]:
    for finding in cx.findings:
        yield finding.site
        yield from (node for node, _ in finding.evidence)
    for unit, body in units.values():
        yield unit
        if body is not None:
            yield body
    for fix in fixes:
        yield from fix.requires
        for change in fix.changes:
            yield from change.wants()
    yield from residue.asked()
    yield from imports.wants()


def _first_difference(cx: Context, generated: str) -> int:
    for at, (a, b) in enumerate(zip(cx.source.parsed, generated)):
        if a != b:
            return cx.source.position(at)[0]
    return cx.source.position(min(len(cx.source.text), len(generated)))[0]


class _Lowering:
    """Collects the offsets of one file's findings."""

    def __init__(self, cx: Context, layout: Layout, units: dict[int, Unit]) -> None:
        self.cx = cx
        self.layout = layout
        self.units = units
        self.fixes: list[Fix] = []
        self.findings: list[Finding] = []
        self._index: dict[int, int | None] = {}

    def fix(self, fix: PendingFix) -> None:
        """Turn a fix into edits. One that changes nothing is forgotten, with its findings: nothing is left to say."""
        edits: list[Edit] = []
        for change in fix.changes:
            edits += [e for e in change.edits(self.layout) if e not in edits]
        if not edits and not fix.moves and not fix.requires:
            self._index[id(fix)] = None
            return
        edits.sort(key=lambda e: (e.start, e.end))
        self._index[id(fix)] = len(self.fixes)
        self.fixes.append(
            Fix(
                fix.description,
                tuple(edits),
                tuple(self.layout.spans.of(n) for n in fix.requires),
                tuple(fix.requests),
                tuple(fix.moves),
                fix.numerics,
                fix.group,
            )
        )

    def finding(self, pending: PendingFinding) -> None:
        """Turn a finding into offsets."""
        place = None
        if pending.fix is not None:
            place = self._index[id(pending.fix)]
            if place is None:
                return
        spans = self.layout.spans
        start, end = spans.of(pending.site)
        evidence = tuple(Evidence(spans.of(node)[0], text) for node, text in pending.evidence)
        self.findings.append(
            Finding(
                pending.rule,
                start,
                end,
                pending.message,
                pending.safety,
                pending.severity,
                evidence,
                place,
                pending.reason,
                self._statement(pending.site),
                self._scope(pending.site),
            )
        )

    def _statement(self, site: cst.CSTNode) -> tuple[int, int]:
        unit, body = self.units[id(site)] if id(site) in self.units else unit_of(self.cx, site)
        if isinstance(unit, cst.Module):
            return 0, 0
        start, end = self.layout.spans.of(unit)
        if body is not None and self.layout.spans.has(body):
            end = self.layout.spans.of(body)[0]
        code = self.layout.text[start:end].rstrip()
        return start, start + len(code)

    def _scope(self, site: cst.CSTNode) -> str:
        names = [
            above.name.value
            for above in self.cx.index.ancestors(site)
            if isinstance(above, (cst.FunctionDef, cst.ClassDef))
        ]
        return ".".join(reversed(names))


def _owners(findings: list[Finding]) -> list[Finding]:
    """Give each site one owner: what a program needs comes before offers and notes, then the lower code."""
    sites: dict[tuple[int, int], list[int]] = {}
    findings.sort(key=lambda f: (f.start, -f.end, _weight(f), f.rule))
    unique: list[Finding] = []
    for finding in findings:
        group = sites.setdefault((finding.start, finding.end), [])
        if group and finding.kept:
            continue  # somebody else has more to say about the site than that it stays
        if any(unique[i].rule == finding.rule and unique[i].fix == finding.fix for i in group):
            continue
        finding.owner = not group
        group.append(len(unique))
        unique.append(finding)
    for group in sites.values():
        for i in group:
            unique[i].related = [j for j in group if j != i]
    return unique


def _weight(finding: Finding) -> int:
    if finding.safety is None:
        return 5
    if finding.safety is Safety.NOTE:
        return 4
    if finding.safety is Safety.OFFER:
        return 3
    return 1 if finding.severity == "warning" else 0
