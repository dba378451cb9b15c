"""TN312: how other libraries are told to compile."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.compile_frameworks import DROP, FrameworkArgument, rows_for

FRAMEWORK_COMPILE_ARGS = Rule(
    code="TN312",
    name="framework-compile-args",
    summary="Arguments of Hugging Face libraries that choose Inductor choose neuron",
    best=Safety.REVIEW,
    argument=(
        "The library passes the value on to torch.compile, in the versions that are named; an older one "
        "may not know it."
    ),
    source="transformers 5.24.0 and accelerate 1.15.0, which ship support for TorchNeuron",
    why="The Trainer compiles the model itself, so the backend stands in its arguments.",
    silent=(
        "Values that are neuron already; `torch_compile=True` alone, for which transformers chooses "
        "neuron on the device; None, where that leaves the choice to the library."
    ),
    examples=(
        (
            "from transformers import TrainingArguments\n\n"
            'args = TrainingArguments("out", torch_compile=True, torch_compile_backend="inductor")\n',
            "from transformers import TrainingArguments\n\n"
            'args = TrainingArguments("out", torch_compile=True, torch_compile_backend="neuron")\n',
        ),
    ),
)


class FrameworkCompileArgs(Transform):
    """Rewrites the compile arguments of known library calls."""

    rules = (FRAMEWORK_COMPILE_ARGS,)
    triggers = (b"torch_compile", b"CompileConfig", b"dynamo_backend", b"TorchDynamoPlugin")
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        origin = cx.origin(node.func)
        rows = [row for name in sorted(origin.names) for row in rows_for(name)]
        found = [(row, arg) for row in rows if (arg := cx.argument(node, row.argument)) is not None]
        change = cx.arguments(node)
        wrong = [(row, arg) for row, arg in found if self._wrong(row, arg.value, cx)]
        for row, arg in wrong:
            if row.new == DROP:
                change.drop(arg)
            elif (text := _text(row, arg.value, cx)) is not None:
                change.value(arg, text)
        fix = cx.fix("the library compiles for neuron", change)
        for row, arg in wrong:
            text = _text(row, arg.value, cx)
            if row.new == DROP or text is not None:
                message = f"{row.argument} is dropped: the backend has no modes"
                message = message if row.new == DROP else f"{row.argument} becomes {text}"
                cx.report(arg, message, Safety.REVIEW, fix=fix, evidence=[(arg, row.source)])
            else:
                cx.report(arg, f"{row.argument} has to be {row.new} on Trainium", Safety.MANUAL, severity=WARNING)
        if any(row.calls == ("CompileConfig",) for row in rows) and not unpacks(node):
            self._missing(node, rows, cx)

    def _wrong(self, row: FrameworkArgument, value: cst.BaseExpression, cx: Context) -> bool:
        if isinstance(value, cst.IfExp):
            return self._wrong(row, value.body, cx) or self._wrong(row, value.orelse, cx)
        if row.new == DROP and isinstance(value, cst.Name) and value.value == "None":
            return False
        member = _member(value, cx)
        return (cx.string(value) or (member.lower() if member else cx.code(value))) not in row.keep

    def _missing(self, node: cst.Call, rows: list[FrameworkArgument], cx: Context) -> None:
        """CompileConfig's defaults are Inductor and reduce-overhead, so what is left out is wrong, too."""
        absent = [row for row in rows if cx.argument(node, row.argument) is None]
        if not absent:
            return
        change = cx.arguments(node)
        for row in absent:
            change.append(f"{row.argument}={row.new}")
        fix = cx.fix("the library compiles for neuron", change)
        message = f"{', '.join(row.argument for row in absent)}: the defaults are those for CUDA"
        cx.report(node.func, message, Safety.REVIEW, fix=fix, evidence=[(node.func, absent[0].source)])


def _text(row: FrameworkArgument, value: cst.BaseExpression, cx: Context) -> str | None:
    """What takes the place of a literal, or of a member of DynamoBackend; None of anything else."""
    if isinstance(value, cst.Attribute) and _member(value, cx):
        return f"{cx.code(value.value)}.NEURON"
    literal = cx.string(value) is not None or (isinstance(value, cst.Name) and value.value in ("True", "False", "None"))
    return row.new if literal else None


def _member(value: cst.BaseExpression, cx: Context) -> str:
    """The member of accelerate's DynamoBackend that an expression is."""
    head, _, member = cx.origin(value).name.rpartition(".")
    return member if head.startswith("accelerate.") and head.endswith(".DynamoBackend") else ""
