"""TN204: float64 on the device."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.dtypes import dtype_chain
from transforms.flow.placed import given, is_device, on_device
from transforms.tables.dtypes import LIKE_MAKERS, TENSOR_MAKERS

FLOAT64 = Rule(
    code="TN204",
    name="float64",
    summary="float64 on the device, which computes in float32",
    best=Safety.MANUAL,
    argument="It never edits: whether float32 is enough, or the step belongs on the host, is its author's to say.",
    source="TorchNeuron documentation 2.33, data types: float64 runs as float32, results are cast back under compile",
    why="The result has the type float64 and the precision of float32, without a word.",
    silent=(
        "Tensors that nothing in the file shows to be on the device, or that leave it first; numpy on the host; "
        "a dtype only compared; own methods called double()."
    ),
)
_MESSAGE = "float64 is computed as float32 on Trainium: use float32, or do this step on the host"


class Float64(Transform):
    """Reports float64 where a device tensor gets it."""

    rules = (FLOAT64,)
    triggers = (b"float64", b".double", b"complex128", b"cdouble")
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        names = cx.origin(node.func).names
        if names:
            self._function(node, names, cx)
        elif isinstance(node.func, cst.Attribute):
            self._method(node, node.func, cx)

    def _function(self, node: cst.Call, names: frozenset[str], cx: Context) -> None:
        short = {n.removeprefix("torch.") for n in names}
        dtype = cx.argument(node, "dtype")
        if names == {"torch.set_default_dtype"} and node.args and _wide(cx, node.args[0].value):
            message = f"float64 becomes the default type: {_MESSAGE}"
            cx.report(node.args[0].value, message, Safety.MANUAL, severity=WARNING)
        elif dtype is not None and _wide(cx, dtype.value) and all(n.startswith("torch.") for n in names):
            made = short <= TENSOR_MAKERS | LIKE_MAKERS
            device = cx.argument(node, "device")
            shown: cst.CSTNode | None = on_device(cx, node) or _moved(cx, node)
            if not made and device is not None:  # a module
                shown = device.value if given(cx, device.value) else None
            if shown is not None:
                self._report(dtype.value, shown, cx)

    def _method(self, node: cst.Call, func: cst.Attribute, cx: Context) -> None:
        name = func.attr.value
        dtype = cx.argument(node, "dtype")
        if name not in ("to", "type") and dtype is not None and _wide(cx, dtype.value):
            shown = None if cx.argument(node, "device") is not None else on_device(cx, func.value)
            if shown is not None:
                self._report(dtype.value, shown, cx)
        elif name == "double" and not node.args:
            shown = on_device(cx, func.value) or _moved(cx, node)
            if shown is not None:
                self._report(func.attr, shown, cx)
        elif name in ("to", "type"):
            wide = next((a.value for a in node.args if _wide(cx, a.value)), None)
            if wide is None:
                return
            device = next((a.value for a in node.args if a.value is not wide and _names_device(cx, a)), None)
            if device is not None:
                if given(cx, device):
                    self._report(wide, device, cx)
                return
            shown = on_device(cx, func.value) or _moved(cx, node)
            if shown is not None:
                self._report(wide, shown, cx)

    def _report(self, site: cst.CSTNode, shown: cst.CSTNode, cx: Context) -> None:
        cx.report(site, _MESSAGE, Safety.MANUAL, severity=WARNING, evidence=[(shown, "the tensor is on the device")])


def _wide(cx: Context, node: cst.CSTNode) -> bool:
    return dtype_chain(cx, node) == "float64" or (
        dtype_chain(cx, node) == "complex" and cx.origin(node).name in ("torch.complex128", "torch.cdouble")
    )


def _names_device(cx: Context, arg: cst.Arg) -> bool:
    if arg.keyword is not None:
        return arg.keyword.value == "device"
    return is_device(cx, arg.value)


def _moved(cx: Context, call: cst.Call) -> cst.CSTNode | None:
    """The step of the same chain that moves the value on afterwards: `.double().to(device)`."""
    here: cst.CSTNode = call
    while isinstance(method := cx.parent(here), cst.Attribute) and method.value is here:
        after = cx.parent(method)
        if not isinstance(after, cst.Call) or after.func is not method:
            return None
        if method.attr.value == "float" or any(dtype_chain(cx, a.value) for a in after.args):
            return None
        if method.attr.value == "cuda":
            return method.attr
        if method.attr.value == "to" and after.args and _names_device(cx, after.args[0]):
            return after.args[0].value if given(cx, after.args[0].value) else None
        here = after
    return None
