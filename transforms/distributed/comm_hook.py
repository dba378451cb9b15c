"""TN415: communication hooks of DDP and FSDP."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform

COMM_HOOK = Rule(
    code="TN415",
    name="comm-hook",
    summary="Communication hooks of DDP do not run on neuron",
    best=Safety.MANUAL,
    argument="It never edits: without the hook gradients are reduced in another precision.",
    source="sources of TorchNeuron: its tests expect the hooks to fail (no stream from a pool)",
    why=(
        "Hooks take streams from a pool, which the device does not offer. bfloat16 parameters halve the traffic "
        "instead."
    ),
    silent="Own methods of that name; hooks of autograd and of modules; arguments that are None.",
)
_METHODS = frozenset(("register_comm_hook", "_register_builtin_comm_hook"))
_ARGUMENTS = {
    "lightning": "ddp_comm_hook",
    "pytorch_lightning": "ddp_comm_hook",
    "accelerate": "comm_hook",
}
"""Packages that register the hook given by an argument (Lightning 2.5 DDPStrategy, accelerate 1.15
DistributedDataParallelKwargs)."""
_MESSAGE = "communication hooks do not run on neuron: leave it out, or keep parameters in bfloat16 to halve the traffic"


class CommHook(Transform):
    """Reports hooks where they are registered."""

    rules = (COMM_HOOK,)
    triggers = (b"comm_hook",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        for name in sorted(cx.origin(node.func).names):
            keyword = _ARGUMENTS.get(name.split(".")[0])
            arg = cx.argument(node, keyword) if keyword is not None else None
            if arg is not None and cx.code(arg.value).rpartition(".")[2] not in ("None", "NO"):
                cx.report(arg, _MESSAGE, Safety.MANUAL)
                return
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _METHODS:
            return
        if cx.origin(node.func).names or cx.devices.places.methods(node.func.attr.value):
            return
        cx.report(node.func.attr, _MESSAGE, Safety.MANUAL)
