"""Conditions that hold where a node runs, and those by which it runs on another device than neuron."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.words import words
from transforms.tables.devices import OTHER_ACCELERATORS

if TYPE_CHECKING:
    from transforms.engine.context import Context

_ELSEWHERE = OTHER_ACCELERATORS | {"cpu", "meta"}
_DEVICES = frozenset({"device", "accelerator"})
_BESIDE = frozenset("type name kind str torch model target compute train training current default main run".split())
"""Words beside them in the name of the device that the program computes on: not `offload_device`, `data_device`."""

_EQUAL: dict[type[cst.BaseCompOp], bool] = {cst.Equal: True, cst.In: True, cst.NotEqual: False, cst.NotIn: False}


_EXITS = frozenset({"sys.exit", "os._exit", "builtins.exit", "builtins.quit"})

_JOINS = (cst.BooleanOperation, cst.UnaryOperation, cst.BinaryOperation, cst.Comparison, cst.ComparisonTarget)
"""Operations that put several questions into one."""
_LISTED = (cst.Element, cst.List, cst.Tuple, cst.Arg)
_OF_LIST = frozenset({"builtins.any", "builtins.all"})

_Condition = tuple[cst.BaseExpression, bool]


def conditions(node: cst.CSTNode, cx: Context) -> Iterator[_Condition]:
    """Conditions around a node in its function, and those that end its block before it, and whether they hold there."""
    child = node
    for above in cx.index.ancestors(node):
        if isinstance(above, (cst.FunctionDef, cst.Lambda)):
            return
        if isinstance(above, (cst.IndentedBlock, cst.Module)):
            yield from _left_before(above, child, cx)
        elif isinstance(above, (cst.If, cst.IfExp)) and child is not above.test:
            yield from _parts(above.test, child is above.body)
        elif isinstance(above, cst.BooleanOperation) and child is above.right:
            yield from _parts(above.left, isinstance(above.operator, cst.And))
        child = above


def _left_before(block: cst.IndentedBlock | cst.Module, child: cst.CSTNode, cx: Context) -> Iterator[_Condition]:
    """The tests of a block that end it where they hold, ahead of one of its statements."""
    for statement in block.body:
        if statement is child:
            return
        if isinstance(statement, cst.If) and statement.orelse is None and leaves(statement.body, cx):
            yield from _parts(statement.test, False)


def leaves(block: cst.BaseSuite, cx: Context, loops: bool = True) -> bool:
    """Whether the last statement of a block leaves the function or the process, or (with `loops`) a turn of a loop."""
    last = block.body[-1] if block.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
        return cx.origin(last.value.func).name in _EXITS
    return isinstance(last, (cst.Return, cst.Raise)) or (loops and isinstance(last, (cst.Continue, cst.Break)))


def _parts(test: cst.BaseExpression, holds: bool) -> Iterator[_Condition]:
    """The parts of a condition that surely hold, or surely fail."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from _parts(test.expression, not holds)
    elif isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And if holds else cst.Or):
        yield from _parts(test.left, holds)
        yield from _parts(test.right, holds)
    else:
        yield test, holds


def elsewhere(node: cst.CSTNode, cx: Context) -> cst.BaseExpression | None:
    """The test of a device by which a node runs on the CPU or another accelerator, or surely not on neuron."""
    return next((test for test, holds in conditions(node, cx) if _not_neuron(test, holds, cx)), None)


def never_none(node: cst.BaseExpression, cx: Context) -> bool:
    """Whether a test around an expression says that it is not None: `if gpu is not None: x.cuda(gpu)`."""
    return any(_says_given(test, holds, cx.code(node), cx) for test, holds in conditions(node, cx))


def _says_given(test: cst.BaseExpression, holds: bool, code: str, cx: Context) -> bool:
    if not isinstance(test, cst.Comparison) or len(test.comparisons) > 1 or cx.code(test.left) != code:
        return False
    target = test.comparisons[0]
    none = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
    return none and isinstance(target.operator, cst.IsNot if holds else cst.Is)


