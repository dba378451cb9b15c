"""TN117: NVTX markers."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.contexts import empty_with
from transforms.flow.knobs import drop_call
from transforms.flow.renames import called, only_tested, rename
from transforms.flow.uses import Use
from transforms.tables.profiling import EMIT_NVTX, MARKERS, NVTX_OTHER, NVTX_RANGE
from transforms.tables.rows import MIDDLE, Row

NVTX = Rule(
    code="TN117",
    name="nvtx",
    summary="NVTX ranges become `torch.profiler.record_function`; single markers go",
    best=Safety.REVIEW,
    argument=(
        "Markers change nothing but a trace of NVIDIA's profiler; record_function marks the same range for torch's."
    ),
    source="TorchNeuron profiling guide 2.33: torch.profiler; torch 2.13: NVTX raises on a wheel without CUDA",
    why="The functions raise without CUDA, and no Neuron tool reads NVTX.",
    silent="The package `nvtx`, which is not torch's; own tracers and options of that name.",
    examples=(
        (
            'import torch\n\n\ndef f(g):\n    with torch.cuda.nvtx.range("step"):\n        g()\n',
            'import torch\n\n\ndef f(g):\n    with torch.profiler.record_function("step"):\n        g()\n',
        ),
        (
            'import torch\n\n\ndef f(g):\n    torch.cuda.nvtx.range_push("step")\n    g()\n'
            "    torch.cuda.nvtx.range_pop()\n",
            "import torch\n\n\ndef f(g):\n    g()\n",
        ),
    ),
)
_WHY = "NVTX marks traces of NVIDIA's profiler; torch.profiler.record_function marks those of torch.profiler"
_RANGE = Row(
    NVTX_RANGE, "torch.profiler.record_function", MIDDLE, "torch 2.13: a context manager and decorator", starts=False
)


class Nvtx(Transform):
    """Rewrites ranges, takes markers out."""

    rules = (NVTX,)
    triggers = (b"nvtx",)
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for use in cx.uses.under(*NVTX_OTHER):
            if use.name in MARKERS:
                drop_call(cx, use, _WHY, severity=ERROR)
            elif use.name == NVTX_RANGE:
                self._range(use, cx)
            elif use.name == EMIT_NVTX:
                empty_with(cx, use, _WHY, ERROR)
            elif only_tested(cx, use.node):
                cx.keep(use.node, "asks whether the import worked")
            else:
                cx.report(use.node, f"{use.name} raises on Trainium: use torch.profiler", Safety.MANUAL)

    def _range(self, use: Use, cx: Context) -> None:
        call = called(cx, use.node)
        if call is None:
            rename(cx, use, _RANGE)
            return
        if len(call.args) != 1 or call.args[0].star:
            cx.report(use.node, "record_function takes the finished name of the range: format it first", Safety.MANUAL)
            return
        change = cx.arguments(call)
        if call.args[0].keyword is not None:
            change.rename(call.args[0], "name")
        rename(cx, use, _RANGE, *([change] if change else []))
