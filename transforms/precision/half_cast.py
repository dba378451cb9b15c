"""TN207: casts to float16."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.autocasts import Autocasts
from transforms.flow.dtypes import dtype_chain
from transforms.tables.amp import FUNCTIONS

HALF_CAST = Rule(
    code="TN207",
    name="half-cast",
    summary="A cast to float16, where bfloat16 is what Trainium is built for",
    best=Safety.MANUAL,
    argument="It never edits: float16 works, and another type changes numerics.",
    source="TorchNeuron documentation 2.33, data types: bfloat16 is the training baseline",
    why=(
        "bfloat16 has the range of float32, so nothing overflows and no loss scaling is needed. Where an autocast "
        "without a dtype becomes bfloat16, what it gives no longer has the type that float16 beside it was written for."
    ),
    silent=(
        "Objects of classes that define their own `half()`, numpy, types that are compared with or listed in a table, "
        "and code that casts to a type it was given."
    ),
)
_MIXED = "autocast of this file becomes bfloat16: what it gives no longer matches float16 here"
_MESSAGE = "float16 works on Trainium; bfloat16 is the type that training is tuned for, and needs no loss scaling"


class HalfCast(Transform):
    """Notes casts to float16, and warns of them beside an autocast that is to become bfloat16."""

    rules = (HALF_CAST,)
    triggers = (b".half", b".float16")
    nodes = (cst.Call, cst.Comparison)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call or comparison."""
        if isinstance(node, cst.Comparison):
            for side in (node.left, *(c.comparator for c in node.comparisons)):
                if dtype_chain(cx, side) == "float16":
                    self._beside(side, cx)
            return
        assert isinstance(node, cst.Call)
        names = cx.origin(node.func).names
        if names:
            if names <= {"torch.set_default_dtype"} and node.args and dtype_chain(cx, node.args[0].value) == "float16":
                cx.report(node.args[0].value, _MESSAGE, Safety.NOTE)
            elif not names & FUNCTIONS.keys():
                for arg in node.args:
                    named = arg.keyword is not None and arg.keyword.value in ("dtype", "torch_dtype")
                    if named and dtype_chain(cx, arg.value) == "float16":
                        self._beside(arg.value, cx)
            return
        if not isinstance(node.func, cst.Attribute):
            return
        method = node.func.attr
        if method.value == "half" and not node.args and not cx.own_method("half"):
            self._cast(method, cx)
        elif method.value in ("to", "type"):
            for arg in node.args:
                if dtype_chain(cx, arg.value) == "float16":
                    self._cast(arg.value, cx)

    def _cast(self, site: cst.CSTNode, cx: Context) -> None:
        if not self._beside(site, cx):
            cx.report(site, _MESSAGE, Safety.NOTE)

    def _beside(self, site: cst.CSTNode, cx: Context) -> bool:
        """Warn of float16 in a file whose autocast receives bfloat16. False where there is none."""
        changed = next((a for a in cx.shared(Autocasts).active() if a.lacks), None)
        if changed is None:
            return False
        evidence = [(changed.use.node, "autocast without a dtype, float16 on CUDA")]
        cx.report(site, _MIXED, Safety.MANUAL, severity=WARNING, evidence=evidence)
        return True
