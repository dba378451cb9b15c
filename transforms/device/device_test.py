"""TN104: `.is_cuda`, cuts of a device name at fixed places, and patterns that name cuda."""

from __future__ import annotations

import libcst as cst

from transforms.device._rules import DEVICE_TEST, MULTI_BACKEND
from transforms.engine.changes import Change, Replace
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.engine.transform import Transform
from transforms.engine.words import words
from transforms.flow.components import all_device_names
from transforms.flow.conditions import accelerator_beside, neuron_beside
from transforms.flow.guards import Guards
from transforms.flow.libraries import made_by_torch, third_party
from transforms.flow.own_attributes import gives_value
from transforms.flow.steps import Origin

_AWARE = "the branch for CUDA, beside one for neuron"
_CUDA, _NEURON = len("cuda"), len("neuron")
_BINDS_TIGHTER = (
    *(cst.Comparison, cst.ComparisonTarget, cst.BinaryOperation, cst.UnaryOperation),
    *(cst.Await, cst.Attribute, cst.Subscript),
)
_TENSOR_PARTS = frozenset("cuda to device dtype shape size detach cpu numpy backward data".split())
_PACKED = ("PackedSequence", "pack_padded_sequence", "pack_sequence")


class DeviceTest(Transform):
    """Rewrites tests that hold no device name of their own."""

    rules = (DEVICE_TEST,)
    triggers = (b"cuda",)
    nodes = (cst.Attribute, cst.Subscript, cst.SimpleString)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one attribute, cut or string."""
        if isinstance(node, cst.Attribute):
            if node.attr.value == "is_cuda":
                self._is_cuda(node, cx)
        elif isinstance(node, cst.Subscript):
            self._cut(node, cx)
        elif isinstance(node, cst.SimpleString):
            self._pattern(node, cx)
            if cx.string(node) == "is_cuda":
                self._by_text(node, cx)

    # is_cuda ----------------------------------------------------------------------------------------------------

    def _is_cuda(self, node: cst.Attribute, cx: Context) -> None:
        origin = cx.origin(node)
        above = cx.parent(node)
        if origin.name == "torch.Tensor.is_cuda":
            cx.report(node, 'the attribute itself is used: test .device.type == "neuron"', Safety.MANUAL)
            return
        if origin.names:
            return
        own = "this file has an is_cuda of its own" if self._stored(cx) else cx.own_method("is_cuda")
        if own and self._of_own_object(node.value, cx):
            cx.keep(node.attr, "attribute of an own object")
            return
        if isinstance(above, cst.Call) and above.func is node:
            cx.keep(node.attr, "own method")
            return
        if neuron_beside(node, cx, cx.code(node.value)):
            cx.keep(node.attr, "neuron is tested beside it")
            cx.hold(*cx.shared(Guards).branch(node), why=_AWARE, keep=True)
            return
        if (other := accelerator_beside(node, cx)) is not None:
            self._several(node, other, cx)
            return
        if own and not made_by_torch(node.value, cx) and (self._stored(cx) or third_party(node.value, cx)):
            if not _like_a_tensor(node.value, cx):
                cx.keep(node.attr, "attribute of an own object")
                return
            message = f'{own}: this looks like a tensor\'s, which is False on Trainium: test .device.type == "neuron"'
            cx.report(node.attr, message, Safety.MANUAL)
            return
        packed = _is_packed(node.value, cx)
        changes, text = self._spelled(node, above, cx, "data." if packed else "")
        safety, evidence = Safety.SAFE, [(node.attr, "tensors and storages have .device")]
        if packed:
            evidence = [(node.attr, "a PackedSequence has no .device: its .data has")]
        elif any(name in cx.index.names for name in _PACKED):
            safety = Safety.REVIEW
            evidence = [(node.attr, "a PackedSequence has no .device (its .data has)")]
        if own:
            safety = Safety.REVIEW
            evidence = [(node.attr, own)]
        fix = cx.fix(f".is_cuda becomes {text}", *changes)
        cx.guards(fix, node)
        cx.report(node.attr, f"is_cuda is False on Trainium: {text}", safety, fix=fix, evidence=evidence)

    def _several(self, node: cst.Attribute, other: cst.CSTNode, cx: Context) -> None:
        """`x.is_cuda or x.is_mps`, or a branch for each: neuron needs a question of its own."""
        joined = cx.index.statement(other) is cx.index.statement(node) and not isinstance(cx.parent(node), cst.If)
        question = f'{cx.code(node.value)}.device.type == "neuron"'
        message = f"cuda is one of several accelerators here: add {question} beside it"
        cx.report(
            node.attr,
            message,
            Safety.MANUAL,
            rule=MULTI_BACKEND,
            severity=ERROR if joined else WARNING,
            evidence=[(other, "another accelerator is asked for beside it")],
        )
        if not joined:
            cx.hold(*cx.shared(Guards).branch(node))

    def _by_text(self, node: cst.SimpleString, cx: Context) -> None:
        """`getattr(x, "is_cuda", False)`, for objects that need not be tensors."""
        arg = cx.parent(node)
        call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or cx.origin(call.func).name != "builtins.getattr" or len(call.args) < 2:
            return
        if call.args[1] is not arg or cx.origin(call.args[0].value).names or self._stored(cx):
            return
        fix = cx.fix("is_cuda becomes is_neuron", Replace(node, cx.literal("is_neuron", node)))
        cx.guards(fix, node)
        evidence = [(node, "torch makes is_neuron for tensors of the device (torch-neuronx sources)")]
        cx.report(node, "is_cuda is False on Trainium: is_neuron", Safety.REVIEW, fix=fix, evidence=evidence)

    def _spelled(
        self, node: cst.Attribute, above: cst.CSTNode | None, cx: Context, part: str
    ) -> tuple[list[Change], str]:
        quoted = cx.literal("neuron", node)
        if isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not) and not node.lpar:
            receiver = cx.code(node.value)
            text = f"{receiver}.{part}device.type != {quoted}"
            outer = cx.parent(above)
            wrap = isinstance(outer, _BINDS_TIGHTER) and not above.lpar
            return [Replace(above, f"({text})" if wrap else text)], f".{part}device.type != {quoted}"
        text = f"{part}device.type == {quoted}"
        if isinstance(above, _BINDS_TIGHTER) and not node.lpar:
            return [Replace(node, f"({cx.code(node.value)}.{text})")], f".{text}"
        return [Replace(node.attr, text)], f".{text}"

    def _of_own_object(self, receiver: cst.BaseExpression, cx: Context) -> bool:
        """Whether the receiver is an object of a class that has, or may inherit, an `is_cuda` of the repository's."""
        places = cx.devices.places
        holder = places.class_of(receiver)
        if holder is None:
            return False
        seen: list[cst.ClassDef] = []
        base: cst.ClassDef | None = holder
        while base is not None and base not in seen:
            seen.append(base)
            base = next((b for a in base.bases if (b := places.class_named(a.value)) is not None), None)
        if self._stored(cx):
            return any(self._stores(above, cx) for above in seen)
        return any(not n.startswith("torch.") for n in places.bases(seen[-1]))

    def _stores(self, holder: cst.ClassDef, cx: Context) -> bool:
        names = cx.index.names.get("is_cuda", [])
        return any(cx.index.enclosing(n, cst.ClassDef) is holder and self._stored_by(n, cx) for n in names)

    def _stored(self, cx: Context) -> bool:
        """Whether the file gives an attribute or method of this name a value of its own."""
        return any(self._stored_by(name, cx) for name in cx.index.names.get("is_cuda", []))

    def _stored_by(self, name: cst.Name, cx: Context) -> bool:
        above = cx.parent(name)
        if isinstance(above, cst.FunctionDef):
            return isinstance(cx.names.scope(above), cst.ClassDef)
        return gives_value(name, cx)

    # cuts -------------------------------------------------------------------------------------------------------

    def _cut(self, node: cst.Subscript, cx: Context) -> None:
        """`name[:4]`, `name[:5]`, `name[4:]`, `name[5:]` of a device name."""
        part = node.slice[0].slice if len(node.slice) == 1 else None
        if not isinstance(part, cst.Slice) or part.step is not None:
            return
        if part.lower is None or cx.integer(part.lower) == 0:
            bound = part.upper
        else:
            bound = part.lower if part.upper is None else None
        length = cx.integer(bound)
        if bound is None or length not in (_CUDA, _CUDA + 1):
            return
        value = cx.devices.component_of(node.value)
        compared = self._compared(node, length, cx)
        if compared is None and (value is None or not self._holds_cuda(value.origins, cx)):
            return
        if value is not None and cx.devices.chosen_by(value) is not None:
            message = "a cut of a device name that is one of several accelerators' here: see that it fits neuron"
            cx.report(bound, message, Safety.MANUAL, severity=WARNING)
            return
        if value is not None and not all_device_names(cx, value):
            message = "a cut of what may be a device name: where it becomes neuron, the cut moves by two"
            cx.report(bound, message, Safety.MANUAL, severity=WARNING)
            return
        if not cx.devices.is_device(node.value):
            verdict = cx.devices.literal(compared) if compared is not None else None
            if verdict is None or verdict.kind != "test":
                return
        fix = cx.fix(
            "the cut follows the longer name",
            Replace(bound, str(length - _CUDA + _NEURON)),
            group=value.key if value is not None else "",
        )
        evidence = [(node.value, "holds a device name")]
        cx.report(bound, f"cuda ends at {_CUDA}, neuron at {_NEURON}", Safety.REVIEW, fix=fix, evidence=evidence)

    def _compared(self, node: cst.Subscript, length: int, cx: Context) -> cst.CSTNode | None:
        """The literal of this length that the cut is compared with."""
        above = cx.parent(node)
        comparison = cx.parent(above) if isinstance(above, cst.ComparisonTarget) else above
        if not isinstance(comparison, cst.Comparison) or len(comparison.comparisons) != 1:
            return None
        other = comparison.comparisons[0].comparator if comparison.left is node else comparison.left
        text = cx.string(other)
        return other if text is not None and text.startswith("cuda") and len(text) == length else None

    def _holds_cuda(self, origins: list[Origin], cx: Context) -> bool:
        """Whether a CUDA name, or one that is put together, is among what a value can be."""
        return any(
            isinstance(o.node, cst.FormattedString) or (cx.string(o.node) or "").startswith("cuda") for o in origins
        )

    # patterns ---------------------------------------------------------------------------------------------------

    def _pattern(self, node: cst.SimpleString, cx: Context) -> None:
        """`re.match(r"cuda:(\\d+)", device)`: the pattern is no device name, so only this looks at it."""
        arg = cx.parent(node)
        call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or "cuda" not in words(node.value) or call.args[0] is not arg:
            return
        if not cx.origin(call.func).name.startswith("re.") or cx.devices.literal(node).kind != "pattern":
            return
        needed = cx.devices.literal(node).needed
        message = (
            "a device name is matched with this pattern: match neuron there" if needed else "a pattern that names cuda"
        )
        cx.report(node, message, Safety.MANUAL, severity=ERROR if needed else WARNING)


