"""TN112: streams and events."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.changes import StringPart
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.annotations import is_type_text, names_in
from transforms.flow.conditions import conditions
from transforms.flow.device_arguments import device_argument
from transforms.flow.renames import called, missing, nearest, rename, replaced
from transforms.flow.timing import timings
from transforms.flow.uses import Use
from transforms.tables.cuda_streams import ACCEPTED, PARAMETERS, STREAM_API, STREAM_CLASSES, STREAM_MISSING
from transforms.tables.rows import MIDDLE, Row, by_name

STREAM_EVENT = Rule(
    code="TN112",
    name="stream-event",
    summary="Streams and events; events that measure time become a synchronised clock",
    best=Safety.REVIEW,
    argument=(
        "torch.neuron.Stream and Event are functions with keyword arguments, known from the package's sources alone. "
        "What is "
        "asked of a type is asked of torch.Stream and torch.Event."
    ),
    source="torch-neuronx sources of April 2026 (streams); field notes: elapsed_time of an event does not measure",
    why="The CUDA classes can't be made without CUDA, and elapsed_time between neuron events gives no usable figure.",
    silent=(
        "`record_stream`, `wait_stream`, `wait_event`, which neuron streams have; `torch.Stream`; events of threads "
        "and processes, streams of texts; a `cuda_stream` that is asked for with hasattr."
    ),
    examples=(
        (
            "import torch\n\n\ndef f():\n    return torch.cuda.Stream()\n",
            "import torch\n\n\ndef f():\n    return torch.neuron.Stream()\n",
        ),
        (
            "import torch\n\n\ndef f(s: torch.cuda.Stream):\n    return s\n",
            "import torch\n\n\ndef f(s: torch.Stream):\n    return s\n",
        ),
    ),
)
_ROWS = by_name(STREAM_API)
_MISSING = by_name(STREAM_MISSING)


class StreamEvent(Transform):
    """Renames streams and events and rewrites local timing."""

    rules = (STREAM_EVENT,)
    triggers = (b"Stream", b"Event", b"stream")
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        timed = timings(cx)
        for timing in timed:
            fix = timing.fix(cx)
            for event in timing.events:
                message = "an event that measures time becomes torch.neuron.synchronize() and time.perf_counter()"
                cx.report(event.func, message, Safety.REVIEW, fix=fix)
        clocked = {id(e.func) for t in timed for e in t.events}
        clocked_reads = {id(r) for t in timed for r in t.reads}
        events = False
        for use in cx.uses.under("torch.cuda"):
            if id(use.node) in clocked:
                continue
            kind = STREAM_CLASSES.get(use.name)
            if kind is not None:
                events |= kind == "Event"
                self._class(use, kind, cx)
            elif row := _ROWS.get(use.name):
                self._function(use, row, cx)
            elif row := nearest(_MISSING, use.name):
                missing(cx, use, row)
            elif nearest_class := STREAM_CLASSES.get(use.name.rpartition(".")[0]):
                message = f"torch.neuron.{nearest_class} is a function: it has no .{use.name.rpartition('.')[2]}"
                cx.report(use.node, message, Safety.MANUAL)
        self._pointers(cx)
        self._texts(cx)
        if events:
            self._elapsed(cx, clocked_reads)

    def _class(self, use: Use, kind: str, cx: Context) -> None:
        if replaced(cx, use):
            return
        if _base(use.node, cx):
            cx.report(
                use.node, f"a class can't be derived from torch.neuron.{kind}, which is a function", Safety.MANUAL
            )
            return
        if cx.is_type(use.node) or _type_argument(use.node, cx):
            row = Row(use.name, f"torch.{kind}", MIDDLE, "torch 2.13: the type of streams and events of any device")
            rename(cx, use, row)
            return
        row = Row(use.name, f"torch.neuron.{kind}", MIDDLE, "sources")
        call = called(cx, use.node)
        if call is None:
            if _read_as_type(use.node, cx):
                message = f"kept in a variable that is read as a type too, and torch.neuron.{kind} is a function"
                cx.report(use.node, f"{message}: write torch.{kind} where a type is meant", Safety.MANUAL)
                return
            rename(cx, use, row)
            return
        change = cx.arguments(call)
        if unpacks(call):
            cx.report(
                use.node,
                f"torch.neuron.{kind} takes keyword arguments only: unpacked ones can't be checked",
                Safety.MANUAL,
            )
            return
        for place, arg in enumerate(call.args):
            name = arg.keyword.value if arg.keyword is not None else (PARAMETERS[kind] + ("",) * 9)[place]
            if name in ACCEPTED[kind]:
                if arg.keyword is None:
                    change.to_keyword(arg, name)
            elif isinstance(arg.value, cst.Name) and arg.value.value == "False":
                change.drop(arg)
            else:
                cx.report(use.node, f"torch.neuron.{kind} has no {name or 'such'} argument", Safety.MANUAL)
                return
        rename(cx, use, row, *([change] if change else []))

    def _function(self, use: Use, row: Row, cx: Context) -> None:
        if cx.is_type(use.node):
            cx.report(use.node, f"{row.new} is a function: it can't stand for a type", Safety.MANUAL)
            return
        call = called(cx, use.node)
        given = device_argument(cx, call, row) if call is not None else None
        if given is None:
            rename(cx, use, row)
        elif given.problem:
            cx.report(use.node, given.problem, Safety.MANUAL, evidence=given.evidence)
        else:
            rename(cx, use, row, *given.changes, safety=given.safety, evidence=given.evidence)

    def _pointers(self, cx: Context) -> None:
        """`stream.cuda_stream`, the pointer that CUDA libraries take."""
        for spelled in ("cuda_stream", "cuda_event"):
            for name in cx.index.names.get(spelled, []):
                above = cx.parent(name)
                if isinstance(above, cst.Attribute) and above.attr is name and not cx.origin(above).names:
                    if isinstance(cx.parent(above), cst.AssignTarget) or _of_self(above):
                        continue
                    if _asked_for(above, cx):
                        cx.keep(name, "asked for before it is read")
                        continue
                    sure = isinstance(above.value, cst.Call) and cx.origin(above.value.func).name.startswith(
                        "torch.cuda."
                    )
                    message = f".{spelled} is a pointer for CUDA libraries: neuron streams have none"
                    cx.report(name, message, Safety.MANUAL, severity=None if sure else WARNING)

    def _texts(self, cx: Context) -> None:
        """Types written as text, `"torch.cuda.Stream | None"`."""
        for string in cx.index.nodes(cst.SimpleString):
            if "torch.cuda." not in string.value or not is_type_text(string, cx):
                continue
            named = [(at, name) for at, name in names_in(string) if name in STREAM_CLASSES]
            parts = [StringPart(string, at, name, f"torch.{STREAM_CLASSES[name]}") for at, name in named]
            if parts:
                fix = cx.fix("the annotation names the type of any device", *parts)
                new = " and ".join(dict.fromkeys(f"{p.old} is {p.new}" for p in parts))
                cx.report(string, f"{new} as a type", Safety.REVIEW, fix=fix)

    def _elapsed(self, cx: Context, clocked: set[int]) -> None:
        for name in cx.index.names.get("elapsed_time", []):
            above = cx.parent(name)
            call = cx.parent(above) if isinstance(above, cst.Attribute) and above.attr is name else None
            if isinstance(call, cst.Call) and call.func is above and len(call.args) == 1 and id(call) not in clocked:
                message = (
                    "time between neuron events is not measured: use torch.neuron.synchronize() and time.perf_counter()"
                )
                cx.report(name, message, Safety.MANUAL, severity=WARNING)


def _read_as_type(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a class is kept, alone or in a tuple, under a name that this file reads as a type somewhere."""
    statement = cx.index.statement(node)
    if not isinstance(statement, (cst.Assign, cst.AnnAssign)):
        return False
    targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
    for target in targets:
        last = target.attr if isinstance(target, cst.Attribute) else target
        for name in cx.index.names.get(last.value, []) if isinstance(last, cst.Name) else ():
            above = cx.parent(name)
            if cx.is_type(above if isinstance(above, cst.Attribute) and above.attr is name else name, stored=False):
                return True
    return False


