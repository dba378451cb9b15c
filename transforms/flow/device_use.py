"""Calls that start the device runtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.flow.components import Component
from transforms.flow.devices import device_text

if TYPE_CHECKING:
    from transforms.engine.context import Context

CHOOSING = frozenset({"torch.cuda.set_device", "torch.neuron.set_device"})
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
    ]
)
_MODULES = ("torch.cuda.", "torch.neuron.")


@dataclass(frozen=True, eq=False)
class DeviceUse:
    """A call that needs the device. `sure`: it surely does, not only where a variable names an accelerator."""

    node: cst.Call
    text: str
    chooses: bool = False
    sure: bool = True


def device_uses(cx: Context) -> list[DeviceUse]:
    """All such calls of a file, in source order."""
    return list(_uses(cx))


def _uses(cx: Context) -> Iterator[DeviceUse]:
    for call in cx.index.nodes(cst.Call):
        name = cx.origin(call.func).name
        if name in CHOOSING:
            yield DeviceUse(call, f"{cx.code(call.func)}()", chooses=True)
        elif name.startswith(_MODULES) and name.split(".", 2)[2] in _STARTING:
            yield DeviceUse(call, f"{cx.code(call.func)}()")
        elif isinstance(call.func, cst.Attribute) and not cx.origin(call.func).names:
            method = call.func.attr.value
            if method == "cuda" and not cx.own_method("cuda"):
                yield DeviceUse(call, ".cuda()")
            elif method == "to" and call.args:
                where = _accelerator(cx, call)
                if where is not None:
                    yield DeviceUse(call, f".to({where})", sure=where.startswith(('"', "'")))


def _accelerator(cx: Context, call: cst.Call) -> str | None:
    """The code of the device that `.to()` receives, when it is or may be an accelerator."""
    arg = cx.argument(call, "device", 0)
    if arg is None:
        return None
    text = cx.string(arg.value)
    if text is not None:
        return cx.code(arg.value) if _names_accelerator(text) else None
    component = cx.devices.component_of(arg.value)
    if component is not None and component.proof is not None and _holds_accelerator(cx, component):
        return cx.code(arg.value)
    return None


def _holds_accelerator(cx: Context, component: Component) -> bool:
    return any(
        _names_accelerator(text)
        for origin in component.origins
        if origin.kind == "literal" and (text := cx.string(origin.node)) is not None
    )


def _names_accelerator(text: str) -> bool:
    return device_text(text) or text.split(":")[0] == "neuron"
