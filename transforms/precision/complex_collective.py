"""TN209: collectives on complex tensors."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.amp import is_constant
from transforms.flow.dtypes import dtype_chain
from transforms.tables.collectives import COLLECTIVES, IN_PLACE, LINEAR
from transforms.tables.dtypes import COMPLEX_MAKERS, LIKE_MAKERS, TENSOR_MAKERS

COMPLEX_COLLECTIVE = Rule(
    code="TN209",
    name="complex-collective",
    summary="A collective on a complex tensor: it takes the real view of the same memory",
    best=Safety.REVIEW,
    argument=(
        "`torch.view_as_real` shares the memory of the tensor, and sums, means and copies act on real and imaginary "
        "parts alone. That the tensor is contiguous and not lazily conjugated can't be proved."
    ),
    source="Public tests of TorchNeuron: complex all_reduce and complex DDP parameters fail; torch 2.13: view_as_real",
    why="The neuron backend has no complex type for collectives.",
    silent=(
        "Tensors that nothing in the file shows to be complex, real views and parts of complex ones, and "
        "collectives of other libraries."
    ),
    examples=(
        (
            "import torch\nimport torch.distributed as dist\n\nz = torch.fft.fft(torch.ones(4))\ndist.all_reduce(z)\n",
            "import torch\nimport torch.distributed as dist\n\n"
            "z = torch.fft.fft(torch.ones(4))\ndist.all_reduce(torch.view_as_real(z))\n",
        ),
    ),
)
_FAILS = "complex tensors fail in collectives on neuron"
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.MatrixMultiply, cst.Power)
_KEEPS = frozenset(
    ["add", "clone", "conj", "contiguous", "cuda", "detach", "mul", "reshape", "squeeze", "to", "unsqueeze", "view"]
)
"""Methods whose result is complex when their receiver is."""


class ComplexCollective(Transform):
    """Gives collectives the real view of complex tensors."""

    rules = (COMPLEX_COLLECTIVE,)
    triggers = (b"torch.distributed", b"import distributed")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every call of a collective in the file."""
        for use in cx.uses.under("torch.distributed"):
            call = cx.parent(use.node)
            if isinstance(call, cst.Call) and call.func is use.node:
                self._call(call, use.origin.name, cx)

    def _call(self, node: cst.Call, name: str, cx: Context) -> None:
        kind = name.rpartition(".")[2]
        if kind not in COLLECTIVES:
            return
        arg = cx.argument(node, "tensor", COLLECTIVES[kind])
        if arg is None or not complex_value(cx, arg.value):
            return
        in_place = name == f"torch.distributed.{kind}" and kind in IN_PLACE and isinstance(arg.value, cst.Name)
        if in_place and _linear(cx, node, kind) and not _conjugated(cx, arg.value):
            text, requests = cx.spell("torch.view_as_real", arg)
            viewed = cx.replace(arg.value, f"{text}({cx.code(arg.value)})")
            fix = cx.fix("the collective takes the real view", viewed, requests=requests)
            cx.report(node.func, f"{_FAILS}: their real view works", Safety.REVIEW, fix=fix)
            return
        message = f"{_FAILS}: send torch.view_as_real of them, and take torch.view_as_complex of what arrives"
        cx.report(node.func, message, Safety.MANUAL)


def complex_value(cx: Context, node: cst.CSTNode | None, hops: int = 0) -> bool:
    """Whether an expression surely is a complex tensor."""
    if node is None or hops > 5:
        return False
    if isinstance(node, cst.Name):
        found = cx.names.bindings(node.value, cx.names.scope(node))
        bindings = [b for b in found if b.kind != "augmented"]  # z += 1 leaves the type
        return bool(bindings) and all(b.kind == "assign" and complex_value(cx, b.value, hops + 1) for b in bindings)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ARITHMETIC):
        return complex_value(cx, node.left, hops + 1) or complex_value(cx, node.right, hops + 1)
    if isinstance(node, cst.Subscript):
        return complex_value(cx, node.value, hops + 1)
    if isinstance(node, cst.Attribute) and node.attr.value in ("T", "mT", "H", "mH", "data"):
        return complex_value(cx, node.value, hops + 1)
    if not isinstance(node, cst.Call):
        return False
    names = cx.origin(node.func).names
    if names:
        if names == {"torch.stft"}:
            wanted = cx.argument(node, "return_complex")
            return wanted is not None and is_constant(wanted.value, "True")
        if names <= COMPLEX_MAKERS:
            return True
        short = {n.removeprefix("torch.") for n in names}
        dtype = cx.argument(node, "dtype")
        if short <= TENSOR_MAKERS | LIKE_MAKERS and dtype is not None:
            return dtype_chain(cx, dtype.value) == "complex"
        return short <= LIKE_MAKERS and bool(node.args) and complex_value(cx, node.args[0].value, hops + 1)
    if isinstance(node.func, cst.Attribute):
        dtypes = {d for a in node.args if (d := dtype_chain(cx, a.value))}
        if dtypes:
            return dtypes == {"complex"}
        return node.func.attr.value in _KEEPS and complex_value(cx, node.func.value, hops + 1)
    return False


def _conjugated(cx: Context, node: cst.CSTNode | None) -> bool:
    """Whether a value is, or a variable may be, a lazy conjugate, of which torch gives no real view."""
    if isinstance(node, cst.Name):
        return any(_conjugated(cx, b.value) for b in cx.names.bindings(node.value, cx.names.scope(node)))
    if isinstance(node, cst.Call):
        method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        return method in ("conj", "adjoint") or cx.origin(node.func).name == "torch.conj"
    return isinstance(node, cst.Attribute) and node.attr.value in ("H", "mH")


def _linear(cx: Context, call: cst.Call, kind: str) -> bool:
    """Whether the collective acts on real and imaginary parts alone: copies always, reductions by sum or mean."""
    op = cx.argument(call, "op", IN_PLACE[kind])
    return op is None or cx.origin(op.value).name in LINEAR
