"""TN110: functions that torch.load calls with each storage, and loads that leave the place to the file."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.storages import LOADERS, map_location_function

MAP_LOCATION = Rule(
    code="TN110",
    name="map-location",
    summary="Where loaded tensors go: `map_location` given as a function, or not at all",
    best=Safety.REVIEW,
    argument=(
        "A function that moves every storage to CUDA says no more than the name of the device does; a storage that is "
        "moved in a longer function takes the device by keyword."
    ),
    source="torch 2.13 (torch.load takes a device name, UntypedStorage.to keywords only); TorchNeuron 2.33",
    why="`storage.cuda()` raises without CUDA, and so does loading what was saved on CUDA without map_location.",
    silent="Functions that return the storage (they mean the CPU), and texts and dicts, which are device strings.",
    examples=(
        (
            'import torch\n\n\ndef f():\n    return torch.load("m.pt", map_location=lambda s, loc: s.cuda())\n',
            'import torch\n\n\ndef f():\n    return torch.load("m.pt", map_location="neuron")\n',
        ),
    ),
)


class MapLocation(Transform):
    """Rewrites `map_location` functions, and offers one where it is missing."""

    rules = (MAP_LOCATION,)
    triggers = (b"map_location", b"torch.load", b"jit.load", b"import load")
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "cuda" and not cx.origin(node.func).names:
            function = map_location_function(node.func.value, cx)
            if function is not None:
                self._moved(node, node.func.attr, function, cx)
            return
        name = cx.origin(node.func).name
        if name not in ("torch.load", "torch.jit.load") or unpacks(node) or not node.args:
            return
        if cx.argument(node, "map_location", LOADERS[name]) is None:
            self._missing(node, name, cx)

    def _moved(self, node: cst.Call, site: cst.Name, function: cst.CSTNode, cx: Context) -> None:
        if isinstance(function, cst.Lambda) and function.body is node and isinstance(cx.parent(function), cst.Arg):
            fix = cx.fix('the function becomes "neuron"', cx.replace(function, cx.literal("neuron", function)))
            evidence = [(node, "moves every storage to the device of the process")]
            cx.report(site, 'torch.load takes the device itself: "neuron"', Safety.REVIEW, fix=fix, evidence=evidence)
            return
        if node.args and (len(node.args) > 1 or node.args[0].keyword is not None or node.args[0].star):
            cx.report(site, "a storage moves with .to(device=...): its arguments are keywords there", Safety.MANUAL)
            return
        arguments = cx.arguments(node)
        for arg in node.args:
            arguments.drop(arg)
        arguments.append(f"device={cx.literal('neuron', node)}")
        fix = cx.fix("a storage moves with .to(device=...)", cx.replace(site, "to"), arguments)
        cx.report(site, "a storage moves with .to(device=...)", Safety.REVIEW, fix=fix)

    def _missing(self, node: cst.Call, name: str, cx: Context) -> None:
        arguments = cx.arguments(node).set("map_location", cx.literal("cpu", node), LOADERS[name])
        fix = cx.fix('map_location="cpu" is added', arguments)
        message = "a file whose tensors were saved on CUDA can't be loaded without map_location"
        cx.report(node.func, message, Safety.OFFER, fix=fix)
