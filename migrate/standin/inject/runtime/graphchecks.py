"""Checks on a graph that is about to be compiled, with the limits that the AWS TorchNeuron documents name."""

from __future__ import annotations

import re
from typing import Any

import torch

from . import records

SORT_LIMIT = 16384  # torch.compile guide: torch.sort over more elements, topk with k from here on
aten = torch.ops.aten
DATA_DEPENDENT = (aten._local_scalar_dense, aten.nonzero, aten._unique2, aten.unique_dim, aten.masked_select)


def is_fullgraph() -> bool:
    """Whether the region that Dynamo compiles right now was asked for with fullgraph=True."""
    from torch._dynamo.symbolic_convert import InstructionTranslator

    try:
        translator = InstructionTranslator.current_tx()
    except AttributeError:
        return False
    return bool(getattr(translator, "one_graph", False) or getattr(translator, "error_on_graph_break", False))


def input_names(gm: torch.fx.GraphModule) -> list[str]:
    """What the user calls each input of a Dynamo graph: `x`, `self.weight`."""
    names = []
    for node in gm.graph.nodes:
        if node.op != "placeholder":
            continue
        source = getattr(node.meta.get("grapharg"), "source", None)
        name = getattr(source, "name", None)
        text = name() if callable(name) else name
        names.append(_readable(text) if text else node.name)
    return names


def _readable(source: str) -> str:
    text = re.sub(r"L\['(\w+)'\]", r"\1", source)
    text = re.sub(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", r".\1", text)
    return re.sub(r"G\['(\w+)'\]", r"\1", text)


def check_dynamo_graph(gm: torch.fx.GraphModule) -> None:
    """In-place collectives. Dynamo swaps them for functional ones and inlines those; the frame of the swap stays
    in the stack trace of the node."""
    seen = set()
    for node in gm.graph.nodes:
        trace = node.meta.get("stack_trace") or ""
        for part in trace.split("File ")[1:]:
            head = part.split("\n")[0]
            if "_functional_collectives.py" in head and "_inplace" in head:
                name = head.rsplit(" in ", 1)[1].replace("_inplace", "")
                place = _place(node)
                if (name, place) not in seen:
                    seen.add((name, place))
                    message = f"in-place {name} in a compiled region: use the functional collective"
                    records.add("TN450", "warning", message, place)


def check_graph(gm: torch.fx.GraphModule, *, fullgraph: bool) -> None:
    """Limits of one AOT graph; each is reported once per line of user code."""
    # Under fullgraph=True a forced break is an error instead of a slow path (torch.compile guide).
    forced = "error" if fullgraph else "warning"
    seen: set[tuple[str, str, records.Place]] = set()

    def once(code: str, severity: str, message: str, node: torch.fx.Node) -> None:
        key = (code, message, _place(node))
        if key not in seen:
            seen.add(key)
            records.add(code, severity, message, key[2])

    for node in gm.graph.nodes:
        _check_values(node, once)
        if node.op != "call_function":
            continue
        packet = getattr(node.target, "overloadpacket", None)
        name = str(node.target)
        if packet in (aten.sort, aten.argsort):
            size = _sorted_size(node)
            if size > SORT_LIMIT:
                once("TN355", forced, f"sort over {size} elements (limit {SORT_LIMIT})", node)
        elif packet is aten.topk and isinstance(node.args[1], int) and node.args[1] >= SORT_LIMIT:
            once("TN356", forced, f"topk with k={node.args[1]} (limit {SORT_LIMIT - 1})", node)
        elif "grouped_mm" in name:
            once("TN357", forced, "grouped_mm always breaks the graph", node)
        elif packet in DATA_DEPENDENT:
            once("TN354", forced, f"{name}: the shape of its result depends on the data", node)


def _check_values(node: torch.fx.Node, once: Any) -> None:
    value = node.meta.get("val")
    for v in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(v, torch.SymInt):
            once("TN363", "error", "a dynamic size reaches the compiler, which needs static shapes", node)
        elif isinstance(v, torch.Tensor):
            if any(isinstance(s, torch.SymInt) for s in v.shape):
                once("TN363", "error", "a dynamic shape reaches the compiler, which needs static shapes", node)
            if v.dtype == torch.float64:
                once("TN204", "warning", "a float64 value in a compiled graph is computed as float32", node)


def _sorted_size(node: torch.fx.Node) -> int:
    source = node.args[0].meta.get("val") if node.args and isinstance(node.args[0], torch.fx.Node) else None
    if not isinstance(source, torch.Tensor) or not source.dim():
        return 0
    dim: Any = -1
    for value, argument in zip(node.args, node.target._schema.arguments):  # type: ignore[union-attr]
        if argument.name == "dim":
            dim = value
    dim = node.kwargs.get("dim", dim)
    size = source.shape[dim]
    return size if isinstance(size, int) else 0


def _place(node: torch.fx.Node) -> records.Place:
    """File and line of the innermost frame of user code in the node's stack trace."""
    found = ("", 0)
    for part in (node.meta.get("stack_trace") or "").split('File "')[1:]:
        path, rest = part.split('"', 1)
        if records.is_user_file(path):
            found = (path, int(rest.split("line ")[1].split(",")[0]))
    return found if found[0] else records.user_place()
