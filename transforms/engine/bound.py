"""Whether a name has its value when code runs: bindings under conditions, in arms of a choice, in functions."""

from __future__ import annotations

import libcst as cst

from transforms.engine.index import Index, below
from transforms.engine.names import Binding, Names


def runs_at_once(names: Names, node: cst.CSTNode) -> bool:
    """Whether a node runs where it stands in the module, not when a function is called."""
    scope = names.scope(node)
    while not isinstance(scope, (cst.Module, cst.FunctionDef, cst.Lambda)):
        scope = names.scope(scope)
    return isinstance(scope, cst.Module)


def surely_bound(names: Names, name: str, at: cst.CSTNode) -> bool:
    """Whether something has surely given a name its value when the code at a place runs."""
    index = names.index
    for binding in names.bindings(name, names.scope(at)):
        tests = [a.test for a in index.ancestors(binding.node) if isinstance(a, cst.If)]
        if any(index.module.code_for_node(t).endswith("TYPE_CHECKING") for t in tests):
            continue
        later = isinstance(binding.scope, cst.Module) and not runs_at_once(names, at)
        ahead = later or index.order(binding.node) < index.order(at)
        if ahead and not _only_sometimes(names, binding, at):
            return True
    return False


def declared_behind(names: Names, name: str, at: cst.CSTNode) -> bool:
    """Whether a `global` or `nonlocal` statement behind a place forbids the name in front of it."""
    index, scope = names.index, names.scope(at)
    items = [n for n in index.names.get(name, []) if isinstance(index.parent(n), cst.NameItem)]
    return any(names.scope(n) is scope and index.order(n) > index.order(at) for n in items)


def _only_sometimes(names: Names, binding: Binding, at: cst.CSTNode) -> bool:
    """Whether a binding stands under a condition under which the code at a place, and what it uses, does not stand."""
    held = {id(a) for a in names.index.ancestors(at)}
    conditions = [id(c) for c in _conditions(names.index, binding) if id(c) not in held]
    package = binding.imported.split(".")[0]
    for name in below(at) if conditions else ():
        if not isinstance(name, cst.Name):
            continue
        known = names.bindings(name.value, names.scope(name))
        needed = [b for b in known if b.imported and b.imported.split(".")[0] == package]
        around = [{id(c) for c in _conditions(names.index, b)} for b in needed]
        if around and all(c in each for c in conditions for each in around):
            return False  # the code uses a name that is imported under the same condition
    return bool(conditions)


def _conditions(index: Index, binding: Binding) -> list[cst.CSTNode]:
    """The blocks around a binding that a run may pass by; the body of a `try` is none, as it surely begins."""
    found: list[cst.CSTNode] = []
    child: cst.CSTNode = binding.node
    for above in index.ancestors(binding.node):
        if above is binding.scope:
            break
        if isinstance(above, (cst.If, cst.While, cst.For, cst.MatchCase, cst.ExceptHandler, cst.ExceptStarHandler)):
            found.append(child)
        child = above
    return found


def exclusive(index: Index, some: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether two nodes stand in arms of one choice of which a run takes one: `if` and `else`, `try` and `except`."""
    arms: dict[int, cst.CSTNode] = {}
    child = some
    for above in index.ancestors(some):
        arms[id(above)] = child
        child = above
    child = other
    for above in index.ancestors(other):
        if id(above) in arms:
            return _choice(above, arms[id(above)], child)
        child = above
    return False


def _choice(node: cst.CSTNode, some: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether one run of a statement takes only one of two of its parts."""
    if some is other:
        return False
    if isinstance(node, cst.If):
        return node.test is not some and node.test is not other
    if isinstance(node, cst.Try):
        arms = isinstance(some, cst.ExceptHandler) or isinstance(other, cst.ExceptHandler)
        return arms and not isinstance(some, cst.Finally) and not isinstance(other, cst.Finally)
    return isinstance(node, cst.Match) and isinstance(some, cst.MatchCase) and isinstance(other, cst.MatchCase)
