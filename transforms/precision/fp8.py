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
    silent=(
        "Types that are only asked about: compared with, matched, looked up in a sequence, or listed in a table "
        "of types; their names as texts; types of other packages."
    ),
)


_NO_USE = (cst.ImportAlias, cst.AsName, cst.Comparison, cst.ComparisonTarget, cst.DictElement, cst.MatchValue)
_QUESTIONS = frozenset({"torch.finfo", "builtins.isinstance", "builtins.str", "builtins.repr", "builtins.dict"})
_LOOKUPS = frozenset({"get", "pop", "index", "count"})


class Fp8(Transform):
    """Reports 8-bit types and the packages that train in them."""

    rules = (FP8_TYPES,)
    triggers = (b"float8", b"float4_", b"_scaled_mm")
    nodes = (cst.Attribute, cst.Name, cst.Import, cst.ImportFrom)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one name."""
        if isinstance(node, (cst.Import, cst.ImportFrom)):
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
        if isinstance(above, _NO_USE) or _listed_in_test(node, cx) or _asked(node, cx):
            return
        named = above.keyword if isinstance(above, cst.Arg) else above.name if isinstance(above, cst.Param) else None
        if named is node:
            return
        found = next((n for n in sorted(cx.origin(node).names) if n in FP8), None)
        if found is not None and not cx.is_type(node):
            cx.report(node, FP8[found], Safety.MANUAL, severity=WARNING)

    def _package(self, node: cst.Import | cst.ImportFrom, cx: Context) -> None:
        if not isinstance(node.names, (list, tuple)):
            return
        for alias in node.names:
            qualified = cx.names.imported_name(alias)
            why = next((text for prefix, text in FP8_PACKAGES.items() if qualified.startswith(prefix)), None)
            if why is not None:
                cx.report(alias.name, f"{qualified}: {why}", Safety.MANUAL, severity=WARNING)


def _asked(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a type is only asked about: `torch.finfo(torch.float8_e5m2)`, `names.get(torch.float8_e5m2)`."""
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    looked_up = isinstance(call.func, cst.Attribute) and call.func.attr.value in _LOOKUPS and call.args[0] is arg
    return looked_up or cx.origin(call.func).name in _QUESTIONS


def _listed_in_test(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a type is a member of a sequence that something is looked up in: `dtype in (a, b)`, `dtype in TYPES`."""
    element = cx.parent(node)
    holder = cx.parent(element) if isinstance(element, cst.Element) else None
    above = cx.parent(holder) if holder is not None else None
    if isinstance(above, cst.Arg):  # frozenset((a, b))
        call = cx.parent(above)
        made = isinstance(call, cst.Call) and cx.origin(call.func).name in ("builtins.set", "builtins.frozenset")
        above = cx.parent(call) if made and call is not None else above
    if isinstance(above, cst.ComparisonTarget):
        return True
    target = above.targets[0].target if isinstance(above, cst.Assign) and len(above.targets) == 1 else None
    if not isinstance(target, cst.Name):
        return False
    uses = cx.names.uses(target.value, cx.names.scope(target))
    return bool(uses) and all(isinstance(cx.parent(use), cst.ComparisonTarget) for use in uses)
