"""TN106: functions of torch.cuda that torch.neuron has too."""

from __future__ import annotations

import libcst as cst

from transforms.engine.changes import Around, Change
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.engine.words import is_specific
from transforms.flow.conditions import conditions
from transforms.flow.device_arguments import device_argument
from transforms.flow.guards import Guards
from transforms.flow.kept import kept_in, readers
from transforms.flow.renames import called, rename
from transforms.flow.results import results
from transforms.flow.uses import Use
from transforms.tables.cuda_device import DEVICE_API, MISSING_API, PROPERTIES
from transforms.tables.cuda_names import COUNTERPARTS
from transforms.tables.rows import Row, by_name
from transforms.tables.tensor_types import tensor_type

CUDA_API = Rule(
    code="TN106",
    name="cuda-api",
    summary="Functions of `torch.cuda` that `torch.neuron` has under the same or another name",
    best=Safety.SAFE,
    argument=(
        "The name is documented for TorchNeuron, or stands in its sources and is called by accelerate or "
        "transformers; an "
        "argument that names a device is an index or a `torch.device`, as the function there takes no text."
    ),
    source=(
        "TorchNeuron documentation 2.33 (best practices); torch-neuronx sources of April 2026; accelerate, transformers"
    ),
    why="A torch wheel without CUDA raises in most functions of torch.cuda.",
    silent=(
        "`torch.cuda.amp`, tensor types, probes, memory, streams and random numbers, which have rules of their own; "
        "torch.accelerator and `torch.get_device_module`; a module `cuda` of another package or of the repository."
    ),
    examples=(
        (
            "import torch\n\n\ndef f():\n    torch.cuda.synchronize()\n",
            "import torch\n\n\ndef f():\n    torch.neuron.synchronize()\n",
        ),
        (
            'import torch\n\n\ndef f(rank: int):\n    device = f"cuda:{rank}"\n    torch.cuda.set_device(device)\n',
            'import torch\n\n\ndef f(rank: int):\n    device = f"neuron:{rank}"\n    torch.neuron.set_device(rank)\n',
        ),
    ),
)
_ROWS = by_name(DEVICE_API)
_ABSENT = by_name(MISSING_API)
_GETTERS = frozenset({"builtins.getattr", "builtins.hasattr"})
_OTHERS = frozenset(
    [
        "torch.xpu",
        "torch.mps",
        "torch.npu",
        "torch.hpu",
        "torch.mlu",
        "torch.musa",
        "torch.mtia",
        "torch.cpu",
        "torch_npu.npu",
    ]
)
_CAPABILITY = frozenset({"major", "minor"})


