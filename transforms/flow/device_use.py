"""Calls that start the device runtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.flow.devices import device_text

if TYPE_CHECKING:
    from transforms.engine.context import Context

CHOOSING = frozenset(
    [
        "torch.cuda.set_device",
        "torch.neuron.set_device",
        "torch.accelerator.set_device_index",
        "torch.accelerator.set_device_idx",
    ]
)
"""Functions whose one effect is the choice of the current device."""

_STARTING = frozenset(
    [
        "synchronize",
        "current_device",
        "empty_cache",
        "Stream",
        "Event",
        "stream",
        "current_stream",
        "init",
        "memory_allocated",
        "mem_get_info",
        "device",
        "get_device_name",
        "get_device_properties",
        "max_memory_allocated",
        "memory_reserved",
        "set_per_process_memory_fraction",
        "current_device_index",
        "current_device_idx",
        "set_stream",
        "get_memory_info",
    ]
)
_MODULES = ("torch.cuda.", "torch.neuron.", "torch.accelerator.")


_NOT_MAKING = ("torch.device", "torch.distributed.", "torch.amp.", "torch.autocast", "torch.set_default_device")
"""Functions of torch whose argument `device` only names one."""


@dataclass(frozen=True, eq=False)
class DeviceUse:
    """A call that needs the device. `sure`: it surely does, not only where a variable names an accelerator.

    `guess`: a placement of which nothing is known; `called`: the use stands in a function of the file that is called.
    """

    node: cst.Call
    text: str
    chooses: bool = False
    sure: bool = True
    guess: bool = False
    called: bool = False


def device_uses(cx: Context) -> list[DeviceUse]:
    """All such calls of a file, in source order."""
    return cx.shared(_every)


def _every(cx: Context) -> list[DeviceUse]:
    found = list(_uses(cx))
    return sorted([*found, *_in_functions(cx, found)], key=lambda u: cx.index.order(u.node))


def _uses(cx: Context) -> Iterator[DeviceUse]:
    for call in cx.index.nodes(cst.Call):
        name = cx.origin(call.func).name
        if name in CHOOSING:
            yield DeviceUse(call, f"{cx.code(call.func)}()", chooses=True)
        elif name.startswith(_MODULES) and _starts_runtime(name, call, cx):
            yield DeviceUse(call, f"{cx.code(call.func)}()")
        elif name.startswith("torch.") and not name.startswith(_NOT_MAKING):
            arg = cx.argument(call, "device")
            sure = _accelerator(cx, arg.value) if arg is not None else None
            if arg is not None and sure is not None:
                yield DeviceUse(call, f"{cx.code(call.func)}(device={cx.code(arg.value)})", sure=sure)
        elif isinstance(call.func, cst.Attribute) and not cx.origin(call.func).names:
            method = call.func.attr.value
            if method == "cuda" and not cx.own_method("cuda"):
                yield DeviceUse(call, ".cuda()")
            elif method == "to" and call.args:
                yield from _placed(cx, call)


def _starts_runtime(name: str, call: cst.Call, cx: Context) -> bool:
    """Whether a function starts the runtime; `device_index` gives a context, which does so when it is entered."""
    last = name.split(".", 2)[2]
    return last in _STARTING or (last == "device_index" and isinstance(cx.parent(call), cst.WithItem))


def _placed(cx: Context, call: cst.Call) -> Iterator[DeviceUse]:
    arg = cx.argument(call, "device", 0)
    if arg is None:
        return
    sure = _accelerator(cx, arg.value)
    if sure is not None:
        yield DeviceUse(call, f".to({cx.code(arg.value)})", sure=sure)
    elif cx.string(arg.value) is None and not cx.origin(arg.value).name.startswith("torch."):
        component = cx.devices.component_of(arg.value)
        literals = _literals(cx, arg.value)
        if component is None or not literals or component.doubts:
            yield DeviceUse(call, f".to({cx.code(arg.value)})", sure=False, guess=True)


def _in_functions(cx: Context, found: list[DeviceUse]) -> Iterator[DeviceUse]:
    """Calls of functions of this file that use the device, directly or through others."""
    callers: dict[int, list[tuple[cst.Call, bool]]] = {}
    for call in cx.index.nodes(cst.Call) if found else ():
        called = cx.devices.places.called(call)
        for each, _ in called:
            callers.setdefault(id(each), []).append((call, len(called) == 1))
    holders: set[int] = set()
    work = found
    told: set[int] = {id(u.node) for u in found}
    while work:
        fresh: list[DeviceUse] = []
        for use in work:
            function = cx.index.enclosing(use.node, cst.FunctionDef, cst.Lambda)
            if use.guess or not isinstance(function, cst.FunctionDef) or id(function) in holders:
                continue
            holders.add(id(function))
            for call, alone in callers.get(id(function), []):
                if id(call) in told:
                    continue
                told.add(id(call))
                sure = use.sure and alone and _always(cx, use.node, function)
                text = f"{cx.code(call.func)}()" + ("" if use.called else f", which runs {use.text}")
                fresh.append(DeviceUse(call, text, sure=sure, called=True))
        yield from fresh
        work = fresh


def _always(cx: Context, node: cst.CSTNode, function: cst.FunctionDef) -> bool:
    """Whether a node stands in a simple statement of the function's own block, so that a call surely runs it."""
    line = cx.index.enclosing(node, cst.SimpleStatementLine, cst.SimpleStatementSuite)
    if line is None or function.asynchronous is not None:
        return False
    if not any(a is function.body for a in (line, cx.parent(line))):
        return False
    kinds = (cst.IfExp, cst.BooleanOperation, cst.Lambda, cst.SimpleStatementLine, cst.SimpleStatementSuite)
    above = cx.index.enclosing(node, *kinds)
    return above is line


def _accelerator(cx: Context, value: cst.BaseExpression) -> bool | None:
    """Whether a device is an accelerator: surely (True), maybe (False), or as far as is known not at all (None)."""
    text = cx.string(value)
    if text is not None:
        return True if _names_accelerator(text) else None
    component = cx.devices.component_of(value)
    texts = _literals(cx, value)
    named = [_names_accelerator(t) for t in texts]
    if not any(named) or (component is not None and component.proof is None):
        return None
    return all(named) and (component is None or not component.too_large)


def _literals(cx: Context, value: cst.BaseExpression) -> list[str]:
    """Texts of the literals that a device expression is made of; of an f-string what stands before its first value."""
    component = cx.devices.component_of(value)
    nodes = [o.node for o in component.origins if o.kind == "literal"] if component is not None else []
    if isinstance(value, cst.FormattedString):
        nodes.append(value)
    elif isinstance(value, cst.Call) and cx.origin(value.func).name == "torch.device" and value.args:
        nodes.append(value.args[0].value)
    return [t for t in (_text(cx, n) for n in nodes) if t is not None]


def _text(cx: Context, node: cst.CSTNode) -> str | None:
    if isinstance(node, cst.FormattedString):
        first = node.parts[0] if node.parts else None
        return first.value if isinstance(first, cst.FormattedStringText) else None
    return cx.string(node)


def _names_accelerator(text: str) -> bool:
    return device_text(text) or text.split(":")[0] in ("neuron", "cuda")