def _like_a_tensor(receiver: cst.BaseExpression, cx: Context) -> bool:
    """Whether a variable is an argument of `forward`, or read as only tensors are."""
    if not isinstance(receiver, cst.Name):
        return False
    scope = cx.names.binding_scope(receiver.value, cx.names.scope(receiver))
    if scope is None:
        return False
    if isinstance(scope, cst.FunctionDef) and scope.name.value == "forward":
        return True
    above = [cx.parent(use) for use in cx.names.uses(receiver.value, scope)]
    return any(isinstance(a, cst.Attribute) and a.attr.value in _TENSOR_PARTS for a in above)


def _is_packed(receiver: cst.BaseExpression, cx: Context) -> bool:
    """Whether an expression is a PackedSequence that a function of torch made, or is annotated as one."""
    if isinstance(receiver, cst.Call):
        return cx.origin(receiver.func).name.rpartition(".")[2] in _PACKED
    if not isinstance(receiver, cst.Name):
        return False
    found = cx.names.bindings(receiver.value, cx.names.scope(receiver))
    if len(found) == 1 and found[0].kind == "param":
        param = cx.parent(found[0].node)
        annotation = param.annotation if isinstance(param, cst.Param) else None
        return annotation is not None and cx.origin(annotation.annotation).name.endswith(".PackedSequence")
    return bool(found) and all(isinstance(b.value, cst.Call) and _is_packed(b.value, cx) for b in found)
