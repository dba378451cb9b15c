"""TN118: profilers."""

from __future__ import annotations

import libcst as cst

from transforms.engine.changes import Replace, StringPart
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.contexts import empty_with
from transforms.flow.knobs import drop_call
from transforms.flow.renames import called, only_tested, several
from transforms.flow.uses import Use
from transforms.tables.profiling import (
    ACTIVITY,
    CUDA_PROFILER_CONTEXT,
    CUDA_PROFILER_SWITCHES,
    CUDART_SWITCHES,
    PROFILE,
    PROFILE_LEGACY,
    STACK_METRICS,
    TIME_KEYS,
)

PROFILER_ACTIVITY = Rule(
    code="TN118",
    name="profiler-activity",
    summary="torch.profiler: the activity, names of columns, switches of CUDA's own profiler",
    best=Safety.SAFE,
    argument=(
        "ProfilerActivity.PrivateUse1 is documented for TorchNeuron; the names of columns with `device` are those "
        "that torch "
        "itself reads the ones with `cuda` as."
    ),
    source="TorchNeuron profiling guide 2.33 and best practices; torch 2.13, autograd/profiler_util.py",
    why="The activity CUDA records nothing on Trainium, and CUDA's profiler calls raise.",
    silent=(
        "Profilers of Python and of other packages; columns of the host; own objects with attributes of the same "
        "names; a list that already names the activity PrivateUse1."
    ),
    examples=(
        (
            "from torch.profiler import ProfilerActivity, profile\n\np = profile(activities=[ProfilerActivity.CUDA])\n",
            "from torch.profiler import ProfilerActivity, profile\n\n"
            "p = profile(activities=[ProfilerActivity.PrivateUse1])\n",
        ),
    ),
)
_ACCELERATORS = frozenset({"XPU", "MTIA", "HPU"})
_ENDINGS = frozenset({"_time_total", "_time", "_memory_usage"})
_MODULES = ("torch.profiler", "torch.autograd.profiler")
_OUTSIDE = "it opens a window for NVIDIA's profiler; torch.profiler and the Neuron profiler have switches of their own"


