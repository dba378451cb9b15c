"""TN120: CUDA graphs."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.renames import missing, nearest
from transforms.tables.cuda_streams import GRAPH_MISSING
from transforms.tables.rows import by_name

CUDA_GRAPH = Rule(
    code="TN120",
    name="cuda-graph",
    summary="Capture and replay of CUDA graphs",
    best=Safety.MANUAL,
    argument="It never edits: what is captured has to become a compiled function.",
    source="TorchNeuron overview 2.33: graph modes of CUDA have no counterpart, torch.compile takes their place",
    why="A compiled Neuron graph is what a captured CUDA graph is there: one launch for many operations.",
    silent=(
        "`torch.cuda.is_current_stream_capturing()`, which is False; graphs of torch.fx, of autograd, and of "
        "other packages."
    ),
)
_ROWS = by_name(GRAPH_MISSING)


class CudaGraph(Transform):
    """Reports graph capture."""

    rules = (CUDA_GRAPH,)
    triggers = (b"raph", b"_POOL_HANDLE")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for use in cx.uses.under("torch.cuda"):
            if not use.name.endswith(".is_current_stream_capturing") and (row := nearest(_ROWS, use.name)):
                missing(cx, use, row)
