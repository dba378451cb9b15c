"""TN109: `torch.set_default_tensor_type` with a type of torch.cuda."""

from __future__ import annotations

import libcst as cst

from transforms.engine.changes import Change
from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.tensor_types import DTYPES, FLOATING, host_type, tensor_type

DEFAULT_DEVICE = Rule(
    code="TN109",
    name="default-device",
    summary="`set_default_tensor_type` with a CUDA type becomes `set_default_dtype` and `set_default_device`",
    best=Safety.REVIEW,
    argument=(
        "The two calls say what the type said. `set_default_device` also acts on factory functions that the old call "
        "did not reach (`torch.arange` of integers, `torch.randperm`), so a person should look at what is "
        "made on the host."
    ),
    source="torch 2.13 documentation of set_default_device and set_default_dtype; TorchNeuron has no tensor types",
    why="`torch.cuda.FloatTensor` can't be the default type without CUDA.",
    silent="CPU types (`torch.FloatTensor`) stay; so do types that are given by the caller, and methods of that name.",
    examples=(
        (
            'import torch\n\n\ndef f():\n    torch.set_default_tensor_type("torch.cuda.HalfTensor")\n',
            "import torch\n\n\ndef f():\n    torch.set_default_dtype(torch.float16)\n"
            '    torch.set_default_device("neuron")\n',
        ),
    ),
)
_OLD = "torch.set_default_tensor_type"


class DefaultDevice(Transform):
    """Rewrites the default tensor type."""

    rules = (DEFAULT_DEVICE,)
    triggers = (b"set_default_tensor_type",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        if cx.origin(node.func).name != _OLD or len(node.args) != 1 or node.args[0].star:
            return
        value = node.args[0].value
        arms = [value.body, value.orelse] if isinstance(value, cst.IfExp) else [value]
        kinds = [self._kind(arm, cx) for arm in arms]
        sites = [arm for arm, (kind, device) in zip(arms, kinds) if device == "neuron"]
        if not sites:
            return
        statement = cx.parent(node)
        names = {kind for kind, _ in kinds}
        if (
            len(names) != 1
            or not names <= FLOATING
            or not isinstance(statement, cst.Expr)
            or node.args[0].keyword is not None
        ):
            for site in sites:
                cx.report(site, "set the default dtype and the default device instead", Safety.MANUAL)
            return
        new, requests = cx.spell("torch.set_default_device", node)
        dtype = f"torch.{DTYPES[names.pop()]}"
        line = f"{cx.spell('torch.set_default_dtype', node)[0]}({cx.spell(dtype, node)[0]})"
        changes: list[Change] = [cx.replace(node.func, new), cx.insert_before(statement, line)]
        changes += [cx.replace(arm, cx.literal(device, node)) for arm, (_, device) in zip(arms, kinds)]
        fix = cx.fix("dtype and device are set apart", *changes, requests=requests)
        evidence = [(node, "every factory function without device= now makes its tensor on neuron")]
        for site in sites:
            cx.report(
                site,
                "the default dtype and the default device are set apart",
                Safety.REVIEW,
                fix=fix,
                evidence=evidence,
            )

    def _kind(self, node: cst.CSTNode, cx: Context) -> tuple[str, str]:
        """Name of the type, and the device that it says: `neuron`, `cpu`, or empty for something else."""
        name = cx.string(node) or cx.origin(node).name
        if kind := tensor_type(name):
            return kind, "neuron"
        if kind := host_type(name):
            return kind, "cpu"
        return "", ""