def never_on_neuron(value: cst.BaseExpression, cx: Context) -> bool:
    """Whether a value is only true where the device is another one: `device.type == "mps"`."""
    return any(_not_neuron(test, holds, cx) for test, holds in _parts(value, True))


def asks_for_neuron(test: cst.CSTNode, cx: Context) -> bool:
    """Whether a test names the neuron device: the program chooses by it already."""
    nodes = [test]
    while nodes:
        here = nodes.pop()
        if isinstance(here, cst.SimpleString) and (cx.string(here) or "").split(":")[0] == "neuron":
            return True
        if isinstance(here, cst.Attribute):
            asked = any(n.startswith("torch.neuron.is_") for n in cx.origin(here).names)
            if asked or here.attr.value == "is_neuron":
                return True
        nodes += here.children
    return False


def neuron_beside(node: cst.CSTNode, cx: Context, subject: str = "") -> bool:
    """Whether the program asks for neuron before a test of CUDA, or in the same `or`: both are meant.

    `subject`: the code of the value that is tested, which the other test must be about too.
    """
    if any(not holds and _is_neuron(test, subject, cx) for test, holds in conditions(node, cx)):
        return True
    child = node
    for above in cx.index.ancestors(node):
        if not isinstance(above, cst.BooleanOperation):
            return False
        other = above.right if child is above.left else above.left
        if isinstance(above.operator, cst.Or) and _is_neuron(other, subject, cx):
            return True
        child = above
    return False


def accelerator_beside(node: cst.Attribute, cx: Context) -> cst.CSTNode | None:
    """The question for another accelerator that stands beside `x.is_cuda`: in the same condition or list of
    conditions, in another arm of the choice, or in a row of branches that each leave."""
    top: cst.CSTNode = node
    for above in cx.index.ancestors(node):
        if isinstance(above, cst.IfExp):
            tests = [top, above.test, *(_further_tests(above) if top is above.test else ())]
            return next((q for t in tests if (q := _other_accelerator(t, node, cx)) is not None), None)
        if isinstance(above, _JOINS) or (isinstance(above, cst.Call) and cx.origin(above.func).name in _OF_LIST):
            top = above
        elif not isinstance(above, _LISTED):
            break
    if (found := _other_accelerator(top, node, cx)) is not None:
        return found
    branch = cx.parent(top)
    if not isinstance(branch, cst.If) or top is not branch.test:
        return None
    return next((q for t in _row(branch, cx) if (q := _other_accelerator(t, node, cx)) is not None), None)


def _further_tests(choice: cst.IfExp) -> Iterator[cst.BaseExpression]:
    """Tests of the conditionals that stand in the else arm of one."""
    arm = choice.orelse
    while isinstance(arm, cst.IfExp):
        yield arm.test
        arm = arm.orelse


def _row(branch: cst.If, cx: Context) -> Iterator[cst.BaseExpression]:
    """Tests of the other branches of an `if`/`elif` chain, and of branches beside it where each of them leaves."""
    first = branch
    while isinstance(above := cx.parent(first), cst.If) and above.orelse is first:
        first = above
    link: cst.CSTNode | None = first
    while isinstance(link, cst.If):
        if link is not branch:
            yield link.test
        link = link.orelse
    block = cx.parent(first)
    alone = first is branch and branch.orelse is None and leaves(branch.body, cx)
    for other in block.body if alone and isinstance(block, (cst.IndentedBlock, cst.Module)) else ():
        if other is not branch and isinstance(other, cst.If) and leaves(other.body, cx):
            yield other.test