class Profiler(Transform):
    """Rewrites activities and columns."""

    rules = (PROFILER_ACTIVITY,)
    triggers = (b"profiler", b"cudart")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for name in ACTIVITY:
            for use in cx.uses.of(name):
                self._activity(use, cx)
        for use in cx.uses.under("torch.cuda.profiler"):
            if use.name in CUDA_PROFILER_SWITCHES:
                drop_call(cx, use, _OUTSIDE)
            elif use.name == CUDA_PROFILER_CONTEXT:
                empty_with(cx, use, _OUTSIDE, ERROR)
            elif only_tested(cx, use.node):
                cx.keep(use.node, "asks whether the import worked")
            else:
                cx.report(use.node, f"{use.name} raises on Trainium: use torch.profiler", Safety.MANUAL)
        for use in cx.uses.of("torch.cuda.cudart"):
            self._runtime(use, cx)
        for use in cx.uses.of(PROFILE_LEGACY) + cx.uses.of(PROFILE):
            self._use_cuda(use, cx)
        if cx.uses.under(*_MODULES) or any(
            cx.names.imported_name(alias).startswith(_MODULES) for alias in cx.index.nodes(cst.ImportAlias)
        ):
            self._columns(cx)

    def _activity(self, use: Use, cx: Context) -> None:
        if use.aliased or several(cx, use):
            return
        element = cx.parent(use.node)
        holder = cx.parent(element) if isinstance(element, cst.Element) else None
        beside = {
            name.rpartition(".")[2]
            for other in getattr(holder, "elements", ())
            for name in cx.origin(other.value).names
            if ".ProfilerActivity." in name
        }
        if "PrivateUse1" in beside:
            cx.keep(use.node, "the activity of neuron stands beside it")
            return
        if beside & _ACCELERATORS:
            message = "CUDA is one of several accelerators here: add ProfilerActivity.PrivateUse1 beside it"
            cx.report(use.node, message, Safety.MANUAL, severity=WARNING)
            return
        if isinstance(use.node, cst.Attribute):
            fix = cx.fix("the activity of neuron is recorded", cx.replace(use.node.attr, "PrivateUse1"))
            level = Safety.REVIEW if use.ambiguous else Safety.SAFE
            cx.report(use.node, "the activity of neuron is ProfilerActivity.PrivateUse1", level, fix=fix)

    def _runtime(self, use: Use, cx: Context) -> None:
        """`torch.cuda.cudart().cudaProfilerStart()`."""
        call = called(cx, use.node)
        attribute = cx.parent(call) if call is not None else None
        outer = cx.parent(attribute) if isinstance(attribute, cst.Attribute) else None
        statement = cx.parent(outer) if isinstance(outer, cst.Call) else None
        switch = isinstance(attribute, cst.Attribute) and attribute.attr.value in CUDART_SWITCHES
        alone = isinstance(statement, cst.Expr) and isinstance(outer, cst.Call) and not outer.args
        if isinstance(statement, cst.Expr) and attribute is not None and switch and alone and not use.ambiguous:
            fix = cx.fix("CUDA's profiler is no longer switched", cx.remove_statement(statement))
            cx.report(attribute, f"not needed on Trainium: {_OUTSIDE}", Safety.REVIEW, fix=fix)
            return
        site = attribute if isinstance(attribute, cst.Attribute) else use.node
        cx.report(site, "there is no CUDA runtime on Trainium: take the call out", Safety.MANUAL)

    def _use_cuda(self, use: Use, cx: Context) -> None:
        call = called(cx, use.node)
        arg = cx.argument(call, "use_cuda") if call is not None else None
        if call is None or arg is None:
            return
        value = arg.value.value if isinstance(arg.value, cst.Name) else ""
        if value == "False":
            fix = cx.fix("use_cuda=False is dropped", cx.arguments(call).drop(arg))
            cx.report(arg, "use_cuda=False is the default", Safety.SAFE, fix=fix)
        elif value == "True" and use.name == PROFILE_LEGACY and cx.argument(call, "use_device") is None:
            change = cx.arguments(call).rename(arg, "use_device").value(arg, cx.literal("neuron", arg))
            fix = cx.fix("the profiler times neuron", change)
            cx.report(arg, "use_cuda times CUDA alone: use_device names the device", Safety.REVIEW, fix=fix)
        else:
            message = "use_cuda times CUDA alone: give activities=[..., ProfilerActivity.PrivateUse1]"
            cx.report(arg, message, Safety.MANUAL, severity=WARNING)

    def _columns(self, cx: Context) -> None:
        """Names of columns in arguments, and attributes of events."""
        for string in cx.index.nodes(cst.SimpleString):
            text = cx.string(string)
            if text not in TIME_KEYS or text not in string.value:
                continue
            arg = cx.parent(_choice(string, cx))
            call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
            method = call.func.attr.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else ""
            keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
            if method == "export_stacks" and text in STACK_METRICS:
                new = STACK_METRICS[text]
            elif keyword == "sort_by" or method == "table" or _kept_for_table(string, cx):
                new = TIME_KEYS[text]
            else:
                continue
            level = Safety.SAFE if isinstance(arg, cst.Arg) and keyword != "default" else Safety.REVIEW
            fix = cx.fix("the column of the device", StringPart(string, string.value.index(text), text, new))
            cx.report(string, f"the column is {new} for any device", level, fix=fix)
        parts: list[cst.SimpleString | cst.FormattedStringText] = [*cx.index.nodes(cst.SimpleString)]
        parts += cx.index.nodes(cst.FormattedStringText)
        for part in parts:
            self._joined_column(part, cx)
        for spelled, new in TIME_KEYS.items():
            for name in cx.index.names.get(spelled, []):
                above = cx.parent(name)
                if isinstance(above, cst.Attribute) and above.attr is name and not cx.origin(above).names:
                    if _own_figure(spelled, cx) and not _of_event(above.value, cx):
                        cx.keep(name, "attribute of an own object")
                        continue
                    fix = cx.fix("the figure of the device", Replace(name, new))
                    cx.report(name, f"the figure of an event is .{new} for any device", Safety.REVIEW, fix=fix)


    def _joined_column(self, part: cst.SimpleString | cst.FormattedStringText, cx: Context) -> None:
        """`device + "_time_total"`, `f"self_{device}_time_total"`: no column is called after neuron."""
        text = cx.string(part) if isinstance(part, cst.SimpleString) else part.value
        if text is None or text.strip() not in _ENDINGS:
            return
        whole = cx.parent(part)
        if isinstance(whole, cst.FormattedString):
            values = [p.expression for p in whole.parts if isinstance(p, cst.FormattedStringExpression)]
        elif isinstance(whole, cst.BinaryOperation) and whole.right is part:
            values = [whole.left, *([whole.left.right] if isinstance(whole.left, cst.BinaryOperation) else [])]
        else:
            return
        named = next((v for v in values if cx.devices.is_device(v)), None)
        if named is None or not (_kept_for_table(whole, cx) or _given_to_table(whole, cx)):
            return
        message = f"the column is device{text} for any device: there is none called after neuron"
        site = whole if isinstance(whole, cst.FormattedString) else part
        cx.report(site, message, Safety.MANUAL, severity=ERROR, evidence=[(named, "a device")])


