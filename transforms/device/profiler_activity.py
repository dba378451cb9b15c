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
    silent="Other packages' profilers.",
    examples=(
        (
            "from torch.profiler import ProfilerActivity, profile\n\np = profile(activities=[ProfilerActivity.CUDA])\n",
            "from torch.profiler import ProfilerActivity, profile\n\n"
            "p = profile(activities=[ProfilerActivity.PrivateUse1])\n",
        ),
    ),
)
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
            arg = cx.parent(string)
            call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
            method = call.func.attr.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else ""
            keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
            if method == "export_stacks" and text in STACK_METRICS:
                new = STACK_METRICS[text]
            elif keyword == "sort_by" or method == "table":
                new = TIME_KEYS[text]
            else:
                continue
            fix = cx.fix("the column of the device", StringPart(string, string.value.index(text), text, new))
            cx.report(string, f"the column is {new} for any device", Safety.SAFE, fix=fix)
        for spelled, new in TIME_KEYS.items():
            for name in cx.index.names.get(spelled, []):
                above = cx.parent(name)
                if isinstance(above, cst.Attribute) and above.attr is name and not cx.origin(above).names:
                    fix = cx.fix("the figure of the device", Replace(name, new))
                    cx.report(name, f"the figure of an event is .{new} for any device", Safety.REVIEW, fix=fix)
