"""Which strings name a device: the places that hold one value, and what their uses prove about it.

A *component* is a set of places between which one value flows. A literal in it is a device when some use of the
component is a device position, and every test of the component changes together with it. Nothing is guessed: a name
alone (`device`) is evidence for a person to look at, never for a safe edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.model import Safety
from transforms.engine.words import words
from transforms.flow.places import DEVICE_KEYWORDS, Origin, Place, Places, Sink, option_destination

if TYPE_CHECKING:
    from transforms.engine.context import Context

_DEVICE_TEXT = re.compile(r"cuda(:(\d+|\{\}|\{\d*\}|%d|%s|%i)?)?$")
_NAMES = frozenset("cpu gpu mps meta auto xpu npu hpu cuda neuron".split())
_MOST_PLACES = 300


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
    def proof(self) -> tuple[cst.CSTNode, str] | None:
        """A use or source that only a device can have."""
        for sink in self.sinks:
            if sink.kind == "device":
                return sink.node, sink.text
        for origin in self.origins:
            if origin.kind == "device":
                return origin.node, origin.text
        return None

    @property
    def keeps_index(self) -> bool:
        """Whether an index in the text matters: it is read back out, or the value is compared with one."""
        return bool(self.of_kind("index"))

    @property
    def doubts(self) -> list[tuple[cst.CSTNode, str]]:
        """Uses that can't be followed."""
        return [(s.node, s.text) for s in self.of_kind("leak")]

    @property
    def named(self) -> str:
        """A place whose name says device, empty when there is none."""
        for _, _, name in self.places:
            if names_device(name):
                return name
        return ""


def names_device(name: str) -> bool:
    """Whether an identifier or key has the word device (or is `dev`)."""
    return name in DEVICE_KEYWORDS or "device" in words(name) or name == "dev"


@dataclass(frozen=True)
class Verdict:
    """What a literal is. `kind`: given, test, key, choice, multi, text, unknown. `group` ties what changes together."""

    kind: str
    safety: Safety = Safety.REVIEW
    evidence: tuple[tuple[cst.CSTNode, str], ...] = ()
    group: str = ""
    keeps_index: bool = False
    subject: cst.CSTNode | None = None
    probe: cst.CSTNode | None = None


