"""Mixed precision in one file: every use of autocast, GradScaler, custom_fwd and custom_bwd, whatever its name there.

A use can be reached through `torch.cuda.amp`, an alias of that module, an imported name, or a variable that holds the
function. Where all uses of a local name can change together the name is kept and only what it stands for moves to
torch.amp; otherwise each use is written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.arguments import find_argument
from transforms.engine.changes import Change, Replace
from transforms.engine.model import Move, Safety
from transforms.engine.names import Binding, Origin
from transforms.flow.keyword_calls import by_keyword, imported_elsewhere, seen_by_keyword
from transforms.tables.amp import CUDA_AMP, FUNCTIONS, SPELLED

if TYPE_CHECKING:
    from transforms.engine.context import Context

_PASSING = (cst.IfExp, cst.BooleanOperation, cst.Assign, cst.AnnAssign, cst.Arg, cst.Return, cst.Param, cst.DictElement)
_IMPORTS = (cst.Import, cst.ImportFrom, cst.LazyImport, cst.LazyImportFrom, cst.ImportAlias, cst.AsName)


@dataclass(frozen=True, eq=False)
class Use:
    """One use of a function. `kind`: call, partial, decorator, type, base, alias (stored in a variable) or value.

    `cuda` says that the signature is that of torch.cuda.amp, which takes no device.
    """

    node: cst.Name | cst.Attribute
    function: str
    kind: str
    holder: cst.CSTNode | None
    origin: Origin
    cuda: bool

    @property
    def call(self) -> cst.Call | None:
        """The call that gives the arguments, functools.partial included."""
        return self.holder if isinstance(self.holder, cst.Call) and self.kind in ("call", "partial") else None

    @property
    def arguments(self) -> list[cst.Arg]:
        """The arguments for the function itself."""
        if self.call is None:
            return []
        return list(self.call.args[1:] if self.kind == "partial" else self.call.args)

    def argument(self, name: str, positions: tuple[str, ...]) -> cst.Arg | None:
        """The argument given for a parameter."""
        if self.call is None:
            return None
        place = positions.index(name) + (self.kind == "partial")
        return find_argument(self.call, name, place)

    @property
    def best(self) -> Safety:
        """The most that can be said of a change: `safe` unless the name may stand for something else."""
        return Safety.REVIEW if self.origin.ambiguous else Safety.SAFE


@dataclass(frozen=True)
class Renaming:
    """How a use gets to torch.amp: changes at the place, imports they need, names that keep their local spelling."""

    changes: tuple[Change, ...] = ()
    requests: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    group: str = ""


@dataclass(eq=False)
class AmpUses:
    """All uses in a file, in source order."""

    cx: Context
    uses: list[Use] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._known: dict[int, Use] = {}
        self._roots: dict[int, Use] = {}
        self._aliases: dict[int, bool] = {}
        work = list(self._spelled())
        while work:
            node = work.pop()
            use = self._use(node)
            if use is None or id(use.node) in self._known:
                continue
            self._known[id(use.node)] = use
            self._roots[id(root_of(use.node))] = use
            if use.kind == "alias" and (target := self._target(use)) is not None:
                work += self.cx.names.uses(target.value, self.cx.names.scope(target))
        self.uses = sorted(self._known.values(), key=lambda u: self.cx.index.order(u.node))

    def of(self, *functions: str) -> list[Use]:
        """Uses of some functions."""
        return [u for u in self.uses if u.function in functions]

    # finding ----------------------------------------------------------------------------------------------------

    def _spelled(self) -> Iterator[cst.CSTNode]:
        """Nodes that are spelled like one of the functions, and uses of names that one is imported as."""
        names = self.cx.names
        for spelling in sorted(set(FUNCTIONS.values())):
            for node in self.cx.index.names.get(spelling, []):
                above = self.cx.parent(node)
                if isinstance(above, cst.Attribute) and above.attr is node:
                    yield above
            yield from (n for n, _ in names.occurrences(spelling).uses if spelling in self.cx.index.names)
        for alias in self.cx.index.nodes(cst.ImportAlias):
            bound = alias.asname.name if alias.asname is not None else None
            if isinstance(bound, cst.Name) and names.imported_name(alias) in FUNCTIONS:
                yield from names.uses(bound.value, names.scope(bound))

    def _use(self, node: cst.CSTNode) -> Use | None:
        if not isinstance(node, (cst.Name, cst.Attribute)) or isinstance(self.cx.parent(node), _IMPORTS):
            return None
        origin = self.cx.origin(node)
        found = sorted(n for n in origin.names if n in FUNCTIONS)
        if not found:
            return None
        kind, holder = self._kind(node)
        cuda = [n for n in found if n in CUDA_AMP]
        generic = len(cuda) < len(found)
        return Use(node, FUNCTIONS[found[0]], kind, holder, origin, bool(cuda) and not (generic and self._second(node)))

    def _second(self, node: cst.CSTNode) -> bool:
        """Whether torch.cuda.amp is only the second choice of an import that prefers torch.amp."""
        found = [b for b in self._bindings(node) if b.imported in CUDA_AMP]
        return bool(found) and all(self.is_second(b) for b in found)  # names of star imports have no binding

    def is_second(self, binding: Binding) -> bool:
        """Whether an import stands in the `except` or `else` arm of a choice."""
        return self.cx.index.enclosing(binding.node, cst.ExceptHandler, cst.Else) is not None

    def _kind(self, node: cst.CSTNode) -> tuple[str, cst.CSTNode | None]:
        above = self.cx.parent(node)
        if isinstance(above, cst.Call) and above.func is node:
            return "call", above
        if isinstance(above, cst.Decorator):
            return "decorator", above
        if isinstance(above, cst.Arg):
            call = self.cx.parent(above)
            if isinstance(call, cst.ClassDef):
                return "base", call
            first = isinstance(call, cst.Call) and call.args[0] is above and not above.star and above.keyword is None
            if isinstance(call, cst.Call) and first and self.cx.origin(call.func).name == "functools.partial":
                return "partial", call
        if self.cx.is_type(node):
            return "type", above
        if isinstance(above, cst.Assign) and above.value is node and len(above.targets) == 1:
            return "alias", above
        return "value", above

    # local names ------------------------------------------------------------------------------------------------

    def renaming(self, use: Use) -> Renaming:
        """How a use of torch.cuda.amp becomes one of torch.amp. Nothing for a use that is there already."""
        if not use.cuda:
            return Renaming()
        bindings = self._bindings(use.node)
        if bindings and self._kept(bindings):
            first = bindings[0]
            moves = tuple(
                Move(b.name, b.imported, CUDA_AMP[b.imported], self.cx.index.order(b.node))
                for b in bindings
                if b.kind == "import"
            )
            return Renaming(moves=moves, group=f"amp {first.name} {self.cx.index.order(first.node)}")
        text, requests = self.cx.spell(SPELLED[use.function], use.node)
        return Renaming((Replace(use.node, text),), tuple(requests))

    def _bindings(self, node: cst.CSTNode) -> list[Binding]:
        """Places where the local name of a use gets its meaning: imports from torch.cuda.amp, or a stored function."""
        root = root_of(node)
        if root is None:
            return []
        found = self.cx.names.bindings(root.value, self.cx.names.scope(root))
        return [b for b in found if b.imported in CUDA_AMP or (b.kind == "assign" and self._stores(b))]

    def _stores(self, binding: Binding) -> bool:
        return binding.value is not None and any(n in CUDA_AMP for n in self.cx.origin(binding.value).names)

    def _is_module(self, binding: Binding) -> bool:
        """Whether a variable holds torch.cuda.amp itself."""
        return binding.value is not None and self.cx.origin(binding.value).name == "torch.cuda.amp"

    def _kept(self, bindings: list[Binding]) -> bool:
        """Whether a local name can stay: every use of it is understood, and no other file imports it from here."""
        name, scope = bindings[0].name, bindings[0].scope
        if isinstance(scope, cst.Module) and imported_elsewhere(self.cx, name):
            return False
        if any(b.kind == "assign" and id(b.value) not in self._known and not self._is_module(b) for b in bindings):
            return False
        uses = self.cx.names.uses(name, scope)
        return all((use := self._roots.get(id(n))) is not None and self.editable(use) for n in uses)

    def editable(self, use: Use) -> bool:
        """Whether a use can be written for torch.amp."""
        if not use.cuda:
            return False
        if use.kind in ("alias", "value"):
            return self.binds(use) or (use.kind == "alias" and self.alias(use))
        if use.function == "autocast":
            if use.kind == "partial" and not seen_by_keyword(self.cx, use.call):
                return False
            return use.kind in ("call", "partial") and not any(a.star == "*" for a in use.arguments)
        if use.function == "GradScaler":
            return use.kind in ("call", "partial", "type")
        return use.kind in ("call", "decorator")

    def binds(self, use: Use) -> bool:
        """Whether the function is passed on, so that functools.partial has to bind the device before that."""
        if not use.cuda or use.function == "GradScaler":
            return False
        if use.kind == "alias":
            return use.function != "autocast" or (not self.alias(use) and by_keyword(self.cx, use.node))
        if use.kind != "value" or not isinstance(use.holder, _PASSING):
            return False
        call = self.cx.parent(use.holder) if isinstance(use.holder, cst.Arg) else None
        if isinstance(call, cst.Call) and self.cx.origin(call.func).name.startswith("builtins."):
            return False
        return use.function != "autocast" or by_keyword(self.cx, use.node)

    def stored(self, use: Use) -> bool:
        """Whether a use reads a variable whose stored function has its device bound, and needs no change itself."""
        if not use.cuda or not isinstance(use.node, cst.Name):
            return False
        found = [b for b in self._bindings(use.node) if b.kind == "assign"]
        values = [self._known.get(id(b.value)) for b in found]
        return bool(found) and len(found) == len(self._bindings(use.node)) and all(v and self.binds(v) for v in values)

    def bound(self, use: Use, *given: str) -> tuple[str, tuple[str, ...]]:
        """The function with arguments bound by functools.partial, and the imports that this takes."""
        renaming = self.renaming(use)
        name, requests = self.cx.code(use.node), renaming.requests
        if renaming.changes:
            name, spelled = self.cx.spell(SPELLED[use.function], use.node)
            requests = tuple(spelled)
        partial, more = self._partial(use.node)
        return f"{partial}({', '.join([name, *given])})", (*more, *requests)

    def _partial(self, at: cst.CSTNode) -> tuple[str, list[str]]:
        """How functools.partial is written at a place."""
        scope = self.cx.names.scope(at)
        for local, qualified in (("partial", "functools.partial"), ("functools", "functools")):
            found = self.cx.origin_of(local, scope)
            if found.name == qualified and not found.ambiguous:
                return ("partial" if local == "partial" else "functools.partial"), []
        return "functools.partial", ["import functools"]

    def alias(self, use: Use) -> bool:
        """Whether a variable that holds the function can go on holding it: all that is done with it is understood."""
        known = self._aliases.get(id(use.node))
        if known is None:
            self._aliases[id(use.node)] = False
            target = self._target(use)
            bindings = self._bindings(target) if target is not None else []
            own = len(bindings) == 1 and not isinstance(bindings[0].scope, cst.ClassDef)
            known = self._aliases[id(use.node)] = own and self._kept(bindings)
        return known

    def alias_group(self, use: Use) -> str:
        """The group of the uses of the variable that holds the function."""
        target = self._target(use)
        assert target is not None
        first = self._bindings(target)[0]
        return f"amp {first.name} {self.cx.index.order(first.node)}"

    def _target(self, use: Use) -> cst.Name | None:
        assert isinstance(use.holder, cst.Assign)
        target = use.holder.targets[0].target
        return target if isinstance(target, cst.Name) else None


def root_of(node: cst.CSTNode) -> cst.Name | None:
    """The leftmost name of a dotted chain."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node if isinstance(node, cst.Name) else None


def is_constant(node: cst.CSTNode, name: str) -> bool:
    """Whether an expression is `None`, `True` or `False`."""
    return isinstance(node, cst.Name) and node.value == name
