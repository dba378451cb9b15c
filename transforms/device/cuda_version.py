"""TN122: the CUDA version of torch."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.names import dotted_name
from transforms.engine.text_roles import SPEAKING, text_role
from transforms.engine.transform import Transform
from transforms.flow.conditions import conditions
from transforms.flow.renames import replaced

CUDA_VERSION = Rule(
    code="TN122",
    name="cuda-version",
    summary="`torch.version.cuda`, which is None on Trainium",
    best=Safety.MANUAL,
    argument="It never edits: what hangs on the version is known to the program alone.",
    source="TorchNeuron installation guide 2.33: torch comes from the CPU wheel index, whose version has no CUDA",
    why="A test of the version is false there, and code that takes it apart raises.",
    silent=(
        "Versions that are only printed, or kept under a key; code that runs only where the version is not None; "
        "versions of anything else."
    ),
)
_NAMES = ("torch.version.cuda", "torch.version.cudnn")
_PRINTERS = SPEAKING - {"write"} | {"print_rank_0"}
_RAISING = frozenset("float int tuple list len set sorted sum".split())
_LEAVES = (cst.Return, cst.Raise, cst.Continue, cst.Break)
_FOR_PEOPLE = "version for people"


class CudaVersion(Transform):
    """Reports reads of the version."""

    rules = (CUDA_VERSION,)
    triggers = (b"version",)
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for use in cx.uses.under(*_NAMES):
            if replaced(cx, use):
                continue
            raises = use.name not in _NAMES or _taken_apart(use.node, cx)
            if raises or not use.aliased:
                self._read(use.node, use.node, raises, cx)
        for name in ("getattr", "hasattr"):
            for function in cx.index.names.get(name, []):
                self._looked_up(function, cx)

    def _read(self, node: cst.BaseExpression, site: cst.CSTNode, raises: bool, cx: Context) -> None:
        if raises:
            if _guarded(node, cx):
                cx.keep(site, "runs only where torch was built for CUDA")
                return
            cx.report(site, "torch.version.cuda is None on Trainium: this raises", Safety.MANUAL, severity=ERROR)
        elif _for_people(node, cx):
            cx.keep(site, _FOR_PEOPLE)
        elif _template(node, cx) is not None or _text_of(node, cx) is not node:
            message = "torch.version.cuda is None on Trainium: this text then says None"
            cx.report(site, message, Safety.MANUAL, severity=WARNING)
        else:
            message = "torch.version.cuda is None on Trainium: see that the branch for it is not taken"
            cx.report(site, message, Safety.MANUAL, severity=WARNING)

    def _looked_up(self, function: cst.Name, cx: Context) -> None:
        """`getattr(torch.version, "cuda", None)`; the attribute is there on every wheel, so hasattr stays."""
        call = cx.parent(function)
        if not isinstance(call, cst.Call) or call.func is not function or len(call.args) < 2:
            return
        what = f"{cx.origin(call.args[0].value).name}.{cx.string(call.args[1].value)}"
        if what not in _NAMES:
            return
        if function.value == "hasattr":
            cx.keep(call.args[1].value, "torch.version has the attribute everywhere")
        else:
            self._read(call, call.args[1].value, _taken_apart(call, cx), cx)


def _taken_apart(node: cst.CSTNode, cx: Context) -> bool:
    """Whether None in this place raises."""
    above = cx.parent(node)
    if isinstance(above, cst.Assert):
        return above.test is node
    if isinstance(above, (cst.Subscript, cst.Attribute)):
        return above.value is node
    if isinstance(above, (cst.For, cst.CompFor)):
        return above.iter is node
    if isinstance(above, cst.Assign):
        return any(isinstance(t.target, (cst.Tuple, cst.List)) for t in above.targets)
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
        comparison = above if isinstance(above, cst.Comparison) else cx.parent(above)
        assert isinstance(comparison, cst.Comparison)
        if isinstance(cx.parent(comparison), cst.Assert) and _none_test(comparison, cx) is False:
            return True
        ordered = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.In, cst.NotIn)
        return any(isinstance(c.operator, ordered) and c.comparator is not above for c in comparison.comparisons)
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call):
        name = cx.origin(call.func).name
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        return (
            (name.startswith("builtins.") and name.rpartition(".")[2] in _RAISING)
            or name.startswith(("packaging.", "re.", "os.path.", "pathlib."))
            or name.rpartition(".")[2] in ("Version", "LooseVersion", "StrictVersion", "parse", "parse_version")
            or method in ("write", "join", "joinpath", "startswith")
        )
    return isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Add)


def _guarded(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a node runs only where the version is not None."""
    if any(_says_none(test, holds, cx) is False for test, holds in conditions(node, cx)):
        return True
    child = node
    for above in cx.index.ancestors(node):
        if isinstance(above, (cst.FunctionDef, cst.Lambda)):
            return False
        if isinstance(above, cst.IndentedBlock):
            before = above.body[: next((i for i, s in enumerate(above.body) if s is child), 0)]
            if any(isinstance(s, cst.If) and _leaves(s) and _says_none(s.test, True, cx) is True for s in before):
                return True
        child = above
    return False


