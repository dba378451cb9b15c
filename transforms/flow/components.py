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
from transforms.flow.stores import Stores
from transforms.tables.devices import DEVICE_NAMES

if TYPE_CHECKING:
    from transforms.engine.context import Context

_MOST_PLACES = 200


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
        """Whether an index in the text matters: it is read back out, or the value is compared or looked up whole."""
        return bool(self.of_kind("index", "key")) or any(s.indexed for s in self.of_kind("test"))

    @property
    def doubts(self) -> list[tuple[cst.CSTNode, str]]:
        """Uses that can't be followed."""
        return [(s.node, s.text) for s in self.of_kind("leak", "foreign", "pattern")]

    @property
    def named(self) -> str:
        """A place whose name says device, empty when there is none. Of functions only those like `get_device`."""
        for kind, _, name in self.places:
            if kind in ("var", "attr", "item") and names_device(name):
                return name
            if kind == "return" and "_" in name.strip("_") and names_device(name.split("#")[0]):
                return name.split("#")[0]
        return ""


class Components(Stores):
    """All components of one file, found on demand."""

    def __init__(self, cx: Context, places: Places) -> None:
        super().__init__(cx, places)
        self._known: dict[Place, Component] = {}
        self._returns: dict[int, list[cst.BaseExpression]] | None = None

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
                if self.places.is_enum(holder):
                    for read in self.places.values_read(holder):
                        yield from self.places.forward(read)
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

    def _clicked(self, function: cst.FunctionDef, parameter: str) -> Iterator[Origin | Place]:
        """Defaults of click options, which arrive as parameters."""
        for decorator in function.decorators:
            call = decorator.decorator
            if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
                continue
            if call.func.attr.value == "option" and option_destination(self.cx, call) == parameter:
                yield from self._defaults(call)

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
