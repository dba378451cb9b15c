"""TN208: how exactly CUDA multiplies float32."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.knobs import drop_assignment, drop_setattr, inside_dropped
from transforms.tables.cuda_backends import TF32

TF32_SWITCH = Rule(
    code="TN208",
    name="tf32",
    summary="Switches for TF32 and for reduced precision in CUDA's matrix products",
    best=Safety.SAFE,
    argument=(
        "The flags are read by CUDA's libraries alone; the Neuron compiler casts nothing by itself. Only statements "
        "whose right "
        "side does nothing else are taken out."
    ),
    source="TorchNeuron best practices 2.33: auto_cast is none by default; torch 2.13",
    why="There is no TF32 on Trainium: what should be faster is made bfloat16 by autocast.",
    silent=(
        "`torch.set_float32_matmul_precision` and `torch.backends.fp32_precision`, which other devices follow too; the "
        "switches of the CPU's libraries."
    ),
    examples=(
        (
            "import torch\n\ntorch.backends.cuda.matmul.allow_tf32 = True\nx = 1\n",
            "import torch\n\nx = 1\n",
        ),
    ),
)


class Tf32(Transform):
    """Takes the switches out."""

    rules = (TF32_SWITCH,)
    triggers = (b"backends",)
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of a switch in a file."""
        for use in cx.uses.under("torch.backends.cuda.matmul", "torch.backends.cudnn"):
            if use.name in TF32:
                if use.aliased or drop_assignment(cx, use, "there is no TF32") or inside_dropped(cx, use):
                    continue
                cx.report(use.node, f"{use.name} says nothing on Trainium", Safety.MANUAL, severity=WARNING)
            elif use.name == "torch.backends.cuda.matmul" and not drop_setattr(cx, use, "there is no TF32"):
                message = "settings of CUDA's matrix products, which nothing on Trainium follows"
                cx.report(use.node, message, Safety.MANUAL, severity=WARNING)
