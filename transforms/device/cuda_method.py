"""TN102: `.cuda()` on tensors and modules."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform

CUDA_METHOD = Rule(
    code="TN102",
    name="cuda-method",
    summary='`.cuda()` becomes `.to("neuron")`',
    best=Safety.SAFE,
    argument=(
        "No class of the repository defines its own `cuda()`, so the method is torch's; `.to` moves as `.cuda` does and "
        "returns the same object for modules. An index 0 is the current device of a process that owns one."
    ),
    source="TorchNeuron documentation 2.33: `.to(\"neuron\")`; torch 2.13 signatures of Tensor.cuda and Module.cuda",
    why="A torch wheel without CUDA raises in `.cuda()`.",
    silent="Receivers whose class defines its own `cuda()`, attributes named `cuda` that are not called, modules named cuda.",
    examples=(
        (
            "import torch\n\n\ndef f(x):\n    return x.cuda(non_blocking=True)\n",
            'import torch\n\n\ndef f(x):\n    return x.to("neuron", non_blocking=True)\n',
        ),
    ),
)


class CudaMethod(Transform):
    """Rewrites calls of the method `cuda`."""

    rules = (CUDA_METHOD,)
    triggers = (b"cuda",)
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        if cx.origin(node.func).name == "builtins.getattr":
            self._dynamic(node, cx)
            return
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value != "cuda":
            return
        if cx.origin(node.func).names:
            return
        site, receiver = node.func.attr, node.func.value
        if self._own(receiver, cx):
            cx.keep(site, "own method cuda()")
            return
        if unpacks(node):
            cx.report(site, "arguments of .cuda() are unpacked: move by hand to .to(\"neuron\")", Safety.MANUAL)
            return
        if _is_storage(receiver, cx):
            cx.report(site, "a storage has no .to(device): use map_location or .to(device=...)", Safety.MANUAL)
            return
        self._move(node, site, receiver, cx)

    def _move(self, node: cst.Call, site: cst.Name, receiver: cst.BaseExpression, cx: Context) -> None:
        safety = Safety.SAFE
        evidence: list[tuple[cst.CSTNode, str]] = []
        if why := cx.own_method("cuda"):
            safety = Safety.REVIEW
            evidence.append((site, why))
        elif why := _third_party(receiver, cx):
            safety = Safety.REVIEW
            evidence.append((site, why))
        else:
            evidence.append((site, "no class of the repository defines cuda()"))
        if cx.at_import_time(node):
            safety = Safety.REVIEW
            evidence.append((site, "runs when the module is imported"))
        arguments = cx.arguments(node)
        device = cx.argument(node, "device", 0)
        blocking = cx.argument(node, "non_blocking", 1)
        if blocking is not None and blocking.keyword is None:
            arguments.to_keyword(blocking, "non_blocking")
        target = cx.literal("neuron", node)
        if device is None:
            arguments.prepend(target)
        else:
            index = cx.integer(device.value)
            if index is not None and index > 0:
                arguments.value(device, cx.literal(f"neuron:{index}", node))
                safety = Safety.REVIEW
                evidence.append((device, "under torchrun a process owns only the index of its rank"))
            elif cx.devices.is_device(device.value):
                safety = Safety.REVIEW
                evidence.append((device, "the argument is a device; None would not move the value"))
            elif index == 0 or _is_none(device.value):
                arguments.value(device, target)
            elif _plain(device.value):
                arguments.value(device, target)
                safety = Safety.REVIEW
                evidence.append((device, "an index (or None): a process owns one device, the current one"))
            else:
                cx.report(site, "the index of .cuda() is computed: write .to(\"neuron\") and see what it was for", Safety.MANUAL)
                return
        fix = cx.fix('.cuda() becomes .to("neuron")', cx.replace(site, "to"), arguments)
        cx.report(site, 'tensors and modules move with .to("neuron")', safety, fix=fix, evidence=evidence)

    def _own(self, receiver: cst.BaseExpression, cx: Context) -> bool:
        """Whether the receiver is an object of a class here that defines `cuda()` itself."""
        owners = {cx.index.enclosing(f, cst.ClassDef) for f in cx.devices.places.methods("cuda")}
        if not owners:
            return False
        if isinstance(receiver, cst.Name) and receiver.value in ("self", "cls"):
            return cx.index.enclosing(receiver, cst.ClassDef) in owners
        value: cst.BaseExpression | None = receiver
        if isinstance(receiver, cst.Name):
            bindings = cx.names.bindings(receiver.value, cx.names.scope(receiver))
            value = bindings[0].value if len(bindings) == 1 else None
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Name):
            found = cx.names.bindings(value.func.value, cx.names.scope(value.func))
            return bool(found) and all(b.kind == "class" and cx.parent(b.node) in owners for b in found)
        return False

    def _dynamic(self, node: cst.Call, cx: Context) -> None:
        if len(node.args) > 1 and cx.string(node.args[1].value) == "cuda" and not cx.origin(node.args[0].value).names:
            cx.report(node.args[1].value, 'getattr(x, "cuda"): call .to("neuron") instead', Safety.MANUAL, severity=WARNING)


def _is_none(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _plain(node: cst.CSTNode) -> bool:
    """Whether leaving the expression out can't be noticed: names, attributes and constant subscripts."""
    if isinstance(node, cst.Name):
        return True
    if isinstance(node, cst.Attribute):
        return _plain(node.value)
    return False


def _is_storage(receiver: cst.BaseExpression, cx: Context) -> bool:
    if isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Attribute):
        return receiver.func.attr.value in ("storage", "untyped_storage", "_typed_storage")
    if isinstance(receiver, cst.Name):
        function = cx.index.enclosing(receiver, cst.Lambda)
        arg = cx.parent(function) if function is not None else None
        if isinstance(arg, cst.Arg) and isinstance(call := cx.parent(arg), cst.Call):
            named = arg.keyword is not None and arg.keyword.value == "map_location"
            return named or cx.origin(call.func).name in ("torch.load", "torch.jit.load")
    return False


def _third_party(receiver: cst.BaseExpression, cx: Context) -> str:
    """The package whose call made the receiver, when its objects need not be torch's."""
    value: cst.BaseExpression | None = receiver
    if isinstance(receiver, cst.Name):
        bindings = cx.names.bindings(receiver.value, cx.names.scope(receiver))
        if len({id(b.value) for b in bindings}) == 1:
            value = bindings[0].value
    if not isinstance(value, cst.Call):
        return ""
    for name in cx.origin(value.func).names:
        root = name.split(".")[0]
        if root and root not in ("torch", "torchvision", "torchaudio", "builtins", "copy") and not name.startswith("."):
            return f"the object comes from {name}()"
    return ""
