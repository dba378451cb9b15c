"""What a statement reads, writes and calls: enough to say whether two statements may change places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.index import children
from transforms.engine.names import dotted_name

if TYPE_CHECKING:
    from transforms.engine.context import Context

_LEAVING = (cst.Return, cst.Break, cst.Continue, cst.Yield, cst.Await)
_STORES = ("os.environ",)

HARMLESS = frozenset(
    [
        "torch.manual_seed",
        "torch.cuda.manual_seed_all",
        "random.seed",
        "numpy.random.seed",
        "builtins.print",
        "builtins.str",
        "builtins.int",
        "builtins.float",
        "builtins.bool",
        "builtins.len",
        "builtins.isinstance",
        "builtins.hasattr",
        "builtins.range",
        "builtins.max",
        "builtins.min",
        "builtins.repr",
        "builtins.tuple",
        "builtins.dict",
        "builtins.list",
        "os.environ.get",
        "os.getenv",
        "os.path.join",
        "os.getpid",
        "datetime.timedelta",
        "datetime.datetime.now",
        "time.time",
        "torch.device",
        "torch.cuda.is_available",
        "torch.cuda.device_count",
        "torch.neuron.is_available",
        "torch.neuron.device_count",
        "torch.distributed.is_available",
        "torch.distributed.is_initialized",
        "torch.distributed.is_nccl_available",
        "torch.distributed.is_backend_available",
        "logging.info",
        "logging.getLogger",
        "logging.warning",
        "warnings.warn",
    ]
)
"""Functions that change nothing and start no device runtime."""

_SPEAKING = ("logging.", "warnings.", "builtins.print", "random.seed", "numpy.random.seed", "torch.manual_seed")
_READING = frozenset(
    [
        "builtins.getattr",
        "builtins.sum",
        "builtins.abs",
        "builtins.round",
        "builtins.sorted",
        "builtins.set",
        "torch.cuda.current_device",
        "torch.neuron.current_device",
        "torch.distributed.get_rank",
        "torch.distributed.get_world_size",
    ]
)
"""Functions that only read, although they may need the device or the group."""

_TEXT_METHODS = frozenset(["format", "split", "lower", "upper", "strip", "startswith", "endswith", "join", "replace"])
_LOG_METHODS = frozenset(["info", "debug", "warning", "error"])


@dataclass
class Effects:
    """Names read and written (dotted, `args.rank`), calls of unknown effect, and whether control may leave."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    calls: list[cst.Call] = field(default_factory=list)
    leaves: bool = False

    def add(self, other: Effects) -> None:
        """Join the effects of a further statement."""
        self.reads |= other.reads
        self.writes |= other.writes
        self.calls += other.calls
        self.leaves = self.leaves or other.leaves


def meet(some: set[str], others: set[str]) -> str:
    """A name that occurs in both sets, or whose part does (`args` and `args.rank`); empty when there is none."""
    for name in sorted(some):
        for other in others:
            if name == other or name.startswith(other + ".") or other.startswith(name + "."):
                return name
    return ""


def effects(cx: Context, *nodes: cst.CSTNode) -> Effects:
    """The effects of some code, those of functions that it calls left out (see `Effects.calls`)."""
    found = Effects()
    for node in nodes:
        _Reader(cx, found).look(node)
    return found


def side_effects(cx: Context, value: cst.CSTNode) -> list[tuple[cst.CSTNode, str]]:
    """Parts of an expression that may do more than compute its value, so that it is not left out for sure."""
    found: list[tuple[cst.CSTNode, str]] = []
    stack = [value]
    while stack:
        node = stack.pop()
        stack += children(node)
        if isinstance(node, (cst.Await, cst.NamedExpr, cst.Yield)):
            found.append((node, f"{cx.code(node)} is no longer evaluated"))
        elif isinstance(node, cst.Call):
            name = cx.origin(node.func).name
            text = isinstance(node.func, cst.Attribute) and node.func.attr.value in _TEXT_METHODS and not name
            seeds = name.startswith(_SPEAKING) or name == "torch.cuda.manual_seed_all"
            if not text and (seeds or name not in HARMLESS | _READING):
                found.append((node, f"the call {cx.code(node.func)}() goes with it"))
    return found


class _Reader:
    def __init__(self, cx: Context, found: Effects) -> None:
        self.cx = cx
        self.found = found

    def look(self, node: cst.CSTNode) -> None:
        if isinstance(node, _LEAVING):
            self.found.leaves = True
        if isinstance(node, cst.Annotation):
            return
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self.found.writes.add(node.name.value)
            return
        if isinstance(node, (cst.Name, cst.Attribute)):
            self._chain(node)
            return
        if isinstance(node, (cst.ImportAlias, cst.AsName)):
            bound = node.name if isinstance(node, cst.AsName) else None
            if isinstance(bound, cst.Name):
                self.found.writes.add(bound.value)
            elif isinstance(node, cst.ImportAlias):
                self.found.writes.add(dotted_name(node.asname.name if node.asname else node.name).split(".")[0])
            return
        if isinstance(node, cst.Call):
            self._call(node)
            return
        if isinstance(node, cst.Subscript) and self._is_target(node):
            self._written(node.value)
        for child in children(node):
            if isinstance(node, cst.Arg) and child is node.keyword:
                continue
            if isinstance(node, (cst.ImportFrom, cst.LazyImportFrom)) and child is node.module:
                continue
            self.look(child)

    def _chain(self, node: cst.Name | cst.Attribute) -> None:
        name = dotted_name(node)
        if not name:
            assert isinstance(node, cst.Attribute)
            self.look(node.value)
            return
        if self._is_target(node):
            self._written(node)
            if not isinstance(self.cx.parent(node), cst.AugAssign):
                return
        self.found.reads.add(name)

    def _written(self, node: cst.CSTNode) -> None:
        name = dotted_name(node)
        if self.cx.origin(node).name in _STORES:
            name = self.cx.origin(node).name
        if name:
            self.found.writes.add(name)

    def _is_target(self, node: cst.CSTNode) -> bool:
        here: cst.CSTNode = node
        above = self.cx.parent(here)
        while isinstance(above, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
            here, above = above, self.cx.parent(above)
        if isinstance(above, (cst.AssignTarget, cst.Del)):
            return True
        return isinstance(above, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)) and (
            above.target is here
        )

    def _call(self, call: cst.Call) -> None:
        name = self.cx.origin(call.func).name
        if isinstance(call.func, cst.Attribute):
            self.look(call.func.value)
        elif isinstance(call.func, cst.Name):
            self.found.reads.add(call.func.value)
        else:
            self.look(call.func)
        for arg in call.args:
            self.look(arg)
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if name in HARMLESS or (method in _TEXT_METHODS and not name):
            return
        if method in _LOG_METHODS and "log" in dotted_name(call.func).lower():
            return
        self.found.calls.append(call)


def blocks(cx: Context, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """For each block around `node`, inside out up to its function: the block, and the statement in it that holds it."""
    here = node
    for above in cx.index.ancestors(node):
        if isinstance(above, (cst.IndentedBlock, cst.Module)):
            yield above, here
        elif isinstance(above, cst.SimpleStatementSuite):
            yield above, above  # its statements share a line, as they may elsewhere
        if isinstance(above, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            return
        here = above
