"""Tensors that are visibly made on the host and handed to a model that moved its inputs by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.tables.dtypes import TENSOR_MAKERS

if TYPE_CHECKING:
    from transforms.engine.context import Context

_MADE = frozenset(f"torch.{name}" for name in TENSOR_MAKERS - {"as_tensor", "asarray"} | {"from_numpy", "frombuffer"})


def host_inputs(call: cst.Call, cx: Context) -> Iterator[cst.BaseExpression]:
    """Arguments made on the host in later calls of the variable that a wrapping call is assigned to.

    Where the call may be of another model (the variable is bound again behind, or the wrapping stands in a branch that
    the call does not share), nothing is said.
    """
    statement = cx.parent(call)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1 or statement.value is not call:
        return
    target = statement.targets[0].target
    if not isinstance(target, cst.Name) or cx.index.names.get("set_default_device"):
        return
    scope, here = cx.names.scope(target), cx.index.order(call)
    if any(cx.index.order(b.node) > here for b in cx.names.bindings(target.value, scope)):
        return
    block = cx.index.enclosing(statement, cst.IndentedBlock, cst.Module)
    for use in cx.names.uses(target.value, scope):
        called = cx.parent(use)
        if not isinstance(called, cst.Call) or called.func is not use or cx.index.order(use) < here:
            continue
        if any(above is block for above in cx.index.ancestors(use)):
            yield from (arg.value for arg in called.args if not arg.star and made_on_host(arg.value, cx))


def made_on_host(value: cst.CSTNode | None, cx: Context) -> bool:
    """Whether an expression, or all that its variable can be, is a tensor that torch makes on the CPU."""
    if isinstance(value, cst.Name):
        found = cx.names.bindings(value.value, cx.names.scope(value))
        return len(found) == 1 and found[0].kind == "assign" and _makes(found[0].value, cx)
    return _makes(value, cx)


def _makes(value: cst.CSTNode | None, cx: Context) -> bool:
    if not isinstance(value, cst.Call) or unpacks(value):
        return False
    origin = cx.origin(value.func)
    if origin.ambiguous or origin.name not in _MADE:
        return False
    device = cx.argument(value, "device")
    return device is None or cx.string(device.value) == "cpu"
