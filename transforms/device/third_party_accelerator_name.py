"""TN123: arguments of libraries that name accelerators in their own words."""

from __future__ import annotations

import libcst as cst

from transforms.device._rules import THIRD_PARTY_ACCELERATOR_NAME
from transforms.engine.context import Context
from transforms.engine.model import Safety
from transforms.engine.transform import Transform
from transforms.tables.frameworks import ACCELERATORS, Accelerator, rows_for

_ROOTS = sorted({root for row in ACCELERATORS for root in row.roots})


class ThirdPartyAcceleratorName(Transform):
    """Reports such arguments."""

    rules = (THIRD_PARTY_ACCELERATOR_NAME,)
    triggers = tuple(root.encode() for root in _ROOTS)
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        if not any(a.keyword is not None for a in node.args):
            return
        for row in rows_for(cx.origin(node.func).name):
            for arg in node.args:
                if arg.keyword is not None and arg.keyword.value == row.argument:
                    self._argument(arg, row, cx)

    def _argument(self, arg: cst.Arg, row: Accelerator, cx: Context) -> None:
        if not row.values:
            if (
                not (isinstance(arg.value, cst.Name) and arg.value.value in ("None", "False"))
                and cx.integer(arg.value) != 0
            ):
                assert arg.keyword is not None
                cx.report(arg.keyword, row.advice, Safety.MANUAL, severity=row.severity)
            return
        for value in _texts(arg.value):
            text = cx.string(value)
            if text is not None and (text in row.values or text.split(":")[0] in row.values):
                cx.report(value, row.advice, Safety.MANUAL, severity=row.severity)


def _texts(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The literals that an argument can be: arms of conditionals, elements of a list, values of a dict."""
    if isinstance(value, cst.IfExp):
        return [*_texts(value.body), *_texts(value.orelse)]
    if isinstance(value, (cst.List, cst.Tuple)):
        return [part for element in value.elements for part in _texts(element.value)]
    if isinstance(value, cst.Dict):
        return [part for element in value.elements for part in _texts(element.value)]
    return [value]
