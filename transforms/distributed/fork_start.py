"""TN410: processes that are started by fork."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform

FORK_START = Rule(
    code="TN410",
    name="fork-start",
    summary="Processes that use the device must be spawned, not forked",
    best=Safety.MANUAL,
    argument="It never edits: spawned workers need importable functions and picklable arguments.",
    source="sources of TorchNeuron: the runtime can't be initialised again in a forked process",
    why=(
        "A forked child inherits a runtime that it can't use. As on CUDA, it works only where no child touches the "
        "device."
    ),
    silent="spawn and forkserver; `os.fork`.",
)
_STARTERS: dict[str, tuple[str, int]] = {
    "multiprocessing.set_start_method": ("method", 0),
    "multiprocessing.get_context": ("method", 0),
    "torch.multiprocessing.set_start_method": ("method", 0),
    "torch.multiprocessing.get_context": ("method", 0),
    "torch.multiprocessing.start_processes": ("start_method", 5),
    "torch.multiprocessing.spawn": ("start_method", 5),
    "torch.utils.data.DataLoader": ("multiprocessing_context", 11),
    "torch.utils.data.dataloader.DataLoader": ("multiprocessing_context", 11),
}


class ForkStart(Transform):
    """Reports start methods that are the literal `fork`."""

    rules = (FORK_START,)
    triggers = (b"fork",)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        name = cx.origin(node.func).name
        if name not in _STARTERS:
            return
        arg = cx.argument(node, *_STARTERS[name])
        if arg is None or not _is_fork(arg.value, cx):
            return
        loads = name.endswith("DataLoader")
        who = "workers of this loader" if loads else "processes started by fork"
        cx.report(arg, f'{who} can\'t use the neuron device: "spawn" can', Safety.MANUAL, severity=WARNING)


def _is_fork(value: cst.BaseExpression, cx: Context) -> bool:
    """Whether a value is the literal `fork`, in place or as all that its variable is set to."""
    if isinstance(value, cst.Name):
        found = cx.names.bindings(value.value, cx.names.scope(value))
        return bool(found) and all(b.kind == "assign" and cx.string(b.value) == "fork" for b in found)
    return cx.string(value) == "fork"
