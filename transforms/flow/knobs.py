"""Statements that only set something of CUDA: they go, comments stay; what can't go is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.model import ERROR, WARNING, Safety
from transforms.flow.renames import called
from transforms.flow.uses import Use

if TYPE_CHECKING:
    from transforms.engine.context import Context

_PURE_CALLS = frozenset(
    [
        "builtins.bool",
        "builtins.int",
        "builtins.float",
        "builtins.str",
        "builtins.len",
        "builtins.range",
        "torch.cuda.is_available",
        "torch.cuda.device_count",
        "torch.neuron.is_available",
        "torch.backends.cudnn.is_available",
        "builtins.hasattr",
    ]
)


def pure(cx: Context, node: cst.CSTNode) -> bool:
    """Whether leaving an expression out can't be noticed."""
    if isinstance(node, (cst.Integer, cst.Float, cst.SimpleString, cst.ConcatenatedString, cst.Name)):
        return True
    if isinstance(node, cst.Attribute):
        return pure(cx, node.value)
    if isinstance(node, (cst.UnaryOperation,)):
        return pure(cx, node.expression)
    if isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
        return pure(cx, node.left) and pure(cx, node.right)
    if isinstance(node, cst.Comparison):
        return pure(cx, node.left) and all(pure(cx, c.comparator) for c in node.comparisons)
    if isinstance(node, cst.IfExp):
        return all(pure(cx, n) for n in (node.test, node.body, node.orelse))
    if isinstance(node, cst.FormattedString):
        return all(pure(cx, p.expression) for p in node.parts if isinstance(p, cst.FormattedStringExpression))
    if isinstance(node, cst.Subscript):
        inside = [s.slice.value for s in node.slice if isinstance(s.slice, cst.Index)]
        return pure(cx, node.value) and len(inside) == len(node.slice) and all(pure(cx, i) for i in inside)
    if isinstance(node, (cst.Tuple, cst.List)):
        return all(isinstance(e, cst.Element) and pure(cx, e.value) for e in node.elements)
    if isinstance(node, cst.Call):
        harmless = cx.origin(node.func).name in _PURE_CALLS or _text_method(node)
        return harmless and all(not a.star and pure(cx, a.value) for a in node.args)
    return False


def _text_method(node: cst.Call) -> bool:
    return (
        isinstance(node.func, cst.Attribute)
        and node.func.attr.value == "format"
        and isinstance(node.func.value, (cst.SimpleString, cst.ConcatenatedString))
    )


def assignment(cx: Context, use: Use) -> cst.Assign | None:
    """The plain assignment that a use is a target of."""
    target = cx.parent(use.node)
    statement = cx.parent(target) if isinstance(target, cst.AssignTarget) else None
    return statement if isinstance(statement, cst.Assign) else None


def statement_of(cx: Context, call: cst.Call) -> cst.Expr | None:
    """The statement that consists of a call, or of nothing but it."""
    above = cx.parent(call)
    return above if isinstance(above, cst.Expr) else None


def drop_assignment(cx: Context, use: Use, why: str, safety: Safety = Safety.SAFE) -> bool:
    """Report the removal of an assignment to a knob. False when the use is no target of one."""
    statement = assignment(cx, use)
    if statement is None:
        return False
    evidence = [(use.node, use.origin.why)] if use.origin.why else []
    if len(statement.targets) > 1 or not pure(cx, statement.value):
        cx.report(
            use.node, f"{use.name} has no effect on Trainium ({why}): take it out", Safety.MANUAL, severity=WARNING
        )
        return True
    fix = cx.fix(f"{use.name} is no longer set", cx.remove_statement(statement))
    level = Safety.REVIEW if use.ambiguous else safety
    cx.report(use.node, f"{use.name} has no effect on Trainium: {why}", level, fix=fix, evidence=evidence)
    return True


def inside_dropped(cx: Context, use: Use, knobs: frozenset[str], safety: Safety = Safety.SAFE) -> bool:
    """Report a read on the right side of an assignment that goes along: to one of `knobs`, or to a variable whose only
    use is to set knobs back. False for any other read."""
    statement = cx.index.statement(use.node)
    if not isinstance(statement, cst.Assign) or len(statement.targets) > 1 or not pure(cx, statement.value):
        return False
    target = statement.targets[0].target
    requires: list[cst.BaseExpression] = []
    if isinstance(target, cst.Name):
        restored = _restored(cx, target, knobs)
        if restored is None or cx.parent(use.node) is not statement:
            return False
        requires = restored
    elif not cx.origin(target).names & knobs:
        return False
    fix = cx.fix("the statement goes", cx.remove_statement(statement), requires=requires)
    level = Safety.REVIEW if use.ambiguous else safety
    cx.report(use.node, f"{use.name} goes with its statement", level, fix=fix)
    return True


def _restored(cx: Context, name: cst.Name, knobs: frozenset[str]) -> list[cst.BaseExpression] | None:
    """The knobs that are set from a variable, None when anything else may be done with what it saves."""
    scope = cx.names.scope(name)
    known = cx.names.occurrences(name.value)
    outside = isinstance(scope, cst.ClassDef) or cx.names.executes or bool(known.declared)
    if isinstance(scope, cst.Module):
        outside |= bool(cx.facts.importers.get(name.value) or cx.facts.importers.get("*"))
    bindings = cx.names.bindings(name.value, scope)
    if outside or any(b.value is None or not cx.origin(b.value).names & knobs for b in bindings):
        return None
    found: list[cst.BaseExpression] = []
    for read in cx.names.uses(name.value, scope):
        statement = cx.parent(read)
        if not isinstance(statement, cst.Assign) or len(statement.targets) > 1 or statement.value is not read:
            return None
        target = statement.targets[0].target
        if not isinstance(target, cst.Attribute) or not cx.origin(target).names & knobs:
            return None
        found.append(target)
    return found


def drop_call(cx: Context, use: Use, why: str, safety: Safety = Safety.REVIEW, severity: str = ERROR) -> None:
    """Report the removal of a call that stands as a statement; any other use is manual."""
    call = called(cx, use.node)
    statement = statement_of(cx, call) if call is not None else None
    if call is None or statement is None or any(a.star or not pure(cx, a.value) for a in call.args):
        cx.report(
            use.node, f"{use.name} has no counterpart on neuron ({why}): take it out", Safety.MANUAL, severity=severity
        )
        return
    fix = cx.fix(f"{use.name} is no longer called", cx.remove_statement(statement))
    level = safety.at_most(Safety.REVIEW) if use.ambiguous else safety
    cx.report(use.node, f"{use.name} is not needed on Trainium: {why}", level, fix=fix)
