"""Forward steps into what tests a value or takes it apart: comparisons, `match`, methods of texts, cuts, subscripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import libcst as cst

from transforms.flow.given import Arguments
from transforms.flow.steps import Place, Sink

_TEXT_METHODS = frozenset("lower upper strip format replace casefold rstrip lstrip encode decode".split())
_TESTS = frozenset("startswith endswith find rfind index count __contains__ removeprefix".split())
_CUTS = {4, 5}
"""Where `cuda` and `cuda:` end."""


def _leaves(branch: cst.If) -> bool:
    """Whether an `if` without `else` ends with a return or raises."""
    last: cst.CSTNode | None = branch.body.body[-1] if branch.body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return branch.orelse is None and isinstance(last, (cst.Return, cst.Raise))


class Tests(Arguments):
    """Steps of a value that is looked into."""

    def _compared(self, above: cst.CSTNode, node: cst.CSTNode) -> Iterator[Sink]:
        comparison = above if isinstance(above, cst.Comparison) else self.cx.parent(above)
        assert isinstance(comparison, cst.Comparison)
        if len(comparison.comparisons) != 1:
            yield Sink("leak", comparison, "chained comparison")
            return
        target = comparison.comparisons[0]
        other = target.comparator if comparison.left is node else comparison.left
        if isinstance(target.operator, (cst.Is, cst.IsNot)):
            return
        if "CUDA" in (self.cx.string(other) or ""):
            yield Sink("leak", comparison, "compared with CUDA in capitals, which stays")
            return
        if isinstance(target.operator, (cst.Equal, cst.NotEqual, cst.In, cst.NotIn)):
            beside = list(self._tests_beside(comparison))
            if any(self._tests_for(test, lambda side: self.cx.string(side) == "neuron") for test in beside):
                yield Sink("aware", comparison, "neuron is tested beside it", other, node)
            elif any(self._tests_for(test, self.other_accelerator) for test in beside):
                yield Sink("multi", comparison, "a chain of tests for several accelerators", other, node)
            inside = isinstance(target.operator, (cst.In, cst.NotIn)) and other is comparison.left
            indexed = not (inside and self.cx.string(other) is not None)  # a part of a text says nothing of its index
            yield Sink("test", comparison, "compared", other, node, indexed)
        else:
            yield Sink("leak", comparison, "compared by order")

    def _tests_beside(self, comparison: cst.Comparison) -> Iterator[cst.CSTNode]:
        """Tests that stand beside one: in its `or`, its `if`/`elif` chain, or a row of branches that each leave."""
        child: cst.CSTNode = comparison
        above = self.cx.parent(child)
        while isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.Or):
            yield above.right if child is above.left else above.left
            child, above = above, self.cx.parent(above)
        here = self.cx.index.statement(comparison)
        if not isinstance(here, cst.If) or self.cx.index.enclosing(comparison, cst.If, cst.IfExp) is not here:
            return
        top: cst.If = here
        while isinstance(above := self.cx.parent(top), cst.If) and above.orelse is top:
            top = above
        link: cst.CSTNode | None = top
        while isinstance(link, cst.If):
            if link is not here:
                yield link.test
            link = link.orelse
        block = self.cx.parent(top)
        subject = self.cx.code(comparison.left)
        if isinstance(block, cst.IndentedBlock) and top is here and _leaves(here):
            for other in block.body:
                test = other.test if isinstance(other, cst.If) and other is not here and _leaves(other) else None
                if isinstance(test, cst.Comparison) and self.cx.code(test.left) == subject:
                    yield test

    def _tests_for(self, test: cst.CSTNode, named: Callable[[cst.CSTNode], bool]) -> bool:
        """Whether a test compares something with a literal of which `named` is true."""
        parts = [test]
        while parts:
            part = parts.pop()
            if isinstance(part, cst.BooleanOperation):
                parts += [part.left, part.right]
            elif isinstance(part, cst.Comparison) and len(part.comparisons) == 1:
                sides = (part.left, part.comparisons[0].comparator)
                if any(named(s) for s in sides):
                    return True
            elif isinstance(part, cst.Call) and part.args and isinstance(part.func, cst.Attribute):
                prefix = part.func.attr.value == "startswith"
                if prefix and named(part.args[0].value):
                    return True
        return False

    def _matched(self, pattern: cst.MatchValue) -> Iterator[Sink]:
        case = self.cx.index.enclosing(pattern, cst.MatchCase)
        match = self.cx.index.enclosing(pattern, cst.Match)
        if case is None or match is None:
            return
        if any(self.cx.string(v.value) == "neuron" for v in self._patterns(match)):
            yield Sink("aware", match, "neuron is matched beside it")
        elif any(self.other_accelerator(v.value) for v in self._patterns(match)):
            yield Sink("multi", match, "one of several accelerators")
        yield Sink("test", case, "matched", match.subject, pattern.value)

    def _patterns(self, match: cst.Match) -> list[cst.MatchValue]:
        return [v for v in self.cx.index.nodes(cst.MatchValue) if self.cx.index.enclosing(v, cst.Match) is match]

    def _looked_at(self, match: cst.Match, node: cst.CSTNode) -> Iterator[Sink]:
        """What the cases of a `match` say about its subject."""
        for pattern in self._patterns(match):
            if self.other_accelerator(pattern.value):
                yield Sink("multi", match, "a match for several accelerators", pattern.value, node)
            if self.cx.string(pattern.value) is not None:
                yield Sink("test", match, "matched", pattern.value, node)

    def _attribute(self, attribute: cst.Attribute) -> Iterator[Sink | Place]:
        name = attribute.attr.value
        if name in ("type", "value", "name"):
            if name != "name":
                for step in self.forward(attribute):
                    yield replace(step, indexed=False) if isinstance(step, Sink) and name == "type" else step
            return
        if name == "index" and not self._is_call(attribute):
            yield Sink("index", attribute, "its index is read")
            return
        call = self.cx.parent(attribute)
        if not isinstance(call, cst.Call) or call.func is not attribute:
            return
        if name in _TEXT_METHODS:
            if name == "replace" and call.args:
                yield Sink("test", call, "replaced in it", call.args[0].value, attribute.value, False)
            yield from self.forward(call)
        elif name in ("split", "partition", "rsplit", "rpartition"):
            above = self.cx.parent(call)
            whole = above.slice[0].slice if isinstance(above, cst.Subscript) and above.value is call else None
            first = isinstance(whole, cst.Index) and self.cx.integer(whole.value) == 0
            if not first:
                yield Sink("index", call, "split at its colon")
            for step in self.forward(call):
                yield replace(step, indexed=False) if isinstance(step, Sink) and first else step
        elif name in _TESTS:
            yield Sink(
                "test",
                call,
                f"tested with .{name}()",
                call.args[0].value if call.args else None,
                attribute.value,
                bool(name in ("index", "count") and call.args and self.cx.string(call.args[0].value) is None),
            )
            if name == "removeprefix":
                yield Sink("index", call, "its index is cut out")
        elif name in ("append", "extend", "insert", "add"):
            for arg in call.args:
                yield from self._into_list(arg)
        elif name in ("items", "keys", "values", "isdigit", "get", "copy", "to"):
            return
        else:
            yield Sink("leak", call, f".{name}() of it is called")

    def _into_list(self, arg: cst.Arg) -> Iterator[Place]:
        """A variable whose value is put into the list."""
        if isinstance(arg.value, cst.Name) and self.cx.names.bindings(arg.value.value, self.cx.names.scope(arg.value)):
            yield self.variable(arg.value)

    def _is_call(self, node: cst.CSTNode) -> bool:
        call = self.cx.parent(node)
        return isinstance(call, cst.Call) and call.func is node

    def _sliced(self, subscript: cst.Subscript) -> Iterator[Sink | Place]:
        part = subscript.slice[0].slice if len(subscript.slice) == 1 else None
        if isinstance(part, cst.Slice):
            lower = 0 if part.lower is None else self.cx.integer(part.lower)
            upper = self.cx.integer(part.upper) if part.upper is not None else None
            if lower == 0 and upper in _CUTS:
                for step in self.forward(subscript):
                    yield replace(step, indexed=False) if isinstance(step, Sink) else step
            elif part.upper is None and part.lower is not None and (lower in _CUTS or lower is None):
                yield Sink("index", subscript, "its end is cut out")
            elif lower != 0 or upper is not None:
                yield Sink("leak", subscript, "cut at a fixed place")
            yield from () if lower == 0 and upper in _CUTS else self.forward(subscript)
        elif isinstance(part, cst.Index) and isinstance(part.value, (cst.Integer, cst.UnaryOperation)):
            if isinstance(part.value, cst.UnaryOperation):
                yield Sink("index", subscript, "its last character is read")
            yield from self.forward(subscript)
        elif isinstance(part, cst.Index) and self.cx.string(part.value) is None:
            yield from self.forward(subscript)

    def _index(self, index: cst.Index) -> Iterator[Sink | Place]:
        subscript = self.cx.index.enclosing(index, cst.Subscript)
        if subscript is None:
            return
        base = self.cx.origin(subscript.value).name
        if base in ("typing.Literal", "typing_extensions.Literal"):
            if any(self.other_accelerator(e.slice.value) for e in subscript.slice if isinstance(e.slice, cst.Index)):
                yield Sink("multi", subscript, "one of several accelerators")
            else:
                yield Sink("choice", subscript, "member of a Literal")
            return
        yield Sink("key", subscript, "subscript", subscript.value)
