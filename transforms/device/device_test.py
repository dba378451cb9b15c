"""TN104: `.is_cuda`, cuts of a device name at fixed places, and patterns that name cuda."""

from __future__ import annotations

import libcst as cst

from transforms.device._rules import DEVICE_TEST
from transforms.engine.changes import Change, Replace
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.engine.transform import Transform
from transforms.engine.words import words
from transforms.flow.conditions import neuron_beside
from transforms.flow.guards import Guards
from transforms.flow.steps import Origin

_AWARE = "the branch for CUDA, beside one for neuron"
_CUDA, _NEURON = len("cuda"), len("neuron")
_BINDS_TIGHTER = (
    *(cst.Comparison, cst.ComparisonTarget, cst.BinaryOperation, cst.UnaryOperation),
    *(cst.Await, cst.Attribute, cst.Subscript),
)
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
        if self._stored(cx):
            cx.keep(node.attr, "attribute of an own object")
            return
        if isinstance(above, cst.Call) and above.func is node:
            cx.keep(node.attr, "own method")
            return
        if neuron_beside(node, cx, cx.code(node.value)):
            cx.keep(node.attr, "neuron is tested beside it")
            cx.hold(*cx.shared(Guards).branch(node), why=_AWARE, keep=True)
            return
        packed = _is_packed(node.value, cx)
        changes, text = self._spelled(node, above, cx, "data." if packed else "")
        safety, evidence = Safety.SAFE, [(node.attr, "tensors and storages have .device")]
        if packed:
            evidence = [(node.attr, "a PackedSequence has no .device: its .data has")]
        elif any(name in cx.index.names for name in _PACKED):
            safety = Safety.REVIEW
            evidence = [(node.attr, "a PackedSequence has no .device (its .data has)")]
        if why := cx.own_method("is_cuda"):
            safety = Safety.REVIEW
            evidence = [(node.attr, why)]
        fix = cx.fix(f".is_cuda becomes {text}", *changes)
        cx.guards(fix, node)
        cx.report(node.attr, f"is_cuda is False on Trainium: {text}", safety, fix=fix, evidence=evidence)

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

    def _stored(self, cx: Context) -> bool:
        """Whether the file gives an attribute or method of this name a value of its own."""
        for name in cx.index.names.get("is_cuda", []):
            above = cx.parent(name)
            if isinstance(above, cst.FunctionDef) and isinstance(cx.names.scope(above), cst.ClassDef):
                return True
            if isinstance(above, (cst.AssignTarget, cst.AnnAssign)) and isinstance(cx.names.scope(name), cst.ClassDef):
                return True
            if isinstance(above, cst.Attribute) and above.attr is name:
                target = cx.parent(above)
                if isinstance(target, cst.AssignTarget) or (
                    isinstance(target, cst.AnnAssign) and target.target is above
                ):
                    return True
        return False

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
