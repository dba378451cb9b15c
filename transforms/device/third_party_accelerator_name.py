"""TN123: arguments of libraries that name accelerators in their own words."""

from __future__ import annotations

import libcst as cst

from transforms.device._rules import THIRD_PARTY_ACCELERATOR_NAME
from transforms.engine.context import Context
from transforms.engine.model import Safety
from transforms.engine.transform import Transform
from transforms.flow.library_parameters import function_of, library_value
from transforms.tables.frameworks import ACCELERATORS, Accelerator, rows_for

_ROOTS = frozenset(root for row in ACCELERATORS for root in row.roots)


_MAPPED = "; it stands in a device map, which is not documented for neuron"
_COUNTS = "; a library counts CUDA devices by it"


def _imports_one(cx: Context) -> bool:
    """Whether the file imports one of the libraries: a cheap look before the name of each call is resolved."""
    return any(cx.names.imported_name(a).split(".")[0] in _ROOTS for a in cx.index.nodes(cst.ImportAlias)) or bool(
        cx.names.stars
    )


class ThirdPartyAcceleratorName(Transform):
    """Reports such arguments."""

    rules = (THIRD_PARTY_ACCELERATOR_NAME,)
    triggers = tuple(root.encode() for root in sorted(_ROOTS))
    nodes = (cst.Call, cst.SimpleString)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call, or at one text that may be a value of a dict of parameters."""
        if isinstance(node, cst.SimpleString):
            text = cx.string(node)
            found = library_value(cx, node) if text else None
            if found is not None and text is not None and _asks(text, found[1]):
                self._report(node, found[1], found[0], cx)
            return
        assert isinstance(node, cst.Call)
        if not node.args or not cx.shared(_imports_one):
            return
        for row in rows_for(function_of(cx, node)):
            named = (a for a in node.args if a.keyword is not None and a.keyword.value == row.argument)
            arg = next(named, None) or (cx.argument(node, row.argument, row.place) if row.place >= 0 else None)
            if arg is not None:
                self._argument(arg, row, cx)

    def _argument(self, arg: cst.Arg, row: Accelerator, cx: Context) -> None:
        if not row.values:
            if not _nothing(arg.value, cx):
                cx.report(arg.keyword or arg.value, row.advice, Safety.MANUAL, severity=row.severity)
                cx.hold(arg.value, why=_COUNTS)
            return
        for value in _values(arg.value, cx):
            text = cx.string(value)
            if text is None:
                if row.argument == "device_map" and isinstance(value, cst.Integer):
                    self._report(value, row, arg, cx)
            elif _asks(text, row):
                followed = not any(a is arg for a in cx.index.ancestors(value))
                if not (followed and text.startswith("cuda")):  # TN101 speaks of device names that go there
                    self._report(value, row, arg, cx)

    def _report(self, site: cst.CSTNode, row: Accelerator, given: cst.CSTNode, cx: Context) -> None:
        rule = THIRD_PARTY_ACCELERATOR_NAME.code
        if not any(f.site is site and f.rule == rule for f in cx.findings):
            if row.argument == "device_map":
                cx.hold(site, why=_MAPPED)
            evidence = [(given, "given to the library here")] if not isinstance(cx.parent(site), cst.Arg) else []
            cx.report(site, row.advice, Safety.MANUAL, severity=row.severity, evidence=evidence)


def _asks(text: str, row: Accelerator) -> bool:
    return text in row.values or text.split(":")[0] in row.values


def _nothing(value: cst.BaseExpression, cx: Context) -> bool:
    """Whether a count or a switch says that there is none."""
    if isinstance(value, cst.Name):
        return value.value in ("None", "False")
    if isinstance(value, cst.Float):
        return float(value.value) == 0
    return cx.integer(value) == 0


def _values(value: cst.BaseExpression, cx: Context, hops: int = 0) -> list[cst.BaseExpression]:
    """The literals that an argument can be: arms of conditionals, elements of a list, values of a dict or variable."""
    if isinstance(value, cst.IfExp):
        return [*_values(value.body, cx, hops), *_values(value.orelse, cx, hops)]
    if isinstance(value, (cst.List, cst.Tuple, cst.Dict)):
        return [part for element in value.elements for part in _values(element.value, cx, hops)]
    if isinstance(value, cst.Call) and value.args and cx.origin(value.func).name == "torch.device":
        return _values(value.args[0].value, cx, hops)
    if isinstance(value, cst.Name) and hops < 2:
        found = cx.names.bindings(value.value, cx.names.scope(value))
        if found and all(b.kind == "assign" for b in found):
            stored = [b.value for b in found if isinstance(b.value, cst.BaseExpression)]
            return [part for s in stored for part in _values(s, cx, hops + 1)]
    return [value]
