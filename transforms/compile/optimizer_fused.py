"""TN311: optimizer arguments for CUDA kernels."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.conditions import elsewhere, never_on_neuron
from transforms.tables.compile import FUSED_OPTIMIZERS

OPTIMIZER_FUSED = Rule(
    code="TN311",
    name="optimizer-fused",
    summary="`capturable=True` is dropped; `fused`, and tests that switch it on, are pointed out",
    best=Safety.REVIEW,
    argument=(
        "capturable keeps the step counters on the device so that a CUDA graph can hold the step; without a graph the "
        "same update is computed. A compiled step would compile again for each count, so it is for a person to see."
    ),
    source="torch 2.13 source of torch.optim; TorchNeuron documentation 2.33 names no fused optimizer",
    why="torch accepts fused=True for the device, and nothing says that the fused kernels exist there.",
    silent=(
        "`foreach`, which torch runs op by op where no kernel exists; values that are False or None, or true on "
        "another device only; optimizers of other packages."
    ),
    examples=(
        (
            "import torch\n\n\ndef make(net):\n"
            "    return torch.optim.AdamW(net.parameters(), lr=1e-3, capturable=True)\n",
            "import torch\n\n\ndef make(net):\n    return torch.optim.AdamW(net.parameters(), lr=1e-3)\n",
        ),
    ),
)

_NOT_DOCUMENTED = "torch takes fused=True for neuron, and nothing says that its kernels exist there"
_MOST_HOPS = 4


class OptimizerFused(Transform):
    """Looks at fused and capturable of optimizers."""

    rules = (OPTIMIZER_FUSED,)
    triggers = (b"fused", b"capturable")
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        if not node.args or not _is_optimizer(node, cx) or elsewhere(node, cx) is not None:
            return
        for arg in node.args:
            if arg.keyword is not None and arg.keyword.value in ("capturable", "fused"):
                self._argument(node, arg, cx)
            elif arg.star == "**":
                for keyword, value in _unpacked(arg.value, cx, 0):
                    if not _is_off(value, cx):
                        self._kept(keyword, value, cx)

    def _argument(self, call: cst.Call, arg: cst.Arg, cx: Context) -> None:
        assert arg.keyword is not None
        if _is_off(arg.value, cx):
            return
        literal = isinstance(arg.value, cst.Name) and arg.value.value == "True"
        change = cx.arguments(call).drop(arg)
        if arg.keyword.value == "capturable":
            if literal:
                fix = cx.fix("capturable is dropped", change)
                message = "there are no CUDA graphs that could capture the step"
                cx.report(arg, message, Safety.REVIEW, fix=fix)
        elif literal:
            fix = cx.fix("the optimizer runs without its fused kernel", change)
            cx.report(arg, f"{_NOT_DOCUMENTED}: without it the same update runs op by op", Safety.OFFER, fix=fix)
        else:
            self._kept(arg, arg.value, cx)

    def _kept(self, site: cst.CSTNode, value: cst.CSTNode, cx: Context) -> None:
        """A value that is computed, or a dict that holds it: said, not changed."""
        test = _device_test(value, cx, 0) or _device_test(site, cx, 0)
        evidence: list[tuple[cst.CSTNode, str]] = []
        message = f"fused may be switched on: {_NOT_DOCUMENTED}"
        if test is not None:
            message = f"this test of the device holds on neuron too and switches fused on: {_NOT_DOCUMENTED}"
            evidence.append((test, "the test"))
        cx.report(site, message, Safety.MANUAL, severity=WARNING, evidence=evidence)


def _is_optimizer(call: cst.Call, cx: Context) -> bool:
    if isinstance(call.func, cst.Attribute) and call.func.attr.value not in FUSED_OPTIMIZERS:
        return False
    for name in cx.origin(call.func).names:
        head, _, last = name.rpartition(".")
        if last in FUSED_OPTIMIZERS and head.startswith("torch.optim"):
            return True
    return False


def _is_off(value: cst.BaseExpression, cx: Context) -> bool:
    return (isinstance(value, cst.Name) and value.value in ("False", "None")) or never_on_neuron(value, cx)


def _unpacked(value: cst.CSTNode, cx: Context, hops: int) -> Iterator[tuple[cst.CSTNode, cst.BaseExpression]]:
    """`fused` in what a call unpacks: in the dict itself, or in one that its variable was given."""
    if isinstance(value, cst.Name) and hops < _MOST_HOPS:
        for binding in cx.names.bindings(value.value, cx.names.scope(value)):
            if binding.kind == "assign" and binding.value is not None:
                yield from _unpacked(binding.value, cx, hops + 1)
    elif isinstance(value, cst.IfExp):
        yield from _unpacked(value.body, cx, hops)
        yield from _unpacked(value.orelse, cx, hops)
    elif isinstance(value, cst.Call) and cx.origin(value.func).name == "builtins.dict":
        arg = cx.argument(value, "fused")
        if arg is not None:
            yield arg, arg.value
    elif isinstance(value, cst.Dict):
        for entry in value.elements:
            if isinstance(entry, cst.DictElement) and cx.string(entry.key) == "fused":
                yield entry, entry.value


def _device_test(node: cst.CSTNode, cx: Context, hops: int) -> cst.CSTNode | None:
    """The test of a device that decides about a value: in its own expression, around it, or in its variable's."""
    for above in [node, *cx.index.ancestors(node)]:
        if isinstance(above, cst.IfExp) and (found := _names_device(above.test, cx, hops)) is not None:
            return found
        if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            break
    return _names_device(node, cx, hops)


def _names_device(node: cst.CSTNode, cx: Context, hops: int) -> cst.CSTNode | None:
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, cst.Comparison) and any(_says_device(n, cx) for n in _below(here)):
            return here
        if isinstance(here, (cst.Call, cst.Attribute)) and _says_device(here, cx):
            return here
        if isinstance(here, cst.Name) and hops < _MOST_HOPS:
            for binding in cx.names.bindings(here.value, cx.names.scope(here)):
                if binding.kind == "assign" and binding.value is not None and binding.value is not node:
                    found = _names_device(binding.value, cx, hops + 1)
                    if found is not None:
                        return found
        stack += here.children
    return None


def _says_device(node: cst.CSTNode, cx: Context) -> bool:
    if isinstance(node, cst.SimpleString):
        return (cx.string(node) or "").split(":")[0] in ("cuda", "neuron")
    if isinstance(node, cst.Attribute):
        probe = any(n.startswith(("torch.cuda.is_", "torch.neuron.is_")) for n in cx.origin(node).names)
        return probe or (node.attr.value in ("is_cuda", "is_neuron") and not cx.origin(node).names)
    return False


def _below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _below(child)
