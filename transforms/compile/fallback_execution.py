"""TN313: what happens when a compiled graph fails."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.entries import Entries
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.compile import COMPILE_NAMES, FALLBACK_VARIABLE

FALLBACK_EXECUTION = Rule(
    code="TN313",
    name="fallback-execution",
    summary="A silent fallback of compiled graphs to eager execution is pointed out",
    best=Safety.OFFER,
    argument="Without it a graph that fails raises, so a program that ran (slowly) may stop.",
    source="TorchNeuron documentation 2.33, best practices: leave TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION at 1",
    why="A silent fallback can make a broken graph look as if it worked.",
    silent="The default, and the value 1.",
    examples=(
        (
            'import os\n\nos.environ["TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION"] = "0"\n',
            'import os\n\nos.environ["TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION"] = "1"\n',
        ),
    ),
)

_MESSAGE = "a compiled graph that fails runs eagerly, without a word: with the default it raises"
_TRUE = ("1", "true", "yes")


class FallbackExecution(Transform):
    """Offers to let failures of compiled graphs be seen."""

    rules = (FALLBACK_EXECUTION,)
    triggers = (FALLBACK_VARIABLE.encode(), b"fallback_execution")
    nodes = (cst.SimpleString,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one string literal: the name of the variable, or the key of the option."""
        text = cx.string(node)
        if text == FALLBACK_VARIABLE:
            self._variable(node, cx)
        elif text == "fallback_execution":
            self._option(node, cx)

    def _variable(self, node: cst.CSTNode, cx: Context) -> None:
        value = _value_beside(node, cx)
        said = cx.string(value)
        if value is not None and said is not None and said.lower() not in _TRUE:
            fix = cx.fix("failures raise", cx.replace(value, cx.literal("1", value)))
            cx.report(node, _MESSAGE, Safety.OFFER, fix=fix)

    def _option(self, node: cst.CSTNode, cx: Context) -> None:
        entry = cx.parent(node)
        holder = cx.parent(entry) if entry is not None else None
        if not isinstance(entry, cst.DictElement) or entry.key is not node or not isinstance(holder, cst.Dict):
            return
        arg = cx.parent(holder)
        call = cx.parent(arg) if arg is not None else None
        if (
            not isinstance(arg, cst.Arg)
            or not isinstance(call, cst.Call)
            or not arg.keyword
            or arg.keyword.value != "options"
        ):
            return
        if not cx.origin(call.func).names & COMPILE_NAMES or not isinstance(entry.value, cst.Name):
            return
        if entry.value.value == "True":
            alone = len(holder.elements) == 1
            change = cx.arguments(call).drop(arg) if alone else Entries(holder).drop(entry)
            cx.report(entry, _MESSAGE, Safety.OFFER, fix=cx.fix("failures raise", change))


def _value_beside(node: cst.CSTNode, cx: Context) -> cst.BaseExpression | None:
    """What the variable is set to: by a subscript, by `setdefault`, or in a dict."""
    above = cx.parent(node)
    if isinstance(above, cst.DictElement) and above.key is node:
        return above.value
    if isinstance(above, cst.Index):
        subscript = cx.index.enclosing(above, cst.Subscript)
        target = cx.parent(subscript) if subscript is not None else None
        statement = cx.parent(target) if target is not None else None
        return statement.value if isinstance(target, cst.AssignTarget) and isinstance(statement, cst.Assign) else None
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call) and len(call.args) == 2 and call.args[0] is above:
        called = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        return call.args[1].value if called in ("setdefault", "putenv", "setenv") else None
    return None
