"""What stands beside a device name: the other arms of a choice, and the subscripts of the dict that it is a key of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.statements import simple_statements

if TYPE_CHECKING:
    from transforms.engine.context import Context


def alternatives(cx: Context, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Literals of the other arms of the conditional, of the `if`/`elif` chain, or of the row of branches that each
    return, that chooses this one."""
    top = None
    for above in cx.index.ancestors(node):
        if isinstance(above, cst.IfExp):
            top = above
        elif not isinstance(above, (cst.Arg, cst.Call, cst.Element, cst.Tuple)):
            break
    if top is not None:
        yield from _leaves(top)
        return
    statement = cx.index.statement(node)
    here: cst.CSTNode | None = cx.index.enclosing(node, cst.If, cst.FunctionDef, cst.ClassDef)
    if not isinstance(statement, (cst.Assign, cst.AnnAssign, cst.Return)) or not isinstance(here, cst.If):
        return
    while isinstance(outer := cx.parent(here), cst.If) and outer.orelse is here:
        here = outer
    branch: cst.CSTNode | None = here
    while isinstance(branch, (cst.If, cst.Else)):
        for small in simple_statements(branch.body):
            if not isinstance(small, (cst.Assign, cst.AnnAssign, cst.Return)) or type(small) is not type(statement):
                continue
            if small.value is not None:
                yield from _leaves(small.value)
        branch = branch.orelse if isinstance(branch, cst.If) else None
    if isinstance(statement, cst.Return) and here.orelse is None:
        yield from _returned_beside(cx, here)


def _returned_beside(cx: Context, branch: cst.If) -> Iterator[cst.CSTNode]:
    """What the other branches of a block return that are no more than a test and a return, and what its end does."""
    for other in getattr(cx.parent(branch), "body", ()):
        last: cst.CSTNode | None = other
        if isinstance(other, cst.If) and other is not branch and other.orelse is None:
            last = other.body.body[-1] if other.body.body else None
        if isinstance(last, cst.SimpleStatementLine):
            last = last.body[-1]
        if isinstance(last, cst.Return) and last.value is not None:
            yield from _leaves(last.value)


def displays(cx: Context, name: cst.Name) -> Iterator[cst.Dict]:
    """The dicts written out that a variable can hold."""
    for binding in cx.names.bindings(name.value, cx.names.scope(name)):
        if isinstance(binding.value, cst.Dict):
            yield binding.value


def indexed_by(cx: Context, holder: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """Expressions that a dict is indexed by, directly or through the variable or attribute that holds it."""
    readers: list[cst.CSTNode] = []
    target: cst.CSTNode | None = holder
    if isinstance(holder, cst.Dict):
        readers.append(holder)
        above = cx.parent(holder)
        if isinstance(above, cst.Assign):
            target = above.targets[0].target
        elif isinstance(above, cst.AnnAssign):
            target = above.target
    if isinstance(target, cst.Name):
        scope = cx.names.binding_scope(target.value, cx.names.scope(target))
        if scope is not None:
            readers += cx.names.uses(target.value, scope)
        if isinstance(scope, cst.ClassDef):
            readers += cx.devices.places.table_reads(target)
    elif isinstance(target, cst.Attribute) and not cx.origin(target).names:
        for node in cx.index.names.get(target.attr.value, []):
            above = cx.parent(node)
            if isinstance(above, cst.Attribute) and above.attr is node:
                readers.append(above)
    for reader in readers:
        holder_of = cx.parent(reader)
        if isinstance(holder_of, cst.Subscript) and holder_of.value is reader:
            part = holder_of.slice[0].slice
            if isinstance(part, cst.Index) and not isinstance(part.value, cst.SimpleString):
                yield part.value
        elif isinstance(holder_of, cst.Attribute) and holder_of.attr.value in ("get", "pop"):
            call = cx.parent(holder_of)
            if isinstance(call, cst.Call) and call.args and not isinstance(call.args[0].value, cst.SimpleString):
                yield call.args[0].value
        elif isinstance(holder_of, cst.ComparisonTarget) and isinstance(holder_of.operator, (cst.In, cst.NotIn)):
            comparison = cx.parent(holder_of)
            if isinstance(comparison, cst.Comparison):
                yield comparison.left


def _leaves(value: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What an expression can be: arms of conditionals, members of tuples, the name that a torch.device is made from."""
    if isinstance(value, cst.IfExp):
        yield from _leaves(value.body)
        yield from _leaves(value.orelse)
    elif isinstance(value, cst.Tuple):
        for element in value.elements:
            yield from _leaves(element.value)
    elif isinstance(value, cst.Call) and value.args:
        yield from _leaves(value.args[0].value)
    else:
        yield value
