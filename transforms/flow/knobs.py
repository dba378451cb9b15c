"""Statements that only set something of CUDA: they go, comments stay; what can't go is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.model import ERROR, WARNING, Safety
from transforms.flow.renames import called
from transforms.flow.results import is_printed
from transforms.flow.uses import Use
from transforms.tables.cuda_backends import FLAGS, TF32

if TYPE_CHECKING:
    from transforms.engine.context import Context

_KNOBS = FLAGS | TF32
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
    level = Safety.REVIEW if use.ambiguous else safety
    for read in _reads(cx, use.name, use.node):
        if not is_printed(cx, read):
            message = f"{use.name} has no effect on Trainium ({why}), but its value is read in this file: take out both"
            evidence.append((read, "read here"))
            cx.report(use.node, message, Safety.MANUAL, severity=WARNING, evidence=evidence)
            return True
        level = Safety.REVIEW
        evidence.append((read, "its value is printed here"))
    fix = cx.fix(f"{use.name} is no longer set", cx.remove_statement(statement))
    cx.report(use.node, f"{use.name} has no effect on Trainium: {why}", level, fix=fix, evidence=evidence)
    return True


def _reads(cx: Context, knob: str, write: cst.CSTNode) -> list[cst.BaseExpression]:
    """Uses that may read what a knob is set to at `write`, and stay when all statements that only set knobs are gone.

    A value that is saved in a variable is there to be put back.
    """
    return [
        use.node
        for use in cx.uses.of(knob)
        if not isinstance(cx.parent(use.node), (cst.AssignTarget, cst.Assign, cst.Del))
        and not (use.aliased and isinstance(use.node, cst.Name))
        and _may_follow(cx, write, use.node)
        and _leaving(cx, use) is None
    ]


def _may_follow(cx: Context, write: cst.CSTNode, read: cst.CSTNode) -> bool:
    """Whether a read may run after a write: it stands below it, in another function, or in the same loop."""
    if cx.index.order(read) > cx.index.order(write) or cx.names.scope(read) is not cx.names.scope(write):
        return True
    loops = {id(a) for a in cx.index.ancestors(write) if isinstance(a, (cst.For, cst.While))}
    return any(id(a) in loops for a in cx.index.ancestors(read))


def drop_setattr(cx: Context, use: Use, why: str) -> bool:
    """Report the removal of `setattr(torch.backends.cudnn, "benchmark", True)`. False for any other use."""
    arg = cx.parent(use.node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or call.args[0] is not arg or cx.origin(call.func).name != "builtins.setattr":
        return False
    name = f"{use.name}.{cx.string(call.args[1].value) if len(call.args) == 3 else None}"
    statement = statement_of(cx, call)
    if name not in _KNOBS or statement is None or not pure(cx, call.args[2].value) or _reads(cx, name, call):
        return False
    fix = cx.fix(f"{name} is no longer set", cx.remove_statement(statement))
    level = Safety.REVIEW if use.ambiguous else Safety.SAFE
    cx.report(use.node, f"{name} has no effect on Trainium: {why}", level, fix=fix)
    return True


def inside_dropped(cx: Context, use: Use, safety: Safety = Safety.SAFE) -> bool:
    """Report a read on the right side of an assignment that goes along: to a knob, or to a variable whose only use is
    to set knobs back. False for any other read."""
    leaving = _leaving(cx, use)
    if leaving is None:
        return False
    statement, requires = leaving
    back = [(name, node) for node in requires for name in cx.origin(node).names & _KNOBS]
    if any(not is_printed(cx, read) for name, node in back for read in _reads(cx, name, node)):
        return False
    fix = cx.fix("the statement goes", cx.remove_statement(statement), requires=requires)
    level = Safety.REVIEW if use.ambiguous else safety
    cx.report(use.node, f"{use.name} goes with its statement", level, fix=fix)
    return True


def _leaving(cx: Context, use: Use) -> tuple[cst.Assign, list[cst.BaseExpression]] | None:
    """The assignment that a read stands in, when it goes, and what has to go with it."""
    statement = cx.index.statement(use.node)
    if not isinstance(statement, cst.Assign) or len(statement.targets) > 1 or not pure(cx, statement.value):
        return None
    target = statement.targets[0].target
    if isinstance(target, cst.Name):
        restored = _restored(cx, target)
        return None if restored is None or cx.parent(use.node) is not statement else (statement, restored)
    return (statement, []) if cx.origin(target).names & _KNOBS else None


def _restored(cx: Context, name: cst.Name) -> list[cst.BaseExpression] | None:
    """The knobs that are set from a variable, None when anything else may be done with what it saves."""
    scope = cx.names.scope(name)
    known = cx.names.occurrences(name.value)
    outside = isinstance(scope, cst.ClassDef) or cx.names.executes or bool(known.declared)
    if isinstance(scope, cst.Module):
        outside |= bool(cx.facts.importers.get(name.value) or cx.facts.importers.get("*"))
    bindings = cx.names.bindings(name.value, scope)
    if outside or any(b.value is None or not cx.origin(b.value).names & _KNOBS for b in bindings):
        return None
    found: list[cst.BaseExpression] = []
    for read in cx.names.uses(name.value, scope):
        statement = cx.parent(read)
        if not isinstance(statement, cst.Assign) or len(statement.targets) > 1 or statement.value is not read:
            return None
        target = statement.targets[0].target
        if not isinstance(target, cst.Attribute) or not cx.origin(target).names & _KNOBS:
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
