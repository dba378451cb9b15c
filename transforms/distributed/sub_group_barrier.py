"""TN407: barriers."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.effects import side_effects
from transforms.flow.groups import DEFAULT, DEVICE, HOST, group_of, portable

SUB_GROUP_BARRIER = Rule(
    code="TN407",
    name="sub-group-barrier",
    summary="A barrier of a part of the ranks; the argument `device_ids` of a barrier is dropped",
    best=Safety.SAFE,
    argument="device_ids tells NCCL which devices run the barrier; a process that owns one device has no choice.",
    source="sources of TorchNeuron's process group (barrier: default group only); torch 2.13 signature of barrier",
    why="The neuron backend implements barrier for the default group only and raises NotImplementedError for others.",
    silent="Barriers of the default group and of groups on gloo.",
    examples=(
        (
            "import torch.distributed as dist\n\n\ndef wait(rank):\n    dist.barrier(device_ids=[rank])\n",
            "import torch.distributed as dist\n\n\ndef wait(rank):\n    dist.barrier()\n",
        ),
    ),
)
_NAMES = frozenset(("torch.distributed.barrier", "torch.distributed.distributed_c10d.barrier"))


class SubGroupBarrier(Transform):
    """Looks at barriers."""

    rules = (SUB_GROUP_BARRIER,)
    triggers = (b"barrier",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        origin = cx.origin(node.func)
        if not origin.names & _NAMES:
            return
        self._device_ids(node, Safety.REVIEW if origin.ambiguous else Safety.SAFE, cx)
        kind = group_of(cx, node, 0)
        if kind in (DEFAULT, HOST):
            return
        group = cx.argument(node, "group", 0)
        site = group if group is not None else node.func
        if kind == DEVICE:
            message = "the neuron backend has no barrier for sub-groups: use a small all_reduce, or a group on gloo"
            cx.report(site, message, Safety.MANUAL, severity=ERROR)
        else:
            message = "the neuron backend has a barrier for the default group only: is this another one?"
            cx.report(site, message, Safety.MANUAL, severity=WARNING)

    def _device_ids(self, call: cst.Call, best: Safety, cx: Context) -> None:
        arg = cx.argument(call, "device_ids", 2)
        if arg is None or (isinstance(arg.value, cst.Name) and arg.value.value == "None") or portable(cx):
            return
        if arg.keyword is None and call.args[-1] is not arg and call.args[-1].keyword is None:
            change = cx.arguments(call).value(arg, "None")
        else:
            change = cx.arguments(call).drop(arg)
        fix = cx.fix("the barrier runs on the device of its process", change)
        lost = side_effects(cx, arg.value)
        level = best.at_most(Safety.REVIEW) if lost else best
        cx.report(arg, "device_ids is dropped: a process owns one device", level, fix=fix, evidence=lost)