def _choice(node: cst.CSTNode, cx: Context) -> cst.CSTNode:
    """The conditional expression that a value is an arm of, or the value itself."""
    above = cx.parent(node)
    while isinstance(above, cst.IfExp) and above.test is not node:
        node, above = above, cx.parent(above)
    return node


def _given_to_table(node: cst.CSTNode, cx: Context) -> bool:
    arg = cx.parent(_choice(node, cx))
    return isinstance(arg, cst.Arg) and arg.keyword is not None and arg.keyword.value == "sort_by"


def _own_figure(name: str, cx: Context) -> bool:
    """Whether the file gives something of its own this name: an attribute, a field, a column."""
    for node in cx.index.names.get(name, []):
        above = cx.parent(node)
        if isinstance(above, cst.Attribute):
            above = cx.parent(above)
        in_class = isinstance(cx.names.scope(node), cst.ClassDef)
        if isinstance(above, cst.AssignTarget) or (isinstance(above, cst.AnnAssign) and in_class):
            return True
        if isinstance(above, cst.FunctionDef) and above.name is node and in_class:
            return True
    keys = (cx.parent(s) for s in cx.index.nodes(cst.SimpleString) if cx.string(s) == name)
    return any(isinstance(k, (cst.Index, cst.DictElement)) for k in keys)


def _of_event(value: cst.BaseExpression, cx: Context) -> bool:
    """Whether a value runs over the events of a profile: `for e in prof.key_averages()`."""
    if not isinstance(value, cst.Name):
        return False
    for binding in cx.names.bindings(value.value, cx.names.scope(value)):
        loop = cx.index.enclosing(binding.node, cst.For, cst.CompFor)
        source = getattr(loop, "iter", None)
        function = source.func if isinstance(source, cst.Call) else None
        method = function.attr.value if isinstance(function, cst.Attribute) else ""
        if method in ("key_averages", "events", "total_average"):
            return True
    return False


def _kept_for_table(string: cst.CSTNode, cx: Context) -> bool:
    """Whether a text is stored, or is a default, in a file that sorts tables of the profiler."""
    string = _choice(string, cx)
    above = cx.parent(string)
    stored = isinstance(above, (cst.Assign, cst.AnnAssign, cst.Param)) or (
        isinstance(above, cst.Arg) and above.keyword is not None and above.keyword.value == "default"
    )
    arguments = (cx.parent(name) for name in cx.index.names.get("sort_by", []))
    return stored and any(isinstance(a, cst.Arg) for a in arguments)
