"""TN206: 8-bit floats."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.dtypes import FP8, FP8_PACKAGES

FP8_TYPES = Rule(
    code="TN206",
    name="fp8",
    summary="8-bit floating point, which needs Trainium 3",
    best=Safety.MANUAL,
    argument="It never edits.",
    source="TorchNeuron documentation 2.33, data types: FP8 and MXFP8 on Trainium 3",
    why="On Trainium 1 and 2 the types have no operators, and the kernels behind them are written for NVIDIA GPUs.",
    silent="Types that are only compared with, or keys of a table.",
)


_NO_USE = (cst.ImportAlias, cst.AsName, cst.Param, cst.Comparison, cst.ComparisonTarget, cst.DictElement)


class Fp8(Transform):
    """Reports 8-bit types and the packages that train in them."""

    rules = (FP8_TYPES,)
    triggers = (b"float8", b"float4_", b"_scaled_mm")
    nodes = (cst.Attribute, cst.Name, cst.ImportFrom)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one name."""
        if isinstance(node, cst.ImportFrom):
            self._package(node, cx)
            return
        spelled = node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")
        if not spelled.startswith(("float8", "float4", "_scaled_mm")):
            return
        above = cx.parent(node)
        if isinstance(above, cst.Attribute) and above.attr is node:
            return
        if isinstance(node, cst.Name) and not cx.names.bindings(spelled, cx.names.scope(node)):
            return
        if isinstance(above, _NO_USE) or _listed_in_test(node, cx):
            return
        if isinstance(above, cst.Arg) and above.keyword is node:
            return
        found = next((n for n in sorted(cx.origin(node).names) if n in FP8), None)
        if found is not None and not cx.is_type(node):
            cx.report(node, FP8[found], Safety.MANUAL, severity=WARNING)

    def _package(self, node: cst.ImportFrom, cx: Context) -> None:
        if not isinstance(node.names, (list, tuple)):
            return
        for alias in node.names:
            qualified = cx.names.imported_name(alias)
            why = next((text for prefix, text in FP8_PACKAGES.items() if qualified.startswith(prefix)), None)
            if why is not None:
                cx.report(alias.name, f"{qualified}: {why}", Safety.MANUAL, severity=WARNING)


def _listed_in_test(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a type is a member of a sequence that something is looked up in: `dtype in (a, b)`."""
    element = cx.parent(node)
    holder = cx.parent(element) if isinstance(element, cst.Element) else None
    return holder is not None and isinstance(cx.parent(holder), cst.ComparisonTarget)
