"""TN402: the process group starts before anything touches the device."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeGuard

import libcst as cst

from transforms.engine.context import Context, PendingFix
from transforms.engine.index import below
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.moves import MoveStatement
from transforms.engine.transform import Transform
from transforms.flow.conditions import leaves
from transforms.flow.device_use import DeviceUse, device_uses
from transforms.flow.effects import Effects, blocks, effects, meet
from transforms.flow.groups import runs_on_host
from transforms.tables.distributed import INIT_CALLS

INIT_ORDER = Rule(
    code="TN402",
    name="init-order",
    summary="`init_process_group` comes first, then `set_device`",
    best=Safety.SAFE,
    argument=(
        "The two calls stand in one block with nothing between them that reads or writes what the moved "
        "statement writes "
        "or reads, calls a function of unknown effect or leaves the block: either order computes the same arguments. "
        "With such a call in between, or where one of them runs under a condition, the level is review."
    ),
    source="TorchNeuron documentation 2.33, distributed training: init_process_group, then set_device",
    why=(
        "The neuron process group gives each process its core, so it refuses to start once the runtime is up. "
        "CUDA scripts "
        "choose the device first, because NCCL wants it so."
    ),
    silent=(
        "Seeds, `is_available` and `device_count`, which do not start the runtime; groups on gloo; branches that end "
        "the function after they used the device; a device that is used first in another file."
    ),
    examples=(
        (
            "import torch\nimport torch.distributed as dist\n\n\ndef setup(rank):\n    torch.neuron.set_device(rank)\n"
            '    dist.init_process_group("neuron")\n',
            "import torch\nimport torch.distributed as dist\n\n\ndef setup(rank):\n"
            '    dist.init_process_group("neuron")\n    torch.neuron.set_device(rank)\n',
        ),
    ),
)

_ABOUT_DEVICE = re.compile(r"\b(devices?|gpus?|cuda)\b(?!.*\b(init|group|distributed|backend|nccl)\b)", re.I)


_Line = cst.BaseStatement | cst.SimpleStatementSuite
_LINES = (cst.BaseStatement, cst.SimpleStatementSuite)
_Move = tuple[PendingFix, Safety, list[tuple[cst.CSTNode, str]]]


@dataclass(frozen=True)
class _Start:
    """A call that starts the process group, by itself or through a function of this file."""

    call: cst.Call
    through: cst.Call | None


@dataclass(frozen=True)
class _Early:
    """A device use that runs before the start: both stand in statements of one block."""

    use: DeviceUse
    block: cst.CSTNode
    statement: _Line
    start: _Line


class InitOrder(Transform):
    """Moves `set_device` behind `init_process_group`, or the latter up, or says why neither is possible."""

    rules = (INIT_ORDER,)
    triggers = (b"init_process_group",)
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call: the group's start, and where functions that hold it are called."""
        assert isinstance(node, cst.Call)
        if node is cx.index.nodes(cst.Call)[0]:
            for start in cx.shared(_starts):
                _Order(cx, start).check()


def _starts(cx: Context) -> list[_Start]:
    """Calls that start the group, and calls of the functions of this file that do so."""
    calls = [c for c in cx.index.nodes(cst.Call) if cx.origin(c.func).names & INIT_CALLS]
    found = [_Start(c, None) for c in calls if not runs_on_host(cx, c)]
    holders: dict[int, cst.Call] = {}
    for start in found:
        function = cx.index.enclosing(start.call, cst.FunctionDef)
        if function is not None:
            holders.setdefault(id(function), start.call)
    seen: set[int] = set()
    while holders.keys() - seen:
        seen |= holders.keys()
        for call in cx.index.nodes(cst.Call):
            for function, _ in cx.devices.places.called(call):
                if id(function) in holders and all(s.call is not call for s in found):
                    found.append(_Start(call, holders[id(function)]))
                    around = cx.index.enclosing(call, cst.FunctionDef)
                    if around is not None:
                        holders.setdefault(id(around), holders[id(function)])
    return found


