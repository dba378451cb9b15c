"""One step of data flow back: where the value of an expression can come from."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transforms.flow.locations import Locations
from transforms.flow.steps import Origin, Place, is_sequence
from transforms.tables.devices import CONVERSIONS

_TEXT_METHODS = frozenset("lower upper strip format replace casefold rstrip lstrip".split())
_SPLITS = frozenset("split rsplit partition rpartition removeprefix".split())
_GETTERS = frozenset("get pop setdefault getenv".split())
_GIVES_DEVICE = frozenset({"torch.get_default_device", "torch.accelerator.current_accelerator"})


class Backward(Locations):
    """Backward steps in one file."""

    def backward(self, node: cst.CSTNode) -> Iterator[Origin | Place]:
        """Where the value of an expression can come from."""
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
            yield Origin("literal", node, "a literal")
        elif isinstance(node, cst.FormattedString):
            yield from self._from_formatted(node)
        elif isinstance(node, cst.Name):
            if node.value == "None":
                return
            if self.cx.names.bindings(node.value, self.cx.names.scope(node)):
                yield self.variable(node)
        elif isinstance(node, cst.Attribute):
            yield from self._from_attribute(node)
        elif isinstance(node, cst.IfExp):
            yield from self.backward(node.body)
            yield from self.backward(node.orelse)
        elif isinstance(node, cst.BooleanOperation):
            yield from self.backward(node.left)
            yield from self.backward(node.right)
        elif isinstance(node, cst.BinaryOperation):
            yield from self._from_operation(node)
        elif isinstance(node, (cst.NamedExpr, cst.Await)):
            yield from self.backward(node.value if isinstance(node, cst.NamedExpr) else node.expression)
        elif isinstance(node, (cst.List, cst.Tuple, cst.Set)):
            for element in node.elements:
                yield from self.backward(element.value)
        elif isinstance(node, cst.Subscript):
            yield from self._from_subscript(node)
        elif isinstance(node, cst.Call):
            yield from self._from_call(node)
        elif isinstance(node, (cst.Integer, cst.UnaryOperation)):
            yield Origin("number", node, "a number")
        elif isinstance(node, (cst.Float, cst.Dict, cst.Lambda, cst.Comparison)):
            yield Origin("other", node, "no device")

    def _from_formatted(self, node: cst.FormattedString) -> Iterator[Origin | Place]:
        yield Origin("literal", node, "a literal")
        if node.parts and isinstance(node.parts[0], cst.FormattedStringExpression):
            yield from self.backward(node.parts[0].expression)

    def _from_operation(self, node: cst.BinaryOperation) -> Iterator[Origin | Place]:
        yield from self.backward(node.left)
        if isinstance(node.operator, cst.Add) and is_sequence(node):
            yield from self.backward(node.right)
        elif isinstance(node.operator, cst.Modulo) and (self.cx.string(node.left) or "").startswith("%s"):
            parts = node.right.elements if isinstance(node.right, cst.Tuple) else ()
            for part in parts[:1]:
                yield from self.backward(part.value)

    def _from_subscript(self, node: cst.Subscript) -> Iterator[Origin | Place]:
        key = self.key(node)
        if key is not None:
            yield ("item", 0, key)
            return
        part = node.slice[0].slice if len(node.slice) == 1 else None
        constant = isinstance(part, cst.Slice) or (
            isinstance(part, cst.Index) and isinstance(part.value, (cst.Integer, cst.UnaryOperation))
        )
        if isinstance(node.value, cst.Dict):
            for element in node.value.elements:
                yield from self.backward(element.value)
        elif isinstance(node.value, cst.Name) and not constant and not self.cx.origin(node.value).names:
            yield ("contents", *self.variable(node.value)[1:])
            bindings = self.cx.names.bindings(node.value.value, self.cx.names.scope(node.value))
            if not all(isinstance(b.value, cst.Dict) for b in bindings):
                yield from self.backward(node.value)
        elif isinstance(node.value, cst.Attribute) and (table := self.class_table(node.value)) is not None:
            yield ("contents", *self.variable(table)[1:])
        elif self.cx.origin(node.value).name not in ("typing.Literal", "typing_extensions.Literal"):
            yield from self.backward(node.value)
        else:
            for item in node.slice:
                if isinstance(item.slice, cst.Index):
                    yield from self.backward(item.slice.value)

    def _from_attribute(self, node: cst.Attribute) -> Iterator[Origin | Place]:
        name = node.attr.value
        if self.is_known(node):
            return
        if name == "device" and self.class_of(node.value) is None:
            yield Origin("device", node, "a .device")
        if name in ("type", "value"):
            holder = self.class_of(node.value) if name == "value" else None
            if holder is not None and self.is_enum(holder):
                for member in self.members(holder):
                    yield self.field(holder, member.value)
            yield from self.backward(node.value)
            return
        yield self.attribute(node)

    def _from_call(self, node: cst.Call) -> Iterator[Origin | Place]:
        name = self.cx.origin(node.func).name
        method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        first = node.args[0].value if node.args and not node.args[0].star else None
        if name == "torch.device":
            yield Origin("device", node, "a torch.device")
            if first is not None:
                yield from self.backward(first)
        elif name in _GIVES_DEVICE:
            yield Origin("device", node, f"{name}()")
        elif name in CONVERSIONS or name.endswith("typing.get_args") or name == "typing_extensions.get_args":
            if first is not None:
                yield from self.backward(first)
        elif name in ("os.environ.get", "os.getenv", "builtins.getattr") or (
            method in _GETTERS and not self.resolves(node)
        ):
            yield from self._from_lookup(node, name)
        elif method in _TEXT_METHODS | _SPLITS and not name and isinstance(node.func, cst.Attribute):
            yield from self.backward(node.func.value)
        elif (holder := self.class_named(node.func)) is not None and self.is_enum(holder):
            if first is not None:
                yield from self.backward(first)
        else:
            for function, _ in self.called(node):
                yield ("return", id(function), function.name.value)

    def _from_lookup(self, node: cst.Call, name: str) -> Iterator[Origin | Place]:
        place = 1 if name == "builtins.getattr" else 0
        key = self.cx.string(node.args[place].value) if len(node.args) > place else None
        if key is not None:
            yield ("attr" if name == "builtins.getattr" else "item", 0, key)
        elif isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name) and not name:
            yield ("contents", *self.variable(node.func.value)[1:])
        default = self.cx.argument(node, "default", place + 1)
        if default is not None:
            yield from self.backward(default.value)
