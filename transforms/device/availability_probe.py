"""TN103: `torch.cuda.is_available`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transforms.device._rules import MULTI_BACKEND
from transforms.device.device_string import device_literal
from transforms.engine.changes import Around, Change
from transforms.engine.context import Context
from transforms.engine.index import below
from transforms.engine.model import Rule, Safety
from transforms.engine.names import Origin
from transforms.engine.statements import simple_statements
from transforms.engine.transform import Transform
from transforms.flow.conditions import leaves, neuron_beside
from transforms.flow.guards import Guards
from transforms.flow.library_parameters import accelerator_row
from transforms.flow.patched import REPLACED, Patched

PROBE = "torch.cuda.is_available"
_AWARE = "the branch for CUDA, beside one for neuron"

AVAILABILITY_PROBE = Rule(
    code="TN103",
    name="availability-probe",
    summary="The question whether an accelerator is there",
    best=Safety.SAFE,
    argument=(
        "On Trainium the new test is true where the old one was true on CUDA; on a host with neither both are false, "
        "because `hasattr` is asked first."
    ),
    source="TorchNeuron documentation 2.33; the form that accelerate and transformers use for the native device",
    why="A wheel without CUDA answers False, and the program runs on the CPU without a word.",
    silent="`is_available` of torch.accelerator, of other backends, of process groups, and of the program's objects.",
    examples=(
        (
            "import torch\n\nuse = torch.cuda.is_available()\n",
            'import torch\n\nuse = hasattr(torch, "neuron") and torch.neuron.is_available()\n',
        ),
    ),
)


class AvailabilityProbe(Transform):
    """Rewrites availability tests."""

    rules = (AVAILABILITY_PROBE,)
    triggers = (b"is_available",)
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of the function."""
        for use in cx.uses.of(PROBE):
            if not use.aliased:
                self._use(use.node, use.origin, cx)

    def _use(self, node: cst.CSTNode, origin: Origin, cx: Context) -> None:
        above = cx.parent(node)
        safety = Safety.REVIEW if origin.ambiguous else Safety.SAFE
        evidence = [(node, origin.why)] if origin.why else []
        if (place := cx.shared(Patched).place(PROBE)) is not None:
            safety = Safety.REVIEW
            evidence.append((place, REPLACED))
        if isinstance(above, cst.Call) and above.func is node and not above.args:
            self._call(above, node, safety, evidence, cx)
        elif isinstance(above, (cst.AssignTarget, cst.Del)):
            cx.report(node, "torch.cuda.is_available is replaced here: do the same for torch.neuron", Safety.MANUAL)
        else:
            changes, requests = cx.rename(node, PROBE, "torch.neuron.is_available")
            fix = cx.fix("the probe asks for neuron", *changes, requests=requests)
            cx.report(
                node, "the function is passed on: torch.neuron.is_available", Safety.REVIEW, fix=fix, evidence=evidence
            )

    def _call(
        self, call: cst.Call, node: cst.CSTNode, safety: Safety, evidence: list[tuple[cst.CSTNode, str]], cx: Context
    ) -> None:
        arms = list(_device_arms(call, cx))
        foreign = next((a for a in arms if cx.devices.literal(a).kind == "foreign"), None)
        if foreign is not None:
            message = "the probe decides about a name that goes to a library with names of its own for accelerators"
            row = accelerator_row(cx, foreign)
            severity = row.severity if row is not None else None
            cx.report(node, message, Safety.MANUAL, severity=severity, evidence=[(foreign, "goes to the library")])
            return
        chosen = [*arms, *_stored_arms(call, cx)]
        if any(cx.devices.literal(a).kind == "aware" for a in chosen):
            cx.keep(node, "neuron is chosen beside it")
            return
        if neuron_beside(call, cx):
            cx.keep(node, "neuron is asked for beside it")
            cx.hold(*cx.shared(Guards).branch(call), why=_AWARE, keep=True)
            return
        several = next((a for a in chosen if cx.devices.literal(a).kind == "multi"), None)
        if several is not None:
            cx.report(
                node,
                "the probe belongs to a choice between several accelerators: ask for torch.neuron there too",
                Safety.MANUAL,
                rule=MULTI_BACKEND,
                evidence=[(several, "one of several accelerators")],
            )
            return
        changes, requests, text = probe_changes(call, node, cx)
        if files := _asked_elsewhere(call, cx):
            safety = Safety.REVIEW
            evidence = [*evidence, (node, f"the answer is also used in {', '.join(files[:3])}")]
        beside = [a for a in [*chosen, *_in_statement(call, cx)] if a not in arms]
        requires = [a for a in [*arms, *beside] if cx.devices.literal(a).kind == "given"]
        unknown = next((a for a in [*arms, *beside] if cx.devices.literal(a).kind == "unknown"), None)
        if unknown is not None:
            safety = Safety.REVIEW
            evidence = [*evidence, (unknown, "is chosen by the answer, and nothing says what it is used for")]
        asked = _asked_before(call, cx)
        if asked is not None:
            requires.append(asked)
        fix = cx.fix("the probe asks for neuron", *changes, requests=requests, requires=requires)
        cx.guards(fix, call)
        cx.report(node, f"the test becomes {text}", safety, fix=fix, evidence=evidence)


def probe_changes(call: cst.Call, node: cst.CSTNode, cx: Context) -> tuple[list[Change], list[str], str]:
    """Changes that turn a probe call into the form that the settings ask for, its imports, and the new text."""
    if cx.options.probe == "accelerator":
        changes, requests = cx.rename(node, PROBE, "torch.accelerator.is_available")
        return changes, requests, "torch.accelerator.is_available()"
    changes, requests = cx.rename(node, PROBE, "torch.neuron.is_available")
    module = cx.spell("torch.neuron", node)[0].removesuffix(".neuron")
    text = f"{module}.neuron.is_available()"
    if cx.options.probe == "plain" or _asked_before(call, cx) is not None:
        return changes, requests, text
    guard = f"hasattr({module}, {cx.literal('neuron', call)}) and "
    wrapped = cx.parenthesize(call, guard).startswith("(")
    changes = [*changes, Around(call, "(" + guard, ")") if wrapped else Around(call, guard)]
    return changes, requests, guard + text