class _Order:
    """One start of the group and what comes before it in its function."""

    def __init__(self, cx: Context, start: _Start) -> None:
        self.cx = cx
        self.start = start

    def check(self) -> None:
        """Report when the device is used before."""
        early = self.early()
        if not early:
            self._at_import()
            return
        cx, first = self.cx, early[0]
        name = "init_process_group" if self.start.through is None else cx.code(self.start.call.func)
        evidence = [(first.use.node, f"{first.use.text} comes first")]
        if self.start.through is not None:
            evidence.append((self.start.through, "the process group starts here"))
        held = any(e.statement is e.start for e in early)
        moved = None if held else self._behind(early) or self._ahead(early)
        if moved is not None:
            fix, safety, why = moved
            for guess in self._guesses()[:2]:
                safety = safety.at_most(Safety.REVIEW)
                why = [*why, (guess.node, f"{guess.text} comes before as well, wherever it places")]
            cx.report(
                self.start.call.func, f"{name} runs before {first.use.text}", safety, fix=fix, evidence=evidence + why
            )
            return
        sure = any(e.use.sure for e in early)
        where = f"{name} has to run before the device is used ({first.use.text})"
        if any(_on_one_line(e.use.node, self.start.call, e.start, cx) for e in early if e.statement is e.start):
            message = f"{where}: the two stand on one line; put {name} first"
        elif any(e.statement is e.start for e in early):
            message = f"{where}; it runs inside of the statement that uses it"
        elif sure:
            message = f"{where}; what stands between forbids a plain move"
        else:
            message = f"{where}, if that places anything on the accelerator"
        cx.report(self.start.call.func, message, Safety.MANUAL, severity=ERROR if sure else WARNING, evidence=evidence)

    def _at_import(self) -> None:
        """Report a device use that runs when the module is imported, ahead of a start inside a function."""
        cx = self.cx
        if self.start.through is not None or cx.index.enclosing(self.start.call, cst.FunctionDef) is None:
            return
        if any(_Order(cx, s).early() for s in cx.shared(_starts) if s.through is not None):
            return  # said where the function is called
        called = [s.call for s in cx.shared(_starts) if cx.index.enclosing(s.call, cst.FunctionDef) is None]
        for use in device_uses(cx):
            if not use.sure or not cx.at_import_time(use.node):
                continue
            if any(cx.index.order(c) < cx.index.order(use.node) for c in called):
                continue
            message = f"{use.text} runs when this module is imported, before init_process_group can"
            cx.report(self.start.call.func, message, Safety.MANUAL, evidence=[(use.node, f"{use.text} comes first")])
            return

    def _guesses(self) -> list[DeviceUse]:
        """Placements before the start of which nothing says where they go."""
        return [e.use for e in self._before() if e.use.guess]

    def early(self) -> list[_Early]:
        """Device uses that surely run before the start whenever both run, in source order."""
        return [e for e in self._before() if not e.use.guess]

    def _before(self) -> list[_Early]:
        mine = {id(block): statement for block, statement in blocks(self.cx, self.start.call)}
        found = []
        starts = self.cx.shared(_starts)
        for use in device_uses(self.cx):
            if use.called and any(use.node is s.call for s in starts):
                continue  # the function holds the start as well: its own order is looked at there
            for block, statement in blocks(self.cx, use.node):
                here = mine.get(id(block))
                if here is None:
                    continue
                if self.cx.index.order(use.node) < self.cx.index.order(self.start.call) and (
                    here is not statement
                    or _on_one_line(use.node, self.start.call, statement, self.cx)
                    or _in_header(use.node, self.start.call, statement, self.cx)
                ):
                    if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
                        break
                    if here is not statement and _leaves(use.node, statement, self.cx):
                        break
                    assert isinstance(statement, _LINES) and isinstance(here, _LINES)
                    found.append(_Early(use, block, statement, here))
                break
        return sorted(found, key=lambda e: self.cx.index.order(e.use.node))

    # moves ------------------------------------------------------------------------------------------------------

    def _behind(self, early: list[_Early]) -> _Move | None:
        """Move the one statement that chooses the device behind the start."""
        cx, first = self.cx, early[0]
        if any(e.statement is not first.statement or not e.use.chooses for e in early):
            return None
        if not isinstance(first.statement, (cst.SimpleStatementLine, cst.If)) or self._needs_device():
            return None
        moved, between = effects(cx, first.statement), self._between(first)
        passed = effects(cx, *between, first.start)
        if moved.leaves or passed.leaves or meet(moved.writes, passed.reads | passed.writes):
            return None
        if meet(moved.reads, passed.writes) or self._rebound(moved):
            return None
        own = [e.use.node for e in early]
        if any(not any(c is o for o in own) for c in moved.calls):
            return None
        if not self._quiet_afterwards(passed, first.start):
            return None
        unknown = [c for c in passed.calls if c is not self.start.call]
        if self._may_change(first.statement, unknown):
            return None
        plain = isinstance(first.statement, cst.SimpleStatementLine) and self._stands_alone(first)
        safety = Safety.SAFE if plain and not unknown and self.start.through is None else Safety.REVIEW
        return self._fix(first, False, safety, unknown)

    def _ahead(self, early: list[_Early]) -> _Move | None:
        """Move the start in front of the first statement that uses the device."""
        cx, first = self.cx, early[0]
        last = max(early, key=lambda e: cx.index.order(e.start))
        if self.start.through is not None or not self._stands_alone(first) or last.block is not first.block:
            return None
        if self._needs_device():
            return None
        moved = effects(cx, first.start)
        passed = effects(cx, first.statement, *self._between(first))
        own = [e.use.node for e in early if not e.use.called]
        if any(not any(c is o for o in own) for c in passed.calls) or len(moved.calls) > 1:
            return None
        if moved.writes or passed.leaves or meet(moved.reads, passed.writes) or meet({"os.environ"}, passed.writes):
            return None
        return self._fix(first, True, Safety.REVIEW, [])

    def _may_change(self, moved: cst.CSTNode, calls: list[cst.Call]) -> bool:
        """Whether a call may change an object whose parts the moved statement reads (`setup(args)`, `args.gpu`)."""
        cx = self.cx
        through = [self.start.call] if self.start.through is not None else []
        for holder, part in _parts_read(cx, moved):
            shared = isinstance(cx.names.binding_scope(holder.value, cx.names.scope(holder)), cst.Module)
            for call in [*calls, *through]:
                if cx.origin(call.func).name.startswith("torch."):
                    continue
                known = [f for f, _ in cx.devices.places.called(call)]
                if any(call is t for t in through) and known and not any(_writes_part(cx, f, part) for f in known):
                    continue
                if (shared and not cx.origin(call.func).names) or _mentions(cx, call, holder.value):
                    return True
        return False

    def _quiet_afterwards(self, passed: Effects, last: _Line) -> bool:
        """Whether only torch.distributed is called between the start and the new place of the moved statement."""
        cx = self.cx
        calls = [c for c in passed.calls if cx.index.order(c) > cx.index.order(self.start.call)]
        if self.start.through is not None:
            if not isinstance(last, cst.SimpleStatementLine):
                return False
            function = cx.index.enclosing(self.start.through, cst.FunctionDef)
            inside = effects(cx, function.body).calls if function is not None else []
            if all(c is not self.start.through for c in inside):
                return False
            calls += inside
        return all(cx.origin(c.func).name.startswith("torch.distributed.") for c in calls)

    def _needs_device(self) -> bool:
        """Whether an argument of the start uses the device; those that are dropped do not count."""
        for use in device_uses(self.cx):
            child: cst.CSTNode = use.node
            for above in self.cx.index.ancestors(use.node):
                if above is self.start.call:
                    keyword = child.keyword.value if isinstance(child, cst.Arg) and child.keyword else ""
                    if keyword not in ("device_id", "pg_options"):
                        return True
                child = above
        return False

    def _fix(self, early: _Early, ahead: bool, safety: Safety, unknown: list[cst.Call]) -> _Move | None:
        if not (_alone(early.statement) and _alone(early.start)):
            return None
        cx = self.cx
        if ahead:
            change = MoveStatement(early.start, early.statement, before=True)
            return cx.fix("the process group starts before the device is used", change), safety, []
        change = MoveStatement(early.statement, early.start, comment=_ABOUT_DEVICE)
        why: list[tuple[cst.CSTNode, str]] = [(c, f"{cx.code(c.func)}() runs in between") for c in unknown[:2]]
        return cx.fix("the device is chosen once the process group runs", change), safety, why

    def _between(self, early: _Early) -> list[cst.BaseStatement]:
        body = list(early.block.body)  # type: ignore[attr-defined]
        places = [next(i for i, s in enumerate(body) if s is n) for n in (early.statement, early.start)]
        return body[places[0] + 1 : places[1]]

    def _stands_alone(self, early: _Early) -> bool:
        """Whether the start is a simple statement of the block itself, not under a further condition."""
        line = early.start
        return (
            isinstance(line, cst.SimpleStatementLine)
            and isinstance(line.body[0], cst.Expr)
            and (line.body[0].value is self.start.call)
        )

    def _rebound(self, moved: Effects) -> bool:
        """Whether some function of the file may rebind a name that the moved statement reads."""
        names = {n.split(".")[0] for n in moved.reads}
        return any(self.cx.names.occurrences(n).declared for n in names)


