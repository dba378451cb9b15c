"""What an argument that names a device is: a text, an index, a `torch.device`, or nothing that can be told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.names import dotted_name

if TYPE_CHECKING:
    from transforms.engine.context import Context

TEXT, NUMBER, DEVICE, NONE, UNKNOWN = "text", "number", "device", "none", "unknown"

_NUMBERS = frozenset(
    [
        "builtins.int",
        "builtins.len",
        "builtins.min",
        "builtins.max",
        "builtins.hash",
        "torch.distributed.get_rank",
        "torch.distributed.get_node_local_rank",
        "torch.distributed.get_world_size",
        "torch.cuda.current_device",
        "torch.cuda.device_count",
        "torch.neuron.current_device",
        "torch.neuron.device_count",
    ]
)
_DEVICES = frozenset({"torch.device", "torch.get_default_device", "torch.accelerator.current_accelerator"})
_KEEPERS = frozenset(
    [
        "self",
        "cls",
        "args",
        "opt",
        "opts",
        "cfg",
        "config",
        "conf",
        "hparams",
        "params",
        "options",
        "flags",
        "FLAGS",
        "settings",
    ]
)
"""Objects whose `.device` may be a text as well; that of a tensor or module is a `torch.device`."""
_HOPS = 6


def kinds(cx: Context, node: cst.CSTNode, hops: int = 0) -> frozenset[str]:
    """All kinds of value that an expression can have."""
    if hops > _HOPS:
        return frozenset({UNKNOWN})
    if isinstance(node, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
        return frozenset({TEXT})
    if isinstance(node, (cst.Integer, cst.UnaryOperation, cst.Comparison)):
        return frozenset({NUMBER})
    if isinstance(node, cst.BinaryOperation):
        return _operation(cx, node, hops)
    if isinstance(node, cst.IfExp):
        return kinds(cx, node.body, hops + 1) | kinds(cx, node.orelse, hops + 1)
    if isinstance(node, cst.BooleanOperation):
        return kinds(cx, node.left, hops + 1) | kinds(cx, node.right, hops + 1)
    if isinstance(node, cst.NamedExpr):
        return kinds(cx, node.value, hops + 1)
    if isinstance(node, cst.Call):
        return _result(cx, node)
    if isinstance(node, cst.Name):
        return frozenset({NONE}) if node.value == "None" else _variable(cx, node, hops)
    if isinstance(node, cst.Attribute):
        return _attribute(cx, node, hops)
    return frozenset({UNKNOWN})


def several_devices(cx: Context, index: cst.CSTNode) -> cst.CSTNode | None:
    """The part of an index that stands for more than one device: the variable of a loop, the smallest or largest of
    several."""
    nodes = [index]
    while nodes:
        node = nodes.pop()
        if isinstance(node, cst.Name):
            if any(b.kind == "for" for b in cx.names.bindings(node.value, cx.names.scope(node))):
                return node
        elif isinstance(node, cst.Call) and cx.origin(node.func).name in ("builtins.min", "builtins.max"):
            return node
        elif isinstance(node, (cst.BaseExpression, cst.Arg)):
            nodes += node.children
    return None


def _operation(cx: Context, node: cst.BinaryOperation, hops: int) -> frozenset[str]:
    sides = kinds(cx, node.left, hops + 1) | kinds(cx, node.right, hops + 1)
    if isinstance(node.operator, cst.Add):
        return frozenset({TEXT}) if TEXT in sides else sides
    if isinstance(node.operator, cst.Modulo) and TEXT in kinds(cx, node.left, hops + 1):
        return frozenset({TEXT})
    return frozenset({NUMBER})


def _result(cx: Context, node: cst.Call) -> frozenset[str]:
    name = cx.origin(node.func).name
    if name in _NUMBERS:
        return frozenset({NUMBER})
    if name in _DEVICES:
        return frozenset({DEVICE})
    if name == "builtins.str":
        return frozenset({TEXT})
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return frozenset({TEXT})
    return frozenset({UNKNOWN})


_ANNOTATIONS = {"int": NUMBER, "str": TEXT, "torch.device": DEVICE}


def _annotated(cx: Context, annotation: cst.Annotation | None) -> frozenset[str]:
    if annotation is None:
        return frozenset()
    names = set(re.findall(r"[\w.]+", cx.code(annotation.annotation)))
    found = {kind for name, kind in _ANNOTATIONS.items() if name in names}
    return frozenset(found | ({NONE} if names & {"None", "Optional"} else set()))


def _variable(cx: Context, node: cst.Name, hops: int) -> frozenset[str]:
    bindings = cx.names.bindings(node.value, cx.names.scope(node))
    found: frozenset[str] = frozenset()
    for binding in bindings:
        above = cx.parent(binding.node)
        if isinstance(above, cst.Param):
            annotated = _annotated(cx, above.annotation)
            default = kinds(cx, binding.value, hops + 1) if binding.value is not None else frozenset()
            found |= annotated or default or {UNKNOWN}
            if not annotated and not default - {NONE}:
                found |= {UNKNOWN}
        elif binding.kind == "assign" and binding.value is not None:
            found |= {UNKNOWN} if binding.value is node else kinds(cx, binding.value, hops + 1)
        elif binding.kind == "for" and isinstance(binding.value, cst.Call):
            ranged = cx.origin(binding.value.func).name == "builtins.range"
            found |= {NUMBER} if ranged else {UNKNOWN}
        elif binding.kind == "annotation":
            found |= _annotated(cx, getattr(above, "annotation", None))
        elif binding.kind == "augmented":
            found |= {NUMBER}
        else:
            found |= {UNKNOWN}
    return found or frozenset({UNKNOWN})


def _attribute(cx: Context, node: cst.Attribute, hops: int) -> frozenset[str]:
    name, receiver = node.attr.value, dotted_name(node.value)
    if name == "index":
        return frozenset({NUMBER})
    if cx.origin(node).names:
        return frozenset({UNKNOWN})
    keeper = receiver.rpartition(".")[2] in _KEEPERS
    if name == "device" and not keeper:
        return frozenset({DEVICE})
    found: frozenset[str] = frozenset()
    for call in cx.devices.options(name) if keeper and receiver not in ("self", "cls") else ():
        found |= _option(cx, call, hops)
    for spelled in cx.index.names.get(name, []):
        target = cx.parent(spelled)
        if not isinstance(target, cst.Attribute) or target.attr is not spelled or dotted_name(target.value) != receiver:
            continue
        holder = cx.parent(target)
        statement = cx.parent(holder) if isinstance(holder, cst.AssignTarget) else None
        if isinstance(statement, cst.Assign):
            found |= kinds(cx, statement.value, hops + 2)
    return found or frozenset({UNKNOWN})


def _option(cx: Context, call: cst.Call, hops: int) -> frozenset[str]:
    """What argparse makes of a command-line option."""
    typed = cx.argument(call, "type")
    default = cx.argument(call, "default")
    given = dotted_name(typed.value) if typed is not None else "str"
    found = {{"int": NUMBER, "str": TEXT, "torch.device": DEVICE}.get(given, UNKNOWN)}
    if default is not None:
        found |= kinds(cx, default.value, hops + 1)
    elif typed is not None and cx.argument(call, "required") is None:
        found.add(NONE)
    return frozenset(found)
