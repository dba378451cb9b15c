"""TN414: all-to-all with split sizes."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.names import is_none
from transforms.engine.transform import Transform
from transforms.flow.groups import HOST, group_of

UNEVEN_SPLIT = Rule(
    code="TN414",
    name="uneven-split",
    summary="`all_to_all_single` takes even splits only",
    best=Safety.MANUAL,
    argument="It never edits: the parts have to be padded to one size, and the program must know which rows are real.",
    source="sources of TorchNeuron's process group: only even split sizes are supported",
    why="Sizes that differ by rank are dynamic shapes. Token dispatch of mixtures of experts is the usual case.",
    silent="Calls without sizes, or with one size for all parts (`[n] * world`); groups on gloo.",
)
_SINGLE = frozenset(("torch.distributed.all_to_all_single", "torch.distributed.distributed_c10d.all_to_all_single"))
_FUNCTIONAL = frozenset(
    f"torch.distributed._functional_collectives.all_to_all_single{suffix}" for suffix in ("", "_autograd")
)
_LISTS = frozenset(("torch.distributed.all_to_all", "torch.distributed.distributed_c10d.all_to_all"))


class UnevenSplit(Transform):
    """Reports split sizes that are given."""

    rules = (UNEVEN_SPLIT,)
    triggers = (b"all_to_all",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        names = cx.origin(node.func).names
        if names & _LISTS:
            if group_of(cx, node, 2) != HOST:
                message = "all_to_all needs tensors of one shape on neuron"
                cx.report(node.func, message, Safety.MANUAL, severity=WARNING)
            return
        functional = bool(names & _FUNCTIONAL)
        if not (names & _SINGLE or functional) or group_of(cx, node, 3 if functional else 4) == HOST:
            return
        first = 1 if functional else 2
        for place, name in enumerate(("output_split_sizes", "input_split_sizes")):
            arg = cx.argument(node, name, first + place)
            if arg is not None and not is_none(arg.value) and not self._even(arg.value, cx):
                surely = not functional and not self._may_be_none(arg.value, cx)
                message = f"{name}: the neuron backend takes even splits only; pad the parts to one size"
                cx.report(arg, message, Safety.MANUAL, severity=ERROR if surely else WARNING)

    def _even(self, value: cst.BaseExpression, cx: Context) -> bool:
        """Whether all parts have one size: `[n] * world`, `[4, 4]`."""
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply):
            return any(isinstance(side, cst.List) and len(side.elements) == 1 for side in (value.left, value.right))
        return isinstance(value, cst.List) and len({cx.integer(e.value) or id(e) for e in value.elements}) == 1

    def _may_be_none(self, value: cst.BaseExpression, cx: Context) -> bool:
        """Whether the sizes may be absent after all."""
        if isinstance(value, cst.IfExp):
            return is_none(value.body) or is_none(value.orelse)
        if not isinstance(value, cst.Name):
            return False
        found = cx.names.bindings(value.value, cx.names.scope(value))
        return any(b.kind == "param" or (b.value is not None and is_none(b.value)) for b in found)
