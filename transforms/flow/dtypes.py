"""Which data type an expression names, where one file says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.tables.dtypes import DTYPES

if TYPE_CHECKING:
    from transforms.engine.context import Context

_MOST_HOPS = 5


def dtype_of(cx: Context, node: cst.CSTNode | None, hops: int = 0) -> str:
    """`bfloat16`, `float16` and so on for a dtype that is surely this one; empty when it can't be told.

    Followed are variables whose every assignment names the same type. A parameter is no proof, nor is its default.
    """
    if node is None or hops > _MOST_HOPS:
        return ""
    if isinstance(node, cst.IfExp):
        first, second = dtype_of(cx, node.body, hops + 1), dtype_of(cx, node.orelse, hops + 1)
        return first if first == second else ""
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return ""
    origin = cx.origin(node)
    if origin.names and not origin.local and not origin.why:
        found = {DTYPES.get(name, "") for name in origin.names}
        return found.pop() if len(found) == 1 else ""
    if isinstance(node, cst.Attribute):
        return ""
    bindings = cx.names.bindings(node.value, cx.names.scope(node))
    if not bindings or any(b.kind != "assign" for b in bindings) or cx.names.executes:
        return ""
    found = {dtype_of(cx, b.value, hops + 1) for b in bindings}
    return found.pop() if len(found) == 1 else ""


def dtype_chain(cx: Context, node: cst.CSTNode) -> str:
    """The data type that a dotted chain spells out (`torch.float64`), empty for anything else."""
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return ""
    found = {DTYPES.get(name, "") for name in cx.origin(node).names}
    return found.pop() if len(found) == 1 else ""
