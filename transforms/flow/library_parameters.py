"""Values that reach a library with names of its own for accelerators through a dict of its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transforms.tables.frameworks import Accelerator, rows_for

if TYPE_CHECKING:
    from transforms.engine.context import Context


def library_value(cx: Context, node: cst.CSTNode) -> tuple[cst.Call, Accelerator] | None:
    """The call and the row of the table for a value of `{"device": "cuda"}` in `xgboost.train(params, data)`.

    The dict may be written in the call, with `dict(...)`, kept in a variable, or filled by `params["device"] = "cuda"`.
    """
    above = cx.parent(node)
    while isinstance(above, cst.IfExp) and above.test is not node:
        node, above = above, cx.parent(above)
    key, holder = _entry(cx, node, above)
    if not key or holder is None:
        return None
    for call in _given_to(cx, holder):
        for row in rows_for(function_of(cx, call)):
            if row.argument == key:
                return call, row
    return None


def accelerator_row(cx: Context, node: cst.CSTNode) -> Accelerator | None:
    """The row of the table for a value, given as an argument or in a dict of parameters."""
    if (found := library_value(cx, node)) is not None:
        return found[1]
    above = cx.parent(node)
    while isinstance(above, cst.IfExp) and above.test is not node:
        node, above = above, cx.parent(above)
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(above, cst.Arg) or above.keyword is None:
        return None
    return next((r for r in rows_for(function_of(cx, call)) if r.argument == above.keyword.value), None)


def function_of(cx: Context, call: cst.Call) -> str:
    """The qualified name of what is called, through `functools.partial` too."""
    name = cx.origin(call.func).name
    return cx.origin(call.args[0].value).name if name == "functools.partial" and call.args else name


def _entry(cx: Context, node: cst.CSTNode, above: cst.CSTNode | None) -> tuple[str, cst.CSTNode | None]:
    """The key under which a value stands in a dict, and the dict or the variable that holds it."""
    if isinstance(above, cst.DictElement) and above.value is node:
        return cx.string(above.key) or "", cx.parent(above)
    if isinstance(above, cst.Arg) and above.keyword is not None:
        call = cx.parent(above)
        made = isinstance(call, cst.Call) and cx.origin(call.func).name == "builtins.dict"
        return (above.keyword.value, call) if made else ("", None)
    if isinstance(above, cst.Assign) and len(above.targets) == 1:
        target = above.targets[0].target
        if isinstance(target, cst.Subscript) and isinstance(target.value, cst.Name):
            part = target.slice[0].slice
            return (cx.string(part.value) or "" if isinstance(part, cst.Index) else ""), target.value
    return "", None


def _given_to(cx: Context, holder: cst.CSTNode) -> Iterator[cst.Call]:
    """Calls that a dict, or the variable that holds it, is an argument of."""
    above = cx.parent(holder)
    readers = [holder]
    if isinstance(holder, cst.Name):
        readers = [*cx.names.uses(holder.value, cx.names.scope(holder))]
    elif isinstance(above, cst.Assign) and len(above.targets) == 1 and isinstance(above.targets[0].target, cst.Name):
        target = above.targets[0].target
        readers = [*cx.names.uses(target.value, cx.names.scope(target))]
    for reader in readers:
        arg = cx.parent(reader)
        call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
        if isinstance(call, cst.Call):
            yield call
