"""Libraries beside torch whose arrays a file works with, and which of them made a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.tables.frameworks import OTHER_ARRAYS

if TYPE_CHECKING:
    from transforms.engine.context import Context

_TORCH = frozenset({"torch", "torchvision", "torchaudio", "builtins", "copy"})


def instead_of_torch(cx: Context) -> str:
    """Why `x.to("cuda")` may be no tensor's: the file imports another library of arrays, and not torch."""
    return cx.shared(_instead)


def _instead(cx: Context) -> str:
    roots = {cx.names.imported_name(a).split(".")[0] for a in cx.index.nodes(cst.ImportAlias)}
    others = sorted(roots & OTHER_ARRAYS)
    torch = any(root == "torch" or root.startswith(("torch_", "torchvision")) for root in roots)
    return f"the file imports {others[0]} and not torch" if others and not torch else ""


def third_party(receiver: cst.BaseExpression, cx: Context) -> str:
    """The package whose call made the receiver, when its objects need not be torch's."""
    for name in _makers(receiver, cx):
        root = name.split(".")[0]
        if root and root not in _TORCH and not name.startswith("."):
            return f"the object comes from {name}()"
    return ""


def other_array(receiver: cst.BaseExpression, cx: Context) -> str:
    """The package with arrays of its own whose function surely made the receiver."""
    packages = {name.split(".")[0] for name in _makers(receiver, cx)}
    return packages.pop() if len(packages) == 1 and packages <= OTHER_ARRAYS else ""


def _makers(receiver: cst.BaseExpression, cx: Context) -> frozenset[str]:
    """Names of the function at which the chain of calls starts that made the receiver."""
    value: cst.BaseExpression | None = receiver
    if isinstance(receiver, cst.Name):
        bindings = cx.names.bindings(receiver.value, cx.names.scope(receiver))
        if len({id(b.value) for b in bindings}) == 1:
            value = bindings[0].value
    while isinstance(value, (cst.Call, cst.Attribute, cst.Subscript)):
        if isinstance(value, cst.Call):
            if names := cx.origin(value.func).names:
                return names
            value = value.func
        else:
            value = value.value
    return frozenset()