def _base(node: cst.CSTNode, cx: Context) -> bool:
    arg = cx.parent(node)
    return isinstance(arg, cst.Arg) and isinstance(cx.parent(arg), cst.ClassDef)


def _asked_for(read: cst.Attribute, cx: Context) -> bool:
    """Whether `x.cuda_stream` stands where `hasattr(x, "cuda_stream")` holds, so that it is not read on neuron."""
    for test, holds in conditions(read, cx):
        args = [a.value for a in test.args] if isinstance(test, cst.Call) else []
        if holds and len(args) == 2 and args[0].deep_equals(read.value) and cx.string(args[1]) == read.attr.value:
            return True
    return False


def _of_self(node: cst.Attribute) -> bool:
    return isinstance(node.value, cst.Name) and node.value.value in ("self", "cls")


def _type_argument(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a class stands inside `Optional[...]`, `list[...]` or a union that is no annotation, or is a pattern."""
    if isinstance(cx.parent(node), cst.MatchClass):
        return True
    for above in cx.index.ancestors(node):
        if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.BitOr):
            return True
        if isinstance(above, cst.Subscript) and above.value is not node:
            return cx.origin(above.value).name.split(".")[0] in ("typing", "builtins", "collections")
        if not isinstance(above, (cst.Index, cst.SubscriptElement)):
            return False
    return False
