"""TN202: a scaler that a module of the repository hands on, called without its device."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Safety
from transforms.engine.transform import Transform
from transforms.flow.repository import CLASSES
from transforms.precision.grad_scaler import GRAD_SCALER


class ScalerElsewhere(Transform):
    """Warns of scalers whose class comes from the repository's own modules, which define none of that name."""

    rules = (GRAD_SCALER,)
    triggers = (b"GradScaler",)
    nodes = (cst.Module,)
    needs = "graph"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every call of a class of that name."""
        aliases = [a for a in cx.index.nodes(cst.ImportAlias) if a.asname is not None]
        renamed = [a.asname.name.value for a in aliases if a.asname is not None and isinstance(a.asname.name, cst.Name)]
        for spelled in sorted({*CLASSES, *renamed}):
            for name in cx.index.names.get(spelled, []):
                above = cx.parent(name)
                node = above if isinstance(above, cst.Attribute) and above.attr is name else name
                call = cx.parent(node)
                if not isinstance(call, cst.Call) or call.func is not node or unpacks(call):
                    continue
                origin = cx.origin(node).name
                module, _, kind = origin.rpartition(".")
                own = module.startswith(".") or module.split(".")[0] in cx.facts.modules
                if kind not in CLASSES or not own or kind in cx.facts.classes:
                    continue
                device = cx.argument(call, "device", 0)
                if device is not None and (device.keyword is not None or not _number(device.value)):
                    continue
                message = f'{kind} of {module}: without device="neuron" that of torch means CUDA, and is switched off'
                cx.report(node, message, Safety.MANUAL, severity=WARNING)


def _number(node: cst.CSTNode) -> bool:
    """Whether an argument is a scale, the first parameter of the scaler of torch.cuda.amp."""
    if isinstance(node, cst.BinaryOperation):
        return _number(node.left) and _number(node.right)
    return isinstance(node, (cst.Integer, cst.Float))
