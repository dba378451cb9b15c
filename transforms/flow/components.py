"""Components: sets of places between which one value flows, with all that its uses and sources say.

A component is closed under four steps: what a place is given and what reads it; the other places that one of its
literals also goes to; and what a value of it is compared with. So the literals of a component can only change together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from transforms.flow.places import Places, names_device, option_destination
from transforms.flow.steps import Origin, Place, Sink
from transforms.tables.devices import DEVICE_NAMES

if TYPE_CHECKING:
    from transforms.engine.context import Context

_MOST_PLACES = 200
_OPTION_CALLS = ("add_argument", "option", "add_option")
_FLAG_CALLS = ("DEFINE_string", "DEFINE_enum")


@dataclass(eq=False)
class Component:
    """Places between which one value flows, and all that its uses and sources say."""

    places: dict[Place, None] = field(default_factory=dict)
    sinks: list[Sink] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    too_large: bool = False

    @property
    def key(self) -> str:
        """Identity of the component within its file."""
        return "/".join(map(str, min(self.places))) if self.places else ""

    def of_kind(self, *kinds: str) -> list[Sink]:
        """Sinks of some kinds."""
        return [s for s in self.sinks if s.kind in kinds]

    @property
    def proof(self) -> Sink | Origin | None:
        """A use or source that only a device can have, the certain ones first."""
        for kind in ("device", "likely"):
            for sink in self.sinks:
                if sink.kind == kind:
                    return sink
            if kind == "device":
                for origin in self.origins:
                    if origin.kind == "device":
                        return origin
        return None

    @property
    def keeps_index(self) -> bool:
        """Whether an index in the text matters: it is read back out, or the value is compared as a whole."""
        return bool(self.of_kind("index")) or any(s.indexed for s in self.of_kind("test"))

    @property
    def doubts(self) -> list[tuple[cst.CSTNode, str]]:
        """Uses that can't be followed."""
        return [(s.node, s.text) for s in self.of_kind("leak", "foreign", "pattern")]

    @property
    def named(self) -> str:
        """A place whose name says device, empty when there is none."""
        return next(
            (name for kind, _, name in self.places if kind in ("var", "attr", "item") and names_device(name)), ""
        )


