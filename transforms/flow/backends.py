"""Which strings name a process-group backend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.model import Safety
from transforms.engine.words import words
from transforms.flow.components import Component
from transforms.flow.devices import Verdict
from transforms.flow.places import Origin, Place, Sink
from transforms.tables.distributed import BACKEND_CALLS

if TYPE_CHECKING:
    from transforms.engine.context import Context

_BACKEND_TEXT = re.compile(r"(nccl|cuda:nccl|cpu:gloo,cuda:nccl|cuda:nccl,cpu:gloo)$", re.I)
_OTHER_BACKENDS = frozenset(["ccl", "xccl", "hccl", "oneccl", "cncl", "mccl"])
_WRAPPING = (cst.IfExp, cst.BooleanOperation, cst.ConcatenatedString)


def backend_text(text: str) -> bool:
    """Whether a text names the NCCL backend, alone or beside gloo."""
    return _BACKEND_TEXT.match(text.replace(" ", "")) is not None


def names_backend(name: str) -> bool:
    """Whether an identifier or key speaks of a backend."""
    return "backend" in words(name)


class Backends:
    """Answers about backend names in one file, by the places that `Devices` follows."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.devices = cx.devices

    def literal(self, node: cst.CSTNode) -> Verdict:
        """What an expression that is a backend name is used for: given, test, multi, foreign, text or unknown."""
        steps = list(self.devices.places.forward(node))
        direct = self._given(node)
        if direct is not None:
            return Verdict("given", Safety.SAFE, (direct,))
        sinks = [s for s in steps if isinstance(s, Sink)]
        for sink in sinks:
            if sink.kind == "test" and sink.other is not None:
                return self._tested(sink)
            if sink.kind == "text":
                return Verdict("text", evidence=((sink.node, sink.text),))
        places = [s for s in steps if not isinstance(s, Sink)]
        component = self.devices._joined(places)
        foreign = self._foreign([*sinks, *(component.sinks if component else ())])
        if foreign is not None:
            return Verdict("foreign", evidence=(foreign,))
        if self._one_of_many(node, component):
            return Verdict("multi", evidence=((node, "one of several accelerators' backends"),))
        if component is None:
            if any(s.kind == "choice" for s in sinks):
                return self._choice(sinks)
            return self._by_key(node) or Verdict("unknown", evidence=tuple((s.node, s.text) for s in sinks))
        verdict = self._stored(node, component)
        return verdict if verdict.kind == "given" else self._by_key(node) or verdict

    def _stored(self, node: cst.CSTNode, component: Component) -> Verdict:
        """A name that goes into places only: their uses decide."""
        uses = self._uses_in(component.sinks)
        if uses is not None:
            return Verdict("given", self._certainty(component, uses[0]), (uses,), component.key)
        named = next((name for _, _, name in component.places if names_backend(name)), "")
        if named:
            return Verdict("given", Safety.REVIEW, ((node, f"stored as {named}"),), component.key)
        return Verdict("unknown", evidence=tuple(component.doubts[:1]))

    def _certainty(self, component: Component, use: cst.CSTNode) -> Safety:
        known = all(s.kind in ("backend", "test", "text") or s.node is use for s in component.of_kind("leak"))
        if not known or component.too_large or self.cx.names.executes:
            return Safety.REVIEW
        for kind, scope, name in component.places:
            if kind != "var":
                return Safety.REVIEW
            if scope == id(self.cx.module) and (self.cx.facts.importers.get(name) or self.cx.facts.importers.get("*")):
                return Safety.REVIEW
        return Safety.SAFE

    # uses -------------------------------------------------------------------------------------------------------

    def _given(self, node: cst.CSTNode) -> tuple[cst.CSTNode, str] | None:
        """The call that takes this very expression as its backend."""
        here: cst.CSTNode = node
        above = self.cx.parent(here)
        while isinstance(above, _WRAPPING):
            if isinstance(above, cst.IfExp) and above.test is here:
                return None
            here, above = above, self.cx.parent(above)
        return self._argument(above)

    def _argument(self, arg: cst.CSTNode | None) -> tuple[cst.CSTNode, str] | None:
        call = self.cx.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call):
            return None
        origin = self.cx.origin(call.func)
        known = BACKEND_CALLS.get(origin.name)
        if known is None or origin.ambiguous:
            return None
        return (call, f"backend of {origin.name}") if self.cx.argument(call, *known) is arg else None

    def _uses_in(self, sinks: list[Sink]) -> tuple[cst.CSTNode, str] | None:
        for sink in sinks:
            if isinstance(sink.node, cst.Call):
                name = self.cx.origin(sink.node.func).name
                if name in BACKEND_CALLS:
                    return sink.node, f"backend of {name}"
        return None

    def _foreign(self, sinks: list[Sink]) -> tuple[cst.CSTNode, str] | None:
        """The call of another package that receives the value as its backend."""
        for sink in sinks:
            if sink.kind != "leak" or not isinstance(sink.node, cst.Call):
                continue
            name = self.cx.origin(sink.node.func).name
            package = name.split(".")[0]
            own = package in ("", "torch", "builtins", "argparse") or package in self.cx.facts.modules
            if not own and ("backend" in words(sink.text) or self._starts_group(sink.node)):
                return sink.node, f"backend of {name}"
        return None

    def _starts_surely(self) -> bool:
        """Whether all backends that this file starts groups with change for sure, if they change: a test of the backend
        may not change before them."""
        for call in self.cx.index.nodes(cst.Call):
            known = BACKEND_CALLS.get(self.cx.origin(call.func).name)
            arg = self.cx.argument(call, *known) if known is not None else None
            if arg is None or self.cx.string(arg.value) is not None:
                continue
            component = self.devices.component_of(arg.value)
            if component is None or self._certainty(component, call) is not Safety.SAFE:
                return False
        return True

    def _starts_group(self, call: cst.Call) -> bool:
        return self.cx.origin(call.func).name.endswith(("init_distributed", "init_process_group"))

    def _one_of_many(self, node: cst.CSTNode, component: Component | None) -> bool:
        """Whether the name stands in a table that has other accelerators too."""
        if component is not None and component.of_kind("multi"):
            return True
        element = self.cx.parent(node)
        holder = self.cx.parent(element) if isinstance(element, (cst.DictElement, cst.Element)) else None
        if not isinstance(holder, (cst.Dict, cst.List, cst.Tuple, cst.Set)):
            return False
        texts = {self.cx.string(e.value) for e in holder.elements}
        return bool(texts & _OTHER_BACKENDS) or self.devices.places.names_other_accelerators(holder)

    def _by_key(self, node: cst.CSTNode) -> Verdict | None:
        """A value of a table of backends by device."""
        element = self.cx.parent(node)
        if not isinstance(element, cst.DictElement) or element.value is not node:
            return None
        holder = self.cx.parent(element)
        if isinstance(holder, cst.Dict) and self._holds_backends(holder):
            return Verdict("given", Safety.REVIEW, ((holder, "a table of backends by device"),))
        return None

    def _holds_backends(self, holder: cst.Dict) -> bool:
        known = {"nccl", "gloo", "mpi", "ucc"}
        values = [self.cx.string(e.value) for e in holder.elements]
        return len(values) > 1 and all(v is not None and v.lower() in known for v in values)

    def _choice(self, sinks: list[Sink]) -> Verdict:
        """A member of a `Literal` that annotates something called a backend."""
        for sink in sinks:
            for above in self.cx.index.ancestors(sink.node):
                if not isinstance(above, cst.Annotation):
                    continue
                holder = self.cx.parent(above)
                target = holder.name if isinstance(holder, cst.Param) else getattr(holder, "target", None)
                if isinstance(target, cst.Name) and names_backend(target.value):
                    component = self.devices._joined(list(self._places_of(holder, target)))
                    key = component.key if component else ""
                    return Verdict("given", Safety.REVIEW, ((sink.node, f"values of {target.value}"),), key)
        return Verdict("unknown", evidence=tuple((s.node, s.text) for s in sinks[:1]))

    def _places_of(self, holder: cst.CSTNode | None, target: cst.Name) -> list[Place]:
        if isinstance(holder, cst.Param):
            return [self.devices.places.variable(target)]
        return list(self.devices.places.target(target))

    def _tested(self, sink: Sink) -> Verdict:
        assert sink.other is not None
        other = sink.other
        while (
            isinstance(other, cst.Call)
            and isinstance(other.func, cst.Attribute)
            and not self.cx.origin(other.func).names
        ):
            if other.func.attr.value not in ("lower", "upper", "strip"):
                break
            other = other.func.value
        if isinstance(other, cst.Call):
            called = self.cx.origin(other.func)
            if called.name.startswith("torch.") and called.name.endswith(("get_backend", "get_backend_config")):
                safety = Safety.REVIEW if called.ambiguous or not self._starts_surely() else Safety.SAFE
                return Verdict("test", safety, ((sink.node, "get_backend() is compared"),))
        steps = list(self.devices.places.backward(other))
        component = self.devices._joined([s for s in steps if not isinstance(s, Origin)])
        if component is not None:
            uses = self._uses_in(component.sinks)
            if uses is not None:
                return Verdict("test", self._certainty(component, uses[0]), (uses,), component.key)
            asked = next((name for _, _, name in component.places if names_backend(name)), "")
            if asked and self._own_code(sink.node):
                return Verdict("unknown", evidence=((sink.node, "its branch calls code that is named after NCCL"),))
            if asked:
                return Verdict("test", Safety.REVIEW, ((sink.node, f"{asked} is compared"),), component.key)
        asked = other.attr.value if isinstance(other, cst.Attribute) else ""
        if asked and names_backend(asked) and not self._own_code(sink.node):
            return Verdict("test", Safety.REVIEW, ((sink.node, f"{asked} is compared"),))
        return Verdict("unknown", evidence=((sink.node, "compared with something unknown"),))

    def _own_code(self, test: cst.CSTNode) -> bool:
        """Whether the branch under a test uses names of the program's own that speak of NCCL: code for it."""
        holder = self.cx.index.enclosing(test, cst.If)
        if holder is None:
            return False
        for spelling, nodes in self.cx.index.names.items():
            for node in nodes if "nccl" in words(spelling) else ():
                above = self.cx.parent(node)
                named = not isinstance(above, cst.Attribute) or above.value is node
                inside = any(a is holder.body for a in self.cx.index.ancestors(node))
                if named and inside and not self.cx.origin(node).name.startswith("torch."):
                    return True
        return False
