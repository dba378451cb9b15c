"""What is known about the process group that a call uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.tables.distributed import BACKEND_CALLS, GLOO_ONLY, GROUP_CALLS

if TYPE_CHECKING:
    from transforms.engine.context import Context

DEFAULT, HOST, DEVICE, UNKNOWN = "default", "host", "device", "unknown"
"""The default group; a group on gloo; another group of the device; a value that this file does not explain."""

_PORTABLE = "torch.accelerator."

_WORLD = frozenset(("torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD"))


def runs_on_host(cx: Context, call: cst.Call) -> bool:
    """Whether a call that creates a group names gloo as its backend."""
    known = BACKEND_CALLS.get(cx.origin(call.func).name)
    arg = cx.argument(call, *known) if known is not None else None
    return arg is not None and cx.string(arg.value) in GLOO_ONLY


def group_of(cx: Context, call: cst.Call, position: int, keyword: str = "group") -> str:
    """Which kind of group a call of torch.distributed uses."""
    arg = cx.argument(call, keyword, position)
    if arg is None:
        return UNKNOWN if any(a.star for a in call.args) else DEFAULT
    return _kind(cx, arg.value, 0)


def _kind(cx: Context, value: cst.BaseExpression, hops: int) -> str:
    if isinstance(value, cst.Name) and value.value == "None":
        return DEFAULT
    if cx.origin(value).names & _WORLD:
        return DEFAULT
    if isinstance(value, cst.Call) and cx.origin(value.func).names & GROUP_CALLS:
        return HOST if runs_on_host(cx, value) else DEVICE
    if isinstance(value, cst.Name) and hops < 4:
        found = cx.names.bindings(value.value, cx.names.scope(value))
        kinds = {_kind(cx, b.value, hops + 1) for b in found if b.value is not None and b.kind == "assign"}
        if found and len(kinds) == 1 and all(b.kind == "assign" for b in found):
            return kinds.pop()
        if DEVICE in kinds:
            return DEVICE
    if isinstance(value, cst.Attribute):
        return _stored(cx, value.attr.value)
    return UNKNOWN


def _stored(cx: Context, attribute: str) -> str:
    """What this file stores under an attribute of that name."""
    kinds = set()
    for node in cx.index.names.get(attribute, []):
        above = cx.parent(node)
        target = cx.parent(above) if isinstance(above, cst.Attribute) else None
        statement = cx.parent(target) if isinstance(target, cst.AssignTarget) else None
        if isinstance(statement, cst.Assign) and isinstance(statement.value, cst.Call):
            kinds.add(_kind(cx, statement.value, 4))
        elif isinstance(statement, cst.Assign):
            kinds.add(UNKNOWN)
    return kinds.pop() if len(kinds) == 1 else UNKNOWN


def portable(cx: Context) -> bool:
    """Whether a file is written for any accelerator: it uses torch.accelerator, and nothing in it is CUDA's.

    Such code is documented to run on Trainium as it is. A probe alone does not count.
    """
    if b"torch.accelerator" not in cx.source.data or b"cuda" in cx.source.data.lower():
        return False
    return any(
        (name := cx.origin(above).name).startswith(_PORTABLE) and name != "torch.accelerator.is_available"
        for node in cx.index.names.get("accelerator", [])
        if isinstance(above := cx.parent(cx.parent(node) or node), cst.Attribute)
    )
