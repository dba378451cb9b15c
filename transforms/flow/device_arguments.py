"""The device that is given to a function of torch.cuda: its counterpart takes an index or a `torch.device`, no text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.changes import Around, Change, Replace
from transforms.engine.model import Safety
from transforms.flow.conditions import conditions, never_none
from transforms.flow.devices import names_device
from transforms.flow.indexes import DEVICE, NONE, NUMBER, TEXT, kinds, several_devices
from transforms.tables.rows import Row

if TYPE_CHECKING:
    from transforms.engine.context import Context

_NEAR = 3
"""How many statements may lie between the assignment of a device and the call that reads its index."""


@dataclass
class Given:
    """What has to change at the device argument of one call. `problem` says why nothing can be written."""

    changes: list[Change] = field(default_factory=list)
    safety: Safety = Safety.SAFE
    evidence: list[tuple[cst.CSTNode, str]] = field(default_factory=list)
    problem: str = ""

    def doubt(self, node: cst.CSTNode, text: str) -> Given:
        """The same, at most for review."""
        self.safety = Safety.REVIEW
        self.evidence.append((node, text))
        return self


def device_argument(cx: Context, call: cst.Call, row: Row) -> Given:
    """Changes that make the device argument of `call` fit the function on torch.neuron."""
    given = Given()
    if row.device < 0:
        return given
    if unpacks(call):
        return given.doubt(call, "arguments are unpacked: a device must be an index or a torch.device")
    arg = cx.argument(call, "device", row.device)
    if arg is None:
        return given
    value = arg.value
    found = kinds(cx, value)
    if TEXT in found:
        return _text(cx, call, value, found, row, given)
    if found <= {NUMBER, NONE}:
        index = cx.integer(value)
        if index or (index == 0 and cx.facts.distributed):
            given.doubt(value, "under torchrun a process owns only the index of its rank")
        elif (several := several_devices(cx, value)) is not None:
            given.doubt(several, "stands for several devices: under torchrun a process owns that of its rank")
        return given
    if found <= {DEVICE, NONE} or _asked_for_type(cx, value):
        return given
    if NONE in found and not (never_none(value, cx) or _replaced_when_none(cx, value)):
        return given.doubt(value, "it may be None, which torch.device does not take: a text has to be made a device")
    if _speaks_of_device(value):
        given.changes.append(_wrapped(cx, value))
        return given.doubt(value, "it may be a text, which the function on torch.neuron does not take")
    return given.doubt(value, "taken for an index or a torch.device: the function on torch.neuron takes no text")


def _text(
    cx: Context, call: cst.Call, value: cst.BaseExpression, found: frozenset[str], row: Row, given: Given
) -> Given:
    index = _index_beside(cx, call, value) if row.new.endswith(".set_device") else None
    if index is not None:
        given.changes.append(Replace(value, cx.code(index)))
        given.evidence.append((index, "the index of the device, as it was put together above"))
        return given
    if NONE in found:
        given.problem = "the device is a text or None: torch.neuron takes an index, a torch.device or no argument"
        given.evidence.append((value, "may be None"))
        return given
    given.changes.append(_wrapped(cx, value))
    if not found <= {TEXT, DEVICE}:
        given.doubt(value, "a text here, something else elsewhere")
    else:
        given.evidence.append((value, "a text, which the function on torch.neuron does not take"))
    return given


def _wrapped(cx: Context, value: cst.BaseExpression) -> Change:
    text, _ = cx.spell("torch.device", value)
    return Around(value, f"{text}(", ")")


def _asked_for_type(cx: Context, value: cst.BaseExpression) -> bool:
    """Whether a test around the call has read `.type` of the value, which an index or a text does not have."""
    if not isinstance(value, cst.Name):
        return False
    for test, _ in conditions(value, cx):
        for name in cx.index.names.get(value.value, []):
            read = cx.parent(name)
            asked = isinstance(read, cst.Attribute) and read.value is name and read.attr.value == "type"
            if asked and any(a is test for a in cx.index.ancestors(name)):
                bindings = cx.names.bindings(value.value, cx.names.scope(value))
                return all(cx.index.order(b.node) < cx.index.order(test) for b in bindings)
    return False


def _replaced_when_none(cx: Context, value: cst.BaseExpression) -> bool:
    """Whether a device stands in the place of None before the call: `if device is None: device = ...`, or an early
    end of the function."""
    if not isinstance(value, cst.Name):
        return False
    place = cx.index.order(value)
    scope = cx.index.enclosing(value, cst.FunctionDef)
    for name in cx.index.names.get(value.value, []):
        test = cx.parent(name)
        branch = cx.parent(test) if test is not None else None
        if not isinstance(branch, cst.If) or branch.test is not test or not _is_none(test, name):
            continue
        if cx.index.enclosing(branch, cst.FunctionDef) is not scope or cx.index.order(branch) > place:
            continue
        if cx.parent(branch) is getattr(scope, "body", None) and _leaves_no_none(branch.body, value.value):
            return True
    return False


def _is_none(test: cst.CSTNode | None, name: cst.CSTNode) -> bool:
    """Whether a test is `name is None` or `not name`."""
    if isinstance(test, cst.UnaryOperation):
        return isinstance(test.operator, cst.Not)
    if not isinstance(test, cst.Comparison) or test.left is not name or len(test.comparisons) != 1:
        return False
    target = test.comparisons[0]
    other = target.comparator
    return isinstance(target.operator, cst.Is) and isinstance(other, cst.Name) and other.value == "None"


def _leaves_no_none(body: cst.BaseSuite, name: str) -> bool:
    """Whether a block ends the function, or gives a variable a value that is written as a call or a text."""
    small = [s for line in body.body if isinstance(line, cst.SimpleStatementLine) for s in line.body]
    small += [s for s in body.body if isinstance(s, cst.BaseSmallStatement)]
    for statement in small:
        if isinstance(statement, (cst.Return, cst.Raise)):
            return True
        if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            if isinstance(target, cst.Name) and target.value == name:
                return isinstance(statement.value, (cst.Call, cst.BaseString, cst.IfExp))
    return False


def _speaks_of_device(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.Attribute):
        return names_device(value.attr.value)
    return isinstance(value, cst.Name) and names_device(value.value)


def _index_beside(cx: Context, call: cst.Call, value: cst.BaseExpression) -> cst.Name | None:
    """`rank` of `device = f"cuda:{rank}"`, when that stands just before the call and nothing changes `rank` between."""
    statement = cx.index.statement(call)
    line = cx.parent(statement)
    block = cx.parent(line) if isinstance(line, cst.SimpleStatementLine) else None
    if not isinstance(value, cst.Name) or block is None or not hasattr(block, "body"):
        return None
    lines = list(block.body)
    place = next((i for i, s in enumerate(lines) if s is line), 0)
    between: set[str] = set()
    for before in reversed(lines[max(0, place - _NEAR) : place]):
        assign = before.body[0] if isinstance(before, cst.SimpleStatementLine) and len(before.body) == 1 else None
        if isinstance(assign, cst.Expr):
            continue
        if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
            return None
        target = assign.targets[0].target
        if not isinstance(target, cst.Name):
            return None
        if target.value == value.value:
            index = _formatted_index(assign.value)
            return index if index is not None and index.value not in between else None
        between.add(target.value)
    return None


def _formatted_index(value: cst.BaseExpression) -> cst.Name | None:
    if not isinstance(value, cst.FormattedString) or len(value.parts) != 2:
        return None
    text, part = value.parts
    if not isinstance(text, cst.FormattedStringText) or text.value not in ("cuda:", "neuron:"):
        return None
    if (
        not isinstance(part, cst.FormattedStringExpression)
        or part.format_spec is not None
        or part.conversion is not None
    ):
        return None
    return part.expression if isinstance(part.expression, cst.Name) else None