def _parts_read(cx: Context, statement: cst.CSTNode) -> list[tuple[cst.Name, str]]:
    """Objects of which a statement reads an attribute or an item, with the attribute's name (empty for an item)."""
    found = []
    for node in below(statement):
        if not isinstance(node, (cst.Attribute, cst.Subscript)):
            continue
        inner: cst.CSTNode = node.value
        while isinstance(inner, (cst.Attribute, cst.Subscript)):
            inner = inner.value
        if isinstance(inner, cst.Name) and not cx.origin(inner).names:
            found.append((inner, node.attr.value if isinstance(node, cst.Attribute) else ""))
    return found


def _writes_part(cx: Context, function: cst.CSTNode, part: str) -> bool:
    """Whether a function may set an attribute of this name, or any item."""
    if not isinstance(function, cst.FunctionDef):
        return True
    inside = effects(cx, function.body)
    written = any(w.rpartition(".")[2] == part for w in inside.writes) or not part
    return written or any(not cx.origin(c.func).names and not cx.devices.places.called(c) for c in inside.calls)


def _mentions(cx: Context, call: cst.Call, name: str) -> bool:
    """Whether a call is given a variable, or is made on it."""
    return any(a is call for n in cx.index.names.get(name, []) for a in cx.index.ancestors(n))


