"""What a file does with one gradient scaler, and whether all of it can go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.changes import Change, Replace

if TYPE_CHECKING:
    from transforms.engine.context import Context

_PRIMARY = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


@dataclass(eq=False)
class ScalerUses:
    """The uses of a scaler that is stored in a variable or an attribute.

    `states` are its `state_dict` and `load_state_dict` chains. `removal` takes out its statements, and is empty when a
    use is not one of scale, unscale_, step and update as statements of their own.
    """

    states: list[cst.Attribute] = field(default_factory=list)
    removal: list[Change] = field(default_factory=list)


def scaler_uses(cx: Context, call: cst.Call) -> ScalerUses:
    """Follow the scaler that a call makes."""
    assign = cx.parent(call)
    found = ScalerUses()
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return found
    target = assign.targets[0].target
    if isinstance(target, cst.Attribute):
        readers = [_chain(cx, n) for n in cx.index.names.get(target.attr.value, [])]
        found.states = [s for r in readers if r is not None for s in _states(cx, r)]
    elif isinstance(target, cst.Name):
        scope = cx.names.scope(target)
        uses = cx.names.uses(target.value, scope)
        found.states = [s for u in uses for s in _states(cx, u)]
        alone = len(cx.names.bindings(target.value, scope)) == 1 and not cx.names.executes
        shared = bool(cx.names.occurrences(target.value).declared)
        if isinstance(scope, cst.Module):
            shared |= bool(cx.facts.importers.get(target.value)) or target.value in exported_names(cx)
        if alone and not shared:
            found.removal = _removal(cx, assign, uses)
    return found


def exported_names(cx: Context) -> frozenset[str]:
    """The names that `__all__` lists."""
    lists = (cx.parent(cx.parent(n) or n) for n in cx.index.names.get("__all__", []))
    values = [s.value for s in lists if isinstance(s, cst.Assign) and isinstance(s.value, (cst.List, cst.Tuple))]
    return frozenset(t for v in values for e in v.elements if (t := cx.string(e.value)) is not None)


def _chain(cx: Context, name: cst.Name) -> cst.Attribute | None:
    above = cx.parent(name)
    return above if isinstance(above, cst.Attribute) and above.attr is name else None


def _states(cx: Context, reader: cst.CSTNode) -> list[cst.Attribute]:
    above = cx.parent(reader)
    if isinstance(above, cst.Attribute) and above.value is reader and above.attr.value.endswith("state_dict"):
        return [above]
    return []


def _removal(cx: Context, assign: cst.Assign, uses: list[cst.Name]) -> list[Change]:
    """Changes that take out the scaler and all that is done with it, none when something else is done with it."""
    changes: list[Change] = [cx.remove_statement(assign)]
    if not isinstance(cx.parent(assign), cst.SimpleStatementLine):
        return []
    for use in uses:
        change = _without(cx, use)
        if change is None:
            return []
        changes += change
    return changes


def _without(cx: Context, use: cst.Name) -> list[Change] | None:
    """One use of the scaler taken back to what it would be without one."""
    method = cx.parent(use)
    call = cx.parent(method) if isinstance(method, cst.Attribute) and method.value is use else None
    if not isinstance(method, cst.Attribute) or not isinstance(call, cst.Call) or call.func is not method:
        return None
    if any(a.star or a.keyword for a in call.args):
        return None
    statement = cx.parent(call)
    name = method.attr.value
    if name in ("unscale_", "update") and isinstance(statement, cst.Expr):
        return [cx.remove_statement(statement)]
    if name == "step" and call.args and isinstance(call.args[0].value, _PRIMARY):
        optimizer = call.args[0]
        return [Replace(method.value, cx.code(optimizer.value)), cx.arguments(call).drop(optimizer)]
    if name == "scale" and len(call.args) == 1:
        value = call.args[0].value
        code = cx.code(value)
        if "\n" in code or "\r" in code:
            return None
        enclosed = isinstance(value, _PRIMARY) or bool(getattr(value, "lpar", ()))
        plain = enclosed or not isinstance(statement, cst.Attribute)
        return [Replace(call, code if plain else f"({code})")]
    return None
