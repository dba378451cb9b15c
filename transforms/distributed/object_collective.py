"""TN408: collectives of pickled objects."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.groups import HOST, group_of
from transforms.tables.distributed import OBJECT_COLLECTIVES

OBJECT_COLLECTIVE = Rule(
    code="TN408",
    name="object-collective",
    summary="Collectives of Python objects run, but each new size is compiled anew",
    best=Safety.MANUAL,
    argument="It never edits: whether the payload can be padded or sent over gloo is the program's decision.",
    source="sources of TorchNeuron's process group; accelerate 1.15, which pads such payloads to a power of two",
    why="The pickled bytes travel as a tensor on the device, whose length is a new shape nearly every time.",
    silent="Groups on gloo.",
)
_PREFIXES = ("torch.distributed.", "torch.distributed.distributed_c10d.")


class ObjectCollective(Transform):
    """Reports the calls."""

    rules = (OBJECT_COLLECTIVE,)
    triggers = (b"_object",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        module, _, name = cx.origin(node.func).name.rpartition(".")
        if name not in OBJECT_COLLECTIVES or f"{module}." not in _PREFIXES:
            return
        if group_of(cx, node, OBJECT_COLLECTIVES[name]) == HOST:
            return
        message = f"{name} compiles anew for each payload size: pad the payload, or use a group on gloo"
        cx.report(node.func, message, Safety.MANUAL, severity=WARNING)
