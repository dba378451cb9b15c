"""What the rules of the API tables share: a use of a name becomes its counterpart, or says that there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.changes import Change
from transforms.engine.model import WARNING, Safety
from transforms.flow.patched import REPLACED, Patched
from transforms.flow.uses import Use
from transforms.tables.rows import HIGH, Row

if TYPE_CHECKING:
    from transforms.engine.context import Context

Evidence = list[tuple[cst.CSTNode, str]]


def called(cx: Context, node: cst.CSTNode) -> cst.Call | None:
    """The call whose function a chain is."""
    above = cx.parent(node)
    return above if isinstance(above, cst.Call) and above.func is node else None


def level(cx: Context, use: Use, row: Row) -> tuple[Safety, Evidence]:
    """How sure the counterpart of a use is, with what speaks against more."""
    safety = Safety.SAFE
    evidence: Evidence = []
    if row.confidence != HIGH:
        safety = Safety.REVIEW
        evidence.append((use.node, f"{row.new}: {row.source}"))
    if use.ambiguous:
        safety = Safety.REVIEW
        evidence.append((use.node, use.origin.why or "the name may stand for something else"))
    if (place := cx.shared(Patched).place(use.name)) is not None:
        safety = Safety.REVIEW
        evidence.append((place, REPLACED))
    if row.starts and called(cx, use.node) is not None and cx.at_import_time(use.node):
        safety = Safety.REVIEW
        evidence.append((use.node, "runs when the module is imported, before anything is initialised"))
    return safety, evidence


def replaced(cx: Context, use: Use) -> bool:
    """Report a use that gives a name of torch another value or deletes it. False for any other use."""
    above = cx.parent(use.node)
    if not isinstance(above, (cst.AssignTarget, cst.AugAssign, cst.Del, cst.AnnAssign)) or (
        isinstance(above, (cst.AugAssign, cst.AnnAssign)) and above.target is not use.node
    ):
        return False
    cx.report(use.node, f"{use.name} is replaced here: do the same on torch.neuron", Safety.MANUAL, severity=WARNING)
    return True


def several(cx: Context, use: Use) -> bool:
    """Report a use that can also be a name of something else, which a new name would break."""
    if len(use.origin.names) == 1:
        return False
    names = ", ".join(sorted(use.origin.names))
    cx.report(use.node, f"this is one of {names}: give it the one of torch.neuron too", Safety.MANUAL, severity=WARNING)
    return True


def rename(
    cx: Context,
    use: Use,
    row: Row,
    *changes: Change,
    safety: Safety | None = None,
    evidence: Iterable[tuple[cst.CSTNode, str]] = (),
    group: str = "",
    requires: Iterable[cst.CSTNode] = (),
) -> None:
    """Report that a name becomes its counterpart, together with further changes of the same statement."""
    if replaced(cx, use) or (not use.aliased and several(cx, use)):
        return
    if use.aliased and row.new.rpartition(".")[2] == row.name.rpartition(".")[2] and not changes:
        return  # the assignment of the variable is a site of its own, and this use follows it
    sure, why = level(cx, use, row)
    edits, requests = cx.rename(use.node, row.name, row.new)
    fix = cx.fix(f"{row.name} becomes {row.new}", *edits, *changes, requests=requests, group=group, requires=requires)
    message = f"{row.name} is {row.new} on Trainium" + (f": {row.note}" if row.note else "")
    cx.report(use.node, message, sure.at_most(safety or Safety.SAFE), fix=fix, evidence=[*evidence, *why])


def missing(cx: Context, use: Use, row: Row) -> None:
    """Report a name that has no counterpart. A type in an annotation or handler fails nowhere, so that is a warning."""
    if replaced(cx, use) or (use.aliased and isinstance(use.node, cst.Name)):
        return
    passive = cx.is_type(use.node) or _handled(cx, use.node)
    severity = WARNING if passive or use.ambiguous else row.severity
    cx.report(use.node, f"{use.name} has no counterpart on neuron: {row.note}", Safety.MANUAL, severity=severity)


def only_tested(cx: Context, node: cst.CSTNode) -> bool:
    """Whether a value is only asked for being there: `if nvtx:`, `nvtx is not None`."""
    above = cx.parent(node)
    while isinstance(above, (cst.BooleanOperation, cst.UnaryOperation)):
        node, above = above, cx.parent(above)
    if isinstance(above, cst.Comparison):
        return all(isinstance(c.operator, (cst.Is, cst.IsNot)) for c in above.comparisons)
    return isinstance(above, (cst.If, cst.While, cst.IfExp)) and above.test is node


def _handled(cx: Context, node: cst.CSTNode) -> bool:
    """Whether a class stands in an `except` clause."""
    child = node
    for above in cx.index.ancestors(node):
        if isinstance(above, (cst.ExceptHandler, cst.ExceptStarHandler)):
            return above.type is child
        if not isinstance(above, (cst.Element, cst.Tuple)):
            return False
        child = above
    return False


def nearest(rows: dict[str, Row], name: str) -> Row | None:
    """The row of a name, or of the nearest name above it."""
    while name:
        if name in rows:
            return rows[name]
        name = name.rpartition(".")[0]
    return None
