"""TN101, TN104, TN105, TN124: strings that name the CUDA device, and what is compared with them."""

from __future__ import annotations

import libcst as cst

from transforms.engine.changes import Change, Replace, StringPart
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.residue import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.devices import Verdict, device_text

DEVICE_STRING = Rule(
    code="TN101",
    name="device-string",
    summary='A string that names the device: `"cuda"` becomes `"neuron"`',
    best=Safety.SAFE,
    argument=(
        "The string stands where torch expects a device (a closed list of positions), so it can mean nothing else there; "
        "a string that reaches such a position through names is safe only when every use of those names was followed."
    ),
    source="TorchNeuron documentation 2.33: the device type is `neuron`, a bare name is the current device of the process",
    why="TorchNeuron registers the device type `neuron`; on a host without CUDA the old name raises.",
    silent="Texts for people (help, logs, errors), docstrings, comments, and names that only look like a device.",
    examples=(
        ('import torch\nx = torch.ones(2, device="cuda")\n', 'import torch\nx = torch.ones(2, device="neuron")\n'),
        ('import torch\nd = torch.device("cuda:0")\n', 'import torch\nd = torch.device("neuron")\n'),
    ),
)
DEVICE_TEST = Rule(
    code="TN104",
    name="device-test",
    summary='A test of a device, such as `x.device.type == "cuda"`',
    best=Safety.SAFE,
    argument="The other side of the test is a `.device`, a `torch.device`, or a value that is used as a device and nothing else.",
    source="TorchNeuron documentation 2.33: tensors there report the device type `neuron`",
    why="A test that still asks for cuda takes the CPU branch on Trainium without a word.",
    silent="Comparisons whose other side is not known to be a device are reported, not changed.",
    examples=(
        ('import torch\nok = torch.ones(1).device.type == "cuda"\n', 'import torch\nok = torch.ones(1).device.type == "neuron"\n'),
    ),
)
DEVICE_INDEX = Rule(
    code="TN105",
    name="device-index",
    summary="A literal device index other than 0",
    best=Safety.REVIEW,
    argument="Under torchrun a process owns one index, its local rank; another literal one is right only in a single process.",
    source="TorchNeuron documentation 2.33, distributed: one device per process",
    why="`cuda:1` in one process of many raises on Trainium, where a rank owns only its own core.",
    examples=(('import torch\nx = torch.ones(2, device="cuda:1")\n', 'import torch\nx = torch.ones(2, device="neuron:1")\n'),),
)
MULTI_BACKEND = Rule(
    code="TN124",
    name="multi-backend-dispatch",
    summary="Code that chooses between several accelerators",
    best=Safety.MANUAL,
    argument="It never edits: such code wants one more entry, not another name.",
    source="Practice of libraries that support several accelerators",
    why="Replacing cuda in a table of accelerators would take CUDA away from its other users.",
)


