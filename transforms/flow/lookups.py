"""Texts by which code is looked up: the name of a module that is imported, of a function or an attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from transforms.engine.context import Context

_CALLS: dict[str, int] = {
    "importlib.import_module": 0,
    "builtins.__import__": 0,
    "importlib.util.find_spec": 0,
    "runpy.run_module": 0,
    "runpy.run_path": 0,
    "builtins.eval": 0,
    "builtins.exec": 0,
    "builtins.compile": 0,
    "torch.ops.load_library": 0,
    "torch.classes.load_library": 0,
    "ctypes.CDLL": 0,
    "ctypes.cdll.LoadLibrary": 0,
    "builtins.getattr": 1,
    "builtins.hasattr": 1,
    "builtins.setattr": 1,
}
"""Functions with the position of the name (Python 3.14 library, torch 2.13)."""

_TABLES = frozenset({"builtins.globals", "builtins.locals", "builtins.vars", "sys.modules"})
_PASSED = (
    *(cst.BinaryOperation, cst.FormattedString, cst.FormattedStringExpression, cst.ConcatenatedString),
    *(cst.Tuple, cst.Element),
)


def looked_up(text: cst.CSTNode, cx: Context, hops: int = 1) -> bool:
    """Whether a text, directly or through one variable, is the name by which code is looked up."""
    child = text
    for above in cx.index.ancestors(text):
        if isinstance(above, cst.Arg):
            call = cx.parent(above)
            place = _CALLS.get(cx.origin(call.func).name) if isinstance(call, cst.Call) else None
            return place is not None and isinstance(call, cst.Call) and call.args.index(above) == place
        if isinstance(above, cst.Index):
            subscript = cx.index.enclosing(above, cst.Subscript)
            holder = subscript.value if subscript is not None else above
            holder = holder.func if isinstance(holder, cst.Call) else holder
            named = isinstance(holder, cst.Attribute) and holder.attr.value == "__dict__"
            return named or cx.origin(holder).name in _TABLES
        if isinstance(above, cst.Assign) and hops:
            target = above.targets[0].target
            uses = cx.names.uses(target.value, cx.names.scope(target)) if isinstance(target, cst.Name) else ()
            return any(looked_up(use, cx, hops - 1) for use in uses)
        if isinstance(above, cst.Attribute) and above.attr.value in ("format", "lower", "upper"):
            child = above
            continue
        if isinstance(above, cst.Call) and child is above.func:
            child = above
            continue
        if not isinstance(above, _PASSED):
            return False
        child = above
    return False
