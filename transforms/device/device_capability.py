"""TN115: questions about what a GPU can do."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.engine.words import words
from transforms.flow.renames import called, rename, replaced
from transforms.flow.results import results
from transforms.flow.uses import Use
from transforms.tables.rows import HIGH, Row

DEVICE_CAPABILITY = Rule(
    code="TN115",
    name="device-capability",
    summary="What the device can do: `is_bf16_supported`, compute capability",
    best=Safety.SAFE,
    argument=(
        "torch.neuron.is_bf16_supported() answers the same question. A compute capability has no meaning on "
        "Trainium; a test "
        "of it that only chooses bfloat16 becomes that question, for review."
    ),
    source=(
        "torch-neuronx sources: is_bf16_supported is there and True, get_device_capability is absent; transformers "
        "calls it"
    ),
    why="A capability such as (8, 0) gates features of CUDA kernels, and asking for it raises without CUDA.",
    silent="Comparisons of anything that does not come from torch.cuda: own methods of the name, other packages.",
    examples=(
        (
            "import torch\n\n\ndef f():\n    return torch.cuda.is_bf16_supported()\n",
            "import torch\n\n\ndef f():\n    return torch.neuron.is_bf16_supported()\n",
        ),
        (
            "import torch\n\n\ndef f():\n    return torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 "
            "else torch.float16\n",
            "import torch\n\n\ndef f():\n    return torch.bfloat16 if torch.neuron.is_bf16_supported() else "
            "torch.float16\n",
        ),
    ),
)
_BF16 = Row(
    "torch.cuda.is_bf16_supported", "torch.neuron.is_bf16_supported", HIGH, "sources, transformers", starts=False
)
_CAPABILITY = "torch.cuda.get_device_capability"
_PROPERTIES = "torch.cuda.get_device_properties"


class DeviceCapability(Transform):
    """Renames the question for bfloat16 and reports capabilities."""

    rules = (DEVICE_CAPABILITY,)
    triggers = (b"is_bf16_supported", b"get_device_capability", b"get_device_properties")
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of the three functions."""
        for use in cx.uses.of(_BF16.name):
            self._bfloat16(use, cx)
        for use in cx.uses.of(_CAPABILITY):
            self._capability(use, cx)
        for use in cx.uses.of(_PROPERTIES):
            call = called(cx, use.node)
            for name in results(cx, call).attributes if call is not None else ():
                if name.value in ("major", "minor"):
                    message = f".{name.value} is half of a CUDA capability: ask for the feature that it stands for"
                    cx.report(name, message, Safety.MANUAL)

    def _bfloat16(self, use: Use, cx: Context) -> None:
        call = called(cx, use.node)
        change = cx.arguments(call) if call is not None and call.args else None
        if change is not None and call is not None:
            for arg in call.args:
                change.drop(arg)
        rename(cx, use, _BF16, *([change] if change else []), safety=Safety.REVIEW if change else None)

    def _capability(self, use: Use, cx: Context) -> None:
        if replaced(cx, use):
            return
        call = called(cx, use.node)
        comparison = _comparison(call, cx) if call is not None else None
        if comparison is not None and _asks_for_ampere(comparison, cx) and _chooses_bfloat16(comparison, cx):
            text, requests = cx.spell(_BF16.new, use.node)
            fix = cx.fix("the question is for bfloat16", cx.replace(comparison, f"{text}()"), requests=requests)
            cx.report(use.node, "the capability is asked for bfloat16 alone", Safety.REVIEW, fix=fix)
            return
        cx.report(
            use.node,
            "there is no compute capability on Trainium: what asks for bfloat16 is true "
            "(torch.neuron.is_bf16_supported()), what asks for TF32, float8 or CUDA kernels is false",
            Safety.MANUAL,
        )


def _comparison(call: cst.Call, cx: Context) -> cst.Comparison | None:
    """The comparison whose left side is the capability, or its major number."""
    left: cst.CSTNode = call
    above = cx.parent(call)
    if isinstance(above, cst.Subscript) and above.value is call:
        left, above = above, cx.parent(above)
    return above if isinstance(above, cst.Comparison) and above.left is left else None


def _asks_for_ampere(comparison: cst.Comparison, cx: Context) -> bool:
    """Whether the test is `>= 8`, `>= (8, 0)` or `> 7`."""
    if len(comparison.comparisons) != 1:
        return False
    target = comparison.comparisons[0]
    other = target.comparator
    numbers = [cx.integer(e.value) for e in other.elements] if isinstance(other, cst.Tuple) else [cx.integer(other)]
    if isinstance(target.operator, cst.GreaterThanEqual):
        return numbers in ([8], [8, 0])
    return (
        isinstance(target.operator, cst.GreaterThan) and numbers == [7] and isinstance(comparison.left, cst.Subscript)
    )


def _chooses_bfloat16(comparison: cst.Comparison, cx: Context) -> bool:
    """Whether nothing but bfloat16 hangs on the test."""
    child: cst.CSTNode = comparison
    for above in cx.index.ancestors(comparison):
        if isinstance(above, cst.IfExp):
            return child is above.test and _names_bf16(above.body, cx) and not _names_bf16(above.orelse, cx)
        if isinstance(above, cst.Assign):
            return len(above.targets) == 1 and _names_bf16(above.targets[0].target, cx)
        if isinstance(above, cst.Return):
            function = cx.index.enclosing(above, cst.FunctionDef)
            return function is not None and _bf16(function.name.value)
        if not (isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.And)):
            return False
        child = above
    return False


def _names_bf16(node: cst.CSTNode, cx: Context) -> bool:
    return _bf16(cx.code(node))


def _bf16(text: str) -> bool:
    return "bf16" in text.lower() or "bfloat16" in text.lower() or "bfloat" in words(text)
