"""TN201: mixed precision of apex, a package of CUDA kernels."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Safety
from transforms.engine.transform import Transform
from transforms.flow.amp import root_of
from transforms.precision.autocast import AUTOCAST


class ApexAmp(Transform):
    """Reports calls into apex.amp and apex.fp16_utils."""

    rules = (AUTOCAST,)
    triggers = (b"from apex", b"import apex")
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        origin = cx.origin(node.func)
        if any(n.startswith(("apex.amp.", "apex.fp16_utils.")) for n in origin.names):
            message = (
                "apex is not built for Trainium: "
                'torch.autocast("neuron", dtype=torch.bfloat16) without a scaler does the same'
            )
            severity = WARNING if origin.ambiguous or _optional(node.func, cx) else None
            cx.report(node.func, message, Safety.MANUAL, severity=severity)


def _optional(node: cst.CSTNode, cx: Context) -> bool:
    """Whether the import that a name comes from may fail without harm."""
    root = root_of(node)
    if root is None:
        return False
    bindings = cx.names.bindings(root.value, cx.names.scope(root))
    return any(cx.index.enclosing(b.node, cst.Try, cst.TryStar) is not None for b in bindings)
