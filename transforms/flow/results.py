"""What becomes of the value that a call gives: the attributes and keys that are read from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from transforms.engine.context import Context

_TEXT = (cst.FormattedStringExpression, cst.Expr)


@dataclass
class Results:
    """Reads of one value. `escapes` holds uses through which it may be read elsewhere."""

    attributes: list[cst.Name] = field(default_factory=list)
    keys: list[cst.CSTNode] = field(default_factory=list)
    comparisons: list[cst.Comparison] = field(default_factory=list)
    escapes: list[cst.CSTNode] = field(default_factory=list)


def results(cx: Context, value: cst.CSTNode) -> Results:
    """Follow a value through the variable that it is stored in."""
    found = Results()
    for node in _holders(cx, value, 0):
        _read(cx, node, found)
    return found


def _holders(cx: Context, value: cst.CSTNode, hops: int) -> Iterator[cst.CSTNode]:
    """The value itself, or every read of the local variable that holds it."""
    above = cx.parent(value)
    if hops < 3 and isinstance(above, cst.Assign) and len(above.targets) == 1:
        target = above.targets[0].target
        if isinstance(target, cst.Name):
            for use in cx.names.uses(target.value, cx.names.scope(target)):
                yield from _holders(cx, use, hops + 1)
            return
    yield value


def _read(cx: Context, node: cst.CSTNode, found: Results) -> None:
    above = cx.parent(node)
    if isinstance(above, cst.Attribute):
        call = cx.parent(above)
        if above.attr.value == "get" and isinstance(call, cst.Call) and call.func is above and call.args:
            found.keys.append(call.args[0].value)
        else:
            found.attributes.append(above.attr)
    elif isinstance(above, cst.Subscript) and above.value is node:
        part = above.slice[0].slice
        if isinstance(part, cst.Index) and len(above.slice) == 1:
            found.keys.append(part.value)
    elif isinstance(above, cst.ComparisonTarget):
        holder = cx.parent(above)
        if isinstance(holder, cst.Comparison):
            found.comparisons.append(holder)
    elif isinstance(above, cst.Comparison):
        found.comparisons.append(above)
    elif not is_printed(cx, node):
        found.escapes.append(node)


def is_printed(cx: Context, node: cst.CSTNode) -> bool:
    """Whether a value is only printed, logged, or part of a text."""
    above = cx.parent(node)
    if isinstance(above, _TEXT):
        return True
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    from transforms.engine.names import dotted_name
    from transforms.engine.text_roles import PRINTERS

    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted_name(call.func)
    return name in PRINTERS
