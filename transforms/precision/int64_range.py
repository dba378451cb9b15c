"""TN205: values beyond 32 bits on the device."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.dtypes import dtype_chain
from transforms.flow.placed import on_device
from transforms.tables.dtypes import INTEGER_VALUES, WIDE_INTEGERS

INT64_RANGE = Rule(
    code="TN205",
    name="int64-range",
    summary="A number beyond 32 bits goes into an int64 tensor on the device",
    best=Safety.MANUAL,
    argument="It never edits.",
    source="TorchNeuron documentation 2.33, data types: int64 inputs of a compiled graph become int32",
    why="Hashes, timestamps and random seeds beyond 32 bits lose their upper half in compiled code.",
    silent=(
        "Integers that fit into 32 bits as far as anybody can see, which are nearly all, sizes, and floats; tensors on "
        "the host; seeds of generators."
    ),
)
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1
_VALUE_KEYWORDS = frozenset({"data", "fill_value", "start", "end", "low", "high", "n"})
_SMALL_UNITS = 100


class Int64Range(Transform):
    """Reports wide numbers where a device tensor is made of them."""

    rules = (INT64_RANGE,)
    triggers = (
        *(b"hash(", b"_ns(", b"time.time() *", b"uuid4()", b"from_bytes", b"seed()", b"iinfo", b"maxsize"),
        *(b"2**", b"2 **", b"<<", b"0xfffff", b"0xFFFFF"),
    )
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call that makes a tensor."""
        assert isinstance(node, cst.Call)
        short = {n.removeprefix("torch.") for n in cx.origin(node.func).names}
        if not short or not short <= INTEGER_VALUES.keys() or not node.args:
            return
        first, end = INTEGER_VALUES[sorted(short)[0]]
        dtype = cx.argument(node, "dtype")
        if dtype is not None and dtype_chain(cx, dtype.value) != "int64":
            return
        for place, arg in enumerate(node.args):
            holds = first <= place < end if arg.keyword is None else arg.keyword.value in _VALUE_KEYWORDS
            wide = _wide(cx, arg.value) if holds and not arg.star else None
            if wide is not None:
                shown = on_device(cx, node) or _moved(cx, node)
                if shown is not None:
                    site, why = wide
                    message = f"{why} needs more than 32 bits: in compiled code int64 inputs become int32 on Trainium"
                    evidence = [(shown, "the tensor is on the device")]
                    cx.report(site, message, Safety.MANUAL, severity=WARNING, evidence=evidence)
                return


def _wide(cx: Context, node: cst.CSTNode) -> tuple[cst.CSTNode, str] | None:
    """The part of a value that plausibly needs more than 32 bits, and what it is."""
    if isinstance(node, (cst.List, cst.Tuple)):
        return next((found for e in node.elements if (found := _wide(cx, e.value)) is not None), None)
    if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
        return _wide(cx, node.elt)
    number = _number(cx, node)
    if number is not None:
        return None if _SMALLEST <= number <= _LARGEST else (node, "the number")
    if cx.origin(node).name == "sys.maxsize":
        return node, "sys.maxsize"
    if isinstance(node, cst.Attribute) and node.attr.value == "int" and isinstance(node.value, cst.Call):
        return _wide(cx, node.value)
    if isinstance(node, cst.Attribute) and node.attr.value in ("max", "min") and isinstance(node.value, cst.Call):
        limits = node.value
        of_int64 = limits.args and dtype_chain(cx, limits.args[0].value) == "int64"
        if cx.origin(limits.func).name == "torch.iinfo" and of_int64:
            return node, "the limit of int64"
    if isinstance(node, cst.Call):
        name = cx.origin(node.func).name
        if name in WIDE_INTEGERS:
            return node.func, WIDE_INTEGERS[name]
        if name == "builtins.int" and node.args:
            return _small_units(cx, node.args[0].value) or _wide(cx, node.args[0].value)
    if isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, (cst.Modulo, cst.BitAnd)):
            bound = _number(cx, node.right)
            return _wide(cx, node.left) if bound is not None and bound > _LARGEST + 1 else None
        if isinstance(node.operator, (cst.RightShift, cst.FloorDivide, cst.Divide)):
            return None
        if isinstance(node.left, cst.Float) or isinstance(node.right, cst.Float):
            return None
        return _wide(cx, node.left) or _wide(cx, node.right)
    if isinstance(node, cst.Name):
        bindings = cx.names.bindings(node.value, cx.names.scope(node))
        if len(bindings) == 1 and bindings[0].kind == "assign" and not isinstance(bindings[0].value, cst.Name):
            found = _wide(cx, bindings[0].value) if bindings[0].value is not None else None
            return (node, found[1]) if found is not None else None
    return None


def _small_units(cx: Context, node: cst.CSTNode) -> tuple[cst.CSTNode, str] | None:
    """`time.time() * 1000`: a time of day in milliseconds or less."""
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Multiply):
        return None
    for clock, factor in ((node.left, node.right), (node.right, node.left)):
        times = float(factor.value) if isinstance(factor, cst.Float) else _number(cx, factor)
        asked = isinstance(clock, cst.Call) and cx.origin(clock.func).name == "time.time"
        if asked and times is not None and times >= _SMALL_UNITS:
            return node, "a time in small units"
    return None


def _number(cx: Context, node: cst.CSTNode) -> int | None:
    """The value of a constant: a literal, a power of two, a shift."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        value = _number(cx, node.expression)
        return None if value is None else -value
    if isinstance(node, cst.BinaryOperation):
        left, right = _number(cx, node.left), _number(cx, node.right)
        if left is None or right is None or abs(left) > 2**64:
            return None
        if isinstance(node.operator, cst.Power):
            return int(left**right) if 0 <= right <= 64 else None
        if isinstance(node.operator, cst.LeftShift):
            return left << right if 0 <= right <= 64 else None
        if isinstance(node.operator, cst.Multiply):
            return left * right
        if isinstance(node.operator, cst.Subtract):
            return left - right
        if isinstance(node.operator, cst.Add):
            return left + right
        return None
    return cx.integer(node)


def _moved(cx: Context, call: cst.Call) -> cst.CSTNode | None:
    """A device that the new tensor is moved to at once."""
    method = cx.parent(call)
    if not isinstance(method, cst.Attribute) or method.value is not call or method.attr.value not in ("to", "cuda"):
        return None
    after = cx.parent(method)
    return on_device(cx, after) if isinstance(after, cst.Call) and after.func is method else None