def _leaves(node: cst.CSTNode, statement: cst.CSTNode, cx: Context) -> bool:
    """Whether a branch inside of `statement` runs a node and then ends the function."""
    left = False
    for above in cx.index.ancestors(node):
        if above is statement:
            return left and not isinstance(above, cst.Try)
        if isinstance(above, cst.Try):
            return False
        if isinstance(above, cst.BaseSuite):
            left = left or leaves(above, cx, loops=False)
    return False


def _on_one_line(some: cst.CSTNode, other: cst.CSTNode, line: cst.CSTNode, cx: Context) -> bool:
    """Whether two nodes of a line stand in different statements."""
    several = isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
    return several and cx.index.statement(some) is not cx.index.statement(other)


def _in_header(some: cst.CSTNode, other: cst.CSTNode, statement: cst.CSTNode, cx: Context) -> bool:
    """Whether a compound statement runs one node in its header (`with torch.cuda.device(0):`), the other in a block."""
    if not isinstance(statement, (cst.With, cst.If, cst.While, cst.For)):
        return False

    def inside(node: cst.CSTNode) -> bool:
        above = cx.index.enclosing(node, cst.IndentedBlock, cst.SimpleStatementSuite)
        return any(a is statement for a in cx.index.ancestors(above)) if above is not None else False

    return inside(other) and not inside(some)


def _alone(statement: _Line) -> TypeGuard[cst.BaseStatement]:
    """Whether a statement shares its lines with no other one."""
    return isinstance(statement, cst.BaseStatement) and (
        not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) == 1
    )
