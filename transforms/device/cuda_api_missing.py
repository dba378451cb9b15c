"""TN107: names of torch.cuda that torch.neuron does not have."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.knobs import drop_call
from transforms.flow.renames import called, missing, nearest, replaced
from transforms.flow.uses import Use
from transforms.tables.cuda_device import CONSTANTS, MISSING_API, NO_EFFECT, PRIVATE_PREFIX
from transforms.tables.rows import Row, by_name

CUDA_API_MISSING = Rule(
    code="TN107",
    name="cuda-api-missing",
    summary="Names of `torch.cuda` without a counterpart on neuron",
    best=Safety.REVIEW,
    argument=(
        "Calls that only tune CUDA are taken out when they stand as statements, and questions whose answer is known "
        "get it; "
        "everything else is reported with what to do instead."
    ),
    source=(
        "torch-neuronx sources of April 2026, where the names are absent; torch 2.13 on a wheel without CUDA, where "
        "they raise"
    ),
    why="A torch wheel without CUDA raises in these functions.",
    silent="Names that the tables do not hold: they are unknown sites (TN003).",
    examples=(
        (
            "import torch\n\n\ndef f():\n    torch.cuda.ipc_collect()\n    return 1\n",
            "import torch\n\n\ndef f():\n    return 1\n",
        ),
        ("import torch\n\nok = torch.cuda.is_tf32_supported()\n", "import torch\n\nok = False\n"),
    ),
)
_MISSING = by_name(MISSING_API)
_NO_EFFECT = by_name(NO_EFFECT)
_CONSTANTS = by_name(CONSTANTS)


class CudaApiMissing(Transform):
    """Reports what has no counterpart; takes out what has no effect."""

    rules = (CUDA_API_MISSING,)
    triggers = (b"cuda", b"Cuda")
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of torch in a file."""
        for use in cx.uses.under("torch.cuda"):
            if row := _CONSTANTS.get(use.name):
                self._constant(use, row, cx)
            elif row := _NO_EFFECT.get(use.name):
                drop_call(cx, use, row.note)
            elif row := nearest(_MISSING, use.name):
                missing(cx, use, row)
        for use in cx.uses.under("torch._C"):
            if use.name.startswith(PRIVATE_PREFIX) or use.name.startswith("torch._C._Cuda"):
                message = f"{use.name} is a function of CUDA builds of torch: it is absent on Trainium"
                severity = WARNING if cx.is_type(use.node) else None
                cx.report(use.node, message, Safety.MANUAL, severity=severity)

    def _constant(self, use: Use, row: Row, cx: Context) -> None:
        call = called(cx, use.node)
        if replaced(cx, use):
            return
        flag = row.name.startswith("torch.cuda.has_")
        if (call is None and not flag) or use.ambiguous:
            cx.report(use.node, f"{row.name} is {row.new} on Trainium", Safety.MANUAL)
            return
        fix = cx.fix(f"{row.name} is {row.new}", cx.replace(call or use.node, row.new))
        cx.report(use.node, f"{row.name} is {row.new} on Trainium: {row.source}", Safety.REVIEW, fix=fix)
