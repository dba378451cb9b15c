"""Which strings name a process-group backend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.model import Safety
from transforms.engine.words import words
from transforms.flow.devices import Verdict
from transforms.flow.places import Origin, Sink

if TYPE_CHECKING:
    from transforms.engine.context import Context

BACKEND_CALLS: dict[str, int] = {
    "torch.distributed.init_process_group": 0,
    "torch.distributed.new_group": 2,
    "torch.distributed.distributed_c10d.init_process_group": 0,
    "torch.distributed.distributed_c10d.new_group": 2,
    "torch.distributed.new_subgroups": 3,
    "torch.distributed.is_backend_available": 0,
    "torch.distributed.Backend": 0,
}
"""Functions of torch.distributed with the position of `backend` (torch 2.13 signatures)."""

_BACKEND_TEXT = re.compile(r"(nccl|cuda:nccl|cpu:gloo,cuda:nccl|cuda:nccl,cpu:gloo)$", re.I)


def backend_text(text: str) -> bool:
    """Whether a text names the NCCL backend, alone or beside gloo."""
    return _BACKEND_TEXT.match(text) is not None


def names_backend(name: str) -> bool:
    """Whether an identifier or key speaks of a backend."""
    return "backend" in words(name)


class Backends:
    """Answers about backend names in one file, by the places that `Devices` follows."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.devices = cx.devices

    def literal(self, node: cst.CSTNode) -> Verdict:
        """What a string that could name a backend is used for: given, test or unknown."""
        steps = list(self.devices.places.forward(node))
        direct = self._given(node)
        if direct is not None:
            return Verdict("given", Safety.SAFE, (direct,))
        for step in steps:
            if isinstance(step, Sink) and step.kind == "test" and step.other is not None:
                return self._tested(step)
            if isinstance(step, Sink) and step.kind == "text":
                return Verdict("text", evidence=((step.node, step.text),))
        places = [s for s in steps if not isinstance(s, Sink)]
        component = self.devices._joined(places)
        if component is None:
            return Verdict("unknown", evidence=tuple((s.node, s.text) for s in steps if isinstance(s, Sink)))
        uses = self._uses_in(component.sinks)
        if uses is not None:
            only = all(s.kind in ("backend", "test", "text") or s.node is uses[0] for s in component.of_kind("leak"))
            stored = all(kind == "var" for kind, _, _ in component.places)
            safety = Safety.SAFE if only and stored and not self.cx.names.executes else Safety.REVIEW
            if any(s == id(self.cx.module) and self.cx.facts.importers.get(n) for _, s, n in component.places):
                safety = Safety.REVIEW
            return Verdict("given", safety, (uses,), component.key)
        named = next((name for _, _, name in component.places if names_backend(name)), "")
        if named:
            return Verdict("given", Safety.REVIEW, ((node, f"stored as {named}"),), component.key)
        return Verdict("unknown", evidence=tuple(component.doubts[:1]))

    def _given(self, node: cst.CSTNode) -> tuple[cst.CSTNode, str] | None:
        """The call that takes this very expression as its backend."""
        here: cst.CSTNode = node
        above = self.cx.parent(here)
        while isinstance(above, (cst.IfExp, cst.BooleanOperation)):
            if isinstance(above, cst.IfExp) and above.test is here:
                return None
            here, above = above, self.cx.parent(above)
        return self._argument(above)

    def _argument(self, arg: cst.CSTNode | None) -> tuple[cst.CSTNode, str] | None:
        call = self.cx.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call):
            return None
        name = self.cx.origin(call.func).name
        if name not in BACKEND_CALLS:
            return None
        found = self.cx.argument(call, "backend", BACKEND_CALLS[name])
        return (call, f"backend of {name}") if found is arg else None

    def _uses_in(self, sinks: list[Sink]) -> tuple[cst.CSTNode, str] | None:
        for sink in sinks:
            if isinstance(sink.node, cst.Call):
                name = self.cx.origin(sink.node.func).name
                if name in BACKEND_CALLS:
                    return sink.node, f"backend of {name}"
        return None

    def _tested(self, sink: Sink) -> Verdict:
        assert sink.other is not None
        other = sink.other
        if isinstance(other, cst.Call):
            called = self.cx.origin(other.func).name
            if called.endswith("get_backend") and called.startswith("torch."):
                return Verdict("test", Safety.SAFE, ((sink.node, "get_backend() is compared"),))
        steps = list(self.devices.places.backward(other))
        component = self.devices._joined([s for s in steps if not isinstance(s, Origin)])
        if component is not None:
            uses = self._uses_in(component.sinks)
            if uses is not None:
                return Verdict("test", Safety.REVIEW, (uses,), component.key)
            named = next((name for _, _, name in component.places if names_backend(name)), "")
            if named:
                return Verdict("test", Safety.REVIEW, ((sink.node, f"{named} is compared"),), component.key)
        return Verdict("unknown", evidence=((sink.node, "compared with something unknown"),))
