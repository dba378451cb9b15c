"""Which expressions are torch modules, by where they come from in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.names import Binding, dotted_name

if TYPE_CHECKING:
    from transforms.engine.context import Context

YES, NO, UNKNOWN = "yes", "no", "unknown"

_BASES = frozenset({"LightningModule", "PreTrainedModel", "ModelMixin", "ComposerModel"})
"""Base classes of libraries that derive from torch.nn.Module."""

_FACTORIES = ("torchvision.models.", "timm.create_model", "torch.hub.load", "timm.models.create_model")
_SAME = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "train",
        "eval",
        "half",
        "float",
        "bfloat16",
        "double",
        "requires_grad_",
        "to_empty",
        "type",
        "apply",
        "share_memory",
    ]
)
"""Methods of a module that give the module back (torch 2.13)."""

_CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ModuleDict"})
_CHILDREN = frozenset(["children", "modules", "values"])
_NAMED = frozenset(["named_children", "named_modules", "items"])
_OTHER = frozenset(
    [
        "re",
        "regex",
        "keras",
        "tensorflow",
        "tf_keras",
        "jax",
        "sklearn",
        "numpy",
        "builtins",
        "ast",
        "codeop",
        "jinja2",
        "sympy",
        "sqlalchemy",
        "tvm",
        "mlx",
        "numba",
        "django",
        "pyarrow",
    ]
)
"""Packages whose objects are no torch modules."""
_HANDS_ON = frozenset({"builtins.getattr", "builtins.next", "builtins.super", "builtins.min", "builtins.max"})
"""Builtins that may return a module."""

_MOST_HOPS = 6


@dataclass(frozen=True)
class Kind:
    """Whether a value is a torch module, and what shows it."""

    verdict: str
    why: str = ""
    foreign: bool = False
    """It belongs to another package, and so does what its methods return."""


_UNKNOWN = Kind(UNKNOWN)


class Modules:
    """Answers about the values of one file."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx

    def kind(self, node: cst.CSTNode, hops: int = 0) -> Kind:
        """What an expression is."""
        if hops > _MOST_HOPS:
            return _UNKNOWN
        if isinstance(node, cst.Name):
            return self._name(node, hops)
        if isinstance(node, cst.Call):
            return self._call(node, hops)
        if isinstance(node, cst.Attribute):
            return self._attribute(node, hops)
        if isinstance(node, cst.Subscript):
            return self._part(node.value, hops)
        if isinstance(node, (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)):
            return Kind(NO, "a text")
        if isinstance(node, cst.IfExp):
            return _both([self.kind(node.body, hops + 1), self.kind(node.orelse, hops + 1)])
        return _UNKNOWN

    def class_kind(self, node: cst.ClassDef, hops: int = 0) -> Kind:
        """Whether a class of the file derives from torch.nn.Module."""
        unknown = False
        for base in node.bases:
            for name in self.cx.origin(base.value).names:
                if _is_module_class(name):
                    return Kind(YES, f"{node.name.value} derives from {name}")
                unknown = unknown or name.split(".")[0] not in _OTHER | {"abc", "typing", "enum", "dataclasses"}
            held = self._class(base.value)
            if held is not None and held is not node and hops < _MOST_HOPS:
                above = self.class_kind(held, hops + 1)
                if above.verdict == YES:
                    return above
                unknown = unknown or above.verdict == UNKNOWN
        return _UNKNOWN if unknown else Kind(NO, f"{node.name.value} is a class of its own")

    # steps ------------------------------------------------------------------------------------------------------

    def _class(self, node: cst.CSTNode) -> cst.ClassDef | None:
        if not isinstance(node, cst.Name):
            return None
        found = self.cx.names.bindings(node.value, self.cx.names.scope(node))
        holder = self.cx.parent(found[0].node) if len(found) == 1 and found[0].kind == "class" else None
        return holder if isinstance(holder, cst.ClassDef) else None

    def _name(self, node: cst.Name, hops: int) -> Kind:
        origin = self.cx.origin(node)
        if origin.names:
            roots = {n.split(".")[0] for n in origin.names}
            foreign = roots <= _OTHER and not origin.local
            return Kind(NO, f"{origin.name} is no module", foreign="builtins" not in roots) if foreign else _UNKNOWN
        found = self.cx.names.bindings(node.value, self.cx.names.scope(node))
        kinds = [self._binding(b, hops) for b in found if not _rebinds_itself(b, node.value)]
        return _both(kinds) if kinds else _UNKNOWN

    def _binding(self, binding: Binding, hops: int) -> Kind:
        if binding.kind == "param":
            return self._parameter(binding)
        if binding.kind == "for" or binding.kind == "other":
            return self._loop(binding, hops)
        if binding.kind == "with":
            return _UNKNOWN
        return self.kind(binding.value, hops + 1) if binding.value is not None else _UNKNOWN

    def _parameter(self, binding: Binding) -> Kind:
        param = self.cx.parent(binding.node)
        function = self.cx.index.enclosing(binding.node, cst.FunctionDef, cst.Lambda)
        if not isinstance(param, cst.Param) or not isinstance(function, cst.FunctionDef):
            return _UNKNOWN
        first = [*function.params.posonly_params, *function.params.params][:1]
        holder = self.cx.names.scope(function)
        if first and first[0] is param and isinstance(holder, cst.ClassDef):
            plain = {dotted_name(d.decorator) for d in function.decorators}
            return _UNKNOWN if plain & {"staticmethod", "classmethod"} else self.class_kind(holder)
        if param.annotation is not None:
            annotation = param.annotation.annotation
            for name in self.cx.origin(annotation).names:
                if _is_module_class(name):
                    return Kind(YES, f"{name} is the annotation of {binding.name}")
            held = self._class(annotation)
            return self.class_kind(held) if held is not None else _UNKNOWN
        return _UNKNOWN

    def _loop(self, binding: Binding, hops: int) -> Kind:
        loop = self.cx.index.enclosing(binding.node, cst.For, cst.CompFor)
        if loop is None or not isinstance(loop, (cst.For, cst.CompFor)):
            return _UNKNOWN
        source: cst.BaseExpression = loop.iter
        if isinstance(loop.target, cst.Tuple):
            last = loop.target.elements[-1].value is binding.node and len(loop.target.elements) == 2
            if not last or not isinstance(source, cst.Call):
                return _UNKNOWN
            if self.cx.origin(source.func).name == "builtins.enumerate" and source.args:
                source = source.args[0].value
            elif not (isinstance(source.func, cst.Attribute) and source.func.attr.value in _NAMED):
                return _UNKNOWN
            else:
                return self.kind(source.func.value, hops + 1)
        elif loop.target is not binding.node:
            return _UNKNOWN
        if (
            isinstance(source, cst.Call)
            and isinstance(source.func, cst.Attribute)
            and source.func.attr.value in _CHILDREN
        ):
            return self.kind(source.func.value, hops + 1)
        return self._part(source, hops)

    def _part(self, holder: cst.CSTNode, hops: int) -> Kind:
        """An element of a container of modules."""
        whole = self.kind(holder, hops + 1)
        return whole if whole.verdict == YES and whole.why.startswith(tuple(_CONTAINERS)) else _UNKNOWN

    def _call(self, node: cst.Call, hops: int) -> Kind:
        origin = self.cx.origin(node.func)
        for name in origin.names:
            if _is_module_class(name):
                return Kind(YES, f"{name}()")
            if name.startswith(_FACTORIES) or name.endswith(".from_pretrained"):
                return Kind(YES, f"{name}() makes a module")
            if name in ("torch.compile", "copy.deepcopy", "copy.copy") and node.args:
                return self.kind(node.args[0].value, hops + 1)
            if name in _HANDS_ON:
                return _UNKNOWN
            if name.split(".")[0] in _OTHER and not origin.local:
                return Kind(NO, f"{name}() makes no module", foreign=not name.startswith("builtins."))
        held = self._class(node.func)
        if held is not None:
            return self.class_kind(held)
        if isinstance(node.func, cst.Attribute) and not origin.names:
            receiver = self.kind(node.func.value, hops + 1)
            if node.func.attr.value in _SAME or receiver.foreign:
                return receiver
        return _UNKNOWN

    def _attribute(self, node: cst.Attribute, hops: int) -> Kind:
        if node.attr.value in ("module", "_orig_mod"):
            return self.kind(node.value, hops + 1)
        if not isinstance(node.value, cst.Name):
            return _UNKNOWN
        owner = self._owner(node.value)
        if owner is None:
            return _UNKNOWN
        kinds = []
        for target in self.cx.index.nodes(cst.AssignTarget):
            stored = target.target
            if not isinstance(stored, cst.Attribute) or stored.attr.value != node.attr.value:
                continue
            if not isinstance(stored.value, cst.Name) or self._owner(stored.value) is not owner:
                continue
            statement = self.cx.parent(target)
            assert isinstance(statement, cst.Assign)
            if not (isinstance(statement.value, cst.Call) and dotted_name(stored) in self.cx.code(statement.value)):
                kinds.append(self.kind(statement.value, hops + 1))
        return _both(kinds) if kinds else _UNKNOWN

    def _owner(self, name: cst.Name) -> cst.ClassDef | None:
        """The class whose instance a name is: the first parameter of its methods, or a variable made by calling it."""
        for binding in self.cx.names.bindings(name.value, self.cx.names.scope(name)):
            holder = self.cx.names.scope(binding.scope) if binding.kind == "param" else None
            if isinstance(holder, cst.ClassDef) and name.value in ("self", "cls"):
                return holder
            if isinstance(binding.value, cst.Call) and (held := self._class(binding.value.func)) is not None:
                return held
        return None


def _is_module_class(name: str) -> bool:
    head, _, last = name.rpartition(".")
    if last in _BASES or (last.startswith("AutoModel") and head.startswith("transformers")):
        return True
    return (
        head.startswith("torch.nn")
        and last[:1].isupper()
        and last not in ("Parameter", "Buffer", "UninitializedParameter")
    )


def _rebinds_itself(binding: Binding, name: str) -> bool:
    """`m = torch.compile(m)`, `m = m.to(d)`: says nothing new about what `m` is."""
    value = binding.value
    if not isinstance(value, cst.Call):
        return False
    inner: list[cst.CSTNode] = [a.value for a in value.args[:1]]
    if isinstance(value.func, cst.Attribute):
        inner.append(value.func.value)
    return any(isinstance(n, cst.Name) and n.value == name for n in inner)


def _both(kinds: list[Kind]) -> Kind:
    verdicts = {k.verdict for k in kinds}
    return kinds[0] if len(verdicts) == 1 else _UNKNOWN
