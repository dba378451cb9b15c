"""What attributes, keys and command-line options of a file are given, and what reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transforms.flow.places import Places, names_device, option_destination
from transforms.flow.steps import Origin, Place, Sink

if TYPE_CHECKING:
    from transforms.engine.context import Context

_OPTION_CALLS = ("add_argument", "option", "add_option")
_FLAG_CALLS = ("DEFINE_string", "DEFINE_enum")


class Stores:
    """Steps from places that are no plain variables."""

    def __init__(self, cx: Context, places: Places) -> None:
        self.cx = cx
        self.places = places
        self._options: dict[str, list[cst.Call]] | None = None
        self._keys: dict[str, list[cst.SimpleString]] | None = None
        self._owners: dict[str, set[int]] = {}

    def _attribute(self, owner: int, name: str) -> Iterator[Sink | Origin | Place]:
        owners = self.owners(name)
        if owner == 0:
            if len(owners) == 1 or names_device(name):
                for other in owners:
                    yield ("attr", other, name)
            for call in self.options(name):
                yield from self._defaults(call)
        elif len(owners) == 1 or names_device(name):
            yield ("attr", 0, name)
        for node in self.cx.index.names.get(name, []):
            above = self.cx.parent(node)
            if isinstance(above, cst.Attribute) and above.attr is node:
                if not self.places.is_known(above) and self.places.attribute(above)[1] == owner:
                    yield from self._attribute_use(above)
            elif isinstance(above, (cst.AssignTarget, cst.AnnAssign)):
                scope = self.cx.names.scope(node)
                if owner and isinstance(scope, cst.ClassDef) and self.places.field(scope, name)[1] == owner:
                    yield self.places.variable(node)
            elif isinstance(above, cst.FunctionDef) and above.name is node and self.places.is_property(above):
                scope = self.cx.names.scope(above)
                if owner and isinstance(scope, cst.ClassDef) and self.places.field(scope, name)[1] == owner:
                    yield ("return", id(above), name)
            elif isinstance(above, cst.Arg) and above.keyword is node and owner:
                yield from self._field_given(above, owner, name)

    def _field_given(self, arg: cst.Arg, owner: int, name: str) -> Iterator[Origin | Place]:
        """A field of a record, given by keyword where one is made."""
        call = self.cx.parent(arg)
        holder = self.places.class_named(call.func) if isinstance(call, cst.Call) else None
        if holder is not None and self.places.is_record(holder) and self.places.field(holder, name)[1] == owner:
            yield from self.places.backward(arg.value)

    def owners(self, name: str) -> set[int]:
        """The classes of the file (their topmost) that give an attribute a value."""
        known = self._owners.get(name)
        if known is None:
            known = self._owners[name] = set()
            for node in self.cx.index.names.get(name, []):
                above = self.cx.parent(node)
                scope = self.cx.names.scope(node)
                if isinstance(above, (cst.AssignTarget, cst.AnnAssign)) and isinstance(scope, cst.ClassDef):
                    known.add(self.places.field(scope, name)[1])
                elif isinstance(above, cst.Attribute) and above.attr is node:
                    stored = self.cx.parent(above)
                    if isinstance(stored, cst.AssignTarget) or (
                        isinstance(stored, cst.AnnAssign) and stored.target is above
                    ):
                        known.add(self.places.attribute(above)[1])
            known.discard(0)
        return known

    def _attribute_use(self, attribute: cst.Attribute) -> Iterator[Sink | Origin | Place]:
        above = self.cx.parent(attribute)
        if isinstance(above, cst.AssignTarget):
            statement = self.cx.parent(above)
            if isinstance(statement, cst.Assign):
                yield from self.places.backward(statement.value)
        elif isinstance(above, cst.AnnAssign) and above.target is attribute:
            if above.value is not None:
                yield from self.places.backward(above.value)
        elif isinstance(above, cst.Element) and self._is_target(above):
            yield Sink("leak", attribute, "takes a value that can't be followed")
        else:
            if attribute.attr.value == "device" and self.places.class_of(attribute.value) is None:
                yield Origin("device", attribute, "a .device")
            yield from self.places.forward(attribute)

    def _is_target(self, element: cst.Element) -> bool:
        holder = self.cx.parent(element)
        return holder is not None and isinstance(self.cx.parent(holder), (cst.AssignTarget, cst.For))

    def options(self, name: str) -> list[cst.Call]:
        """Calls that declare a command-line option which is stored as this attribute."""
        return self._option_calls().get(name, [])

    def _option_calls(self) -> dict[str, list[cst.Call]]:
        if self._options is None:
            self._options = {}
            for spelling in _OPTION_CALLS:
                for call in self._calls(spelling):
                    if not isinstance(self.cx.parent(call), cst.Decorator):
                        self._options.setdefault(option_destination(self.cx, call), []).append(call)
            for spelling in _FLAG_CALLS:
                for call in self._calls(spelling):
                    name = self.cx.string(call.args[0].value) if call.args else None
                    if name:
                        self._options.setdefault(name, []).append(call)
        return self._options

    def _defaults(self, call: cst.Call) -> Iterator[Origin | Place]:
        for keyword in ("default", "choices", "const"):
            arg = self.cx.argument(call, keyword)
            if arg is not None:
                yield from self.places.backward(arg.value)
        if self.cx.origin(call.func).name.rpartition(".")[2] in _FLAG_CALLS:
            for arg in call.args[1:3]:
                if arg.keyword is None and not self._is_help(call, arg):
                    yield from self.places.backward(arg.value)
        kind = self.cx.argument(call, "type")
        if kind is not None and isinstance(kind.value, cst.Call):
            yield from self.places.backward(kind.value)

    def _is_help(self, call: cst.Call, arg: cst.Arg) -> bool:
        return call.args[-1] is arg and len(call.args) > 2

    def _strings(self, key: str) -> list[cst.SimpleString]:
        if self._keys is None:
            self._keys = {}
            for string in self.cx.index.nodes(cst.SimpleString):
                if isinstance(self.cx.parent(string), (cst.DictElement, cst.Index, cst.Arg)):
                    self._keys.setdefault(self.cx.string(string) or "", []).append(string)
        return self._keys.get(key, [])

    def _item(self, name: str) -> Iterator[Sink | Origin | Place]:
        for string in self._strings(name):
            above = self.cx.parent(string)
            if isinstance(above, cst.DictElement):
                if above.key is string:
                    yield from self.places.backward(above.value)
            elif isinstance(above, cst.Index):
                subscript = self.cx.index.enclosing(above, cst.Subscript)
                if subscript is not None and not self.cx.origin(subscript.value).name.endswith("Literal"):
                    yield from self._read_or_given(subscript)
            elif isinstance(above, cst.Arg):
                call = self.cx.parent(above)
                if isinstance(call, cst.Call) and call.args[0] is above and self._looks_up(call):
                    yield from self.places.forward(call)
                    if len(call.args) > 1:
                        yield from self.places.backward(call.args[1].value)
        for node in self.cx.index.names.get(name, []):
            above = self.cx.parent(node)
            call = self.cx.parent(above) if isinstance(above, cst.Arg) and above.keyword is node else None
            if isinstance(call, cst.Call) and self.cx.origin(call.func).name == "builtins.dict":
                assert isinstance(above, cst.Arg)
                yield from self.places.backward(above.value)

    def _looks_up(self, call: cst.Call) -> bool:
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        return method in ("get", "pop", "setdefault", "getenv")

    def _contents(self, scope: int, name: str) -> Iterator[Sink | Origin | Place]:
        """Values of a dict in a variable: what its display holds, and what subscripts read or write."""
        known = self.cx.names.occurrences(name)
        bindings = known.bindings.get(scope, [])
        for binding in bindings:
            if isinstance(binding.value, cst.Dict):
                for element in binding.value.elements:
                    yield from self.places.backward(element.value)
        uses: list[cst.CSTNode] = list(self.cx.names.uses(name, bindings[0].scope)) if bindings else []
        if bindings and isinstance(bindings[0].scope, cst.ClassDef) and isinstance(bindings[0].node, cst.Name):
            uses += self.places.table_reads(bindings[0].node)
        for use in uses:
            above = self.cx.parent(use)
            if isinstance(above, cst.Subscript) and above.value is use:
                yield from self._read_or_given(above)
            elif isinstance(above, cst.Attribute) and above.attr.value in ("get", "pop"):
                call = self.cx.parent(above)
                if isinstance(call, cst.Call):
                    yield from self.places.forward(call)
            elif isinstance(above, cst.Attribute) and above.attr.value in ("values", "items"):
                yield Sink("leak", above, "all values are read")

    def _read_or_given(self, subscript: cst.Subscript) -> Iterator[Sink | Origin | Place]:
        above = self.cx.parent(subscript)
        if isinstance(above, cst.AssignTarget):
            statement = self.cx.parent(above)
            if isinstance(statement, cst.Assign):
                yield from self.places.backward(statement.value)
        else:
            yield from self.places.forward(subscript)

    def _calls(self, name: str) -> Iterator[cst.Call]:
        """Calls of something with this name."""
        for node in self.cx.index.names.get(name, []):
            above = self.cx.parent(node)
            callee: cst.CSTNode = above if isinstance(above, cst.Attribute) and above.attr is node else node
            call = self.cx.parent(callee)
            if isinstance(call, cst.Call) and call.func is callee:
                yield call
