"""Which place a name, attribute or key is, what a call means, and which conditions ask for an accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.names import dotted_name
from transforms.engine.words import words
from transforms.flow.steps import Place
from transforms.tables.devices import DEVICE_KEYWORDS, OTHER_ACCELERATORS

if TYPE_CHECKING:
    from transforms.engine.context import Context

_PROBES = frozenset({"torch.cuda.is_available", "torch.neuron.is_available", "torch.accelerator.is_available"})
_COUNTS = frozenset({"torch.cuda.device_count", "torch.neuron.device_count"})
_RECORD_BASES = ("NamedTuple", "BaseModel", "TypedDict", "BaseSettings")
_ANSWERS = (cst.Call, cst.BooleanOperation, cst.Comparison, cst.IfExp)
"""Forms of a probe whose answer a variable may keep."""
_ENUMS = ("Enum", "StrEnum")
_LAST = frozenset({"device", "dev"})
_WHOLE = frozenset("device_type device_name device_str device_string devices devicename".split()) | DEVICE_KEYWORDS


def names_device(name: str) -> bool:
    """Whether an identifier or key says that it holds a device: its last word is `device` or `dev`."""
    found = words(name)
    return name.lower() in _WHOLE or bool(found and found[-1] in _LAST)


class Locations:
    """Places of one file."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self._functions: dict[str, list[cst.FunctionDef]] | None = None
        self._classes: dict[int, cst.ClassDef] = {}
        self._probing: set[int] = set()

    # places -----------------------------------------------------------------------------------------------------

    def variable(self, name: cst.Name) -> Place:
        """The variable that a name means."""
        scope = self.cx.names.binding_scope(name.value, self.cx.names.scope(name))
        return ("var", id(scope) if scope is not None else 0, name.value)

    def field(self, holder: cst.ClassDef, name: str) -> Place:
        """The attribute `name` of the objects of a class."""
        return ("attr", id(self.family(holder)), name)

    def attribute(self, node: cst.Attribute) -> Place:
        """The place of an attribute: that of its class when the receiver is an object of the file's own."""
        holder = self.class_of(node.value)
        return self.field(holder, node.attr.value) if holder is not None else ("attr", 0, node.attr.value)

    def is_known(self, node: cst.Attribute) -> bool:
        """Whether an attribute is a name of a package, and no value of the program (as those of absl's FLAGS are)."""
        names = self.cx.origin(node).names
        return bool(names) and not any(".FLAGS." in name for name in names)

    def key(self, node: cst.Subscript) -> str | None:
        """The text key of a subscript."""
        if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
            return self.cx.string(node.slice[0].slice.value)
        return None

    # classes and functions --------------------------------------------------------------------------------------

    def class_of(self, receiver: cst.CSTNode) -> cst.ClassDef | None:
        """The class of this file that an expression is an object of (or is), None when that can't be told."""
        if isinstance(receiver, cst.Call):
            return self.class_named(receiver.func)
        if not isinstance(receiver, cst.Name):
            return None
        scope = self.cx.names.scope(receiver)
        found = self.cx.names.bindings(receiver.value, scope)
        if len(found) != 1:
            return None
        binding = found[0]
        if binding.kind == "param":
            function = binding.scope
            if receiver.value in ("self", "cls") and isinstance(function, cst.FunctionDef):
                holder = self.cx.names.scope(function)
                return holder if isinstance(holder, cst.ClassDef) else None
            above = self.cx.parent(binding.node)
            if isinstance(above, cst.Param) and above.annotation is not None:
                return self.class_named(above.annotation.annotation)
            return None
        if binding.kind == "class":
            defined = self.cx.parent(binding.node)
            return defined if isinstance(defined, cst.ClassDef) else None
        if binding.kind == "assign" and isinstance(binding.value, cst.Call):
            return self.class_named(binding.value.func)
        return None

    def class_named(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """The class of this file that a name means."""
        if not isinstance(node, cst.Name):
            return None
        found = self.cx.names.bindings(node.value, self.cx.names.scope(node))
        holder = self.cx.parent(found[0].node) if len(found) == 1 and found[0].kind == "class" else None
        return holder if isinstance(holder, cst.ClassDef) else None

    def family(self, holder: cst.ClassDef) -> cst.ClassDef:
        """The topmost class of the file among the bases of a class: what attributes are shared with."""
        known = self._classes.get(id(holder))
        if known is None:
            self._classes[id(holder)] = holder
            known = holder
            for arg in holder.bases:
                base = self.class_named(arg.value)
                if base is not None and base is not holder:
                    known = self.family(base)
                    break
            self._classes[id(holder)] = known
        return known

    def bases(self, holder: cst.ClassDef) -> list[str]:
        """Names of the bases of a class, qualified where an import says so."""
        return [self.cx.origin(a.value).name or dotted_name(a.value) for a in holder.bases if a.keyword is None]

    def is_enum(self, holder: cst.ClassDef) -> bool:
        """Whether a class is an enumeration of texts."""
        return any(base.rpartition(".")[2] in _ENUMS for base in self.bases(holder))

    def values_read(self, holder: cst.ClassDef) -> list[cst.Attribute]:
        """Readings of `self.value` in an enumeration: each of its members may be meant."""
        reads = [self.cx.parent(n) for n in self.cx.index.names.get("value", [])]
        return [
            r for r in reads if isinstance(r, cst.Attribute) and self.class_of(r.value) is holder and _is_self(r.value)
        ]

    def members(self, holder: cst.ClassDef) -> list[cst.Name]:
        """Names that the body of a class gives a value."""
        targets = [t.target for t in self.cx.index.nodes(cst.AssignTarget)]
        return [t for t in targets if isinstance(t, cst.Name) and self.cx.names.scope(t) is holder]

    def class_table(self, read: cst.Attribute) -> cst.Name | None:
        """The name that a class body gives a dict, where `self.table` or `Class.table` reads it."""
        holder = self.class_of(read.value)
        if holder is None:
            return None
        bindings = self.cx.names.bindings(read.attr.value, holder)
        own = [b for b in bindings if b.scope is holder]
        dicts = own and len(own) == len(bindings) and all(isinstance(b.value, cst.Dict) for b in own)
        return own[0].node if dicts and isinstance(own[0].node, cst.Name) else None

    def table_reads(self, table: cst.Name) -> list[cst.Attribute]:
        """Where a dict of a class body is read as an attribute."""
        reads = [self.cx.parent(n) for n in self.cx.index.names.get(table.value, [])]
        return [r for r in reads if isinstance(r, cst.Attribute) and self.class_table(r) is table]

    def is_record(self, holder: cst.ClassDef) -> bool:
        """Whether a class has an `__init__` made from its fields."""
        if any(base.rpartition(".")[2] in _RECORD_BASES for base in self.bases(holder)):
            return True
        for decorator in holder.decorators:
            called = decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
            if dotted_name(called).rpartition(".")[2] in ("dataclass", "define", "attrs", "s", "frozen", "mutable"):
                return True
        return any(
            (base := self.class_named(arg.value)) is not None and base is not holder and self.is_record(base)
            for arg in holder.bases
        )

    def methods(self, name: str) -> list[cst.FunctionDef]:
        """Methods of this name in the file."""
        if self._functions is None:
            self._functions = {}
            for function in self.cx.index.nodes(cst.FunctionDef):
                if isinstance(self.cx.names.scope(function), cst.ClassDef):
                    self._functions.setdefault(function.name.value, []).append(function)
        return self._functions.get(name, [])

    def own_method(self, holder: cst.ClassDef, name: str) -> list[cst.FunctionDef]:
        """Methods of a class, or of its bases in the file."""
        found = self.methods(name)
        seen: set[int] = set()
        here: cst.ClassDef | None = holder
        while here is not None and id(here) not in seen:
            seen.add(id(here))
            own = [f for f in found if self.cx.names.scope(f) is here]
            if own:
                return own
            here = next((b for a in here.bases if (b := self.class_named(a.value)) is not None), None)
        return []

    def called(self, call: cst.Call) -> list[tuple[cst.FunctionDef, bool]]:
        """Functions of this file that a call can mean, and whether the first parameter is given by the receiver."""
        if isinstance(call.func, cst.Name):
            found: list[tuple[cst.FunctionDef, bool]] = []
            for binding in self.cx.names.bindings(call.func.value, self.cx.names.scope(call.func)):
                holder = self.cx.parent(binding.node)
                if binding.kind == "def" and isinstance(holder, cst.FunctionDef):
                    found.append((holder, False))
                elif binding.kind == "class" and isinstance(holder, cst.ClassDef):
                    found += [(f, True) for f in self.own_method(holder, "__init__")]
            return found
        if isinstance(call.func, cst.Attribute) and not self.cx.origin(call.func).names:
            holder = self.class_of(call.func.value)
            if holder is not None:
                return [(f, not self._is_static(f)) for f in self.own_method(holder, call.func.attr.value)]
            return [(f, not self._is_static(f)) for f in self.methods(call.func.attr.value)]
        return []

    def callees(self, call: cst.Call) -> frozenset[str]:
        """Names that a callee can stand for, both of `autocast if mixed else nullcontext` in a variable."""
        origin = self.cx.origin(call.func)
        if origin.names or not isinstance(call.func, cst.Name):
            return origin.names
        found = self.cx.names.bindings(call.func.value, self.cx.names.scope(call.func))
        if len(found) == 1 and found[0].kind == "assign" and isinstance(found[0].value, cst.IfExp):
            return self.cx.origin(found[0].value.body).names | self.cx.origin(found[0].value.orelse).names
        return frozenset()

    def _is_static(self, function: cst.FunctionDef) -> bool:
        return any(
            isinstance(d.decorator, cst.Name) and d.decorator.value == "staticmethod" for d in function.decorators
        )

    def is_property(self, function: cst.FunctionDef) -> bool:
        """Whether a method is read like an attribute."""
        return any(
            dotted_name(d.decorator).rpartition(".")[2] in ("property", "cached_property") for d in function.decorators
        )

    def resolves(self, call: cst.Call) -> bool:
        """Whether the callee is surely code of this file."""
        if isinstance(call.func, cst.Name):
            found = self.cx.names.bindings(call.func.value, self.cx.names.scope(call.func))
            return bool(found) and all(b.kind in ("def", "class") for b in found)
        if isinstance(call.func, cst.Attribute):
            holder = self.class_of(call.func.value)
            return holder is not None and bool(self.own_method(holder, call.func.attr.value))
        return False

    # conditions -------------------------------------------------------------------------------------------------

    def is_probe(self, test: cst.CSTNode) -> bool:
        """Whether a condition can only hold where an accelerator is available."""
        if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
            return self.is_probe(test.left) or self.is_probe(test.right)
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.is_negated_probe(test.expression)
        if isinstance(test, cst.Call):
            name = self.cx.origin(test.func).name
            if name == "builtins.bool" and len(test.args) == 1:
                return self.is_probe(test.args[0].value)
            return name in _PROBES | _COUNTS
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1 and isinstance(test.left, cst.Call):
            more = isinstance(test.comparisons[0].operator, (cst.GreaterThan, cst.GreaterThanEqual))
            return more and self.cx.origin(test.left.func).name in _COUNTS
        if isinstance(test, cst.IfExp):
            return self._is_true(test.body) and self._is_false(test.orelse) and self.is_probe(test.test)
        if isinstance(test, cst.Name):
            return self._named_probe(test)
        if isinstance(test, cst.Attribute):
            return self._kept_probe(test)
        return False

    def _kept_probe(self, test: cst.Attribute) -> bool:
        """Whether an attribute keeps the answer of a probe, by all that the file stores in it."""
        code, name = self.cx.code(test), test.attr.value
        if id(test) in self._probing or self.cx.origin(test).names:
            return False
        stored: list[cst.BaseExpression] = []
        for spelled in self.cx.index.names.get(name, []):
            target = self.cx.parent(spelled)
            holder = self.cx.parent(target) if isinstance(target, cst.Attribute) and target.attr is spelled else None
            statement = self.cx.parent(holder) if isinstance(holder, cst.AssignTarget) else None
            if isinstance(target, cst.Attribute) and isinstance(statement, cst.Assign):
                if self.cx.code(target) != code:
                    return False
                stored.append(statement.value)
        self._probing.add(id(test))
        try:
            asked = bool(stored) and all(isinstance(v, _ANSWERS) and self.is_probe(v) for v in stored)
        finally:
            self._probing.discard(id(test))
        return asked and not self.cx.devices.options(name)

    def _is_true(self, node: cst.CSTNode) -> bool:
        return (isinstance(node, cst.Name) and node.value == "True") or self.cx.integer(node) == 1

    def _is_false(self, node: cst.CSTNode) -> bool:
        return (isinstance(node, cst.Name) and node.value in ("False", "None")) or self.cx.integer(node) == 0

    def _named_probe(self, test: cst.Name) -> bool:
        found = self.cx.names.bindings(test.value, self.cx.names.scope(test))
        if not found or id(found[0].node) in self._probing:
            return False
        self._probing.add(id(found[0].node))
        try:
            return all(
                b.kind == "assign" and isinstance(b.value, _ANSWERS) and self.is_probe(b.value)
                for b in found
            )
        finally:
            self._probing.discard(id(found[0].node))

    def is_negated_probe(self, test: cst.CSTNode) -> bool:
        """Whether a condition can only fail where an accelerator is available."""
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.is_probe(test.expression)
        if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
            return self.is_negated_probe(test.left) or self.is_negated_probe(test.right)
        return False

    def other_accelerator(self, node: cst.CSTNode | None) -> bool:
        """Whether a literal names an accelerator other than CUDA."""
        text = self.cx.string(node)
        return text is not None and text.split(":")[0] in OTHER_ACCELERATORS

    def names_neuron(self, holder: cst.CSTNode) -> bool:
        """Whether a sequence, or the keys of a dict, name neuron beside CUDA: the program knows it already."""
        for element in getattr(holder, "elements", ()):
            text = self.cx.string(element.key if isinstance(element, cst.DictElement) else element.value)
            if text is not None and text.split(":")[0] == "neuron":
                return True
        return False

    def names_other_accelerators(self, holder: cst.CSTNode) -> bool:
        """Whether a sequence, or the keys of a dict, name a further accelerator beside CUDA."""
        for element in getattr(holder, "elements", ()):
            if self.other_accelerator(element.key if isinstance(element, cst.DictElement) else element.value):
                return True
        return False


def _is_self(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "self"


def parameter_at(function: cst.FunctionDef, keyword: str, position: int) -> cst.Param | None:
    """The parameter that an argument is given for."""
    parameters = function.params
    if keyword:
        every = [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params]
        return next((p for p in every if p.name.value == keyword), None)
    ordered = [*parameters.posonly_params, *parameters.params]
    return ordered[position] if 0 <= position < len(ordered) else None


def option_destination(cx: Context, call: cst.Call) -> str:
    """The attribute that argparse (or click) stores an option in."""
    destination = cx.argument(call, "dest")
    if destination is not None:
        return cx.string(destination.value) or ""
    names = [text for a in call.args if not a.keyword and (text := cx.string(a.value)) is not None]
    plain = next((n for n in names if n.isidentifier()), "")
    if plain and len(names) > 1:
        return plain  # click: a name beside the flags is the parameter
    long = next((n for n in names if n.startswith("--")), names[0] if names else "")
    return long.split("/")[0].lstrip("-").replace("-", "_")
