"""Attributes that a file gives a value of its own, under a name that torch's objects have too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from transforms.engine.context import Context


def gives_value(name: cst.Name, cx: Context) -> bool:
    """Whether an identifier is where an attribute gets a value: in a class body, or by `x.name = ...`."""
    above = cx.parent(name)
    if isinstance(above, (cst.AssignTarget, cst.AnnAssign)):
        return isinstance(cx.names.scope(name), cst.ClassDef)
    if not isinstance(above, cst.Attribute) or above.attr is not name:
        return False
    target = cx.parent(above)
    return isinstance(target, cst.AssignTarget) or (isinstance(target, cst.AnnAssign) and target.target is above)
