"""TN406: DataParallel, one process for several devices."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.conditions import conditions, elsewhere
from transforms.tables.distributed import DATA_PARALLEL, DDP

DATA_PARALLEL_RULE = Rule(
    code="TN406",
    name="data-parallel",
    summary="`nn.DataParallel` has to become DistributedDataParallel",
    best=Safety.MANUAL,
    argument="It never edits: the launch, the sampler and the batch size change with the wrapper.",
    source=(
        "torch 2.13 DataParallel (scatter, replicate and gather are CUDA kernels); TorchNeuron: one device per process"
    ),
    why="A TorchNeuron process owns one device, and DataParallel's scatter and gather exist for CUDA only.",
    silent=(
        "It is a warning behind a test for more than one device, and where an option asks for it in a function that "
        "wraps by DistributedDataParallel in another branch. Tests of the type such as "
        "`isinstance(model, nn.DataParallel)` or `type(model) is nn.DataParallel`, which are false and harmless."
    ),
)


_ACCELERATOR = re.compile(r"cuda|neuron|gpu|device|accel", re.I)
_COUNT = re.compile(r"gpu|device|cards|\bnproc", re.I)
_MORE: tuple[tuple[type[cst.CSTNode], int], ...] = ((cst.GreaterThan, 1), (cst.GreaterThanEqual, 2))
_LESS: tuple[tuple[type[cst.CSTNode], int], ...] = ((cst.LessThanEqual, 1), (cst.LessThan, 2), (cst.Equal, 1))


class DataParallel(Transform):
    """Reports the wrapper where it is made."""

    rules = (DATA_PARALLEL_RULE,)
    triggers = (b"DataParallel", b"data_parallel")
    nodes = (cst.Name, cst.Attribute)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one name."""
        last = node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")
        above = cx.parent(node)
        if last in ("DataParallel", "data_parallel") or isinstance(above, cst.Call):
            if not (cx.origin(node).names & DATA_PARALLEL) or self._part(node, above, cx):
                return
            if elsewhere(node, cx) is not None:
                return
            called = isinstance(above, cst.Call) and above.func is node
            if not called and cx.is_type(node):
                if isinstance(cx.parent(above) if above is not None else None, cst.ClassDef):
                    cx.report(node, "a subclass of DataParallel works on CUDA only", Safety.MANUAL, severity=WARNING)
                return
            message = (
                "DataParallel drives several CUDA devices from one process: use DistributedDataParallel under torchrun"
            )
            severity = WARNING if _single(above, cx) or _behind_count(node, cx) or _beside_ddp(node, cx) else ERROR
            cx.report(node, message, Safety.MANUAL, severity=severity)

    def _part(self, node: cst.CSTNode, above: cst.CSTNode | None, cx: Context) -> bool:
        """Whether the node is a piece of a longer chain, of an import or of an assignment target."""
        if isinstance(above, cst.Attribute) and (above.attr is node or cx.origin(above).names & DATA_PARALLEL):
            return True
        return isinstance(above, (cst.ImportAlias, cst.AsName, cst.ImportFrom, cst.AssignTarget)) or any(
            isinstance(a, (cst.Import, cst.ImportFrom)) for a in cx.index.ancestors(node)
        )


def _single(call: cst.CSTNode | None, cx: Context) -> bool:
    """Whether the wrapper is told to use one device or none, so that it does nothing."""
    if not isinstance(call, cst.Call):
        return False
    ids = cx.argument(call, "device_ids", 1)
    return ids is not None and isinstance(ids.value, (cst.List, cst.Tuple)) and len(ids.value.elements) <= 1


def _beside_ddp(node: cst.CSTNode, cx: Context) -> bool:
    """Whether an option asks for the wrapper, and another branch of the function wraps by DistributedDataParallel.

    A last branch is what a run of one process takes, and a test of the distributed run's absence is one, too.
    """
    function = cx.index.enclosing(node, cst.FunctionDef)
    if not any(holds and _is_option(test, cx) for test, holds in conditions(node, cx)):
        return False
    for call in cx.index.nodes(cst.Call):
        if cx.origin(call.func).names & DDP and cx.index.enclosing(call, cst.FunctionDef) is function:
            return True
    return False


def _is_option(test: cst.BaseExpression, cx: Context) -> bool:
    """Whether a condition is a flag of the program, other than one that says that an accelerator is there."""
    if isinstance(test, cst.Comparison):
        last = test.comparisons[0]
        text = isinstance(last.operator, cst.Equal) and isinstance(last.comparator, cst.SimpleString)
        return text and _ACCELERATOR.search(cx.code(test)) is None
    name = test.attr if isinstance(test, cst.Attribute) else test
    return isinstance(name, cst.Name) and _ACCELERATOR.search(name.value) is None


def _behind_count(node: cst.CSTNode, cx: Context) -> bool:
    """Whether the wrapper is made for more than one device only: `if torch.cuda.device_count() > 1`."""
    return any(_counts_several(test, holds, cx) for test, holds in conditions(node, cx))


def _counts_several(test: cst.BaseExpression, holds: bool, cx: Context) -> bool:
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    left, operator, right = test.left, test.comparisons[0].operator, test.comparisons[0].comparator
    if isinstance(left, cst.Integer):  # 1 < n
        if not isinstance(operator, (cst.LessThan, cst.LessThanEqual)) or not holds:
            return False
        left, right, least = right, left, 1 if isinstance(operator, cst.LessThan) else 2
    else:
        bounds = _MORE if holds else _LESS
        least = next((n for kind, n in bounds if isinstance(operator, kind)), 0)
    number = cx.integer(right)
    if least == 0 or number is None or number < least:
        return False
    counted: list[cst.CSTNode] = [left]
    if isinstance(left, cst.Name):
        counted += [b.value for b in cx.names.bindings(left.value, cx.names.scope(left)) if b.value is not None]
    return any(_COUNT.search(cx.code(n)) for n in counted)
