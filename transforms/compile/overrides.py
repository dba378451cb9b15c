"""Arguments that a call gives to a partial of torch.compile, over those that the partial holds."""

from __future__ import annotations

import libcst as cst

from transforms.compile.call_rules import (
    COMPILE_BACKEND,
    COMPILE_DYNAMIC,
    COMPILE_MODE,
    COMPILE_OPTIONS,
    COMPILE_SHAPES_SPEC,
)
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Safety
from transforms.engine.names import is_none
from transforms.tables.compile import BACKENDS_KEPT, COMPILE_NAMES, PARTIALS

_IDLE = {"mode": COMPILE_MODE, "options": COMPILE_OPTIONS, "shapes_spec": COMPILE_SHAPES_SPEC}
_STATIC = "dynamic is given over that of the partial, and shapes are static on Trainium: take it out"
_BACKEND = 'the backend is given over that of the partial: it has to be "neuron" on Trainium'


def check_overrides(call: cst.Call, cx: Context) -> None:
    """Report what a call of a partial says otherwise than the partial does once that is for neuron."""
    if not _calls_partial(call, cx):
        return
    for arg in call.args:
        name = arg.keyword.value if arg.keyword is not None else ""
        if name == "dynamic" and not (isinstance(arg.value, cst.Name) and arg.value.value == "False"):
            cx.report(arg, _STATIC, Safety.MANUAL, rule=COMPILE_DYNAMIC)
        elif name == "backend" and cx.string(arg.value) not in BACKENDS_KEPT | {"neuron"}:
            cx.report(arg, _BACKEND, Safety.MANUAL, rule=COMPILE_BACKEND)
        elif name in _IDLE and not is_none(arg.value):
            message = f"{name} means nothing to the neuron backend: take it out"
            cx.report(arg, message, Safety.MANUAL, rule=_IDLE[name], severity=WARNING)
        elif arg.star == "**":
            message = "arguments are unpacked over those of the partial: backend and dynamic must not be among them"
            cx.report(arg, message, Safety.MANUAL, rule=COMPILE_BACKEND, severity=WARNING)


def _calls_partial(call: cst.Call, cx: Context) -> bool:
    """Whether what is called is `partial(torch.compile, ...)`, or a variable that holds nothing else."""
    if isinstance(call.func, cst.Call):
        return _is_partial(call.func, cx)
    if not isinstance(call.func, cst.Name):
        return False
    found = cx.names.bindings(call.func.value, cx.names.scope(call.func))
    return bool(found) and all(b.kind == "assign" and _is_partial(b.value, cx) for b in found)


def _is_partial(value: cst.CSTNode | None, cx: Context) -> bool:
    if not isinstance(value, cst.Call) or not value.args or not cx.origin(value.func).names & PARTIALS:
        return False
    return bool(cx.origin(value.args[0].value).names & COMPILE_NAMES)
