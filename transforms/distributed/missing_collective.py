"""TN416: functions of torch.distributed that the neuron backend does not serve."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.groups import HOST, group_of
from transforms.tables.distributed import MISSING

MISSING_COLLECTIVE = Rule(
    code="TN416",
    name="missing-collective",
    summary="Functions of torch.distributed that the neuron backend does not serve",
    best=Safety.MANUAL,
    argument="It never edits.",
    source="sources of TorchNeuron's process group; AWS FAQ on TorchNeuron (RPC, symmetric memory: being evaluated)",
    why="They raise NotImplementedError, or rest on CUDA's peer memory.",
    silent="Groups on gloo.",
)


class MissingCollective(Transform):
    """Reports the calls."""

    rules = (MISSING_COLLECTIVE,)
    triggers = (b"monitored_barrier", b"_coalesc", b"init_rpc", b"_symmetric_memory")
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        name = cx.origin(node.func).name
        if name in MISSING and group_of(cx, node, 0) != HOST:
            severity, message = MISSING[name]
            cx.report(node.func, message, Safety.MANUAL, severity=severity)
