"""Libraries beside torch whose arrays a file works with, and which of them made a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.tables.frameworks import OTHER_ARRAYS

if TYPE_CHECKING:
    from transforms.engine.context import Context

_TORCH = frozenset({"torch", "torchvision", "torchaudio", "builtins", "copy"})
_GIVERS = frozenset({"parameters", "buffers"})
_TENSORS = frozenset({"data", "grad", "weight", "bias"})
"""Attributes of tensors and modules that are tensors."""


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


def made_elsewhere(receiver: cst.BaseExpression, cx: Context) -> str:
    """Why the receiver may be an object of another package: a call that is neither torch's nor the repository's
    made it."""
    why = third_party(receiver, cx)
    return "" if why and all(name.split(".")[0] in cx.facts.modules for name in _makers(receiver, cx)) else why


def made_by_torch(receiver: cst.BaseExpression, cx: Context) -> bool:
    """Whether the receiver is a tensor that torch or a module gave: `torch.ones(3)`, `next(m.parameters())`."""
    if isinstance(receiver, cst.Attribute) and receiver.attr.value in _TENSORS:
        return True
    if isinstance(receiver, cst.Call) and cx.origin(receiver.func).name == "builtins.next" and receiver.args:
        given = receiver.args[0].value
        method = given.func if isinstance(given, cst.Call) else None
        return isinstance(method, cst.Attribute) and method.attr.value in _GIVERS
    names = _makers(receiver, cx)
    return bool(names) and all(name.startswith("torch.") for name in names)


def other_array(receiver: cst.BaseExpression, cx: Context) -> str:
    """The package with arrays of its own whose function surely made the receiver."""
    packages = {name.split(".")[0] for name in _makers(receiver, cx)}
    return packages.pop() if len(packages) == 1 and packages <= OTHER_ARRAYS else ""


def _makers(receiver: cst.BaseExpression, cx: Context) -> frozenset[str]:
    """Names of the function at which the chain of calls starts that made the receiver."""
    if isinstance(receiver, cst.Name):
        values = [b.value for b in cx.names.bindings(receiver.value, cx.names.scope(receiver))]
        found = [_called(value, cx) for value in values]
        others = [names for names in found if not any(n.split(".")[0] in _TORCH for n in names)]
        return frozenset[str]().union(*found) if len(values) == 1 or (all(found) and others == found) else frozenset()
    return _called(receiver, cx)


def _called(value: cst.CSTNode | None, cx: Context) -> frozenset[str]:
    """Names of the function at which a chain of calls, attributes and subscripts starts."""
    while isinstance(value, (cst.Call, cst.Attribute, cst.Subscript)):
        if isinstance(value, cst.Call):
            if names := cx.origin(value.func).names:
                return names
            value = value.func
        else:
            value = value.value
    return frozenset()
