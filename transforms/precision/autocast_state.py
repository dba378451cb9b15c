"""TN201: the functions that ask for the state of autocast, or set it, and mean CUDA."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Safety
from transforms.engine.transform import Transform
from transforms.precision.autocast import AUTOCAST
from transforms.tables.amp import AUTOCAST_STATE


class AutocastState(Transform):
    """Rewrites torch.get_autocast_gpu_dtype and its neighbours."""

    rules = (AUTOCAST,)
    triggers = (b"autocast_gpu_dtype", b"autocast_enabled")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of the functions."""
        for old, (new, following) in AUTOCAST_STATE.items():
            spelling = old.rpartition(".")[2]
            for name in cx.index.names.get(spelling, []):
                above = cx.parent(name)
                node = above if isinstance(above, cst.Attribute) and above.attr is name else name
                origin = cx.origin(node)
                if old not in origin.names or isinstance(cx.parent(node), (cst.ImportAlias, cst.ImportFrom)):
                    continue
                _state(node, old, new, following, cx)


def _state(node: cst.CSTNode, old: str, new: str, following: int, cx: Context) -> None:
    call = cx.parent(node)
    if not isinstance(call, cst.Call) or call.func is not node:
        if old != new and isinstance(node, cst.Attribute):
            cx.report(node, f"{old} asks for CUDA: {new} takes the device", Safety.MANUAL, severity=WARNING)
        return
    if unpacks(call) or len(call.args) > following:
        return
    changes, requests = cx.rename(node, old, new)
    arguments = cx.arguments(call).prepend(cx.literal("neuron", call))
    fix = cx.fix("the state of autocast on neuron", *changes, arguments, requests=requests)
    cx.report(node, f"{old} without a device means CUDA", Safety.REVIEW, fix=fix)
