"""Which values are storages, and which functions torch.load calls with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from transforms.engine.context import Context

_MAKERS = frozenset({"storage", "untyped_storage", "_typed_storage", "typed_storage"})
LOADERS: dict[str, int] = {
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
}
"""Functions with the position of `map_location` (torch 2.13 signatures)."""


def is_storage(receiver: cst.CSTNode, cx: Context) -> bool:
    """Whether an expression is the storage of a tensor."""
    if isinstance(receiver, cst.Name):
        found = cx.names.bindings(receiver.value, cx.names.scope(receiver))
        return (
            len(found) == 1
            and found[0].kind == "assign"
            and isinstance(found[0].value, cst.Call)
            and is_storage(found[0].value, cx)
        )
    if isinstance(receiver, cst.Call) and _makes_storage(cx.origin(receiver.func).name):
        return True
    if isinstance(receiver, cst.Call) and isinstance(receiver.func, cst.Attribute):
        return receiver.func.attr.value in _MAKERS and not cx.origin(receiver.func).names
    return False


def _makes_storage(name: str) -> bool:
    """Whether a qualified name is a storage class: `torch.FloatStorage`, `torch.UntypedStorage`, `torch.storage...`."""
    parts = name.split(".")
    return parts[0] == "torch" and len(parts) in (2, 3) and parts[-1].endswith("Storage")


def map_location_function(receiver: cst.CSTNode, cx: Context) -> cst.CSTNode | None:
    """The lambda or function given as `map_location` whose first parameter the receiver is."""
    if not isinstance(receiver, cst.Name):
        return None
    found = cx.names.bindings(receiver.value, cx.names.scope(receiver))
    if len(found) != 1 or found[0].kind != "param":
        return None
    function = found[0].scope
    if isinstance(function, cst.Lambda):
        if not function.params.params or function.params.params[0].name.value != receiver.value:
            return None
        return function if _is_map_location(function, cx) or _named_so(function, cx) else None
    if not isinstance(function, cst.FunctionDef) or not function.params.params:
        return None
    if function.params.params[0].name.value != receiver.value:
        return None
    used = cx.names.uses(function.name.value, cx.names.scope(function))
    return function if any(_is_map_location(u, cx) for u in used) else None


def is_saved_location(node: cst.CSTNode, cx: Context) -> bool:
    """Whether an expression is the second parameter of a `map_location` function: where a tensor was when saved."""
    if not isinstance(node, cst.Name):
        return False
    found = cx.names.bindings(node.value, cx.names.scope(node))
    function = found[0].scope if len(found) == 1 and found[0].kind == "param" else None
    if not isinstance(function, (cst.Lambda, cst.FunctionDef)) or len(function.params.params) < 2:
        return False
    if function.params.params[1].name.value != node.value:
        return False
    if isinstance(function, cst.Lambda):
        return _is_map_location(function, cx) or _named_so(function, cx)
    return any(_is_map_location(u, cx) for u in cx.names.uses(function.name.value, cx.names.scope(function)))


def map_location_dict(holder: cst.CSTNode, cx: Context) -> bool:
    """Whether a dict is given as `map_location`: at once, as an arm of a conditional, or by a variable."""
    if not isinstance(holder, cst.Dict):
        return False
    top = _whole(holder, cx)
    above = cx.parent(top)
    if isinstance(above, cst.Assign) and len(above.targets) == 1:
        target = above.targets[0].target
    elif isinstance(above, cst.AnnAssign) and above.value is top:
        target = above.target
    else:
        return _is_map_location(top, cx)
    if not isinstance(target, cst.Name):
        return False
    uses = cx.names.uses(target.value, cx.names.scope(target))
    return bool(uses) and all(_is_map_location(_whole(u, cx), cx) for u in uses)


def _whole(value: cst.CSTNode, cx: Context) -> cst.CSTNode:
    """The conditional of which a value is an arm, or the value itself."""
    while isinstance(above := cx.parent(value), cst.IfExp) and above.test is not value:
        value = above
    return value


def _is_map_location(value: cst.CSTNode, cx: Context) -> bool:
    arg = cx.parent(value)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call):
        return False
    if arg.keyword is not None:
        return arg.keyword.value == "map_location"
    name = cx.origin(call.func).name
    return name in LOADERS and cx.argument(call, "map_location", LOADERS[name]) is arg


def _named_so(function: cst.Lambda, cx: Context) -> bool:
    """`loc = lambda s, l: ...` that is given as map_location."""
    above = cx.parent(function)
    target = above.targets[0].target if isinstance(above, cst.Assign) else None
    if not isinstance(target, cst.Name):
        return False
    return any(_is_map_location(u, cx) for u in cx.names.uses(target.value, cx.names.scope(target)))