class Devices:
    """Answers about the device values of one file."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.places = Places(cx)
        self._components: dict[Place, Component] = {}
        self._options: dict[str, list[cst.Call]] | None = None
        self._keys: dict[str, list[cst.SimpleString]] | None = None

    # literals ---------------------------------------------------------------------------------------------------

    def literal(self, node: cst.CSTNode) -> Verdict:
        """What a string that could name a CUDA device is used for."""
        steps = list(self.places.forward(node))
        sinks = [s for s in steps if isinstance(s, Sink)]
        kinds = {s.kind: s for s in reversed(sinks)}
        component = self._joined([s for s in steps if not isinstance(s, Sink)])
        if "multi" in kinds or (component and component.of_kind("multi")):
            sink = kinds.get("multi") or (component.of_kind("multi")[0] if component else None)
            assert sink is not None
            return Verdict("multi", evidence=((sink.node, sink.text),))
        group = component.key if component else ""
        keeps = bool(component and (component.keeps_index or self._tested_with_index(component))) or "index" in kinds
        if "device" in kinds:
            sink = kinds["device"]
            return Verdict("given", Safety.SAFE, ((sink.node, sink.text),), group, keeps, probe=self._probe(node))
        if "test" in kinds:
            return self._test(node, kinds["test"])
        if "key" in kinds:
            return self._key(kinds["key"])
        if "choice" in kinds:
            return self._choice(kinds["choice"], component)
        if component is not None:
            return self._stored(component, group, keeps, kinds.get("probe"), node)
        if "text" in kinds:
            return Verdict("text", evidence=((kinds["text"].node, kinds["text"].text),))
        return Verdict("unknown", evidence=tuple((s.node, s.text) for s in sinks[:1]))

    def _stored(self, component: Component, group: str, keeps: bool, probe: Sink | None, node: cst.CSTNode) -> Verdict:
        """A literal that goes into places only: their other uses decide."""
        proof = component.proof
        if proof is None and probe is not None and component.named:
            proof = (probe.node, probe.text)
        if proof is not None:
            safety, evidence = self._certainty(component, proof)
            return Verdict("given", safety, evidence, group, keeps)
        tests = [t for t in component.of_kind("test") if t.other is not None]
        if component.named and self._all_device_names(component):
            return Verdict("given", Safety.REVIEW, ((node, f"stored as {component.named}"),), group, keeps)
        if not component.of_kind("leak") and not tests and component.of_kind("text"):
            return Verdict("text", evidence=((component.of_kind("text")[0].node, component.of_kind("text")[0].text),))
        return Verdict("unknown", evidence=tuple(component.doubts[:1]))

    def _certainty(
        self, component: Component, proof: tuple[cst.CSTNode, str]
    ) -> tuple[Safety, tuple[tuple[cst.CSTNode, str], ...]]:
        evidence = [proof]
        safety = Safety.SAFE
        if component.doubts:
            safety = Safety.REVIEW
            evidence.append(component.doubts[0])
        if not self._all_device_names(component) or component.too_large:
            safety = Safety.REVIEW
        for kind, scope, name in component.places:
            if kind in ("attr", "item"):
                safety = Safety.REVIEW
            elif kind == "var" and scope == id(self.cx.module):
                importers = (*self.cx.facts.importers.get(name, ()), *self.cx.facts.importers.get("*", ()))
                if importers:
                    safety = Safety.REVIEW
                    evidence.append((proof[0], f"{name} is imported by {', '.join(importers[:3])}"))
        if self.cx.names.executes:
            safety = Safety.REVIEW
        return safety, tuple(evidence)

    def _all_device_names(self, component: Component) -> bool:
        """Whether every text literal of the component could name a device."""
        for origin in component.origins:
            if origin.kind == "other":
                return False
            text = self.cx.string(origin.node) if origin.kind == "literal" else None
            if text is not None and text.split(":")[0] not in _NAMES and text:
                return False
        return True

    def _test(self, node: cst.CSTNode, sink: Sink) -> Verdict:
        """A literal that something is compared with: the other side decides."""
        assert sink.other is not None or sink.kind == "test"
        if sink.other is None:
            return Verdict("unknown", evidence=((sink.node, sink.text),))
        return self.tested(sink.other, sink.node, node)

    def tested(self, subject: cst.CSTNode, test: cst.CSTNode, literal: cst.CSTNode | None = None) -> Verdict:
        """What a test of `subject` against a device name is."""
        component, origins = self._value(subject)
        if isinstance(subject, (cst.SimpleString, cst.ConcatenatedString)) or (
            literal is not None and self._is_holder(subject)
        ):
            return Verdict("unknown", evidence=((test, "compared with a constant"),))
        group = component.key if component else ""
        direct = next((o for o in origins if o.kind == "device"), None)
        if direct is not None:
            return Verdict("test", Safety.SAFE, ((direct.node, direct.text),), group, True, subject)
        if component is not None:
            if component.of_kind("multi"):
                sink = component.of_kind("multi")[0]
                return Verdict("multi", evidence=((sink.node, sink.text),))
            proof = component.proof
            if proof is not None:
                safety, evidence = self._certainty(component, proof)
                return Verdict("test", safety, evidence, group, True, subject)
            if component.named and self._all_device_names(component):
                return Verdict("test", Safety.REVIEW, ((test, f"{component.named} is compared"),), group, True, subject)
        if isinstance(subject, cst.Attribute) and subject.attr.value == "type":
            return Verdict("test", Safety.REVIEW, ((test, ".type compared with a device name"),), group, True, subject)
        return Verdict("unknown", evidence=((test, "compared with something unknown"),))

    def _is_holder(self, subject: cst.CSTNode) -> bool:
        return isinstance(subject, (cst.Dict, cst.Integer))

    def _key(self, sink: Sink) -> Verdict:
        """A key of a dict: a device when the dict is indexed by one."""
        holder = sink.other
        if isinstance(holder, cst.Dict):
            for subject in self._indexed_by(holder):
                verdict = self.tested(subject, holder)
                if verdict.kind in ("test", "multi"):
                    return Verdict("key", verdict.safety, verdict.evidence, verdict.group, True)
            argument = self.cx.parent(holder)
            if isinstance(argument, cst.Arg) and argument.keyword and argument.keyword.value == "map_location":
                return Verdict("saved", Safety.REVIEW, ((holder, "device of a saved tensor"),))
            return Verdict("unknown", evidence=((sink.node, sink.text),))
        return Verdict("unknown", evidence=((sink.node, "subscript"),))

    def _indexed_by(self, holder: cst.Dict) -> Iterator[cst.CSTNode]:
        """Expressions that a dict display is indexed by, directly or through the variable that holds it."""
        above = self.cx.parent(holder)
        readers: list[cst.CSTNode] = []
        if isinstance(above, cst.Subscript) or isinstance(above, cst.Attribute):
            readers.append(holder)
        if isinstance(above, (cst.Assign, cst.AnnAssign)):
            target = above.targets[0].target if isinstance(above, cst.Assign) else above.target
            if isinstance(target, cst.Name):
                scope = self.cx.names.scope(target)
                readers += self.cx.names.uses(target.value, scope)
        for reader in readers:
            holder_of = self.cx.parent(reader)
            if isinstance(holder_of, cst.Subscript) and holder_of.value is reader:
                part = holder_of.slice[0].slice
                if isinstance(part, cst.Index):
                    yield part.value
            elif isinstance(holder_of, cst.Attribute) and holder_of.attr.value == "get":
                call = self.cx.parent(holder_of)
                if isinstance(call, cst.Call) and call.args:
                    yield call.args[0].value

    def _choice(self, sink: Sink, component: Component | None) -> Verdict:
        """A member of a `Literal`: a device when the annotated things are."""
        subscript = sink.node
        annotated = [self.cx.parent(a) for a in self.cx.index.ancestors(subscript) if isinstance(a, cst.Annotation)][:1]
        alias = self.cx.parent(subscript)
        if isinstance(alias, cst.Assign) and isinstance(alias.targets[0].target, cst.Name):
            target = alias.targets[0].target
            for use in self.cx.names.uses(target.value, self.cx.names.scope(target)):
                annotated += [self.cx.parent(a) for a in self.cx.index.ancestors(use) if isinstance(a, cst.Annotation)][:1]
        for holder in annotated:
            places: list[Place] = []
            if isinstance(holder, cst.AnnAssign):
                places = list(self.places.target(holder.target))
            elif isinstance(holder, cst.Param):
                places = [self.places.variable(holder.name)]
            found = self._joined(places)
            if found is not None and (found.proof or found.named):
                return Verdict("choice", Safety.REVIEW, ((subscript, "names of devices that a field may hold"),), found.key, True)
        del component
        return Verdict("unknown", evidence=((subscript, sink.text),))

    def _probe(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The availability probe on whose arm a literal stands."""
        for above in self.cx.index.ancestors(node):
            if isinstance(above, cst.IfExp):
                return above.test if self.places.is_probe(above.test) else None
            if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return None
        return None

    def _tested_with_index(self, component: Component) -> bool:
        """Whether the value is compared with a text that carries an index."""
        for sink in component.of_kind("test"):
            others = [sink.other] if sink.other is not None else []
            if isinstance(sink.node, cst.Comparison):
                others += [sink.node.left, sink.node.comparisons[0].comparator]
            for other in others:
                for origin in self.places.backward(other):
                    if isinstance(origin, Origin) and origin.kind == "literal" and ":" in (self.cx.string(origin.node) or ""):
                        return True
        return False

    # values -----------------------------------------------------------------------------------------------------

    def is_device(self, node: cst.CSTNode) -> bool:
        """Whether an expression surely holds a device (object or name)."""
        component, origins = self._value(node)
        return any(o.kind == "device" for o in origins) or bool(component and component.proof)

    def component_of(self, node: cst.CSTNode) -> Component | None:
        """The component that an expression's value belongs to."""
        return self._value(node)[0]

    def _value(self, node: cst.CSTNode) -> tuple[Component | None, list[Origin]]:
        steps = list(self.places.backward(node))
        return self._joined([s for s in steps if not isinstance(s, Origin)]), [s for s in steps if isinstance(s, Origin)]

    def _joined(self, places: list[Place]) -> Component | None:
        found = [self.component(p) for p in places]
        if not found:
            return None
        first = found[0]
        if all(c is first for c in found):
            return first
        merged = Component(too_large=any(c.too_large for c in found))
        for component in found:
            merged.places.update(component.places)
            merged.sinks += component.sinks
            merged.origins += component.origins
        for place in merged.places:
            self._components[place] = merged
        return merged

    def component(self, place: Place) -> Component:
        """All places that a value in `place` can flow to or come from."""
        known = self._components.get(place)
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
                if isinstance(step, Sink):
                    found.sinks.append(step)
                elif isinstance(step, Origin):
                    found.origins.append(step)
                else:
                    work.append(step)
        for here in found.places:
            self._components[here] = found
        return found

    def _steps(self, place: Place) -> Iterator[Sink | Origin | Place]:
        kind, scope, name = place
        if kind == "var":
            yield from self._variable(scope, name)
        elif kind == "attr":
            yield from self._named_attribute(name)
        elif kind == "item":
            yield from self._named_item(name)
        else:
            yield from self._result(scope, name)

    def _variable(self, scope: int, name: str) -> Iterator[Sink | Origin | Place]:
        known = self.cx.names.occurrences(name)
        holder: cst.CSTNode | None = None
        for binding in known.bindings.get(scope, []):
            holder = binding.scope
            if binding.kind in ("assign", "param", "for") and binding.value is not None:
                yield from self.places.backward(binding.value)
            if binding.kind == "param" and isinstance(holder, cst.FunctionDef):
                yield from self._given(holder, name)
                yield from self._clicked(holder, name)
            if isinstance(holder, cst.ClassDef):
                yield ("attr", 0, name)
            if isinstance(above := self.cx.parent(binding.node), cst.Param) and above.annotation is not None:
                if self.cx.origin(above.annotation.annotation).name == "torch.device":
                    yield Origin("device", above, "annotated as torch.device")
        if holder is not None:
            for use in self.cx.names.uses(name, holder):
                yield from self.places.forward(use)

    def _given(self, function: cst.FunctionDef, parameter: str) -> Iterator[Origin | Place]:
        """What the calls in this file pass for a parameter."""
        for node in self.cx.index.names.get(function.name.value, []):
            callee: cst.CSTNode | None = node
            above = self.cx.parent(node)
            if isinstance(above, cst.Attribute) and above.attr is node:
                callee = above
            call = self.cx.parent(callee) if callee is not None else None
            if not isinstance(call, cst.Call) or call.func is not callee:
                continue
            for found, bound in self.places.called(call):
                if found is not function:
                    continue
                names = [p.name.value for p in (*function.params.posonly_params, *function.params.params)]
                position = names.index(parameter) - (1 if bound else 0) if parameter in names else None
                arg = self.cx.argument(call, parameter, position)
                if arg is not None:
                    yield from self.places.backward(arg.value)

    def _clicked(self, function: cst.FunctionDef, parameter: str) -> Iterator[Origin | Place]:
        """Defaults of click options, which arrive as parameters."""
        for decorator in function.decorators:
            call = decorator.decorator
            if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "option":
                if option_destination(self.cx, call) == parameter:
                    yield from self._defaults(call)

    def _named_attribute(self, name: str) -> Iterator[Sink | Origin | Place]:
        if name == "device":
            pass
        for node in self.cx.index.names.get(name, []):
            above = self.cx.parent(node)
            if isinstance(above, cst.Attribute) and above.attr is node:
                if self.cx.origin(above).names:
                    continue
                yield from self._attribute_use(above)
            elif isinstance(above, (cst.AssignTarget, cst.AnnAssign)):
                if isinstance(self.cx.names.scope(node), cst.ClassDef):
                    yield self.places.variable(node)
        for call in self._option_calls().get(name, []):
            yield from self._defaults(call)

    def _attribute_use(self, attribute: cst.Attribute) -> Iterator[Sink | Origin | Place]:
        above = self.cx.parent(attribute)
        if isinstance(above, cst.AssignTarget):
            statement = self.cx.parent(above)
            if isinstance(statement, cst.Assign):
                yield from self.places.backward(statement.value)
        elif isinstance(above, cst.AnnAssign) and above.target is attribute:
            if above.value is not None:
                yield from self.places.backward(above.value)
        else:
            if attribute.attr.value == "device":
                yield Origin("device", attribute, "a .device")
            yield from self.places.forward(attribute)

    def _option_calls(self) -> dict[str, list[cst.Call]]:
        if self._options is None:
            self._options = {}
            for spelling in ("add_argument", "option", "add_option"):
                for node in self.cx.index.names.get(spelling, []):
                    attribute = self.cx.parent(node)
                    call = self.cx.parent(attribute) if isinstance(attribute, cst.Attribute) else None
                    if isinstance(call, cst.Call):
                        self._options.setdefault(option_destination(self.cx, call), []).append(call)
        return self._options

    def _defaults(self, call: cst.Call) -> Iterator[Origin | Place]:
        for keyword in ("default", "choices", "const"):
            arg = self.cx.argument(call, keyword)
            if arg is not None:
                yield from self.places.backward(arg.value)

    def _named_item(self, name: str) -> Iterator[Sink | Origin | Place]:
        if self._keys is None:
            self._keys = {}
            for string in self.cx.index.nodes(cst.SimpleString):
                self._keys.setdefault(self.cx.string(string) or "", []).append(string)
        for string in self._keys.get(name, []):
            above = self.cx.parent(string)
            if isinstance(above, cst.DictElement) and above.key is string:
                yield from self.places.backward(above.value)
            elif isinstance(above, cst.Index):
                subscript = self.cx.index.enclosing(above, cst.Subscript)
                if subscript is not None:
                    yield from self._attribute_like(subscript)
            elif isinstance(above, cst.Arg):
                call = self.cx.parent(above)
                if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
                    if call.func.attr.value in ("get", "pop", "setdefault", "getenv"):
                        yield from self.places.forward(call)
                        if len(call.args) > 1:
                            yield from self.places.backward(call.args[1].value)

    def _attribute_like(self, subscript: cst.Subscript) -> Iterator[Sink | Origin | Place]:
        above = self.cx.parent(subscript)
        if isinstance(above, cst.AssignTarget):
            statement = self.cx.parent(above)
            if isinstance(statement, cst.Assign):
                yield from self.places.backward(statement.value)
        else:
            yield from self.places.forward(subscript)

    def _result(self, function: int, name: str) -> Iterator[Sink | Origin | Place]:
        for node in self.cx.index.nodes(cst.Return):
            holder = self.cx.index.enclosing(node, cst.FunctionDef)
            if holder is not None and id(holder) == function and node.value is not None:
                yield from self.places.backward(node.value)
        for node in self.cx.index.names.get(name, []):
            above = self.cx.parent(node)
            callee: cst.CSTNode = above if isinstance(above, cst.Attribute) and above.attr is node else node
            call = self.cx.parent(callee)
            if isinstance(call, cst.Call) and call.func is callee:
                if any(id(f) == function for f, _ in self.places.called(call)):
                    yield from self.places.forward(call)


def device_text(text: str) -> bool:
    """Whether a text is a CUDA device name: `cuda`, `cuda:1`, or a template for one."""
    return _DEVICE_TEXT.match(text) is not None