class CudaApi(Transform):
    """Renames device and runtime functions, and the module object itself."""

    rules = (CUDA_API,)
    triggers = (b"cuda",)
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of torch.cuda in a file."""
        for use in cx.uses.under("torch.cuda"):
            if use.name == "torch.cuda":
                self._module(use, cx)
            elif row := _ROWS.get(use.name):
                self._function(use, row, cx)

    def _function(self, use: Use, row: Row, cx: Context) -> None:
        call = called(cx, use.node)
        if call is not None and row.name == "torch.cuda.device" and _guards_kernel(call, cx):
            asked = any("cuda" in cx.code(test) for test, _ in conditions(call, cx))
            message = "the kernel launched here is one for CUDA: neuron needs one of its own (NKI), without this guard"
            cx.report(use.node, message, Safety.MANUAL, severity=WARNING if asked else ERROR)
            return
        if call is None:
            if row.name == "torch.cuda.device" and cx.is_type(use.node):
                cx.report(use.node, "torch.neuron.device is a function: it can't stand for a type", Safety.MANUAL)
            else:
                rename(cx, use, row)
            return
        given = device_argument(cx, call, row)
        if given.problem:
            cx.report(use.node, given.problem, Safety.MANUAL, evidence=given.evidence)
            return
        safety, evidence = given.safety, list(given.evidence)
        if row.name == "torch.cuda.get_device_properties":
            self._properties(call, cx)
        elif row.name == "torch.cuda.get_device_name":
            safety = safety.at_most(self._name(call, cx, evidence))
        elif row.name == "torch.cuda.current_device" and _as_device(call, cx):
            safety = Safety.REVIEW
            evidence.append((call, "an index given as a device stands for the accelerator of the process"))
        changes = list(given.changes)
        if row.name == "torch.cuda.device_count" and not use.aliased and _asks_for_any(call, cx):
            changes.append(self._counted(call, use, cx))
        rename(cx, use, row, *changes, safety=safety, evidence=evidence)

    def _counted(self, call: cst.Call, use: Use, cx: Context) -> Change:
        """A number of devices that decides something is 0 on a host without torch.neuron, as it was without CUDA."""
        module = cx.spell("torch.neuron", use.node)[0].removesuffix(".neuron")
        if isinstance(cx.parent(call), (cst.If, cst.While, cst.IfExp)):
            return Around(call, f"hasattr({module}, {cx.literal('neuron', call)}) and ")
        return Around(call, "(", f" if hasattr({module}, {cx.literal('neuron', call)}) else 0)")

    def _properties(self, call: cst.Call, cx: Context) -> None:
        """Attributes that only CUDA's properties have."""
        for name in results(cx, call).attributes:
            if name.value not in PROPERTIES | _CAPABILITY and not name.value.startswith("__"):
                message = f".{name.value} is not among the properties of a neuron device (name and total_memory are)"
                cx.report(name, message, Safety.MANUAL)

    def _name(self, call: cst.Call, cx: Context, evidence: list[tuple[cst.CSTNode, str]]) -> Safety:
        found = results(cx, call)
        for comparison in found.comparisons:
            cx.report(
                comparison,
                'torch.neuron.get_device_name() gives "neuron:0", not the name of a chip: compare '
                "torch.neuron.get_device_properties().name",
                Safety.MANUAL,
            )
        if not (found.escapes or found.attributes or found.keys):
            return Safety.SAFE
        evidence.append((call, 'the name is "neuron:0" there, not that of a chip'))
        return Safety.REVIEW

    def _module(self, use: Use, cx: Context) -> None:
        """torch.cuda itself: stored, passed on, or asked for a name."""
        above = cx.parent(use.node)
        call = cx.parent(above) if isinstance(above, cst.Arg) else None
        if use.aliased:
            return
        if isinstance(call, cst.Call) and cx.origin(call.func).name in _GETTERS and len(call.args) > 1:
            name = cx.string(call.args[1].value)
            if name is not None and is_specific(name):
                cx.keep(call.args[1].value, "name that is looked up on torch.cuda")
            if name is not None and COUNTERPARTS.get(f"torch.cuda.{name}", "") != f"torch.neuron.{name}":
                cx.report(
                    use.node, f"torch.neuron has no {name}: see what is done with it", Safety.MANUAL, severity=WARNING
                )
                return
        elif isinstance(call, cst.Call) and call.args[0] is above and _sets(call, cx):
            cx.report(
                use.node, "torch.cuda is changed here: do the same on torch.neuron", Safety.MANUAL, severity=WARNING
            )
            return
        if _among_others(use.node, cx):
            cx.report(
                use.node,
                "torch.cuda is one of several accelerators here: add torch.neuron beside it",
                Safety.MANUAL,
                severity=WARNING,
            )
            return
        if absent := self._absent(use, cx):
            names = ", ".join(absent)
            message = f"torch.neuron has no {names}, which is read from this module here"
            cx.report(use.node, message, Safety.MANUAL)
            return
        row = Row(
            "torch.cuda", "torch.neuron", "mid", "a device module; what is read from it is not known here", starts=False
        )
        rename(cx, use, row)

    def _absent(self, use: Use, cx: Context) -> list[str]:
        """Names without a counterpart that are read from the variable which holds the module."""
        found: dict[str, None] = {}
        for read in [r for target in kept_in(cx, use.node) for r in readers(cx, target)]:
            above = cx.parent(read)
            if not isinstance(above, cst.Attribute) or above.value is not read:
                continue
            name = above.attr.value
            qualified = f"torch.cuda.{name}"
            if qualified in cx.origin(above).names:
                absent = bool(tensor_type(qualified)) or name.endswith("Storage") or qualified in _ABSENT
            else:  # one arm of a choice: no other rule sees what is read
                absent = COUNTERPARTS.get(qualified) != f"torch.neuron.{name}"
            if absent:
                found[name] = None
        return list(found)


