"""Which expressions hold a tensor (or module) that lies on an accelerator, where one file shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.tables.dtypes import LIKE_MAKERS, TENSOR_MAKERS

if TYPE_CHECKING:
    from transforms.engine.context import Context
    from transforms.engine.names import Binding

_MOST_HOPS = 6
_LEAVES = frozenset(["cpu", "numpy", "tolist", "item", "size", "dim", "numel", "stride", "is_contiguous", "storage"])


def on_device(cx: Context, node: cst.CSTNode | None, hops: int = 0) -> cst.CSTNode | None:
    """The place that shows that a value lies on an accelerator, None when nothing in the file does.

    Shown by `device=` of a call that makes it, `.to(device)` or `.cuda()`, for a device that is not surely the CPU;
    kept by methods, operators and the variables in between, if all assignments agree.
    """
    if node is None or hops > _MOST_HOPS:
        return None
    if isinstance(node, cst.Call):
        return _called(cx, node, hops)
    if isinstance(node, cst.BinaryOperation):
        return on_device(cx, node.left, hops + 1) or on_device(cx, node.right, hops + 1)
    if isinstance(node, cst.Subscript):
        return on_device(cx, node.value, hops + 1)
    if isinstance(node, cst.Name):
        bindings = cx.names.bindings(node.value, cx.names.scope(node))
        if not bindings or any(b.kind != "assign" or b.value is None for b in bindings):
            return _moved_before(cx, node, bindings)
        shown = [on_device(cx, b.value, hops + 1) for b in bindings if not _reads(b.value, node.value)]
        return shown[0] if shown and all(shown) else None
    return None


def _moved_before(cx: Context, node: cst.Name, bindings: list[Binding]) -> cst.CSTNode | None:
    """The move in `x = x.to(device)` when it is the last assignment before a use, in a block around it."""
    scope = cx.names.scope(node)
    here = cx.index.order(node)
    before = [b for b in bindings if b.scope is scope and b.kind != "param" and cx.index.order(b.node) < here]
    last = max(before, key=lambda b: cx.index.order(b.node), default=None)
    if last is None or last.kind != "assign" or not isinstance(last.value, cst.Call):
        return None
    if not _reads(last.value, node.value) or cx.index.statement(node) is cx.index.statement(last.node):
        return None
    block = cx.index.enclosing(last.node, cst.IndentedBlock, cst.SimpleStatementSuite)
    if block is None or not any(a is block for a in cx.index.ancestors(node)):
        return None
    return on_device(cx, last.value)


def _reads(value: cst.CSTNode | None, name: str) -> bool:
    """Whether `x = x.double()`: the new value lies where the old one lay."""
    while isinstance(value, (cst.Call, cst.Attribute)):
        value = value.func if isinstance(value, cst.Call) else value.value
    return isinstance(value, cst.Name) and value.value == name


def _called(cx: Context, call: cst.Call, hops: int) -> cst.CSTNode | None:
    names = cx.origin(call.func).names
    if names:
        short = {n.removeprefix("torch.") for n in names}
        if short <= TENSOR_MAKERS:
            device = cx.argument(call, "device")
            return device if device is not None and given(cx, device.value) else None
        if short <= LIKE_MAKERS:
            device = cx.argument(call, "device")
            if device is not None:
                return device if given(cx, device.value) else None
        if all(n.startswith("torch.") for n in names) and call.args:
            return on_device(cx, call.args[0].value, hops + 1)
        return None
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value in _LEAVES:
        return None
    method = call.func.attr.value
    if method == "cuda":
        return call.func.attr
    if method in ("to", "to_empty"):
        device = cx.argument(call, "device", 0)
        if device is not None and is_device(cx, device.value):
            return device if given(cx, device.value) else None
    return on_device(cx, call.func.value, hops + 1)


def is_device(cx: Context, node: cst.CSTNode) -> bool:
    """Whether an argument of `.to` is a device and no dtype."""
    return cx.string(node) is not None or cx.devices.is_device(node)


def given(cx: Context, node: cst.CSTNode) -> bool:
    """Whether a device that is given may be an accelerator: not None, and not surely the CPU."""
    if isinstance(node, cst.Name) and node.value == "None":
        return False
    text = cx.string(node)
    if text is not None:
        return not text.startswith(("cpu", "meta"))
    if isinstance(node, cst.Call) and cx.origin(node.func).name == "torch.device" and node.args:
        return given(cx, node.args[0].value)
    component = cx.devices.component_of(node)
    if component is None or not component.origins:
        return True
    return any(_elsewhere(cx, o.node) for o in component.origins)


def _elsewhere(cx: Context, origin: cst.CSTNode) -> bool:
    """Whether what a device value comes from is not surely the CPU: a text, or a torch.device made from one."""
    if isinstance(origin, cst.Call) and origin.args and cx.origin(origin.func).name == "torch.device":
        origin = origin.args[0].value
    text = cx.string(origin)
    return text is None or not text.startswith(("cpu", "meta"))
