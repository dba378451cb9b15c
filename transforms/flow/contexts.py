"""Context managers of CUDA that have no counterpart: the `with` stays, and holds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.model import Safety
from transforms.flow.knobs import pure
from transforms.flow.renames import called
from transforms.flow.uses import Use

if TYPE_CHECKING:
    from transforms.engine.context import Context

_NULL = "contextlib.nullcontext"


def null_context(cx: Context, at: cst.CSTNode) -> tuple[str, list[str]]:
    """How to write `contextlib.nullcontext` at a place, and the import that it needs."""
    for alias in cx.index.nodes(cst.ImportAlias):
        if cx.names.imported_name(alias) == _NULL:
            bound = alias.asname.name if alias.asname is not None else alias.name
            if isinstance(bound, cst.Name) and cx.origin_of(bound.value, cx.names.scope(at)).name == _NULL:
                return bound.value, []
    return cx.spell(_NULL, at)


def empty_with(cx: Context, use: Use, why: str, severity: str, safety: Safety = Safety.REVIEW) -> None:
    """Report that the item of a `with` becomes `nullcontext()`; a use that is no such item is manual."""
    call = called(cx, use.node)
    item = cx.parent(call) if call is not None else None
    holds = isinstance(item, (cst.WithItem, cst.Assign)) or (
        isinstance(item, cst.IfExp) and isinstance(cx.parent(item), (cst.WithItem, cst.Assign))
    )
    if call is None or not holds or any(a.star or not pure(cx, a.value) for a in call.args):
        cx.report(
            use.node, f"{use.name} has no effect on Trainium ({why}): take it out", Safety.MANUAL, severity=severity
        )
        return
    text, requests = null_context(cx, call)
    fix = cx.fix(f"{use.name} becomes an empty context", cx.replace(call, f"{text}()"), requests=requests)
    cx.report(
        use.node,
        f"{use.name} has no effect on Trainium: {why}",
        safety.at_most(Safety.REVIEW if use.ambiguous else Safety.SAFE),
        fix=fix,
    )
