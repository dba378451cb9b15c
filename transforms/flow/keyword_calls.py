"""How a function that is kept somewhere is called there: whether its parameters may change their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from transforms.flow.kept import kept_in, readers

if TYPE_CHECKING:
    from transforms.engine.context import Context


def imported_elsewhere(cx: Context, name: str) -> bool:
    """Whether another file imports a name of this module."""
    return bool(cx.facts.importers.get(name) or cx.facts.importers.get("*"))


def by_keyword(cx: Context, function: cst.CSTNode) -> bool:
    """Whether the calls of what keeps a function are in sight and give keywords only: a position would be that of
    another parameter. True where it is handed to code that can't be followed, which review has to look at."""
    holder = cx.parent(function)
    if isinstance(holder, cst.DictElement):
        table = cx.parent(holder)
        held = [r for t in kept_in(cx, table) for r in readers(cx, t)] if table is not None else []
        return _keywords_only(_calls(cx, [cx.parent(r) for r in held]))
    return all(_called_by_keyword(cx, t) for t in kept_in(cx, function))


def seen_by_keyword(cx: Context, function: cst.CSTNode | None) -> bool:
    """Whether no call in sight of what keeps a function gives an argument by position."""
    kept = kept_in(cx, function) if function is not None else []
    return _keywords_only(_calls(cx, [r for t in kept for r in readers(cx, t)]))


def _called_by_keyword(cx: Context, target: cst.BaseExpression) -> bool:
    if isinstance(target, cst.Name):
        scope = cx.names.scope(target)
        if isinstance(scope, cst.ClassDef) or (isinstance(scope, cst.Module) and imported_elsewhere(cx, target.value)):
            return False
    calls = _calls(cx, readers(cx, target))
    return (bool(calls) or isinstance(target, cst.Name)) and _keywords_only(calls)


def _calls(cx: Context, functions: Sequence[cst.CSTNode | None]) -> list[cst.Call]:
    above = [(f, cx.parent(f)) for f in functions if f is not None]
    return [call for f, call in above if isinstance(call, cst.Call) and call.func is f]


def _keywords_only(calls: Sequence[cst.Call]) -> bool:
    return all(a.keyword is not None or a.star == "**" for c in calls for a in c.args)
