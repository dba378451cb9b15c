"""Uses of torch's names in one file: the maximal name chains, each with all that it can stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.names import Origin, dotted_name

if TYPE_CHECKING:
    from transforms.engine.context import Context


@dataclass(frozen=True, eq=False)
class Use:
    """One name chain that is read, called or written to.

    `name` is its qualified name (one candidate of `origin`). `aliased`: the chain starts at a variable that was
    assigned from torch, and does not spell out what comes from there: a change of the assigned value changes the use.
    """

    node: cst.BaseExpression
    name: str
    origin: Origin
    aliased: bool

    @property
    def ambiguous(self) -> bool:
        """Whether the chain may be something else."""
        return self.origin.ambiguous


class Uses:
    """All chains of one file that can start at torch."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self._found: dict[str, list[Use]] = {}
        for use in sorted(self._collect(), key=lambda u: cx.index.order(u.node)):
            self._found.setdefault(use.name, []).append(use)

    def of(self, name: str) -> list[Use]:
        """Uses of exactly this qualified name, in source order."""
        return self._found.get(name, [])

    def under(self, *prefixes: str) -> list[Use]:
        """Uses of these names and of everything below them, in source order."""
        found = [
            use
            for name, uses in self._found.items()
            if any(name == p or name.startswith(p + ".") for p in prefixes)
            for use in uses
        ]
        return sorted(found, key=lambda u: self.cx.index.order(u.node))

    def _collect(self) -> Iterator[Use]:
        names, index = self.cx.names, self.cx.index
        for root, assigned in self._roots().items():
            for node, _ in names.occurrences(root).uses:
                chain = self._chain(node)
                origin = self.cx.origin(chain)
                for name in origin.names:
                    if name.split(".")[0] == "torch":
                        yield Use(chain, name, origin, assigned and self._hides(node, name, chain))
        if any(star.split(".")[0] == "torch" for star in names.stars):
            for spelling in index.names:
                for node, scope in names.occurrences(spelling).uses:
                    if not names.bindings(spelling, scope):
                        chain = self._chain(node)
                        origin = self.cx.origin(chain)
                        for name in origin.names:
                            if name.split(".")[0] == "torch":
                                yield Use(chain, name, origin, False)

    def _roots(self) -> dict[str, bool]:
        """Identifiers that can hold torch or something of it, and whether a plain assignment gives it to them."""
        roots: dict[str, bool] = {}
        for alias in self.cx.index.nodes(cst.ImportAlias):
            if self.cx.names.imported_name(alias).split(".")[0] == "torch":
                bound: cst.CSTNode = alias.asname.name if alias.asname is not None else alias.name
                while isinstance(bound, cst.Attribute):
                    bound = bound.value
                if isinstance(bound, cst.Name):
                    roots[bound.value] = False
        for node in self.cx.index.nodes(cst.Assign):
            if self.cx.names.module_of_call(node.value).split(".")[0] == "torch":
                roots.update({t.target.value: False for t in node.targets if isinstance(t.target, cst.Name)})
        for _ in range(2):
            for node in self.cx.index.nodes(cst.Assign):
                first = dotted_name(node.value).partition(".")[0]
                if first in roots:
                    for target in node.targets:
                        if isinstance(target.target, cst.Name) and target.target.value != first:
                            roots[target.target.value] = True
        return roots

    def _chain(self, node: cst.BaseExpression) -> cst.BaseExpression:
        top = node
        above = self.cx.parent(top)
        while isinstance(above, cst.Attribute) and above.value is top:
            top, above = above, self.cx.parent(above)
        return top

    def _hides(self, root: cst.Name, name: str, chain: cst.BaseExpression) -> bool:
        """Whether the root variable was assigned something below torch, so that the chain does not spell it out."""
        bindings = self.cx.names.bindings(root.value, self.cx.names.scope(root))
        if all(b.kind == "import" for b in bindings):
            return False
        written = dotted_name(chain).count(".")
        return name.count(".") > written
