"""TN406: DataParallel, one process for several devices."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.distributed import DATA_PARALLEL, DDP

DATA_PARALLEL_RULE = Rule(
    code="TN406",
    name="data-parallel",
    summary="`nn.DataParallel` has to become DistributedDataParallel",
    best=Safety.MANUAL,
    argument="It never edits: the launch, the sampler and the batch size change with the wrapper.",
    source=(
        "torch 2.13 DataParallel (scatter, replicate and gather are CUDA kernels); TorchNeuron: one device per process"
    ),
    why="A TorchNeuron process owns one device, and DataParallel's scatter and gather exist for CUDA only.",
    silent=(
        "It is a warning where the same function wraps by DistributedDataParallel in another branch. Type tests "
        "such as `isinstance(model, nn.DataParallel)`, which are false and harmless."
    ),
)


class DataParallel(Transform):
    """Reports the wrapper where it is made."""

    rules = (DATA_PARALLEL_RULE,)
    triggers = (b"DataParallel", b"data_parallel")
    nodes = (cst.Name, cst.Attribute)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one name."""
        last = node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")
        above = cx.parent(node)
        if last in ("DataParallel", "data_parallel") or isinstance(above, cst.Call):
            if not (cx.origin(node).names & DATA_PARALLEL) or self._part(node, above, cx):
                return
            called = isinstance(above, cst.Call) and above.func is node
            if not called and cx.is_type(node):
                if isinstance(cx.parent(above) if above is not None else None, cst.ClassDef):
                    cx.report(node, "a subclass of DataParallel works on CUDA only", Safety.MANUAL, severity=WARNING)
                return
            message = (
                "DataParallel drives several CUDA devices from one process: use DistributedDataParallel under torchrun"
            )
            severity = WARNING if _single(above, cx) or _beside_ddp(node, cx) else ERROR
            cx.report(node, message, Safety.MANUAL, severity=severity)

    def _part(self, node: cst.CSTNode, above: cst.CSTNode | None, cx: Context) -> bool:
        """Whether the node is a piece of a longer chain, of an import or of an assignment target."""
        if isinstance(above, cst.Attribute) and (above.attr is node or cx.origin(above).names & DATA_PARALLEL):
            return True
        return isinstance(above, (cst.ImportAlias, cst.AsName, cst.ImportFrom, cst.AssignTarget)) or any(
            isinstance(a, (cst.Import, cst.ImportFrom)) for a in cx.index.ancestors(node)
        )


def _single(call: cst.CSTNode | None, cx: Context) -> bool:
    """Whether the wrapper is told to use one device or none, so that it does nothing."""
    if not isinstance(call, cst.Call):
        return False
    ids = cx.argument(call, "device_ids", 1)
    return ids is not None and isinstance(ids.value, (cst.List, cst.Tuple)) and len(ids.value.elements) <= 1


def _beside_ddp(node: cst.CSTNode, cx: Context) -> bool:
    """Whether another branch of the same function wraps by DistributedDataParallel: then torchrun takes that one."""
    function = cx.index.enclosing(node, cst.FunctionDef)
    if cx.index.enclosing(node, cst.If, cst.IfExp) is None:
        return False
    for call in cx.index.nodes(cst.Call):
        if cx.origin(call.func).names & DDP and cx.index.enclosing(call, cst.FunctionDef) is function:
            return True
    return False
