"""TN405: what FullyShardedDataParallel is given."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.distributed import FSDP

FSDP_ARGUMENTS = Rule(
    code="TN405",
    name="fsdp-arguments",
    summary="FSDP (the first version) runs; what is slow or less proven is said",
    best=Safety.MANUAL,
    argument="It never edits: its device arguments become right by the rules for devices.",
    source="torch 2.13 FullyShardedDataParallel; TorchNeuron documentation 2.33: DDP and FSDP2 are the supported forms",
    why="Parameters kept on the host cross the bus in every step, and only fully_shard is documented as supported.",
    silent=(
        "`device_id=torch.cuda.current_device()`, which is right once the call is renamed, and an integer id, "
        "which torch "
        "reads as an index of the accelerator; `CPUOffload(offload_params=False)`; fully_shard; ShardedGradScaler is a "
        "gradient scaler like others (TN202)."
    ),
)


class FsdpArguments(Transform):
    """Looks at FSDP wrappers."""

    rules = (FSDP_ARGUMENTS,)
    triggers = (b"FullyShardedDataParallel", b"torch.distributed.fsdp")
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        if not cx.origin(node.func).names & FSDP:
            return
        offload = cx.argument(node, "cpu_offload", 3)
        if offload is not None and not _is_off(offload.value, cx):
            message = "cpu_offload moves parameters through the host in every step: slow on Trainium"
            cx.report(offload, message, Safety.MANUAL, severity=WARNING)
        if not any(f.rule == FSDP_ARGUMENTS.code and f.safety is Safety.NOTE for f in cx.findings):
            message = "FSDP runs; fully_shard (FSDP2) is the form that TorchNeuron documents as supported"
            cx.report(node.func, message, Safety.NOTE)


def _is_off(value: cst.BaseExpression, cx: Context) -> bool:
    """Whether parameters stay on the device: None, or `CPUOffload(offload_params=False)`, which is its default."""
    if isinstance(value, cst.Call) and cx.origin(value.func).name.endswith(".CPUOffload"):
        params = cx.argument(value, "offload_params", 0)
        return params is None or (isinstance(params.value, cst.Name) and params.value.value == "False")
    return isinstance(value, cst.Name) and value.value == "None"
