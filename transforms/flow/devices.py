"""Which strings name a device: what the uses of a value prove about it.

A literal is a device when some use of its component is a device position, and every test of the component changes
together with it. Nothing is guessed: a name alone (`device`) is evidence for a person to look at, never for a
safe edit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.index import below
from transforms.engine.model import Safety
from transforms.flow.beside import alternatives, displays, indexed_by
from transforms.flow.components import Component, Components, all_device_names
from transforms.flow.library_parameters import library_value
from transforms.flow.places import Origin, Place, Places, Sink, names_device
from transforms.flow.storages import is_saved_location, map_location_dict

if TYPE_CHECKING:
    from transforms.engine.context import Context

__all__ = ["Devices", "Verdict", "device_text", "names_device"]

_DEVICE_TEXT = re.compile(r"cuda(:(\d+|\{\}|\{\w*(:\w*)?\}|%d|%s|%i)?)?$")
Evidence = tuple[tuple[cst.CSTNode, str], ...]


def device_text(text: str) -> bool:
    """Whether a text is a CUDA device name: `cuda`, `cuda:1`, or a template for one."""
    return _DEVICE_TEXT.match(text) is not None


@dataclass(frozen=True)
class Verdict:
    """What a literal is. `kind`: given, test, key, choice, pattern, kernel, multi, saved, foreign, text, code (a
    device that is also part of the name of a module or function), elsewhere (compared with another file's value that
    may stay), unknown. `group` ties what changes together, `subject` is what a test looks at (of `multi`: the tests of
    the value that a literal is stored as), `probe` the condition on whose arm a literal stands."""

    kind: str
    safety: Safety = Safety.REVIEW
    evidence: Evidence = ()
    group: str = ""
    keeps_index: bool = False
    subject: cst.CSTNode | None = None
    probe: cst.CSTNode | None = None
    needed: bool = False


class Devices:
    """Answers about the device values of one file."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.places = Places(cx)
        self.components = Components(cx, self.places)
        self._verdicts: dict[int, Verdict] = {}

    # literals ---------------------------------------------------------------------------------------------------

    def literal(self, node: cst.CSTNode) -> Verdict:
        """What a string that could name a CUDA device is used for."""
        known = self._verdicts.get(id(node))
        if known is None:
            known = self._verdicts[id(node)] = self._literal(node)
        return known

    def _literal(self, node: cst.CSTNode) -> Verdict:
        steps = list(self.places.forward(node))
        sinks = [s for s in steps if isinstance(s, Sink)]
        kinds = {s.kind: s for s in reversed(sinks)}
        component = self._joined([s for s in steps if not isinstance(s, Sink)])
        several = self._several(node, kinds)
        if several is not None:
            return several
        if (library := library_value(self.cx, node)) is not None:
            return Verdict("foreign", evidence=((library[0], f"{library[1].argument} among the parameters"),))
        if "foreign" in kinds:
            return Verdict("foreign", evidence=((kinds["foreign"].node, kinds["foreign"].text),))
        if component is not None:
            return self._stored(component, kinds, node)
        if "kernel" in kinds:
            return Verdict("kernel", evidence=((kinds["kernel"].node, kinds["kernel"].text),))
        if "pattern" in kinds:
            return self._pattern(kinds["pattern"])
        for kind, safety in (("device", Safety.SAFE), ("taken", Safety.SAFE), ("likely", Safety.REVIEW)):
            if kind in kinds:
                keeps = "index" in kinds or "key" in kinds or any(s.indexed for s in sinks if s.kind == "test")
                return Verdict(
                    "given", safety, ((kinds[kind].node, kinds[kind].text),), "", keeps, probe=self._probe(node)
                )
        arm = kinds.get("arm") if not kinds.keys() & {"text", "test", "key"} else None
        if arm is not None and (self.cx.string(arm.other) == "cpu" or self._or_nothing(arm, node)):
            evidence = tuple((s.node, s.text) for s in (arm, kinds.get("leak")) if s is not None)
            return Verdict("given", Safety.REVIEW, evidence, probe=self._probe(node))
        if "test" in kinds:
            return self._test(node, kinds["test"])
        if "key" in kinds:
            return self._key(kinds["key"])
        if "choice" in kinds:
            return self._choice(kinds["choice"])
        if "text" in kinds:
            return Verdict("text", evidence=((kinds["text"].node, kinds["text"].text),))
        return Verdict("unknown", evidence=tuple((s.node, s.text) for s in sinks[:1]))

    def _several(self, node: cst.CSTNode, kinds: dict[str, Sink]) -> Verdict | None:
        """The verdict for one of several accelerators that stand side by side: in a table, a list, a chain."""
        needed = "test" not in kinds and "key" not in kinds
        if (sink := kinds.get("aware")) is not None:
            return Verdict("aware", evidence=((sink.node, sink.text),))
        if (sink := kinds.get("multi")) is not None:
            return Verdict("multi", evidence=((sink.node, sink.text),), needed=needed)
        beside = list(alternatives(self.cx, node))
        if any((self.cx.string(o) or "").split(":")[0] == "neuron" for o in beside):
            return Verdict("aware", evidence=((node, "neuron is chosen beside it"),))
        other = next((o for o in beside if self.places.other_accelerator(o)), None)
        if other is not None:
            return Verdict("multi", evidence=((other, "another accelerator in the same choice"),), needed=needed)
        return None

    def _stored(self, component: Component, kinds: dict[str, Sink], node: cst.CSTNode) -> Verdict:
        """A literal that is kept in places: all their uses decide."""
        group = component.key
        elsewhere = self._read_elsewhere(component)
        keeps = component.keeps_index or "index" in kinds or bool(elsewhere)
        plain = all_device_names(self.cx, component)
        proof: Sink | Origin | None = kinds.get("device") or component.proof or kinds.get("likely")
        arm = self._arm(component)
        if (chain := self.chosen_by(component)) is not None:
            return Verdict("multi", evidence=((chain.node, chain.text),), subject=chain.node, needed=True)
        foreign = component.of_kind("foreign")
        mapped = bool(foreign) and all(s.text.startswith("device_map=") for s in foreign)
        if (named := component.of_kind("code")) and proof is not None:
            return Verdict("code", evidence=((named[0].node, named[0].text),), needed=True)
        if foreign and not (mapped and proof is not None and proof.kind != "likely"):
            # whatever else it is: another name would break the call of the library (a device map takes torch's names)
            return Verdict("foreign", evidence=((foreign[0].node, foreign[0].text),), needed=True)
        if proof is None and arm is not None and plain:
            proof = arm
        if proof is None and plain:
            proof = self._chosen_in_statement(node)
        if proof is None and plain and component.of_kind("taken"):
            proof = component.of_kind("taken")[0]
        probe = next(iter(component.of_kind("probe")), kinds.get("probe"))
        if proof is None and probe is not None and (component.named or self._else_cpu(component)):
            proof = probe
        if proof is not None and (plain or "device" in kinds):
            safety, evidence = self._certainty(component, proof, arm is not None)
            if elsewhere:
                evidence = (*evidence, (node, elsewhere))
            if mapped:
                safety, evidence = Safety.REVIEW, (*evidence, (foreign[0].node, foreign[0].text))
            return Verdict("given", safety, evidence, group, keeps, probe=self._probe(node))
        if component.named and plain and self._goes_on(component):
            evidence = ((node, f"stored as {component.named}"), *([(node, elsewhere)] if elsewhere else []))
            return Verdict("given", Safety.REVIEW, evidence, group, keeps)
        texts = component.of_kind("text")
        if texts and proof is None and not component.of_kind("leak", "test"):
            return Verdict("text", evidence=((texts[0].node, texts[0].text),))
        if proof is not None:
            why = ((proof.node, proof.text), (node, "beside texts that name no device"))
            return Verdict("unknown", evidence=why, needed=isinstance(proof, Sink) and proof.kind == "device")
        return Verdict("unknown", evidence=tuple(component.doubts[:1]))

    def chosen_by(self, component: Component) -> Sink | None:
        """The choice between several accelerators that looks at the very values of a component.

        A chain over `x.device.type` of some tensor is about that tensor, whatever else is called `device` here.
        """
        for sink in component.of_kind("multi"):
            subject = sink.subject
            if isinstance(subject, cst.Attribute) and subject.attr.value == "type":
                holder = subject.value
                if isinstance(holder, cst.Attribute) and self.places.attribute(holder)[1] == 0:
                    continue
            return sink
        return None

    def _goes_on(self, component: Component) -> bool:
        """Whether a value may be used where this file does not show it: only then its name alone says something."""
        open_ended = any(
            kind in ("attr", "item", "return") or (kind == "var" and owner == id(self.cx.module))
            for kind, owner, _ in component.places
        )
        return open_ended or bool(component.of_kind("leak"))

    def _chosen_in_statement(self, node: cst.CSTNode) -> Sink | None:
        """A probe in the statement of a literal, where the CPU stands beside it: `("cpu", "cuda")[is_available()]`."""
        statement = self.cx.index.statement(node)
        if not isinstance(statement, (cst.Assign, cst.AnnAssign, cst.Return)) or statement.value is None:
            return None
        parts = list(below(statement.value))
        cpus = [part for part in parts if self.cx.string(part) == "cpu"]
        if not cpus:
            return None
        probe = next((part for part in parts if isinstance(part, cst.Call) and self.places.is_probe(part)), None)
        if probe is not None and self._chooses_beside(probe, node, cpus):
            return None
        return Sink("probe", probe, "a probe chooses between it and the CPU") if probe is not None else None

    def _or_nothing(self, arm: Sink, node: cst.CSTNode) -> bool:
        """Whether a text stands there or nothing, beside the CPU: `["cuda" if is_available() else None, "cpu"]`."""
        nothing = isinstance(arm.other, cst.Name) and arm.other.value == "None"
        return nothing and self._chosen_in_statement(node) is not None

    def _chooses_beside(self, probe: cst.CSTNode, node: cst.CSTNode, cpus: list[cst.CSTNode]) -> bool:
        """Whether a probe and the CPU stand together in an element or argument next to that of a literal:
        `{"device": x if is_available() else "cpu", "kind": "cuda"}`."""
        around = {id(above) for above in self.cx.index.ancestors(node)}
        for part in self.cx.index.ancestors(probe):
            if id(part) in around:
                return False
            if isinstance(part, (cst.DictElement, cst.Element, cst.Arg)):
                return all(any(a is part for a in self.cx.index.ancestors(cpu)) for cpu in cpus)
        return False

    def _else_cpu(self, component: Component) -> bool:
        """Whether a value can be the CPU by its literals: what is chosen by a probe instead of it is a device."""
        return any(self.cx.string(o.node) == "cpu" for o in component.origins if o.kind == "literal")

    def _arm(self, component: Component) -> Sink | None:
        """A conditional on a probe, one of whose arms is a literal of the component and the other the CPU."""
        for sink in component.of_kind("arm"):
            if sink.other is not None and (self.cx.string(sink.other) or "").split(":")[0] == "cpu":
                return sink
            if isinstance(sink.other, cst.Name) and sink.other.value == "None" and component.named:
                return sink
        return None

    def _certainty(self, component: Component, proof: Sink | Origin, arm: bool = False) -> tuple[Safety, Evidence]:
        evidence = [(proof.node, proof.text)]
        safety = Safety.SAFE
        if component.doubts:
            safety = Safety.REVIEW
            evidence.append(component.doubts[0])
        if proof.kind in ("likely", "probe", "taken") or component.too_large or self.cx.names.executes:
            safety = Safety.REVIEW
        if not all_device_names(self.cx, component):
            safety = Safety.REVIEW
        for kind, scope, name in component.places:
            if kind in ("attr", "item") and not arm:
                safety = Safety.REVIEW
            elif kind == "var" and component.of_kind("test") and (files := self._callers_elsewhere(scope, name)):
                safety = Safety.REVIEW
                evidence.append((proof.node, f"{name} is given by callers in {', '.join(files[:3])}"))
            elif kind == "contents" and scope != id(self.cx.module) and name in self._class_tables():
                safety = Safety.REVIEW
            elif kind in ("var", "contents") and scope == id(self.cx.module):
                importers = (*self.cx.facts.importers.get(name, ()), *self.cx.facts.importers.get("*", ()))
                if importers:
                    safety = Safety.REVIEW
                    evidence.append((proof.node, f"{name} is imported by {', '.join(importers[:3])}"))
        if imported := self._imported(component):
            safety = Safety.REVIEW
            evidence.append((proof.node, f"its value comes from {imported}"))
        return safety, tuple(evidence)

    def _class_tables(self) -> set[str]:
        """Names that class bodies of the file bind: others may read them as attributes."""
        return {m.value for holder in self.cx.index.nodes(cst.ClassDef) for m in self.places.members(holder)}

    def _imported(self, component: Component) -> str:
        """The qualified name of a value of another module among the variables of a component, empty for none."""
        for kind, scope, name in component.places:
            if kind == "var":
                for binding in self.cx.names.occurrences(name).bindings.get(scope, []):
                    if binding.kind == "import" and binding.imported.split(".")[0] != "torch":
                        return binding.imported
                    if isinstance(binding.value, cst.Call) and (made := self._made_elsewhere(binding.value)):
                        return made
        return ""

    def _made_elsewhere(self, call: cst.Call) -> str:
        """The name of a function or class of another file of the repository that a call is of, empty for others."""
        name = self.cx.origin(call.func).name
        return name if name and (name.startswith(".") or name.split(".")[0] in self.cx.facts.modules) else ""

    def _read_elsewhere(self, component: Component) -> str:
        """What other files read of a component, so that they may read its index too; empty for nothing."""
        importers = self.cx.facts.importers
        for kind, owner, name in component.places:
            if name.startswith("_"):
                continue
            if (kind == "var" and owner == id(self.cx.module)) or kind == "return":
                files = (*importers.get(name, ()), *importers.get("*", ()))
                if files:
                    return f"{name} is read in {', '.join(dict.fromkeys(files[:3]))}, perhaps with its index"
            elif kind == "attr" and owner and importers:
                return f"{name} is an attribute of a class in a file that others import: its index may be read there"
        return ""

    def _callers_elsewhere(self, scope: int, name: str) -> tuple[str, ...]:
        """Files that import the function whose parameter a variable is."""
        bindings = self.cx.names.occurrences(name).bindings.get(scope, [])
        if not bindings or bindings[0].kind != "param" or not isinstance(bindings[0].scope, cst.FunctionDef):
            return ()
        return self.cx.facts.importers.get(bindings[0].scope.name.value, ())

    # tests ------------------------------------------------------------------------------------------------------

    def _test(self, node: cst.CSTNode, sink: Sink) -> Verdict:
        """A literal that something is compared with: the other side decides."""
        if sink.other is None:
            return Verdict("unknown", evidence=((sink.node, sink.text),))
        if is_saved_location(sink.other, self.cx):
            return Verdict("saved", evidence=((sink.other, "where a tensor was when it was saved"),))
        return self.tested(sink.other, sink.node, node)

    def tested(self, subject: cst.CSTNode, test: cst.CSTNode, literal: cst.CSTNode | None = None) -> Verdict:
        """What a test of `subject` against a device name is."""
        del literal
        if isinstance(subject, (cst.SimpleString, cst.ConcatenatedString, cst.Integer, cst.Dict)):
            return Verdict("unknown", evidence=((test, "compared with a constant"),))
        component, origins = self._value(subject)
        group = component.key if component else ""
        if component is not None and not all_device_names(self.cx, component):
            return Verdict("unknown", evidence=((test, "compared with something that also holds other texts"),))
        direct = next((o for o in origins if o.kind == "device"), None)
        if direct is not None:
            # `.device` compared with a text as a whole is more often a setting of that name than a tensor's device
            whole = direct.node is subject and isinstance(subject, cst.Attribute)
            safety = Safety.REVIEW if whole or _of_loop(direct.node) else Safety.SAFE
            return Verdict("test", safety, ((direct.node, direct.text),), group, True, subject)
        if component is not None and (chain := self.chosen_by(component)) is not None:
            return Verdict("multi", evidence=((chain.node, chain.text),), subject=chain.node)
        if component is not None and (named := component.of_kind("code")):
            return Verdict("code", evidence=((named[0].node, named[0].text),))
        imported = self._imported(component) if component is not None else ""
        if imported and component is not None and not (component.named or names_device(imported.rpartition(".")[2])):
            return Verdict("elsewhere", evidence=((test, f"{imported} is another file's value"),))
        if other := self._other_value(subject):
            return Verdict("elsewhere", evidence=((test, f"{other} is another file's value"),))
        if component is not None:
            proof = component.proof or self._arm(component)
            if proof is not None:
                safety, evidence = self._certainty(component, proof, self._arm(component) is not None)
                return Verdict("test", safety, evidence, group, True, subject)
            if component.named:
                return Verdict("test", Safety.REVIEW, ((test, f"{component.named} is compared"),), group, True, subject)
        imported = self._asked_elsewhere(subject)
        if imported and not imported.startswith("torch.") and names_device(imported.rpartition(".")[2]):
            return Verdict("test", Safety.REVIEW, ((test, f"{imported} is compared"),), group, True, subject)
        if isinstance(subject, cst.Attribute) and subject.attr.value == "type" and not self._own_type(subject):
            return Verdict("test", Safety.REVIEW, ((test, ".type compared with a device name"),), group, True, subject)
        return Verdict("unknown", evidence=((test, "compared with something unknown"),))

    def _asked_elsewhere(self, subject: cst.CSTNode) -> str:
        """The qualified name of a value, or of the function that is called for it: `str(get_device())`."""
        while True:
            if isinstance(subject, cst.Subscript):
                subject = subject.value
            elif not isinstance(subject, cst.Call):
                break
            elif self.cx.origin(subject.func).name == "builtins.str" and subject.args:
                subject = subject.args[0].value
            elif isinstance(subject.func, cst.Attribute) and subject.func.attr.value in ("split", "lower", "strip"):
                subject = subject.func.value
            else:
                break
        if isinstance(subject, cst.Attribute) and subject.attr.value == "type" and isinstance(subject.value, cst.Call):
            subject = subject.value
        if isinstance(subject, cst.Call):
            return self.cx.origin(subject.func).name
        return self.cx.origin(subject).name if isinstance(subject, (cst.Name, cst.Attribute)) else ""

    def _own_type(self, subject: cst.Attribute) -> bool:
        """Whether the file stores a `.type` of its own, or the receiver is one of its own objects."""
        if self.places.class_of(subject.value) is not None:
            return True
        return bool(self.components.owners("type"))

    def _pattern(self, sink: Sink) -> Verdict:
        """A regular expression that a device name is matched with."""
        if sink.other is not None and self.is_device(sink.other):
            return Verdict("pattern", evidence=((sink.node, sink.text),), needed=True)
        return Verdict("pattern", evidence=((sink.node, sink.text),))

    # keys -------------------------------------------------------------------------------------------------------

    def _key(self, sink: Sink) -> Verdict:
        """A key of a dict: a device when the dict is indexed by one."""
        holder = sink.other
        if isinstance(holder, cst.Dict):
            if map_location_dict(holder, self.cx):
                return Verdict("saved", Safety.REVIEW, ((holder, "device of a saved tensor"),), subject=holder)
        elif isinstance(holder, cst.Name) and any(
            self.places.names_other_accelerators(d) for d in displays(self.cx, holder)
        ):
            return Verdict("multi", evidence=((sink.node, "key of a table of accelerators"),))
        found = None
        unknown: cst.CSTNode | None = None
        for subject in indexed_by(self.cx, holder):
            if other := self._other_value(subject):
                why = f"the table is indexed by {other} of another file"
                return Verdict("elsewhere", evidence=((subject, why),))
            verdict = self.tested(subject, sink.node)
            if verdict.kind == "test" and found is None:
                found = Verdict("key", verdict.safety, verdict.evidence, verdict.group, True)
            elif verdict.kind != "test":
                unknown = subject
        if found is not None and unknown is not None:
            doubt = (unknown, "the table is indexed by this too, which may hold another text")
            return Verdict("key", Safety.REVIEW, (*found.evidence, doubt), found.group, True)
        if found is not None:
            return found
        return Verdict("unknown", evidence=((sink.node, sink.text),))

    def _other_value(self, subject: cst.CSTNode) -> str:
        """The name of another file's value whose name does not say device, so that it may well stay; else empty."""
        name = self.cx.origin(subject).name if isinstance(subject, (cst.Name, cst.Attribute)) else ""
        package = name.split(".")[0]
        own = not package or package in self.cx.facts.modules
        return name if name and own and not names_device(name.rpartition(".")[2]) else ""

    def _choice(self, sink: Sink) -> Verdict:
        """A member of a `Literal`: a device when the annotated things are."""
        subscript = sink.node
        annotated = [self.cx.parent(a) for a in self.cx.index.ancestors(subscript) if isinstance(a, cst.Annotation)][:1]
        alias = self.cx.parent(subscript)
        if isinstance(alias, (cst.Assign, cst.TypeAlias)):
            target = alias.targets[0].target if isinstance(alias, cst.Assign) else alias.name
            if isinstance(target, cst.Name):
                for use in self.cx.names.uses(target.value, self.cx.names.scope(target)):
                    annotated += [
                        self.cx.parent(a) for a in self.cx.index.ancestors(use) if isinstance(a, cst.Annotation)
                    ][:1]
        for holder in annotated:
            places: list[Place] = []
            if isinstance(holder, cst.AnnAssign):
                places = list(self.places.target(holder.target))
            elif isinstance(holder, cst.Param):
                places = [self.places.variable(holder.name)]
            elif isinstance(holder, cst.FunctionDef):
                places = [("return", id(holder), holder.name.value)]
            found = self._joined(places)
            if found is not None and (found.proof or found.named) and all_device_names(self.cx, found):
                return Verdict(
                    "choice", Safety.REVIEW, ((subscript, "names of devices that a field may hold"),), found.key, True
                )
        return Verdict("unknown", evidence=((subscript, sink.text),))

    def _probe(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The availability probe on whose arm a literal stands."""
        child = node
        for above in self.cx.index.ancestors(node):
            if isinstance(above, cst.IfExp) and child is not above.test:
                probe = self.places.is_probe if child is above.body else self.places.is_negated_probe
                return above.test if probe(above.test) else None
            if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return None
            child = above
        return None

    # values -----------------------------------------------------------------------------------------------------

    def is_device(self, node: cst.CSTNode) -> bool:
        """Whether an expression surely holds a device (object or name)."""
        component, origins = self._value(node)
        return any(o.kind == "device" for o in origins) or bool(component and component.proof)

    def component_of(self, node: cst.CSTNode) -> Component | None:
        """The component that an expression's value belongs to."""
        return self._value(node)[0]

    def options(self, name: str) -> list[cst.Call]:
        """Calls that declare a command-line option which is stored as this attribute."""
        return self.components.options(name)

    def _value(self, node: cst.CSTNode) -> tuple[Component | None, list[Origin]]:
        steps = list(self.places.backward(node))
        return self._joined([s for s in steps if isinstance(s, tuple)]), [s for s in steps if isinstance(s, Origin)]

    def _joined(self, places: list[Place]) -> Component | None:
        return self.components.of(places)


def _of_loop(node: cst.CSTNode) -> bool:
    """Whether a `.device` is that of the loop of a library with accelerators of its own, such as `fabric.device`."""
    while isinstance(node, cst.Attribute) and node.attr.value in ("type", "device"):
        node = node.value
    name = node.attr if isinstance(node, cst.Attribute) else node
    return isinstance(name, cst.Name) and name.value in ("fabric", "trainer")
