"""TN403: arguments of process-group functions that belong to NCCL."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import Arguments
from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.names import is_none
from transforms.engine.transform import Transform
from transforms.flow.effects import side_effects
from transforms.flow.groups import portable, runs_on_host
from transforms.tables.distributed import DEVICE_ID_POSITION, OPTIONS_POSITION, UNSUPPORTED_GROUP_CALLS

INIT_ARGUMENTS = Rule(
    code="TN403",
    name="init-arguments",
    summary="`device_id` and `pg_options` of process-group functions are dropped",
    best=Safety.SAFE,
    argument=(
        "device_id makes NCCL connect at once instead of at the first collective and binds the group to a device. A "
        "TorchNeuron process owns one device, to which its group is bound anyway."
    ),
    source=(
        "torch 2.13 signatures of init_process_group and new_group; sources of TorchNeuron's process group (no options)"
    ),
    why="Both configure NCCL's communicators; the neuron backend raises NotImplementedError for options.",
    silent=(
        "`init_method`, `world_size`, `rank`, `store` and `timeout`, which mean the same; groups on gloo; a neuron "
        "device."
    ),
    examples=(
        (
            "import os\n\nimport torch.distributed as dist\n\nrank = int(os.environ['LOCAL_RANK'])\n"
            'dist.init_process_group("neuron", rank=rank, device_id=rank)\n',
            "import os\n\nimport torch.distributed as dist\n\nrank = int(os.environ['LOCAL_RANK'])\n"
            'dist.init_process_group("neuron", rank=rank)\n',
        ),
    ),
)


class InitArguments(Transform):
    """Drops what only NCCL understands, and reports the functions that only NCCL has."""

    rules = (INIT_ARGUMENTS,)
    triggers = (b"device_id", b"pg_options", b"split_group", b"shrink_group")
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        origin = cx.origin(node.func)
        best = Safety.REVIEW if origin.ambiguous else Safety.SAFE
        for name in sorted(origin.names):
            if name in UNSUPPORTED_GROUP_CALLS:
                cx.report(node.func, UNSUPPORTED_GROUP_CALLS[name], Safety.MANUAL)
                return
            if name in OPTIONS_POSITION and not runs_on_host(cx, node) and not portable(cx):
                self._arguments(node, name, best, cx)
                return

    def _arguments(self, call: cst.Call, name: str, best: Safety, cx: Context) -> None:
        device_id = cx.argument(call, "device_id", DEVICE_ID_POSITION.get(name))
        if device_id is not None and not is_none(device_id.value) and not _names_neuron(cx, device_id.value):
            safety = Safety.REVIEW if cx.index.names.get("split_group") else best
            lost = side_effects(cx, device_id.value)
            safety = safety.at_most(Safety.REVIEW) if lost else safety
            fix = cx.fix("the group is bound to the device of its process", _dropped(cx, call, device_id))
            cx.report(device_id, "device_id is dropped: a process owns one device", safety, fix=fix, evidence=lost)
        options = cx.argument(call, "pg_options", OPTIONS_POSITION[name])
        if options is not None and not is_none(options.value):
            fix = cx.fix("the neuron backend takes no options", _dropped(cx, call, options))
            message = "pg_options is dropped: the neuron backend takes no options"
            lost = side_effects(cx, options.value)
            cx.report(options, message, Safety.REVIEW, fix=fix, evidence=lost)


def _dropped(cx: Context, call: cst.Call, arg: cst.Arg) -> Arguments:
    """The removal of an argument; a positional one with positional ones behind it becomes None."""
    place = next(i for i, a in enumerate(call.args) if a is arg)
    if arg.keyword is None and any(a.keyword is None for a in call.args[place + 1 :]):
        return cx.arguments(call).value(arg, "None")
    return cx.arguments(call).drop(arg)


def _names_neuron(cx: Context, value: cst.BaseExpression) -> bool:
    """Whether a value is a neuron device already."""
    component = cx.devices.component_of(value)
    literals = [o.node for o in component.origins if o.kind == "literal"] if component is not None else []
    if isinstance(value, cst.Call) and value.args:
        literals.append(value.args[0].value)
    return any("neuron" in cx.code(n) for n in literals) and not any("cuda" in cx.code(n) for n in literals)
