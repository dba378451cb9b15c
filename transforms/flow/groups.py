"""What is known about the process group that a call uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.tables.distributed import BACKEND_CALLS, GLOO_ONLY, GROUP_CALLS, INIT_CALLS

if TYPE_CHECKING:
    from transforms.engine.context import Context

DEFAULT, HOST, DEVICE, UNKNOWN = "default", "host", "device", "unknown"
"""The default group; a group on gloo; another group of the device; a value that this file does not explain."""

_PORTABLE = "torch.accelerator."

_WORLD = frozenset(("torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD"))
_HOST_CONSTANTS = frozenset(("torch.distributed.Backend.GLOO", "torch.distributed.distributed_c10d.Backend.GLOO"))
_DEFAULT_CALLS = frozenset(("torch.distributed.distributed_c10d._get_default_group",))


def runs_on_host(cx: Context, call: cst.Call) -> bool:
    """Whether a call that creates a group names gloo as its backend, or takes that of a default group on gloo."""
    name = cx.origin(call.func).name
    known = BACKEND_CALLS.get(name)
    arg = cx.argument(call, *known) if known is not None else None
    if arg is None or (isinstance(arg.value, cst.Name) and arg.value.value == "None"):
        return name in GROUP_CALLS and starts_on_host(cx)
    return _on_host(arg.value, cx)


def _on_host(value: cst.BaseExpression, cx: Context) -> bool:
    """Whether a backend is gloo: the literal, `Backend.GLOO`, or a variable that is set to nothing else."""
    if isinstance(value, cst.Name):
        found = cx.names.bindings(value.value, cx.names.scope(value))
        return bool(found) and all(b.kind == "assign" and cx.string(b.value) in GLOO_ONLY for b in found)
    return cx.string(value) in GLOO_ONLY or cx.origin(value).name in _HOST_CONSTANTS


def starts_on_host(cx: Context) -> bool:
    """Whether this file starts process groups, and all of them on gloo: no default group of the device is made here."""
    return cx.shared(_all_on_host)


def _all_on_host(cx: Context) -> bool:
    starts = [c for c in cx.index.nodes(cst.Call) if cx.origin(c.func).names & INIT_CALLS]
    return bool(starts) and all(runs_on_host(cx, call) for call in starts)


def group_of(cx: Context, call: cst.Call, position: int, keyword: str = "group") -> str:
    """Which kind of group a call of torch.distributed uses."""
    arg = cx.argument(call, keyword, position)
    if arg is None and any(a.star for a in call.args):
        return UNKNOWN
    kind = DEFAULT if arg is None else _kind(cx, arg.value, 0)
    return HOST if kind == DEFAULT and starts_on_host(cx) else kind


def _kind(cx: Context, value: cst.BaseExpression, hops: int) -> str:
    if isinstance(value, cst.Name) and value.value == "None":
        return DEFAULT
    if cx.origin(value).names & _WORLD:
        return DEFAULT
    if isinstance(value, cst.IfExp):
        kinds = {_kind(cx, value.body, hops), _kind(cx, value.orelse, hops)}
        return kinds.pop() if len(kinds) == 1 else DEVICE if DEVICE in kinds else UNKNOWN
    if isinstance(value, cst.Call) and cx.origin(value.func).names & GROUP_CALLS:
        return HOST if runs_on_host(cx, value) else DEVICE
    if isinstance(value, cst.Call) and cx.origin(value.func).names & _DEFAULT_CALLS:
        return DEFAULT
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
