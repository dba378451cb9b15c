"""Where an assignment keeps a value, alone or as an arm of a conditional, and the reads of what holds it then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from transforms.engine.context import Context


def kept_in(cx: Context, value: cst.CSTNode) -> list[cst.BaseExpression]:
    """The targets that receive a value directly: variables, attributes, a parameter by its default."""
    node, holder = value, cx.parent(value)
    while isinstance(holder, (cst.IfExp, cst.BooleanOperation)):
        node, holder = holder, cx.parent(holder)
    if isinstance(holder, cst.Assign) and holder.value is node:
        return [t.target for t in holder.targets]
    if isinstance(holder, (cst.AnnAssign, cst.NamedExpr)) and holder.value is node:
        return [holder.target]
    if isinstance(holder, cst.Param) and holder.default is node:
        return [holder.name]
    return []


def readers(cx: Context, target: cst.BaseExpression) -> list[cst.CSTNode]:
    """Uses of a variable, or every attribute of the same name in the file."""
    if isinstance(target, cst.Name):
        scope = cx.names.binding_scope(target.value, cx.names.scope(target))
        return list(cx.names.uses(target.value, scope)) if scope is not None else []
    if isinstance(target, cst.Attribute):
        above = [cx.parent(n) for n in cx.index.names.get(target.attr.value, [])]
        return [a for a in above if isinstance(a, cst.Attribute) and a.attr.value == target.attr.value]
    return []
