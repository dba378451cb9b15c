"""TN119: pinned memory."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.devices import names_device

PINNED_MEMORY = Rule(
    code="TN119",
    name="pinned-memory",
    summary="The device for which memory is pinned: the argument goes, the flag stays",
    best=Safety.SAFE,
    argument="torch pins for the accelerator of the process when nothing else is said, and the argument is deprecated.",
    source="torch 2.13: DataLoader, Tensor.pin_memory; torch-neuronx sources: pinning is a no-op there",
    why='`pin_memory_device="cuda"` asks for CUDA\'s allocator, which a wheel without CUDA does not have.',
    silent=(
        "`pin_memory=True` and `.pin_memory()`, which are harmless; a device that is another one than CUDA's; own "
        "`pin_memory` methods that take a device."
    ),
    examples=(
        (
            "from torch.utils.data import DataLoader\n\n\ndef f(d):\n"
            '    return DataLoader(d, pin_memory=True, pin_memory_device="cuda")\n',
            "from torch.utils.data import DataLoader\n\n\ndef f(d):\n    return DataLoader(d, pin_memory=True)\n",
        ),
    ),
)
_METHODS = frozenset({"pin_memory", "is_pinned"})
_LOADERS = frozenset(
    [
        "torch.utils.data.DataLoader",
        "torch.utils.data.dataloader.DataLoader",
        "torchdata.stateful_dataloader.StatefulDataLoader",
    ]
)


class PinnedMemory(Transform):
    """Drops the device of pinned memory."""

    rules = (PINNED_MEMORY,)
    triggers = (b"pin_memory",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        origin = cx.origin(node.func)
        if origin.names & _LOADERS:
            arg = cx.argument(node, "pin_memory_device")
            level = Safety.REVIEW if origin.ambiguous else Safety.SAFE
        elif isinstance(node.func, cst.Attribute) and node.func.attr.value in _METHODS and not origin.names:
            if self._own(node.func, cx):
                return
            arg = cx.argument(node, "device", 0)
            level = Safety.REVIEW
        else:
            return
        text = cx.string(arg.value) if arg is not None else None
        if arg is None or (text is not None and not text.startswith("cuda")):
            return
        if text is None and not cx.devices.is_device(arg.value) and not _named(arg.value):
            return
        fix = cx.fix("memory is pinned for the accelerator of the process", cx.arguments(node).drop(arg))
        site = arg if arg.keyword is not None else arg.value
        cx.report(site, "the device of pinned memory is the accelerator of the process", level, fix=fix)

    def _own(self, method: cst.Attribute, cx: Context) -> bool:
        """Whether a class of the file defines the method with a device, so that the receiver may be one of its own."""
        for name in cx.index.names.get(method.attr.value, []):
            function = cx.parent(name)
            if not isinstance(function, cst.FunctionDef) or function.name is not name:
                continue
            if isinstance(cx.names.scope(function), cst.ClassDef) and len(function.params.params) > 1:
                inside = any(a is function for a in cx.index.ancestors(method))
                itself = isinstance(method.value, cst.Name) and method.value.value == "self"
                if itself or not inside:
                    return True
        return False


def _named(node: cst.BaseExpression) -> bool:
    """Whether an expression is called a device: `device`, `args.device`."""
    name = node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""
    return names_device(name)
