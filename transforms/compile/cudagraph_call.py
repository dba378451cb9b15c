"""TN309: calls for the CUDA graphs that Inductor records."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.compile import CUDAGRAPH_PREFIXES, STEP_MARKS

CUDAGRAPH_CALL = Rule(
    code="TN309",
    name="cudagraph-call",
    summary="`cudagraph_mark_step_begin()` is taken out, other calls for CUDA graphs are reported",
    best=Safety.SAFE,
    argument=(
        "The call tells Inductor's CUDA graphs where a step begins; there are none on the device, so nothing reads it."
    ),
    source="TorchNeuron documentation 2.33, best practices: CUDA graph modes have no effect; torch 2.13 source",
    silent="`hasattr` and `getattr` by name, options and texts that are called so, and marks of other objects.",
    why="A compiled graph on Trainium is one executable already; nothing is recorded and replayed around it.",
    examples=(
        (
            "import torch\n\n\ndef step(net, x):\n    torch.compiler.cudagraph_mark_step_begin()\n    return net(x)\n",
            "import torch\n\n\ndef step(net, x):\n    return net(x)\n",
        ),
    ),
)


class CudagraphCall(Transform):
    """Takes step marks out."""

    rules = (CUDAGRAPH_CALL,)
    triggers = (b"cudagraph",)
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at all uses in a file."""
        for name in sorted(STEP_MARKS):
            for use in cx.uses.of(name):
                call = cx.parent(use.node)
                statement = cx.parent(call) if call is not None else None
                if isinstance(call, cst.Call) and call.func is use.node and isinstance(statement, cst.Expr):
                    level = Safety.REVIEW if use.ambiguous else Safety.SAFE
                    fix = cx.fix("the step mark is taken out", cx.remove_statement(statement))
                    cx.report(use.node, "there are no CUDA graphs whose step could begin here", level, fix=fix)
                else:
                    cx.report(use.node, "without effect on neuron", Safety.MANUAL, severity=WARNING)
        for use in cx.uses.under(*CUDAGRAPH_PREFIXES):
            message = "CUDA graphs of Inductor do not exist on neuron: a compiled graph is one executable already"
            cx.report(use.node, message, Safety.MANUAL, severity=WARNING)
