"""CUDA events that measure time, where the whole pattern lies in one function: created, recorded and read by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.changes import Change, Replace
from transforms.engine.names import Binding

if TYPE_CHECKING:
    from transforms.engine.context import Context, PendingFix

_EVENTS = frozenset({"torch.cuda.Event", "torch.cuda.streams.Event"})


@dataclass(eq=False)
class Timing:
    """Event variables of one scope that are read against each other, and everything that is done with them."""

    events: list[cst.Call] = field(default_factory=list)
    created: list[cst.Assign] = field(default_factory=list)
    recorded: list[cst.Expr] = field(default_factory=list)
    waited: list[cst.Expr] = field(default_factory=list)
    reads: list[cst.Call] = field(default_factory=list)

    def fix(self, cx: Context) -> PendingFix:
        """The same measurement with the clock of the host, the device being synchronised before each reading."""
        synchronize, requests = cx.spell("torch.neuron.synchronize", self.reads[0])
        clock, more = cx.spell("time.perf_counter", self.reads[0])
        changes: list[Change] = [cx.remove_statement(c) for c in self.created]
        for statement in self.recorded:
            name = _receiver(statement)
            changes.append(cx.insert_before(statement, f"{synchronize}()"))
            changes.append(Replace(statement, f"{name} = {clock}()"))
        for wait in self.waited:
            follows = any(_follows(cx, wait, recorded) for recorded in self.recorded)
            changes.append(cx.remove_statement(wait) if follows else Replace(wait, f"{synchronize}()"))
        for read in self.reads:
            assert isinstance(read.func, cst.Attribute)
            start, end = cx.code(read.func.value), cx.code(read.args[0].value)
            seconds = _in_seconds(cx, read)
            if seconds is not None:
                changes.append(Replace(seconds, f"{end} - {start}" if _loose(cx, seconds) else f"({end} - {start})"))
            else:
                product = f"({end} - {start}) * 1000.0"
                changes.append(Replace(read, product if _loose(cx, read) else f"({product})"))
        return cx.fix("time is measured by a synchronised clock", *changes, requests=[*requests, *more])


def _loose(cx: Context, node: cst.BaseExpression) -> bool:
    """Whether a sum or product may stand in place of the node without parentheses."""
    alone = (cst.Assign, cst.Arg, cst.Return, cst.FormattedStringExpression, cst.AugAssign)
    return bool(node.lpar) or isinstance(cx.parent(node), alone)


def _in_seconds(cx: Context, read: cst.Call) -> cst.BinaryOperation | None:
    """The division by 1000 that makes seconds of what the event gives."""
    above = cx.parent(read)
    if (
        not isinstance(above, cst.BinaryOperation)
        or not isinstance(above.operator, cst.Divide)
        or above.left is not read
    ):
        return None
    by = above.right
    thousand = isinstance(by, (cst.Integer, cst.Float)) and float(by.value.replace("_", "")) == 1000.0
    return above if thousand else None


def _follows(cx: Context, statement: cst.Expr, before: cst.Expr) -> bool:
    """Whether a statement stands right behind another one, on the same line or the next."""
    line, line_before = cx.parent(statement), cx.parent(before)
    if line is line_before and isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        row: list[cst.CSTNode] = list(line.body)
    else:
        block = cx.parent(line) if line is not None else None
        if not (isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1):
            return False
        row, statement, before = list(getattr(block, "body", ())), line, line_before  # type: ignore[assignment]
    place = next((i for i, s in enumerate(row) if s is statement), 0)
    return place > 0 and row[place - 1] is before


def _receiver(statement: cst.Expr) -> str:
    call = statement.value
    assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name)
    return call.func.value.value


def timings(cx: Context) -> list[Timing]:
    """All such patterns of a file. A variable that is used in any other way takes its whole group out."""
    variables: dict[tuple[int, str], Timing] = {}
    for use in [u for name in _EVENTS for u in cx.uses.of(name)]:
        call = cx.parent(use.node)
        if not isinstance(call, cst.Call) or call.func is not use.node or use.ambiguous:
            continue
        for target in _targets(cx, call):
            key = (id(cx.names.scope(target)), target.value)
            if key not in variables and (timing := _variable(cx, target)) is not None:
                variables[key] = timing
    return _groups(cx, variables)


def _targets(cx: Context, call: cst.Call) -> list[cst.Name]:
    """The plain names that an assignment of events binds."""
    statement = cx.index.statement(call)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0].target
    if isinstance(target, cst.Name) and statement.value is call:
        return [target]
    if isinstance(target, cst.Tuple) and isinstance(statement.value, cst.Tuple):
        names = [e.value for e in target.elements]
        if len(names) == len(statement.value.elements) and all(isinstance(n, cst.Name) for n in names):
            return [n for n in names if isinstance(n, cst.Name)]
    return []


def _variable(cx: Context, name: cst.Name) -> Timing | None:
    """Everything that happens to one variable, None when it is more than creating, recording and reading."""
    scope = cx.names.scope(name)
    if not isinstance(scope, (cst.FunctionDef, cst.Module)):
        return None
    found = Timing()
    for binding in cx.names.bindings(name.value, scope):
        if not _creation(cx, binding, found):
            return None
    uses = cx.names.uses(name.value, scope)
    if any(not _used(cx, use, found) for use in uses):
        return None
    return found if _in_order(cx, uses, found, scope) else None


def _in_order(cx: Context, uses: list[cst.Name], found: Timing, scope: cst.CSTNode) -> bool:
    """Whether a plain variable can take the place of the event: all uses in one function, and in a function inside the
    one that creates the event, recorded before it is read."""
    places = {id(cx.names.scope(use)) for use in uses}
    if len(places) > 1:
        return False
    if places <= {id(scope)}:
        return True
    first = min((cx.index.order(s) for s in found.recorded), default=None)
    return first is not None and all(first < cx.index.order(read) for read in found.reads)


def _creation(cx: Context, binding: Binding, found: Timing) -> bool:
    call = binding.value
    statement = cx.index.statement(binding.node)
    if not isinstance(call, cst.Call) or not isinstance(statement, cst.Assign):
        return False
    if cx.origin(call.func).names - _EVENTS or not cx.origin(call.func).names:
        return False
    values = statement.value.elements if isinstance(statement.value, cst.Tuple) else []
    if any(not isinstance(e.value, cst.Call) or cx.origin(e.value.func).name not in _EVENTS for e in values):
        return False
    found.events.append(call)
    if statement not in found.created:
        found.created.append(statement)
    return True


def _used(cx: Context, use: cst.Name, found: Timing) -> bool:
    attribute = cx.parent(use)
    if isinstance(attribute, cst.Arg):
        read = cx.parent(attribute)
        if not isinstance(read, cst.Call) or not _is_read(cx, read):
            return False
        found.reads.append(read)
        return True
    call = cx.parent(attribute) if isinstance(attribute, cst.Attribute) else None
    if not isinstance(attribute, cst.Attribute) or not isinstance(call, cst.Call) or call.func is not attribute:
        return False
    method = attribute.attr.value
    statement = cx.parent(call)
    if method in ("record", "synchronize") and isinstance(statement, cst.Expr) and not call.args:
        (found.recorded if method == "record" else found.waited).append(statement)
        return True
    if method == "elapsed_time" and _is_read(cx, call):
        found.reads.append(call)
        return True
    return False


def _is_read(cx: Context, call: cst.CSTNode | None) -> bool:
    return (
        isinstance(call, cst.Call)
        and isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "elapsed_time"
        and isinstance(call.func.value, cst.Name)
        and len(call.args) == 1
        and isinstance(call.args[0].value, cst.Name)
    )


def _groups(cx: Context, variables: dict[tuple[int, str], Timing]) -> list[Timing]:
    """Join variables that are read against each other or created together; a group stands only when all are known."""
    joined: dict[tuple[int, str], set[tuple[int, str]]] = {k: {k} for k in variables}
    broken: set[tuple[int, str]] = set()
    for key, timing in variables.items():
        names = {name for c in timing.created for name in _assigned(c)}
        for read in timing.reads:
            assert isinstance(read.func, cst.Attribute)
            names |= {cx.code(read.func.value), cx.code(read.args[0].value)}
        for name in names:
            other = (key[0], name)
            if other not in variables:
                broken.add(key)
                continue
            merged = joined[key] | joined[other]
            for member in merged:
                joined[member] = merged
    result: list[Timing] = []
    done: set[int] = set()
    for group in joined.values():
        if id(group) in done or group & broken:
            continue
        done.add(id(group))
        whole = _merge([variables[k] for k in variables if k in group])
        spelled = cx.spell("time.perf_counter", whole.events[0])[0]
        everything = all(variables[k].recorded for k in group)
        if whole.reads and everything and not spelled.startswith("__import__"):
            result.append(whole)
    return result


def _assigned(statement: cst.Assign) -> list[str]:
    target = statement.targets[0].target
    if isinstance(target, cst.Name):
        return [target.value]
    elements = target.elements if isinstance(target, cst.Tuple) else []
    return [e.value.value for e in elements if isinstance(e.value, cst.Name)]


def _merge(parts: list[Timing]) -> Timing:
    whole = Timing()
    for part in parts:
        for name in ("events", "created", "recorded", "waited", "reads"):
            into = getattr(whole, name)
            into += [n for n in getattr(part, name) if not any(n is m for m in into)]
    return whole
