"""TN122: the CUDA version of torch."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.names import dotted_name
from transforms.engine.transform import Transform
from transforms.flow.renames import replaced
from transforms.flow.uses import Use

CUDA_VERSION = Rule(
    code="TN122",
    name="cuda-version",
    summary="`torch.version.cuda`, which is None on Trainium",
    best=Safety.MANUAL,
    argument="It never edits: what hangs on the version is known to the program alone.",
    source="TorchNeuron installation guide 2.33: torch comes from the CPU wheel index, whose version has no CUDA",
    why="A test of the version is false there, and code that takes it apart raises.",
    silent="Versions that are only printed.",
)
_NAMES = ("torch.version.cuda", "torch.version.cudnn")
_TEXT = ("print", "log", "debug", "info", "warning", "write", "print_rank_0", "str", "format", "append", "join")


class CudaVersion(Transform):
    """Reports reads of the version."""

    rules = (CUDA_VERSION,)
    triggers = (b"version",)
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for use in cx.uses.under(*_NAMES):
            if not replaced(cx, use):
                self._read(use, cx)

    def _read(self, use: Use, cx: Context) -> None:
        above = cx.parent(use.node)
        if use.aliased and not _taken_apart(use.node, cx):
            return
        if use.name not in _NAMES or _taken_apart(use.node, cx):
            cx.report(use.node, "torch.version.cuda is None on Trainium: this raises", Safety.MANUAL, severity=ERROR)
        elif isinstance(above, (cst.FormattedStringExpression, cst.Expr)) or _printed(above, cx):
            cx.keep(use.node, "version for people")
        else:
            message = "torch.version.cuda is None on Trainium: see that the branch for it is not taken"
            cx.report(use.node, message, Safety.MANUAL, severity=WARNING)


def _taken_apart(node: cst.CSTNode, cx: Context) -> bool:
    """Whether None in this place raises."""
    above = cx.parent(node)
    if isinstance(above, cst.Assert):
        return above.test is node
    if isinstance(above, cst.Subscript):
        return above.value is node
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
        comparison = above if isinstance(above, cst.Comparison) else cx.parent(above)
        assert isinstance(comparison, cst.Comparison)
        ordered = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.In, cst.NotIn)
        return any(isinstance(c.operator, ordered) and c.comparator is not above for c in comparison.comparisons)
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call):
        name = cx.origin(call.func).name
        return name in ("builtins.float", "builtins.int", "builtins.tuple", "builtins.list", "builtins.len") or (
            name.startswith("packaging.") or name.rpartition(".")[2] in ("Version", "parse")
        )
    return isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Add)


def _printed(above: cst.CSTNode | None, cx: Context) -> bool:
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(above, cst.DictElement):
        return True
    if not isinstance(call, cst.Call):
        return False
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted_name(call.func)
    return name in _TEXT
