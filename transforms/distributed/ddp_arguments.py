"""TN404: the device arguments of DistributedDataParallel."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import Arguments, unpacks
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.names import is_none
from transforms.engine.transform import Transform
from transforms.flow.effects import side_effects
from transforms.flow.groups import portable
from transforms.flow.host_inputs import host_inputs
from transforms.tables.distributed import DDP

DDP_ARGUMENTS = Rule(
    code="TN404",
    name="ddp-arguments",
    summary="`device_ids` and `output_device` of DistributedDataParallel are dropped",
    best=Safety.REVIEW,
    argument=(
        "Each process owns one device, so naming it says nothing. It is not safe because device_ids also makes "
        "the wrapper "
        "move its inputs to that device: an input that is still on the CPU must be moved by the program."
    ),
    source=(
        "torch 2.13 DistributedDataParallel (device_ids, _pre_forward); TorchNeuron documentation 2.33, DDP examples"
    ),
    why="The ids are CUDA indices; on Trainium a rank may only name its own index, and the documented form names none.",
    silent="Wrappers of other packages with the same name, `device_ids=None`, and code on torch.accelerator.",
    examples=(
        (
            "from torch.nn.parallel import DistributedDataParallel as DDP\n\n\ndef wrap(model, rank):\n"
            "    return DDP(model, device_ids=[rank], output_device=rank)\n",
            "from torch.nn.parallel import DistributedDataParallel as DDP\n\n\ndef wrap(model, rank):\n    "
            "return DDP(model)\n",
        ),
    ),
)
_PARAMETERS = ("module", "device_ids", "output_device")
_OWN_SETTINGS = ("self", "cls", "args", "opt", "opts", "config", "cfg")
_MOVES = "device_ids also moved the inputs to the device: they must be there when the model is called"


class DdpArguments(Transform):
    """Drops both arguments in one fix."""

    rules = (DDP_ARGUMENTS,)
    triggers = (b"DistributedDataParallel",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call of the class, or of functools.partial with it."""
        assert isinstance(node, cst.Call)
        origin = cx.origin(node.func)
        if origin.names & DDP and not portable(cx):
            self._wrapped(node, node.func, 0, cx)
        elif origin.name == "functools.partial" and node.args and cx.origin(node.args[0].value).names & DDP:
            self._wrapped(node, node.args[0].value, 1, cx)
        elif (base := _base_of_super(node, cx)) is not None and not portable(cx):
            self._wrapped(node, base, 0, cx)
        elif (base := _base_by_name(node, cx)) is not None and not portable(cx):
            self._wrapped(node, base, 1, cx)
        elif (arg := cx.argument(node, "device_ids")) is not None and _chosen(node.func, cx):
            message = f"{cx.code(node.func)} may be torch's DistributedDataParallel, which needs no device_ids here"
            cx.report(arg, message, Safety.MANUAL, severity=WARNING)

    def _wrapped(self, call: cst.Call, named: cst.CSTNode, skipped: int, cx: Context) -> None:
        found = [cx.argument(call, p, i + skipped) for i, p in enumerate(_PARAMETERS)][1:]
        ids, output = (a if a is not None and not is_none(a.value) else None for a in found)
        if ids is not None and _count(ids.value) > 1:
            message = "several device_ids: a process owns one device, so this needs one process per device"
            cx.report(ids, message, Safety.MANUAL)
            return
        origin = cx.origin(named)
        if (ids is not None or output is not None) and (origin.local or len(origin.names) > 1):
            message = f"{cx.code(named)} may be torch's, which needs no device_ids and output_device, or another class"
            cx.report(named, message, Safety.MANUAL, severity=WARNING)
            return
        gone = [a for a in (ids, output) if a is not None]
        if gone and (read := _read_back(call, cx)) is not None:
            message = f"{cx.code(read)} is read: say there which device it is, then drop device_ids and output_device"
            cx.report(gone[0], message, Safety.MANUAL, severity=WARNING, evidence=[(read, "read here")])
            return
        if ids is not None or output is not None:
            inputs = list(host_inputs(call, cx)) if ids is not None else []
            target = f".to({cx.literal('neuron', call)})"
            moved = [cx.replace(value, cx.code(value) + target) for value in inputs]
            fix = cx.fix("the wrapper uses the device of its process", self._dropped(call, ids, output, cx), *moved)
            if ids is not None:
                evidence = [(named, "torch's DistributedDataParallel"), *side_effects(cx, ids.value)]
                evidence += [(value, "made on the host, so it is moved here") for value in inputs]
                cx.report(ids, _MOVES, Safety.REVIEW, fix=fix, evidence=evidence)
            if output is not None:
                cx.report(output, "output_device is dropped with device_ids", Safety.REVIEW, fix=fix)
        elif unpacks(call) and self._somewhere(cx):
            message = "arguments are unpacked into DistributedDataParallel: device_ids must not be among them"
            cx.report(named, message, Safety.MANUAL, severity=WARNING)

    def _somewhere(self, cx: Context) -> bool:
        """Whether the file makes a dict that has the argument."""
        if any(cx.string(s) == "device_ids" for s in cx.index.nodes(cst.SimpleString)):
            return True
        calls = [c for c in cx.index.nodes(cst.Call) if cx.origin(c.func).name == "builtins.dict"]
        return any(cx.argument(c, "device_ids") is not None for c in calls)

    def _dropped(self, call: cst.Call, ids: cst.Arg | None, output: cst.Arg | None, cx: Context) -> Arguments:
        change = cx.arguments(call)
        gone = [a for a in (ids, output) if a is not None]
        for arg in gone:
            place = next(i for i, a in enumerate(call.args) if a is arg)
            behind = [a for a in call.args[place + 1 :] if a.keyword is None and not any(a is g for g in gone)]
            if arg.keyword is None and behind:
                change.value(arg, "None")
            else:
                change.drop(arg)
        return change


