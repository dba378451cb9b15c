"""One walk over a LibCST tree: parents, nodes by class, and identifiers by spelling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from typing import TypeVar

import libcst as cst

N = TypeVar("N", bound=cst.CSTNode)

_PUNCTUATION = frozenset(
    (
        *("leading_lines", "lines_after_decorators", "trailing_whitespace", "header", "footer", "indent", "encoding"),
        *("default_indent", "default_newline", "has_trailing_newline", "lpar", "rpar", "lbracket", "rbracket"),
        *("lbrace", "rbrace", "comma", "semicolon", "colon", "dot", "equal", "operator", "start", "end", "relative"),
        *("asynchronous", "first_colon", "second_colon", "separator", "trailing_comma"),
    )
)
"""Fields that hold no name, string or expression: skipping them makes the walk four times cheaper."""

_fields_of: dict[type, tuple[str, ...]] = {}


class _Kinds(dict[type, bool]):
    """Whether a class is one of nodes. A look-up: `isinstance` of an abstract class costs five times as much."""

    def __missing__(self, kind: type) -> bool:
        found = self[kind] = issubclass(kind, cst.CSTNode)
        return found


_IS_NODE = _Kinds()


def child_fields(kind: type) -> tuple[str, ...]:
    """The fields of a node class that can hold code."""
    known = _fields_of.get(kind)
    if known is None:
        known = tuple(
            f.name for f in fields(kind) if f.name not in _PUNCTUATION and not f.name.startswith("whitespace")
        )
        _fields_of[kind] = known
    return known


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Children of a node that hold code, in the order of their fields."""
    for name in child_fields(type(node)):
        value = getattr(node, name)
        if _IS_NODE[value.__class__]:
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if _IS_NODE[item.__class__]:
                    yield item


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all nodes in it that hold code."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack += children(here)


class Index:
    """What one walk over the tree leaves behind. Nodes are keyed by identity; the tree must outlive the index."""

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self.by_type: dict[type, list[cst.CSTNode]] = defaultdict(list)
        self.names: dict[str, list[cst.Name]] = defaultdict(list)
        self._parent: dict[int, cst.CSTNode] = {}
        self._order: dict[int, int] = {}
        parent, by_type, names, order = self._parent, self.by_type, self.names, self._order
        stack: list[cst.CSTNode] = [module]
        is_node = _IS_NODE
        name_class = cst.Name
        while stack:
            node = stack.pop()
            kind = type(node)
            by_type[kind].append(node)
            order[id(node)] = len(order)
            if kind is name_class:
                names[node.value].append(node)  # type: ignore[attr-defined,arg-type]
                continue
            first = len(stack)
            for name in child_fields(kind):
                value = getattr(node, name)
                if is_node[value.__class__]:
                    parent[id(value)] = node
                    stack.append(value)
                elif value.__class__ is tuple or value.__class__ is list:
                    for item in value:
                        if is_node[item.__class__]:
                            parent[id(item)] = node
                            stack.append(item)
            if len(stack) - first > 1:
                stack[first:] = stack[: first - 1 if first else None : -1]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds `node`, None for the module."""
        return self._parent.get(id(node))

    def order(self, node: cst.CSTNode) -> int:
        """Rank of a node in the walk: parents before children, and earlier code before later code."""
        return self._order[id(node)]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Parents from the inside out."""
        above = self._parent.get(id(node))
        while above is not None:
            yield above
            above = self._parent.get(id(above))

    def enclosing(self, node: cst.CSTNode, *kinds: type[N]) -> N | None:
        """The nearest ancestor of one of the given classes."""
        for above in self.ancestors(node):
            if isinstance(above, kinds):
                return above
        return None

    def nodes(self, kind: type[N]) -> list[N]:
        """All nodes of exactly this class, in source order."""
        return self.by_type.get(kind, [])  # type: ignore[return-value]

    def statement(self, node: cst.CSTNode) -> cst.BaseSmallStatement | cst.BaseCompoundStatement | cst.Module:
        """The innermost statement that holds `node` (the node itself when it is one), or the module."""
        if isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return node
        for above in self.ancestors(node):
            if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return above
        return self.module