class Components:
    """All components of one file, found on demand."""

    def __init__(self, cx: Context, places: Places) -> None:
        self.cx = cx
        self.places = places
        self._known: dict[Place, Component] = {}
        self._options: dict[str, list[cst.Call]] | None = None
        self._keys: dict[str, list[cst.SimpleString]] | None = None
        self._returns: dict[int, list[cst.BaseExpression]] | None = None
        self._owners: dict[str, set[int]] = {}

    def of(self, places: list[Place]) -> Component | None:
        """The component of some places that hold one value. Those of a literal are one component already."""
        found = [self.component(p) for p in places]
        if not found:
            return None
        first = found[0]
        if all(c is first for c in found):
            return first
        merged = Component(too_large=any(c.too_large for c in found))
        for component in dict.fromkeys(found):
            merged.places.update(component.places)
            merged.sinks += component.sinks
            merged.origins += component.origins
        return merged

    def component(self, place: Place) -> Component:
        """All places that a value in `place` can flow to or come from."""
        known = self._known.get(place)
        if known is not None:
            return known
        found = Component()
        work = [place]
        while work:
            here = work.pop()
            if here in found.places:
                continue
            if len(found.places) >= _MOST_PLACES:
                found.too_large = True
                break
            found.places[here] = None
            for step in self._steps(here):
                work += self._enter(step, found)
        for here in found.places:
            self._known[here] = found
        return found

    def _enter(self, step: Sink | Origin | Place, found: Component) -> list[Place]:
        """Take a step into the component; gives the places that it leads to."""
        if isinstance(step, tuple):
            return [step]
        if isinstance(step, Origin):
            if any(o.node is step.node and o.kind == step.kind for o in found.origins):
                return []
            found.origins.append(step)
            return self._also(step, found)
        found.sinks.append(step)
        if step.kind != "test":
            return []
        sides = [s for s in (step.other, step.subject) if s is not None]
        return [p for side in sides for p in self.places.backward(side) if isinstance(p, tuple)]

    def _also(self, origin: Origin, found: Component) -> list[Place]:
        """Where else a literal of the component goes."""
        if origin.kind != "literal":
            return []
        places = []
        for step in self.places.forward(origin.node):
            if isinstance(step, Sink):
                found.sinks.append(step)
            else:
                places.append(step)
        return places

    def _steps(self, place: Place) -> Iterator[Sink | Origin | Place]:
        kind, owner, name = place
        if kind == "var":
            yield from self._variable(owner, name)
        elif kind == "attr":
            yield from self._attribute(owner, name)
        elif kind == "item":
            yield from self._item(name)
        elif kind == "contents":
            yield from self._contents(owner, name)
        else:
            yield from self._result(owner, name)

    def _variable(self, scope: int, name: str) -> Iterator[Sink | Origin | Place]:
        known = self.cx.names.occurrences(name)
        holder: cst.CSTNode | None = None
        for binding in known.bindings.get(scope, []):
            holder = binding.scope
            if binding.kind in ("assign", "param", "for") and binding.value is not None:
                yield from self.places.backward(binding.value)
            elif (part := self._part(binding.node)) is not None:
                yield from part
            elif binding.kind in ("other", "augmented", "with") or (binding.kind == "for" and binding.value is None):
                yield Sink("leak", binding.node, "takes a value that can't be followed")
            if binding.kind == "param" and isinstance(holder, cst.FunctionDef):
                yield from self._given(holder, name)
                yield from self._clicked(holder, name)
            if isinstance(holder, cst.ClassDef):
                yield self.places.field(holder, name)
            above = self.cx.parent(binding.node)
            annotation = above.annotation if isinstance(above, (cst.Param, cst.AnnAssign)) else None
            if annotation is not None and self.cx.origin(annotation.annotation).name == "torch.device":
                yield Origin("device", annotation, "annotated as torch.device")
        if holder is not None:
            for use in self.cx.names.uses(name, holder):
                yield from self.places.forward(use)

    def _part(self, target: cst.Name) -> list[Origin | Place] | None:
        """`a, b = f()`, `a, b = (1, 2) if c else (3, 4)`: what the target receives, None for other statements."""
        element = self.cx.parent(target)
        holder = self.cx.parent(element) if isinstance(element, cst.Element) else None
        assigned = self.cx.parent(holder) if isinstance(holder, (cst.Tuple, cst.List)) else None
        statement = self.cx.parent(assigned) if isinstance(assigned, cst.AssignTarget) else None
        if not isinstance(holder, (cst.Tuple, cst.List)) or not isinstance(statement, cst.Assign):
            return None
        if any(isinstance(e, cst.StarredElement) for e in holder.elements):
            return None
        place = next(i for i, e in enumerate(holder.elements) if e is element)
        return self._at(statement.value, place)

    def _at(self, value: cst.CSTNode, place: int) -> list[Origin | Place] | None:
        """What the `place`-th part of a value can be."""
        if isinstance(value, cst.IfExp):
            arms = [self._at(value.body, place), self._at(value.orelse, place)]
            return None if any(arm is None for arm in arms) else [step for arm in arms for step in arm or ()]
        if isinstance(value, cst.Tuple) and place < len(value.elements):
            return list(self.places.backward(value.elements[place].value))
        if isinstance(value, cst.Call):
            found = self.places.called(value)
            return [("return", id(f), f"{f.name.value}#{place}") for f, _ in found] or None
        return None

    def _given(self, function: cst.FunctionDef, parameter: str) -> Iterator[Origin | Place]:
        """What the calls in this file pass for a parameter."""
        names = [p.name.value for p in (*function.params.posonly_params, *function.params.params)]
        called = function.name.value
        if called == "__init__" and isinstance(holder := self.cx.names.scope(function), cst.ClassDef):
            called = holder.name.value
        for call in self._calls(called):
            for found, bound in self.places.called(call):
                if found is function:
                    position = names.index(parameter) - (1 if bound else 0) if parameter in names else None
                    arg = self.cx.argument(call, parameter, position)
                    if arg is not None:
                        yield from self.places.backward(arg.value)

    def _calls(self, name: str) -> Iterator[cst.Call]:
        """Calls of something with this name."""
        for node in self.cx.index.names.get(name, []):
            above = self.cx.parent(node)
            callee: cst.CSTNode = above if isinstance(above, cst.Attribute) and above.attr is node else node
            call = self.cx.parent(callee)
            if isinstance(call, cst.Call) and call.func is callee:
                yield call

    def _clicked(self, function: cst.FunctionDef, parameter: str) -> Iterator[Origin | Place]:
        """Defaults of click options, which arrive as parameters."""
        for decorator in function.decorators:
            call = decorator.decorator
            if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
                continue
            if call.func.attr.value == "option" and option_destination(self.cx, call) == parameter:
                yield from self._defaults(call)

    def _attribute(self, owner: int, name: str) -> Iterator[Sink | Origin | Place]:
        owners = self._owners_of(name)
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

    def _owners_of(self, name: str) -> set[int]:
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
        for use in self.cx.names.uses(name, bindings[0].scope) if bindings else ():
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

    def _result(self, function: int, name: str) -> Iterator[Sink | Origin | Place]:
        if self._returns is None:
            self._returns = {}
            for node in self.cx.index.nodes(cst.Return):
                holder = self.cx.index.enclosing(node, cst.FunctionDef)
                if holder is not None and node.value is not None:
                    self._returns.setdefault(id(holder), []).append(node.value)
        name, _, part = name.partition("#")
        for value in self._returns.get(function, []):
            if not part:
                yield from self.places.backward(value)
            elif isinstance(value, cst.Tuple) and int(part) < len(value.elements):
                yield from self.places.backward(value.elements[int(part)].value)
        for call in self._calls(name):
            if any(id(f) == function for f, _ in self.places.called(call)):
                yield from self._part_of(call, int(part)) if part else self.places.forward(call)
        for property_ in self.places.methods(name):
            if id(property_) == function and self.places.is_property(property_):
                scope = self.cx.names.scope(property_)
                if isinstance(scope, cst.ClassDef):
                    yield self.places.field(scope, name)

    def _part_of(self, call: cst.Call, place: int) -> Iterator[Sink | Origin | Place]:
        """Where the `place`-th part of what a call returns goes."""
        above = self.cx.parent(call)
        if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, (cst.Tuple, cst.List)):
            elements = above.targets[0].target.elements
            if place < len(elements) and not any(isinstance(e, cst.StarredElement) for e in elements):
                yield from self.places.target(elements[place].value)
                return
        elif isinstance(above, cst.Subscript):
            part = above.slice[0].slice
            if isinstance(part, cst.Index) and self.cx.integer(part.value) == place:
                yield from self.places.forward(above)
            return
        elif isinstance(above, cst.Expr):
            return
        yield Sink("leak", call, "returned in a tuple")


def all_device_names(cx: Context, component: Component) -> bool:
    """Whether every text literal of the component could name a device."""
    for origin in component.origins:
        if origin.kind == "other":
            return False
        text = cx.string(origin.node) if origin.kind == "literal" else None
        if text and text.split(":")[0] not in DEVICE_NAMES:
            return False
    return True