def _base_of_super(call: cst.Call, cx: Context) -> cst.CSTNode | None:
    """The only base of a class, torch's wrapper, where the call is `super().__init__(...)` in it."""
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "__init__" or not isinstance(func.value, cst.Call):
        return None
    holder = cx.index.enclosing(call, cst.ClassDef)
    if cx.origin(func.value.func).name != "builtins.super" or holder is None or len(holder.bases) != 1:
        return None
    base = holder.bases[0].value
    return base if cx.origin(base).names & DDP else None


def _base_by_name(call: cst.Call, cx: Context) -> cst.CSTNode | None:
    """Torch's wrapper, where the call is `DistributedDataParallel.__init__(self, ...)`."""
    func = call.func
    if isinstance(func, cst.Attribute) and func.attr.value == "__init__" and cx.origin(func.value).names & DDP:
        return func.value
    return None


def _chosen(func: cst.BaseExpression, cx: Context) -> bool:
    """Whether a variable holds torch's wrapper or another one, by a condition."""
    if not isinstance(func, cst.Name):
        return False
    values = [b.value for b in cx.names.bindings(func.value, cx.names.scope(func))]
    arms = [arm for v in values if isinstance(v, cst.IfExp) for arm in (v.body, v.orelse)]
    return any(cx.origin(arm).names & DDP for arm in arms)


def _read_back(call: cst.Call, cx: Context) -> cst.Attribute | None:
    """Where the file reads `.device_ids` or `.output_device` of a wrapper: None on it once the arguments are gone."""
    for name in ("device_ids", "output_device"):
        for node in cx.index.names.get(name, []):
            above = cx.parent(node)
            if not isinstance(above, cst.Attribute) or above.attr is not node:
                continue
            holder = cx.parent(above)
            own = isinstance(above.value, cst.Name) and above.value.value in _OWN_SETTINGS
            if own or isinstance(holder, cst.AssignTarget) or any(a is call for a in cx.index.ancestors(node)):
                continue
            return above
    return None


def _count(value: cst.BaseExpression) -> int:
    """How many ids a display names; 1 where it can't be told."""
    return len(value.elements) if isinstance(value, (cst.List, cst.Tuple)) else 1
