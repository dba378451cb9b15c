"""One step of data flow onward: what an expression's value goes into.

Flow-insensitive and by name: everything that is stored in a place is taken to meet everything that is read from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transforms.flow.conditions import conditions
from transforms.flow.lookups import looked_up
from transforms.flow.steps import Place, Sink, is_sequence
from transforms.flow.storages import map_location_dict
from transforms.flow.tested import Tests

_TEMPLATE = re.compile(r"(%s|\{0?\})(:(%[dsi]|\{1?\}))?$")


class Forward(Tests):
    """Forward steps in one file."""

    def forward(self, node: cst.CSTNode) -> Iterator[Sink | Place]:
        """Where the value of an expression goes next."""
        above = self.cx.parent(node)
        if isinstance(above, cst.IfExp):
            if node is not above.test:
                yield from self._arm(above, node)
                yield from self.forward(above)
        elif isinstance(above, (cst.BooleanOperation, cst.Await, cst.ConcatenatedString)):
            yield from self.forward(above)
        elif isinstance(above, cst.BinaryOperation):
            yield from self._joined_text(above, node)
        elif isinstance(above, cst.NamedExpr) and above.value is node:
            yield from self.target(above.target)
            yield from self.forward(above)
        elif isinstance(above, cst.Assign):
            for target in above.targets:
                yield from self._assigned(target.target, above)
        elif isinstance(above, cst.AnnAssign):
            if above.value is node:
                yield from self._assigned(above.target, above)
        elif isinstance(above, cst.Param):
            if above.default is node:
                yield self.variable(above.name)
        elif isinstance(above, cst.Return):
            yield from self._returned(above)
        elif isinstance(above, cst.AugAssign) and above.value is node and is_sequence(node):
            yield from self._set_by_probe(above)
            yield from self.target(above.target)
        elif isinstance(above, (cst.Element, cst.StarredElement)):
            yield from self._element(above)
        elif isinstance(above, cst.DictElement):
            yield from self._dict(above, node)
        elif isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
            yield from self._compared(above, node)
        elif isinstance(above, cst.MatchValue):
            yield from self._matched(above)
        elif isinstance(above, cst.Match) and above.subject is node:
            yield from self._looked_at(above, node)
        elif isinstance(above, cst.Arg):
            if self._joins_list(above):
                yield from self._set_by_probe(above)
            yield from self.argument(above, node)
        elif isinstance(above, cst.Attribute) and above.value is node:
            yield from self._attribute(above)
        elif isinstance(above, cst.Subscript) and above.value is node:
            yield from self._sliced(above)
        elif isinstance(above, cst.Index):
            yield from self._index(above)
        elif isinstance(above, (cst.For, cst.CompFor)) and above.iter is node:
            if isinstance(above.target, cst.Name):
                yield from self.target(above.target)
            else:
                yield Sink("leak", node, "unpacked in a loop")
        elif isinstance(above, (cst.GeneratorExp, cst.ListComp, cst.SetComp)) and above.elt is node:
            yield from self.forward(above)
        elif isinstance(above, cst.FormattedStringExpression):
            yield from self._formatted(above)
        elif isinstance(above, cst.Lambda):
            yield from self._lambda(above)
        elif isinstance(
            above,
            (
                cst.If,
                cst.While,
                cst.Assert,
                cst.UnaryOperation,
                cst.Expr,
                cst.WithItem,
                cst.Annotation,
                cst.Del,
                cst.Global,
                cst.Nonlocal,
                cst.CompIf,
                cst.AugAssign,
            ),
        ):
            return
        else:
            yield Sink("leak", node, "used in a way that can't be followed")

    def target(self, target: cst.CSTNode) -> Iterator[Place]:
        """The place that an assignment target names."""
        if isinstance(target, cst.Name):
            scope = self.cx.names.scope(target)
            yield self.variable(target)
            if isinstance(scope, cst.ClassDef):
                yield self.field(scope, target.value)
        elif isinstance(target, cst.Attribute):
            if not self.is_known(target):
                yield self.attribute(target)
        elif isinstance(target, cst.Subscript):
            key = self.key(target)
            if key is not None:
                yield ("item", 0, key)
            elif isinstance(target.value, cst.Name):
                yield ("contents", *self.variable(target.value)[1:])

    def _arm(self, conditional: cst.IfExp, node: cst.CSTNode) -> Iterator[Sink]:
        """An arm that is taken only where an accelerator is there."""
        probe = self.is_probe if node is conditional.body else self.is_negated_probe
        if probe(conditional.test):
            other = conditional.orelse if node is conditional.body else conditional.body
            yield Sink("arm", conditional, "arm of a conditional on an availability probe", other)

    def _joined_text(self, above: cst.BinaryOperation, node: cst.CSTNode) -> Iterator[Sink | Place]:
        if isinstance(above.operator, cst.Add):
            tail = self.cx.string(above.right) if above.left is node else None
            indexed = tail is None or tail.startswith(":") or (tail.isdigit() and self._open(node))
            if (above.left is node and indexed) or is_sequence(above):
                yield from self.forward(above)
            else:
                yield self._part_of_text(above, above)
        elif isinstance(above.operator, cst.Modulo):
            if above.left is node or _TEMPLATE.match(self.cx.string(above.left) or ""):
                yield from self.forward(above)
            elif self.cx.string(above.left) is None and isinstance(node, cst.SimpleString):
                yield Sink("leak", above, "put into a text that is not known here")
            else:
                yield self._part_of_text(above, above)
        elif isinstance(above.operator, cst.BitOr):
            return  # a type union
        elif is_sequence(node) and isinstance(above.operator, cst.Multiply):
            yield from self.forward(above)
        else:
            yield Sink("leak", above, "part of a computation")

    def _open(self, node: cst.CSTNode) -> bool:
        """Whether a text ends with the colon before an index: `"cuda:"`, `"cuda" + ":"`."""
        while isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            node = node.right
        return (self.cx.string(node) or "").endswith(":")

    def _formatted(self, part: cst.FormattedStringExpression) -> Iterator[Sink | Place]:
        """A value that opens an f-string, alone or before `:index`, stays a device name; others make a text."""
        whole = self.cx.parent(part)
        if isinstance(whole, cst.FormattedString) and whole.parts[0] is part and part.format_spec is None:
            rest = whole.parts[1:]
            head = rest[0].value if rest and isinstance(rest[0], cst.FormattedStringText) else None
            if not rest or (
                head is not None and ((head == ":" and len(rest) == 2) or (re.match(r":\d+$", head) and len(rest) == 1))
            ):
                yield from self.forward(whole)
                return
        yield self._part_of_text(whole, part)

    def _part_of_text(self, whole: cst.CSTNode | None, part: cst.CSTNode) -> Sink:
        """A text for people, unless it names a module, function or attribute that is looked up."""
        if whole is not None and looked_up(whole, self.cx):
            return Sink("code", part, "part of the name of code that is looked up")
        return Sink("text", part, "part of a text")

    def _lambda(self, function: cst.Lambda) -> Iterator[Sink | Place]:
        arg = self.cx.parent(function)
        call = self.cx.parent(arg) if isinstance(arg, cst.Arg) else None
        keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
        if isinstance(call, cst.Call) and keyword in ("default_factory", "factory"):
            yield from self.forward(call)
            return
        yield Sink("leak", function, "result of a lambda")

    def _assigned(self, target: cst.CSTNode, statement: cst.CSTNode) -> Iterator[Sink | Place]:
        yield from self._set_by_probe(statement)
        holder = self.cx.index.enclosing(statement, cst.If, cst.FunctionDef, cst.ClassDef)
        if isinstance(target, (cst.Tuple, cst.List)):
            yield Sink("leak", statement, "unpacked")
            return
        if isinstance(holder, cst.ClassDef) and self.is_enum(holder) and self._several_members(holder):
            yield Sink("multi", holder, "one of several accelerators")
        yield from self.target(target)

    def _set_by_probe(self, node: cst.CSTNode) -> Iterator[Sink]:
        holder = self.cx.index.enclosing(node, cst.If, cst.FunctionDef, cst.ClassDef)
        if isinstance(holder, cst.If) and self._branch_of_probe(node, holder):
            yield Sink("probe", holder, "set where an availability probe holds")

    def _joins_list(self, arg: cst.Arg) -> bool:
        """Whether a value is put into a list or set that a variable holds."""
        call = self.cx.parent(arg)
        method = call.func if isinstance(call, cst.Call) else None
        grows = isinstance(method, cst.Attribute) and method.attr.value in ("append", "add", "insert", "extend")
        return grows and isinstance(method, cst.Attribute) and isinstance(method.value, cst.Name)

    def _several_members(self, holder: cst.ClassDef) -> bool:
        """Whether an enumeration has a member for another accelerator."""
        values = [self.cx.index.statement(member) for member in self.members(holder)]
        return any(isinstance(v, cst.Assign) and self.other_accelerator(v.value) for v in values)

    def _branch_of_probe(self, node: cst.CSTNode, holder: cst.If) -> bool:
        child = node
        for above in self.cx.index.ancestors(node):
            if above is holder:
                return self.is_probe(holder.test) if child is holder.body else self.is_negated_probe(holder.test)
            child = above
        return False

    def _returned(self, node: cst.Return, part: str = "") -> Iterator[Sink | Place]:
        function = self.cx.index.enclosing(node, cst.FunctionDef)
        if function is None:
            return
        chosen = conditions(node, self.cx) if not self._gives_cpu(node.value) else ()
        if any(self.is_probe(test) if holds else self.is_negated_probe(test) for test, holds in chosen):
            yield Sink("probe", node, "returned where an availability probe holds")
        yield ("return", id(function), f"{function.name.value}{part}")

    def _gives_cpu(self, value: cst.CSTNode | None) -> bool:
        parts = [e.value for e in value.elements] if isinstance(value, cst.Tuple) else [value]
        return any(self.cx.string(part) == "cpu" for part in parts)

    def _element(self, element: cst.CSTNode) -> Iterator[Sink | Place]:
        holder = self.cx.parent(element)
        if not isinstance(holder, (cst.List, cst.Tuple, cst.Set)):
            yield Sink("leak", element, "used in a way that can't be followed")
            return
        if self.names_neuron(holder):
            yield Sink("aware", holder, "neuron stands beside it")
            return
        if self.names_other_accelerators(holder) or self._row_of_accelerators(holder):
            yield Sink("multi", holder, "one of several accelerators")
            return
        if isinstance(holder, cst.Tuple):
            place = next(i for i, e in enumerate(holder.elements) if e is element)
            top: cst.CSTNode = holder
            above = self.cx.parent(top)
            while isinstance(above, cst.IfExp) and above.test is not top:
                if place == 0 or isinstance(element, cst.Element):
                    yield from self._arm(above, top)
                top, above = above, self.cx.parent(above)
            if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, (cst.Tuple, cst.List)):
                elements = above.targets[0].target.elements
                if place < len(elements) and not any(isinstance(e, cst.StarredElement) for e in elements):
                    yield from self._assigned(elements[place].value, above)
                    return
            if isinstance(above, cst.Return) and len(holder.elements) > 1:
                yield from self._returned(above, f"#{place}")
                return
        yield from self.forward(holder)

    def _row_of_accelerators(self, holder: cst.CSTNode) -> bool:
        """Whether a tuple is a row of a table with rows for other accelerators: `(("cuda", f), ("mps", g))`."""
        row = self.cx.parent(holder)
        table = self.cx.parent(row) if isinstance(row, cst.Element) else None
        rows = [e.value for e in getattr(table, "elements", ())]
        return any(isinstance(r, cst.Tuple) and self.names_other_accelerators(r) for r in rows)

    def _dict(self, element: cst.DictElement, node: cst.CSTNode) -> Iterator[Sink | Place]:
        holder = self.cx.parent(element)
        assert isinstance(holder, cst.Dict)
        if element.key is node:
            if any(n.startswith("torch.version.") for n in self.cx.origin(element.value).names):
                yield Sink("text", holder, "label of a version")
            elif self.names_neuron(holder):
                yield Sink("aware", holder, "neuron stands beside it")
            elif self.names_other_accelerators(holder):
                yield Sink("multi", holder, "one of several accelerators")
            else:
                yield Sink("key", holder, "key of a dict", holder)
            return
        if map_location_dict(holder, self.cx):
            yield Sink("device", holder, "target of a map_location")
            return
        argument = self.cx.parent(holder)
        key = self.cx.string(element.key)
        if key is not None:
            yield ("item", 0, key)
        for target in self._holders(holder):
            yield ("contents", *self.variable(target)[1:])
            return
        if isinstance(argument, cst.Subscript) and argument.value is holder:
            yield from self.forward(argument)
        elif key is None:
            yield Sink("leak", holder, "value of a dict")

    def _holders(self, holder: cst.CSTNode) -> Iterator[cst.Name]:
        """Variables that a display is stored in."""
        above = self.cx.parent(holder)
        if isinstance(above, cst.Assign):
            for target in above.targets:
                if isinstance(target.target, cst.Name):
                    yield target.target
        elif isinstance(above, cst.AnnAssign) and isinstance(above.target, cst.Name):
            yield above.target