def _asked_elsewhere(call: cst.Call, cx: Context) -> tuple[str, ...]:
    """Other files that import the variable that keeps the answer, or the function that returns it."""
    statement = cx.index.statement(call)
    if isinstance(statement, cst.Assign) and isinstance(cx.names.scope(call), cst.Module):
        names = [t.target.value for t in statement.targets if isinstance(t.target, cst.Name)]
    elif isinstance(statement, cst.Return) and isinstance(function := cx.names.scope(call), cst.FunctionDef):
        names = [function.name.value]
    else:
        return ()
    return tuple(f for name in names for f in cx.facts.importers.get(name, ()))


def _asked_before(call: cst.Call, cx: Context) -> cst.CSTNode | None:
    """The name in `hasattr(torch, "cuda") and torch.cuda.is_available()`, which asks for the module already."""
    above = cx.parent(call)
    if (
        not isinstance(above, cst.BooleanOperation)
        or above.right is not call
        or not isinstance(above.operator, cst.And)
    ):
        return None
    left = above.left
    if not isinstance(left, cst.Call) or len(left.args) != 2 or cx.origin(left.func).name != "builtins.hasattr":
        return None
    asked = cx.origin(left.args[0].value).name == "torch" and cx.string(left.args[1].value) == "cuda"
    return left.args[1].value if asked else None


def _device_arms(call: cst.Call, cx: Context) -> Iterator[cst.CSTNode]:
    """Device names that are taken where this probe holds: arms of a conditional, or assigned or returned under an
    `if`, or after one that leaves."""
    places = cx.devices.places
    child: cst.CSTNode = call
    for above in cx.index.ancestors(call):
        if isinstance(above, cst.IfExp) and child is above.test:
            if places.is_probe(child):
                yield from _names_in(above.body, cx)
            if places.is_negated_probe(child):
                yield from _names_in(above.orelse, cx)
            return
        if isinstance(above, cst.If) and child is above.test:
            if places.is_probe(child):
                yield from _assigned_in(above.body, cx)
            if places.is_negated_probe(child) and isinstance(above.orelse, cst.Else):
                yield from _assigned_in(above.orelse.body, cx)
            elif places.is_negated_probe(child) and above.orelse is None and leaves(above.body, cx):
                yield from _returned_after(above, cx)
            return
        if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return
        child = above


def _in_statement(call: cst.Call, cx: Context) -> Iterator[cst.CSTNode]:
    """Device names in the statement that asks: `("cpu", "cuda")[torch.cuda.is_available()]`."""
    statement = cx.index.statement(call)
    if isinstance(statement, (cst.Assign, cst.AnnAssign, cst.Return)) and statement.value is not None:
        for part in below(statement.value):
            if isinstance(part, cst.SimpleString) and device_literal(cx, part) is not None:
                yield part


def _stored_arms(call: cst.Call, cx: Context) -> Iterator[cst.CSTNode]:
    """Device names that are assigned under tests of the variable or attribute that keeps the answer of a probe."""
    statement = cx.index.statement(call)
    if not isinstance(statement, cst.Assign) or not cx.devices.places.is_probe(statement.value):
        return
    for target in (t.target for t in statement.targets):
        uses: list[cst.CSTNode] = []
        if isinstance(target, cst.Name):
            uses += cx.names.uses(target.value, cx.names.scope(target))
        elif isinstance(target, cst.Attribute):
            code, last = cx.code(target), target.attr.value
            uses += [n for n in cx.index.nodes(cst.Attribute) if n.attr.value == last and cx.code(n) == code]
        for use in uses:
            while isinstance(above := cx.parent(use), cst.BooleanOperation):
                use = above
            if isinstance(above, cst.If) and above.test is use:
                yield from _assigned_in(above.body, cx)
            elif isinstance(above, cst.IfExp) and above.test is use:
                yield from _names_in(above.body, cx)


def _names_in(arm: cst.CSTNode, cx: Context) -> Iterator[cst.CSTNode]:
    parts = [arm]
    while parts:
        part = parts.pop()
        if isinstance(part, cst.IfExp):
            parts += [part.body, part.orelse]
        elif isinstance(part, (cst.Tuple, cst.List)):
            parts += [e.value for e in part.elements]
        elif isinstance(part, cst.Call) and part.args and cx.origin(part.func).name == "torch.device":
            parts.append(part.args[0].value)
        elif device_literal(cx, part) is not None:
            yield part
        elif isinstance(part, (cst.Name, cst.Attribute)) and (kept := cx.devices.component_of(part)) is not None:
            yield from (o.node for o in kept.origins if o.kind == "literal" and device_literal(cx, o.node) is not None)


def _returned_after(branch: cst.If, cx: Context) -> Iterator[cst.CSTNode]:
    """Device names that the end of a block returns which `branch` leaves before."""
    last = getattr(cx.parent(branch), "body", (None,))[-1]
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
    if isinstance(small, cst.Return) and small.value is not None:
        yield from _names_in(small.value, cx)


def _assigned_in(block: cst.BaseSuite, cx: Context) -> Iterator[cst.CSTNode]:
    for small in simple_statements(block):
        if isinstance(small, (cst.Assign, cst.AnnAssign, cst.Return)) and small.value is not None:
            yield from _names_in(small.value, cx)
