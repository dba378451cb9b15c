"""TN110: functions that torch.load calls with each storage, and loads that leave the place to the file."""

from __future__ import annotations

import libcst as cst

from transforms.device.device_string import device_literal, literal_of
from transforms.engine.arguments import unpacks
from transforms.engine.changes import Around, Unwrap
from transforms.engine.context import Context
from transforms.engine.index import below
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.storages import LOADERS, map_location_dict, map_location_function

MAP_LOCATION = Rule(
    code="TN110",
    name="map-location",
    summary="Where loaded tensors go: `map_location` given as a function or a dict, or not at all",
    best=Safety.REVIEW,
    argument=(
        "A function that moves every storage to CUDA says no more than the name of the device does; a storage that is "
        "moved in a longer function takes the device by keyword. A dict with one entry, for a CUDA device, becomes "
        "the device that it names: a file that the migrated program saves says `neuron:0`, which no key would match."
    ),
    source="torch 2.13 (torch.load takes a device name, UntypedStorage.to keywords only); TorchNeuron 2.33",
    why="`storage.cuda()` raises without CUDA, and so does loading what was saved on CUDA without map_location.",
    silent=(
        "Functions that return the storage or its `.cpu()`, devices of the program, and texts, which are device "
        "strings; `load` of other libraries and of own objects."
    ),
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
    nodes = (cst.Call, cst.Dict)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call, or at a dict."""
        if isinstance(node, cst.Dict):
            if map_location_dict(node, cx) and not cx.devices.places.names_other_accelerators(node):
                self._table(node, cx)
            return
        assert isinstance(node, cst.Call)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "cuda" and not cx.origin(node.func).names:
            function = map_location_function(node.func.value, cx)
            if function is not None:
                self._moved(node, node.func.attr, function, cx)
            return
        name = cx.origin(node.func).name
        if name not in ("torch.load", "torch.jit.load") or unpacks(node) or not node.args:
            return
        given = cx.argument(node, "map_location", LOADERS[name])
        if given is None or (isinstance(given.value, cst.Name) and given.value.value == "None"):
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

    def _table(self, holder: cst.Dict, cx: Context) -> None:
        """A dict from the devices of a file to those of the process."""
        entries = [e for e in holder.elements if isinstance(e, cst.DictElement)]
        saved = [(k, e) for e in entries if (k := literal_of(e.key, cx)) is not None]
        if not saved:
            return
        key, entry = saved[0]
        evidence = [(key, "the migrated program saves files whose tensors are on neuron:0, which this key misses")]
        targets = [n for _, e in saved for n in _targets(e.value, cx)]
        if len(holder.elements) == 1 and "#" not in cx.code(holder):
            loose = isinstance(entry.value, (cst.IfExp, cst.Lambda)) or "\n" in cx.code(entry.value)
            change = Unwrap(holder, entry.value, loose or bool(entry.value.lpar))
            fix = cx.fix("the dict becomes its one device", change, requires=targets)
            where = cx.code(entry.key)
            message = f"map_location is the device itself, for tensors saved anywhere (not only on {where})"
            cx.report(key, message, Safety.REVIEW, fix=fix, evidence=evidence)
            return
        for other, _ in saved[1:]:
            cx.keep(other, "device of tensors in files that were saved on CUDA")
        known = {cx.string(e.key) for e in entries}
        added = [
            (f"{cx.code(k).replace('cuda', 'neuron', 1)}", e)
            for k, e in saved
            if (cx.string(k) or "").replace("cuda", "neuron", 1) not in known
        ]
        if not added:
            cx.keep(key, "device of tensors in files that were saved on CUDA")
        elif (
            len(entries) == len(holder.elements) > 1
            and not entries[-1].value.lpar
            and all(k is e.key and _is_plain(e, cx) for k, e in saved)
        ):
            pairs = "".join(f", {new}: {_migrated(e.value, cx)}" for new, e in added)
            fix = cx.fix("entries for neuron are added", Around(entries[-1].value, "", pairs), requires=targets)
            message = "a file that the migrated program saves has neuron devices: the same entries for them"
            cx.report(key, message, Safety.REVIEW, fix=fix, evidence=evidence)
        else:
            message = "a file that the migrated program saves has neuron devices: give map_location keys for them too"
            cx.report(key, message, Safety.MANUAL, evidence=evidence)

    def _missing(self, node: cst.Call, name: str, cx: Context) -> None:
        arguments = cx.arguments(node).set("map_location", cx.literal("cpu", node), LOADERS[name])
        fix = cx.fix('map_location="cpu" is added', arguments)
        message = "a file whose tensors were saved on CUDA can't be loaded without map_location"
        cx.report(node.func, message, Safety.OFFER, fix=fix)


def _targets(value: cst.BaseExpression, cx: Context) -> list[cst.CSTNode]:
    """Device names in the target of an entry that change."""
    literals = [n for n in below(value) if device_literal(cx, n) is not None]
    return [n for n in literals if cx.devices.literal(n).kind == "given"]


def _is_plain(entry: cst.DictElement, cx: Context) -> bool:
    """Whether an entry can be written once more: a constant key, and a name or a device name."""
    value = entry.value
    if not isinstance(entry.key, cst.SimpleString):
        return False
    return isinstance(value, (cst.Name, cst.SimpleString)) or (
        isinstance(value, cst.FormattedString) and device_literal(cx, value) is not None
    )


def _migrated(value: cst.BaseExpression, cx: Context) -> str:
    code = cx.code(value)
    return code.replace("cuda", "neuron", 1) if _targets(value, cx) else code
