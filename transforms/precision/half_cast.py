"""TN207: casts to float16."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.dtypes import dtype_chain

HALF_CAST = Rule(
    code="TN207",
    name="half-cast",
    summary="A cast to float16, where bfloat16 is what Trainium is built for",
    best=Safety.NOTE,
    argument="It never edits: float16 works, and another type changes numerics.",
    source="TorchNeuron documentation 2.33, data types: bfloat16 is the training baseline",
    why="bfloat16 has the range of float32, so nothing overflows and no loss scaling is needed.",
    silent="Objects of classes that define their own `half()`, numpy, and code that casts to a type it was given.",
)
_MESSAGE = "float16 works on Trainium; bfloat16 is the type that training is tuned for, and needs no loss scaling"


class HalfCast(Transform):
    """Notes casts to float16."""

    rules = (HALF_CAST,)
    triggers = (b".half", b".float16")
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        names = cx.origin(node.func).names
        if names:
            if names <= {"torch.set_default_dtype"} and node.args and dtype_chain(cx, node.args[0].value) == "float16":
                cx.report(node.args[0].value, _MESSAGE, Safety.NOTE)
            return
        if not isinstance(node.func, cst.Attribute):
            return
        method = node.func.attr
        if method.value == "half" and not node.args and not cx.own_method("half"):
            cx.report(method, _MESSAGE, Safety.NOTE)
        elif method.value in ("to", "type"):
            for arg in node.args:
                if dtype_chain(cx, arg.value) == "float16":
                    cx.report(arg.value, _MESSAGE, Safety.NOTE)
