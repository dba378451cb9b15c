"""Names of torch.cuda that a file gives another value: by assignment, `setattr`, or a patch of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from transforms.engine.context import Context

REPLACED = "it is given another value here, which torch.neuron does not get"
_PATCHERS = ("patch", "object", "setattr")


class Patched:
    """What is replaced, with the place of it."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self._places: dict[str, cst.CSTNode] = {}
        for spelled in _PATCHERS:
            for name in cx.index.names.get(spelled, []):
                above = cx.parent(name)
                function = above if isinstance(above, cst.Attribute) and above.attr is name else name
                call = cx.parent(function)
                if isinstance(call, cst.Call) and call.func is function and call.args:
                    self._patch(call)
        for target in cx.index.nodes(cst.AssignTarget):
            if isinstance(target.target, cst.Attribute):
                for qualified in cx.origin(target.target).names:
                    self._places.setdefault(qualified, target)

    def _patch(self, call: cst.Call) -> None:
        """`patch("torch.cuda.f")`, `patch.object(torch.cuda, "f")`, `setattr(torch.cuda, "f", g)`."""
        first = call.args[0].value
        whole = self.cx.string(first)
        if whole is not None:
            self._places.setdefault(whole, call)
            return
        name = self.cx.string(call.args[1].value) if len(call.args) > 1 else None
        for holder in self.cx.origin(first).names if name is not None else ():
            self._places.setdefault(f"{holder}.{name}", call)

    def place(self, qualified: str) -> cst.CSTNode | None:
        """Where a name is replaced in this file."""
        return self._places.get(qualified)