def _leaves(branch: cst.If) -> bool:
    """Whether nothing after an `if` without `else` runs when its test holds."""
    last = branch.body.body[-1] if branch.body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return branch.orelse is None and isinstance(last, _LEAVES)


def _says_none(test: cst.BaseExpression, holds: bool, cx: Context) -> bool | None:
    """Whether a test that holds, or fails, says that the version is None (True), that it is not, or nothing (None)."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return _says_none(test.expression, not holds, cx)
    if isinstance(test, cst.Comparison):
        none = _none_test(test, cx)
        return none if none is None or holds else not none
    return not holds if cx.origin(test).name in _NAMES else None


def _none_test(test: cst.Comparison, cx: Context) -> bool | None:
    """True for `version is None`, False for `version is not None`, None for any other comparison."""
    target = test.comparisons[0]
    none = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
    if not none or len(test.comparisons) > 1 or cx.origin(test.left).name not in _NAMES:
        return None
    if isinstance(target.operator, (cst.Is, cst.Equal)):
        return True
    return False if isinstance(target.operator, (cst.IsNot, cst.NotEqual)) else None


def _text_of(node: cst.CSTNode, cx: Context) -> cst.CSTNode:
    """`str(version)` around a version."""
    above = cx.parent(node)
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call) and cx.origin(call.func).name in ("builtins.str", "builtins.repr"):
        return _text_of(call, cx)
    return node


def _template(node: cst.CSTNode, cx: Context) -> cst.BaseExpression | None:
    """The text that a version is written into: an f-string, `"..." % version`, `"...".format(version)`."""
    above = cx.parent(_text_of(node, cx))
    if isinstance(above, cst.FormattedStringExpression):
        whole = cx.parent(above)
        return whole if isinstance(whole, cst.FormattedString) else None
    if isinstance(above, (cst.Element, cst.Tuple)):
        above = cx.parent(above) if isinstance(above, cst.Tuple) else cx.parent(cx.parent(above) or above)
    if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Modulo):
        return above.left
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "format":
        return call.func.value
    return None


def _for_people(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a version is printed, written into a sentence, or kept under a key, `version or "none"` included."""
    while isinstance(above := cx.parent(node), cst.BooleanOperation) and isinstance(above.operator, cst.Or):
        node = above
    template = _template(node, cx)
    if template is not None:
        return " " in cx.code(template) or bool(text_role(cx, template))
    outer = _text_of(node, cx)
    above = cx.parent(outer)
    if isinstance(above, (cst.DictElement, cst.Expr)):
        return True
    if isinstance(above, cst.Assign):
        return all(isinstance(t.target, cst.Subscript) for t in above.targets)
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call) or not isinstance(above, cst.Arg):
        return False
    if above.keyword is not None and cx.origin(call.func).name == "builtins.dict":
        return True
    return (call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted_name(call.func)) in _PRINTERS
