"""TN107: names of torch.cuda that torch.neuron does not have."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.conditions import conditions, elsewhere
from transforms.flow.kept import kept_in, readers
from transforms.flow.knobs import drop_call
from transforms.flow.renames import called, missing, nearest, replaced
from transforms.flow.uses import Use
from transforms.tables.cuda_device import CONSTANTS, MISSING_API, NO_EFFECT, PRIVATE_PREFIX
from transforms.tables.cuda_names import ABSENT
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
    triggers = (b"cuda", b"Cuda", b"getattr(torch", b"get_device_module")
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

        for name in ("getattr", "get_device_module"):
            for node in cx.index.names.get(name, []):
                self._looked_up(node, cx)

    def _looked_up(self, node: cst.CSTNode, cx: Context) -> None:
        """What is read from `getattr(torch, device_type)`, the module of whichever device a value names."""
        function = cx.parent(node) if isinstance(cx.parent(node), cst.Attribute) else node
        call = called(cx, function) if function is not None else None
        if call is None or not _gives_module(call, cx):
            return
        for module in (call, *(r for target in kept_in(cx, call) for r in readers(cx, target))):
            above = cx.parent(module)
            if not isinstance(above, cst.Attribute) or above.value is not module:
                continue
            name = above.attr.value
            if name not in ABSENT:
                continue
            asked = any("hasattr(" in cx.code(test) for test, _ in conditions(above, cx))
            asked = asked or elsewhere(above, cx) is not None or cx.index.enclosing(above, cst.Try) is not None
            message = f"the module may be torch.neuron, which has no {name}"
            cx.report(above.attr, message, Safety.MANUAL, severity=WARNING if asked else ERROR)

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


def _gives_module(call: cst.Call, cx: Context) -> bool:
    """Whether a call gives the module of torch for a device that a value of the program names."""
    name = cx.origin(call.func).name
    if name == "torch.get_device_module":
        return True
    if name != "builtins.getattr" or len(call.args) < 2 or cx.origin(call.args[0].value).name != "torch":
        return False
    given = call.args[1].value
    return cx.string(given) in ("cuda", "neuron") or (cx.string(given) is None and cx.devices.is_device(given))