class DeviceString(Transform):
    """Rewrites device names where the flow of values proves what they are."""

    rules = (DEVICE_STRING, DEVICE_TEST, DEVICE_INDEX, MULTI_BACKEND)
    triggers = (b"cuda",)
    nodes = (cst.SimpleString, cst.FormattedString)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one string literal."""
        text = device_literal(cx, node)
        if text is None:
            return
        if is_docstring(cx, node):
            return
        verdict = cx.devices.literal(node)
        if verdict.kind in ("given", "test", "key", "choice"):
            self._change(node, text, verdict, cx)
        elif verdict.kind == "multi":
            cx.report(
                node,
                "cuda is one of several accelerators here: add an entry for neuron beside it",
                Safety.MANUAL,
                rule=MULTI_BACKEND,
                severity=WARNING,
                evidence=verdict.evidence,
            )
        elif verdict.kind == "saved":
            cx.keep(node, "device of tensors in files that were saved on CUDA")
        elif verdict.kind == "text":
            cx.keep(node, text_role(cx, node) or "text for people")
        elif reason := text_role(cx, node):
            cx.keep(node, reason)
        else:
            cx.report(
                node,
                f"{cx.code(node)} may name a device: nothing in this file says how it is used",
                Safety.MANUAL,
                severity=WARNING,
                evidence=verdict.evidence,
            )

    def _change(self, node: cst.CSTNode, text: str, verdict: Verdict, cx: Context) -> None:
        indexed = text.startswith("cuda:") and text[5:].isdigit()
        zero = indexed and int(text[5:]) == 0
        plain = zero and verdict.kind == "given" and not verdict.keeps_index
        safety = verdict.safety
        evidence = list(verdict.evidence)
        rule = DEVICE_STRING if verdict.kind == "given" else DEVICE_TEST
        changes: list[Change] = [_swap(node, text if plain else "cuda", "neuron")]
        if verdict.subject is not None:
            cut = _slice_of(verdict.subject)
            if cut is not None:
                upper = cx.integer(cut.upper)
                if upper != len(text):
                    cx.report(
                        node, "a cut of a device name is compared with cuda", Safety.MANUAL, rule=DEVICE_TEST, evidence=evidence
                    )
                    return
                assert cut.upper is not None
                changes.append(Replace(cut.upper, str(len(text) + 2)))
        if indexed and not zero and verdict.kind == "given":
            rule, safety = DEVICE_INDEX, Safety.REVIEW
        if safety is Safety.SAFE and _places_at_import(cx, node):
            safety = Safety.REVIEW
            evidence.append((node, "runs when the module is imported"))
        if safety is Safety.SAFE and cx.own_method("to") and _argument_of_to(cx, node):
            safety = Safety.REVIEW
            evidence.append((node, cx.own_method("to")))
        new = text.replace("cuda:0" if plain else "cuda", "neuron", 1)
        requires = [verdict.probe.func] if isinstance(verdict.probe, cst.Call) else []
        fix = cx.fix(f'device "{text}" becomes "{new}"', *changes, requires=requires, group=verdict.group)
        cx.report(node, f'"{text}" is "{new}" on Trainium', safety, rule=rule, fix=fix, evidence=evidence)


def device_literal(cx: Context, node: cst.CSTNode) -> str | None:
    """The text of a literal that could be a CUDA device name (`{}` for what is formatted in), else None."""
    if isinstance(node, cst.SimpleString):
        text = cx.string(node)
        return text if text is not None and device_text(text) and "cuda" in node.value else None
    if isinstance(node, cst.FormattedString) and node.parts:
        first = node.parts[0]
        if not isinstance(first, cst.FormattedStringText):
            return None
        if len(node.parts) == 1 and device_text(first.value):
            return first.value
        if first.value == "cuda:" and len(node.parts) == 2 and isinstance(node.parts[1], cst.FormattedStringExpression):
            return "cuda:{}"
    return None


def _swap(node: cst.CSTNode, old: str, new: str) -> StringPart:
    if isinstance(node, cst.FormattedString):
        return StringPart(node.parts[0], 0, old, new)
    assert isinstance(node, cst.SimpleString)
    return StringPart(node, node.value.index(old), old, new)


def _slice_of(subject: cst.CSTNode) -> cst.Slice | None:
    if isinstance(subject, cst.Subscript) and len(subject.slice) == 1:
        part = subject.slice[0].slice
        if isinstance(part, cst.Slice) and part.lower is None and part.upper is not None:
            return part
    return None


def _places_at_import(cx: Context, node: cst.CSTNode) -> bool:
    """Whether the literal is an argument of a call that puts something on the device when the module is imported."""
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or cx.origin(call.func).name in _NO_PLACEMENT:
        return False
    keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword else ""
    placement = keyword in ("device", "map_location") or _argument_of_to(cx, node)
    return placement and cx.at_import_time(call)


_NO_PLACEMENT = frozenset({"torch.device", "torch.autocast", "torch.amp.autocast", "torch.amp.GradScaler"})


def _argument_of_to(cx: Context, node: cst.CSTNode) -> bool:
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "to"