def _guards_kernel(call: cst.Call, cx: Context) -> bool:
    """Whether `with torch.cuda.device(...):` stands around the launch of a kernel."""
    item = cx.parent(call)
    block = cx.parent(item) if isinstance(item, cst.WithItem) else None
    return isinstance(block, cst.With) and cx.shared(Guards).launch(block.body) is not None


def _as_device(call: cst.Call, cx: Context) -> bool:
    """Whether the value of a call is given where torch takes a device."""
    arg = cx.parent(call)
    outer = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(outer, cst.Call) or not isinstance(arg, cst.Arg):
        return False
    if arg.keyword is not None:
        return arg.keyword.value in ("device", "map_location", "device_id", "output_device")
    if cx.origin(outer.func).name == "torch.device":
        return outer.args[0] is arg
    return isinstance(outer.func, cst.Attribute) and outer.func.attr.value == "to" and not cx.origin(outer.func).names


def _asks_for_any(call: cst.Call, cx: Context) -> bool:
    """Whether a test rests on a number of devices, and no probe has been asked before it."""
    if cx.options.probe == "plain" or not _tested(call, cx):
        return False
    places = cx.devices.places
    child: cst.CSTNode = call
    for above in cx.index.ancestors(call):
        if isinstance(above, cst.BooleanOperation) and child is above.right:
            anded = isinstance(above.operator, cst.And)
            if _on_device(above.left, cx) if anded else places.is_negated_probe(above.left):
                return False
        elif isinstance(above, (cst.If, cst.IfExp)) and child is not above.test:
            if _on_device(above.test, cx) if child is above.body else places.is_negated_probe(above.test):
                return False
        elif isinstance(above, cst.While) and child is above.body and _on_device(above.test, cx):
            return False
        elif isinstance(above, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            return True
        child = above
    return True


def _on_device(test: cst.BaseExpression, cx: Context, hops: int = 0) -> bool:
    """Whether a condition only holds where an accelerator is there: a probe, or a device that is not the CPU."""
    if cx.devices.places.is_probe(test):
        return True
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _on_device(test.left, cx, hops) or _on_device(test.right, cx, hops)
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        texts = {cx.string(test.left), cx.string(target.comparator)}
        if isinstance(target.operator, cst.NotEqual):
            return "cpu" in texts
        return isinstance(target.operator, cst.Equal) and bool(texts & {"cuda", "neuron"})
    if isinstance(test, cst.Name) and hops < 2:
        found = cx.names.bindings(test.value, cx.names.scope(test))
        values = [b.value for b in found if b.kind == "assign" and b.value is not None]
        return bool(found) and len(values) == len(found) and all(_on_device(v, cx, hops + 1) for v in values)
    return False


def _tested(node: cst.CSTNode, cx: Context) -> bool:
    """Whether an expression is compared, or its truth decides something."""
    above = cx.parent(node)
    if isinstance(above, (cst.If, cst.While, cst.IfExp)):
        return above.test is node
    if isinstance(above, cst.UnaryOperation):
        return isinstance(above.operator, cst.Not)
    return isinstance(above, (cst.BooleanOperation, cst.Comparison, cst.ComparisonTarget))


def _sets(call: cst.Call, cx: Context) -> bool:
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else cx.code(call.func)
    return name in ("setattr", "delattr", "patch", "object", "reload")


def _among_others(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a dict or sequence holds device modules of further accelerators."""
    element = cx.parent(node)
    holder = cx.parent(element) if isinstance(element, (cst.Element, cst.DictElement)) else None
    if not isinstance(holder, (cst.Dict, cst.List, cst.Tuple, cst.Set)):
        return False
    if cx.devices.places.names_other_accelerators(holder):
        return True
    return any(cx.origin(e.value).name in _OTHERS - {"torch.cpu"} for e in holder.elements)