def _other_accelerator(test: cst.CSTNode, node: cst.CSTNode, cx: Context) -> cst.CSTNode | None:
    """The part of a test, other than `node`, that asks whether something is on another accelerator."""
    parts = [test]
    while parts:
        part = parts.pop()
        if part is node:
            continue
        if isinstance(part, cst.Attribute):
            name = part.attr.value
            if name.startswith("is_") and name[3:] in OTHER_ACCELERATORS and not cx.origin(part).names:
                return part
        elif isinstance(part, cst.Comparison) and _is_device(part.left, cx):
            sides = [c.comparator for c in part.comparisons]
            texts = [e.value for s in sides for e in getattr(s, "elements", ())] or sides
            if any((cx.string(t) or "").split(":")[0] in OTHER_ACCELERATORS for t in texts):
                return part
        parts += part.children
    return None


def _is_neuron(test: cst.BaseExpression, subject: str, cx: Context) -> bool:
    """Whether a test holds where the device (of the subject) is neuron."""
    parts: list[cst.CSTNode] = [test]
    while parts:
        part = parts.pop()
        if isinstance(part, (cst.NotEqual, cst.NotIn, cst.Not)):
            return False
        parts += part.children
    return subject in cx.code(test) and asks_for_neuron(test, cx)


def _not_neuron(test: cst.BaseExpression, holds: bool, cx: Context) -> bool:
    if isinstance(test, cst.Comparison):
        return _compared(test, holds, cx)
    if isinstance(test, cst.Attribute) and test.attr.value in ("is_cpu", "is_mps", "is_xpu"):
        return holds and not cx.origin(test).names
    return not holds and _asks_for_accelerator(test, cx)


def _asks_for_accelerator(test: cst.BaseExpression, cx: Context) -> bool:
    """Whether a test asks for nothing but neuron or CUDA, perhaps in two parts: `hasattr(torch, "neuron") and ...`."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _asks_for_accelerator(test.left, cx) and _asks_for_accelerator(test.right, cx)
    if isinstance(test, cst.Call) and cx.origin(test.func).name == "torch.cuda.is_available":
        return True
    if isinstance(test, cst.Attribute) and test.attr.value == "is_cuda":
        return not cx.origin(test).names
    return isinstance(test, (cst.Call, cst.Attribute)) and asks_for_neuron(test, cx)


def _compared(test: cst.Comparison, holds: bool, cx: Context) -> bool:
    """Whether a comparison with names of devices says that the device is none of neuron."""
    target = test.comparisons[0]
    equal, left, other = _EQUAL.get(type(target.operator)), test.left, target.comparator
    if isinstance(target.operator, (cst.Equal, cst.NotEqual)) and not _is_device(left, cx):
        left, other = other, left
    if equal is None or len(test.comparisons) > 1 or not _is_device(left, cx):
        return False
    nodes = [e.value for e in other.elements] if isinstance(other, (cst.Tuple, cst.List, cst.Set)) else [other]
    texts = {cx.string(_inner(n, cx)) for n in nodes}
    if equal == holds:
        return bool(texts) and all(t is not None and t.split(":")[0] in _ELSEWHERE for t in texts)
    return bool(texts) and texts <= {"neuron", "cuda"}


def _inner(node: cst.BaseExpression, cx: Context) -> cst.BaseExpression:
    """The text in `torch.device("cpu")`."""
    made = isinstance(node, cst.Call) and bool(node.args) and cx.origin(node.func).name == "torch.device"
    return node.args[0].value if made and isinstance(node, cst.Call) else node


def _is_device(node: cst.BaseExpression, cx: Context) -> bool:
    """Whether an expression is called a device, or is the type of one: `device`, `x.device.type`, `args.device`."""
    if isinstance(node, cst.Call):
        return cx.origin(node.func).name == "builtins.str" and bool(node.args) and _is_device(node.args[0].value, cx)
    named = node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""
    if named == "type" and isinstance(node, cst.Attribute):
        return _is_device(node.value, cx)
    return bool(_DEVICES & set(words(named))) and set(words(named)) <= _DEVICES | _BESIDE
