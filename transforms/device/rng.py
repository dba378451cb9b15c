"""TN111: seeds and states of random number generators."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.device_arguments import device_argument
from transforms.flow.renames import called, missing, nearest, rename
from transforms.flow.uses import Use
from transforms.tables.cuda_rng import RNG_API, RNG_MISSING
from transforms.tables.rows import Row, by_name

RNG = Rule(
    code="TN111",
    name="rng",
    summary="Seeds and random states of the device",
    best=Safety.SAFE,
    argument=(
        "The functions exist on torch.neuron and are called by accelerate; the streams of numbers differ, as "
        "documented."
    ),
    source="torch-neuronx sources of April 2026; accelerate 1.15",
    why="`torch.cuda.manual_seed` does nothing without CUDA, and states saved on CUDA do not load on Trainium.",
    silent="`torch.manual_seed`, which seeds the device as well; keys of checkpoints keep their names.",
    examples=(
        (
            "import torch\n\n\ndef f():\n    torch.cuda.manual_seed_all(1)\n",
            "import torch\n\n\ndef f():\n    torch.neuron.manual_seed_all(1)\n",
        ),
        (
            "import torch\n\n\ndef f():\n    with torch.random.fork_rng(devices=[0]):\n        return 1\n",
            'import torch\n\n\ndef f():\n    with torch.random.fork_rng(devices=[0], device_type="neuron"):\n'
            "        return 1\n",
        ),
    ),
)
_ROWS = by_name(RNG_API)
_MISSING = by_name(RNG_MISSING)
_RESTORES = ("set_rng_state", "set_rng_state_all")
_FORK = ("torch.random.fork_rng", "torch.cuda.random.fork_rng")


class Rng(Transform):
    """Renames seeds and states."""

    rules = (RNG,)
    triggers = (b"seed", b"rng", b"default_generators", b"_get_generator")
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for use in cx.uses.under("torch.cuda"):
            if row := _ROWS.get(use.name):
                self._function(use, row, cx)
            elif row := nearest(_MISSING, use.name):
                missing(cx, use, row)
        for name in _FORK:
            for use in cx.uses.of(name):
                self._fork(use, cx)

    def _function(self, use: Use, row: Row, cx: Context) -> None:
        call = called(cx, use.node)
        if call is None:
            rename(cx, use, row)
            return
        given = device_argument(cx, call, row)
        if given.problem:
            cx.report(use.node, given.problem, Safety.MANUAL, evidence=given.evidence)
            return
        safety, evidence = given.safety, list(given.evidence)
        if use.name.endswith(_RESTORES) and call.args and (source := _saved(call.args[0].value, cx)) is not None:
            safety = Safety.REVIEW
            evidence.append(
                (source, "the state may come from a checkpoint: one that was saved on CUDA is refused on neuron")
            )
        rename(cx, use, row, *given.changes, safety=safety, evidence=evidence)

    def _fork(self, use: Use, cx: Context) -> None:
        """fork_rng forks CUDA's generators unless it is told another device type."""
        call = called(cx, use.node)
        if call is None or any(a.star for a in call.args) or cx.argument(call, "device_type") is not None:
            return
        devices = cx.argument(call, "devices", 0)
        if devices is not None and isinstance(devices.value, (cst.List, cst.Tuple)) and not devices.value.elements:
            return  # the CPU's generator alone
        change = cx.arguments(call).append(f"device_type={cx.literal('neuron', call)}")
        fix = cx.fix("the generators of neuron are forked", change)
        level = Safety.OFFER if devices is None else Safety.REVIEW
        cx.report(use.node, "fork_rng forks CUDA's generators unless device_type says otherwise", level, fix=fix)


def _saved(state: cst.BaseExpression, cx: Context, hops: int = 0) -> cst.CSTNode | None:
    """The part of a restored state that does not surely come from this run."""
    if isinstance(state, cst.Name) and hops < 4:
        bindings = cx.names.bindings(state.value, cx.names.scope(state))
        values = [b.value for b in bindings if b.kind == "assign" and b.value is not None]
        if not bindings or len(values) < len(bindings):
            return state
        return next((found for v in values if (found := _saved(v, cx, hops + 1)) is not None), None)
    if isinstance(state, cst.Call):
        name = cx.origin(state.func).name
        if name.rpartition(".")[2] in ("get_rng_state", "get_rng_state_all"):
            return None
        if isinstance(state.func, cst.Attribute) and state.func.attr.value in ("cpu", "clone", "to", "byte", "detach"):
            return _saved(state.func.value, cx, hops)
    return state
