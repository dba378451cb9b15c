"""TN116: switches of CUDA's libraries."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.contexts import empty_with
from transforms.flow.knobs import assignment, drop_assignment, drop_call, drop_setattr, inside_dropped
from transforms.flow.uses import Use
from transforms.tables.cuda_backends import CONTEXTS, FAILS, FLAGS, MODULES, READS, SETTERS, TF32

BACKEND_FLAGS = Rule(
    code="TN116",
    name="backend-flags",
    summary="Switches of `torch.backends.cuda` and `torch.backends.cudnn`",
    best=Safety.SAFE,
    argument=(
        "The flags are read by CUDA libraries alone, so nothing on Trainium depends on them; only statements whose "
        "right side "
        "does nothing else are taken out. Calls that also steer attention on the CPU are for review."
    ),
    source=(
        "torch 2.13 on a wheel without CUDA; torch-neuronx sources: attention on neuron always takes its own backend"
    ),
    why="A switch without effect reads as if it had one.",
    silent=(
        "`torch.nn.attention.sdpa_kernel`, `torch.use_deterministic_algorithms`, and the backends of the CPU and "
        "of other accelerators, which are not CUDA's own. A switch whose value is read in the same file stays, "
        "and is reported."
    ),
    examples=(
        (
            "import torch\n\ntorch.backends.cudnn.benchmark = True\nx = 1\n",
            "import torch\n\nx = 1\n",
        ),
    ),
)
_CUDNN_KERNEL = "torch.nn.attention.SDPBackend.CUDNN_ATTENTION"


class BackendFlags(Transform):
    """Takes switches out and reports what reads them."""

    rules = (BACKEND_FLAGS,)
    triggers = (b"backends", b"CUDNN")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of the two modules in a file."""
        for use in cx.uses.under(*MODULES):
            if use.name in FLAGS:
                if not drop_assignment(cx, use, "only CUDA libraries read it"):
                    self._read(use, "only CUDA libraries follow it", cx)
            elif use.name in SETTERS:
                level = Safety.REVIEW if use.name.startswith("torch.backends.cuda") else Safety.SAFE
                severity = ERROR if use.name.startswith(tuple(FAILS)) else WARNING
                drop_call(cx, use, SETTERS[use.name], level, severity)
            elif use.name in CONTEXTS:
                empty_with(cx, use, CONTEXTS[use.name], WARNING)
            elif (read := READS.get(use.name) or READS.get(use.name.rpartition(".")[0])) is not None:
                self._read(use, read, cx)
            elif use.name in MODULES:
                if not drop_setattr(cx, use, "only CUDA libraries read it"):
                    self._read(use, "nothing on Trainium follows its settings", cx)
            elif use.name.startswith(tuple(FAILS)):
                self._read(use, "nothing on Trainium follows its settings", cx)
            elif use.name not in TF32 and assignment(cx, use) is not None:
                drop_assignment(cx, use, "torch has no such switch", Safety.REVIEW)
        for use in cx.uses.of(_CUDNN_KERNEL):
            cx.keep(use.node, "one of the kernels that attention may choose from; neuron has its own")

    def _read(self, use: Use, what: str, cx: Context) -> None:
        if use.aliased or inside_dropped(cx, use):
            return
        severity = ERROR if use.name.startswith(tuple(FAILS)) else WARNING
        cx.report(use.node, f"{use.name}: {what}", Safety.MANUAL, severity=severity)
