"""TN113: memory figures and the allocator."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.device_arguments import device_argument
from transforms.flow.renames import called, missing, nearest, rename
from transforms.flow.results import results
from transforms.flow.uses import Use
from transforms.tables.cuda_memory import MEMORY_API, MEMORY_MISSING, STATS_GROUPS, STATS_KEYS
from transforms.tables.rows import Row, by_name

MEMORY_STATS = Rule(
    code="TN113",
    name="memory-stats",
    summary="Memory figures, the cache of the allocator, memory history",
    best=Safety.SAFE,
    argument="The functions are documented for TorchNeuron; figures differ, as documented.",
    source="TorchNeuron documentation 2.33: memory guide, best practices; torch-neuronx sources of April 2026",
    why="Without CUDA the figures are zero or the functions raise; the keys of memory_stats() are others on neuron.",
    silent=(
        "Keys that the neuron dictionary has as well; memory of the host, of other accelerators and of other packages; "
        "torch.accelerator."
    ),
    examples=(
        (
            "import torch\n\n\ndef f():\n    return torch.cuda.max_memory_allocated()\n",
            "import torch\n\n\ndef f():\n    return torch.neuron.max_memory_allocated()\n",
        ),
        (
            "import torch\n\n\ndef f():\n    torch.cuda.reset_max_memory_allocated()\n",
            "import torch\n\n\ndef f():\n    torch.neuron.reset_peak_memory_stats()\n",
        ),
    ),
)
_ROWS = by_name(MEMORY_API)
_MISSING = by_name(MEMORY_MISSING)


class MemoryStats(Transform):
    """Renames memory functions and reports what reads CUDA's keys."""

    rules = (MEMORY_STATS,)
    triggers = (b"mem", b"cache", b"alloc", b"Mem", b"Allocator", b"_snapshot", b"_usage")
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for use in cx.uses.under("torch.cuda"):
            if row := _ROWS.get(use.name):
                self._function(use, row, cx)
            elif row := nearest(_MISSING, use.name):
                missing(cx, use, row)
            elif use.name == "torch.cuda.memory":
                message = "torch.cuda.memory as a whole has no counterpart: name the functions of torch.neuron"
                cx.report(use.node, message, Safety.MANUAL)

    def _function(self, use: Use, row: Row, cx: Context) -> None:
        call = called(cx, use.node)
        stats = row.new == "torch.neuron.memory_stats"
        if call is None:
            rename(cx, use, row, safety=Safety.REVIEW if stats else None)
            return
        given = device_argument(cx, call, row)
        if given.problem:
            cx.report(use.node, given.problem, Safety.MANUAL, evidence=given.evidence)
            return
        safety, evidence = given.safety, list(given.evidence)
        if stats and (other := self._keys(call, cx)) is not None:
            safety = Safety.REVIEW
            evidence.append((other, "what is read can't be followed: on neuron the dict is nested, with other keys"))
        rename(cx, use, row, *given.changes, safety=safety, evidence=evidence)

    def _keys(self, call: cst.Call, cx: Context) -> cst.CSTNode | None:
        """Report keys of CUDA's flat dictionary of figures. Gives a use that says nothing of its keys."""
        read = results(cx, call)
        other: list[cst.CSTNode] = [*read.attributes, *read.escapes, *(k for k in read.keys if cx.string(k) is None)]
        for key in read.keys:
            text = cx.string(key)
            if text is None or text in STATS_KEYS:
                continue
            first, _, rest = text.partition(".")
            last = rest.rpartition(".")[2]
            advice = f'["{first}"]["{last}"]' if first in STATS_GROUPS and last else "there is no such figure"
            get = isinstance(cx.parent(key), cst.Arg)
            message = f"torch.neuron.memory_stats() is nested and has no key {text!r}: {advice}"
            cx.report(key, message, Safety.MANUAL, severity=WARNING if get else None)
        return other[0] if other else None
