"""The import statements of one file: what they bind, who uses it, and all of it said in offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transforms.engine.bound import exclusive
from transforms.engine.changes import Layout
from transforms.engine.context import Context
from transforms.engine.model import ImportItem, ImportStatement, ImportTable
from transforms.engine.names import Binding, dotted_name
from transforms.engine.statements import RemoveStatement

PLAIN = (cst.Import, cst.LazyImport)
FROM = (cst.ImportFrom, cst.LazyImportFrom)


class ImportNodes:
    """The import statements of one file, said in nodes."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.statements: list[cst.CSTNode] = []
        for kind in (*PLAIN, *FROM):
            self.statements += cx.index.nodes(kind)
        self._uses: dict[int, list[cst.Name]] = {}

    def aliases(self, statement: cst.CSTNode) -> list[cst.ImportAlias]:
        """Imported names of a statement, none for a star."""
        names = statement.names  # type: ignore[attr-defined]
        return list(names) if isinstance(names, (list, tuple)) else []

    def bound(self, alias: cst.ImportAlias) -> cst.Name | None:
        """The identifier that an alias binds."""
        if alias.asname is not None:
            return alias.asname.name if isinstance(alias.asname.name, cst.Name) else None
        node: cst.CSTNode = alias.name
        while isinstance(node, cst.Attribute):
            node = node.value
        return node if isinstance(node, cst.Name) else None

    def uses(self, alias: cst.ImportAlias) -> list[cst.Name]:
        """Reads of the name that an alias binds."""
        known = self._uses.get(id(alias))
        if known is None:
            bound = self.bound(alias)
            known = self.cx.names.uses(bound.value, self.cx.names.scope(bound)) if bound is not None else []
            self._uses[id(alias)] = known
        return known

    def bound_again(self, alias: cst.ImportAlias) -> Binding | None:
        """What gives the name another meaning after its import, or takes it away: not the other arm of a choice."""
        bound = self.bound(alias)
        if bound is None or not self._matters(alias):
            return None
        index, names = self.cx.index, self.cx.names
        plain = isinstance(self.cx.parent(alias), PLAIN) and alias.asname is None
        qualified, scope = names.imported_name(alias, root=plain), names.scope(bound)
        for other in names.bindings(bound.value, scope):
            if other.node is bound or other.kind == "annotation" or other.imported == qualified:
                continue
            called = names.scope(other.node) is not other.scope  # it runs when the function does: `global name`
            if (called or index.order(other.node) > index.order(bound)) and not exclusive(index, other.node, bound):
                return other
        return None

    # table ------------------------------------------------------------------------------------------------------

    def wants(self) -> Iterator[cst.CSTNode]:
        """Nodes whose offsets the table needs."""
        for statement in self.statements:
            yield statement
            assert isinstance(statement, cst.BaseSmallStatement)
            yield RemoveStatement.of(self.cx.index, statement).first
            if isinstance(statement, FROM) and statement.module is not None:
                yield statement.module
            for alias in self.aliases(statement):
                yield alias
                yield alias.name
                if self._matters(alias):
                    yield from self.uses(alias)
                    yield from self.in_types(alias)
        first = self._first_code()
        if first is not None:
            yield first
        docstring = self._docstring()
        if docstring is not None:
            yield docstring

    def _matters(self, alias: cst.ImportAlias) -> bool:
        return self.cx.names.imported_name(alias).split(".")[0] in ("torch", "torch_xla")

    def _docstring(self) -> cst.CSTNode | None:
        body = self.cx.module.body
        if body and isinstance(body[0], cst.SimpleStatementLine) and isinstance(body[0].body[0], cst.Expr):
            value = body[0].body[0].value
            return value if isinstance(value, (cst.SimpleString, cst.ConcatenatedString)) else None
        return None

    def _first_code(self) -> cst.CSTNode | None:
        for line in self.cx.module.body:
            if isinstance(line, cst.SimpleStatementLine):
                first = line.body[0]
                if isinstance(first, cst.Expr) and first.value is self._docstring():
                    continue
                if isinstance(first, cst.ImportFrom) and dotted_name(first.module) == "__future__":
                    continue
                return first
            decorators = getattr(line, "decorators", ())
            return decorators[0] if decorators else line
        return None

    def table(self, layout: Layout) -> ImportTable:
        """The imports said in offsets."""
        statements = [self._statement(s, layout) for s in self.statements]
        statements.sort(key=lambda s: s.start)
        table = ImportTable(statements)
        futures = [s for s in statements if s.module == "__future__"]
        docstring = self._docstring()
        if futures:
            table.insert_at, table.behind = futures[-1].line_end, futures[-1].end
        elif docstring is not None:
            table.behind = layout.spans.of(docstring)[1]
            table.insert_at = _line_after(layout, table.behind)
            table.blank_before = True
        else:
            first = self._first_code()
            start = layout.spans.of(first)[0] if first is not None else len(layout.text)
            table.insert_at = layout.source.line_bounds(start)[0]
            table.blank_after = True
        return table

    def _statement(self, node: cst.CSTNode, layout: Layout) -> ImportStatement:
        start, end = layout.spans.of(node)
        module = node.module if isinstance(node, FROM) else None
        line = self.cx.parent(node)
        block = self.cx.parent(line) if line is not None else None
        assert isinstance(node, cst.BaseSmallStatement)
        removal = RemoveStatement.of(self.cx.index, node)
        items = []
        for alias in self.aliases(node):
            bound = self.bound(alias)
            span = layout.spans.of(alias)
            read = [*self.uses(alias), *self.in_types(alias)] if self._matters(alias) else []
            uses = [layout.spans.of(u) for u in read]
            items.append(
                ImportItem(
                    span[0],
                    span[1],
                    bound.value if bound else "",
                    self.cx.names.imported_name(alias, root=isinstance(node, PLAIN) and alias.asname is None),
                    tuple(uses),
                    self._exported(bound.value if bound else "", alias),
                    self.cx.index.order(bound) if bound is not None else -1,
                    self.bound_again(alias) is not None,
                )
            )
        return ImportStatement(
            start,
            end,
            layout.source.line_bounds(start)[0],
            _line_after(layout, end),
            None if not isinstance(node, FROM) else "." * len(node.relative) + dotted_name(module),
            layout.spans.of(module) if module is not None else None,
            tuple(items),
            isinstance(block, cst.Module),
            isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1,
            self._guarded(node),
            (layout.spans.of(removal.first)[0], removal.count),
        )

    def _guarded(self, statement: cst.CSTNode) -> bool:
        """Whether an import is tried, or made where another one failed."""
        child = statement
        for above in self.cx.index.ancestors(statement):
            if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
                return False
            if isinstance(above, (cst.Try, cst.TryStar)) and above.handlers and not isinstance(child, cst.Finally):
                return True
            child = above
        return False

    def _exported(self, name: str, alias: cst.ImportAlias) -> bool:
        if self.cx.options.path.endswith("__init__.py"):
            return True
        if alias.asname is not None and dotted_name(alias.name) == name:
            return True
        if self.cx.facts.importers.get(name) and isinstance(self.cx.names.scope(alias), cst.Module):
            return True
        return name in self._all

    def in_types(self, alias: cst.ImportAlias) -> list[cst.SimpleString]:
        """Types written as text that need the name: `e: "Event"`, `cast("Event", e)`. They are uses as well."""
        bound = self.bound(alias)
        found: list[cst.SimpleString] = []
        for string in self.cx.index.nodes(cst.SimpleString) if bound is not None else ():
            assert bound is not None
            if not re.search(rf"(?<![\w.]){re.escape(bound.value)}\b", string.value):
                continue
            call = self.cx.index.enclosing(string, cst.Call)
            cast = call is not None and dotted_name(call.func).rpartition(".")[2] == "cast"
            if cast or self.cx.index.enclosing(string, cst.Annotation) is not None:
                found.append(string)
        return found

    @property
    def _all(self) -> frozenset[str]:
        if not hasattr(self, "_all_names"):
            found: set[str] = set()
            for name in self.cx.index.names.get("__all__", []):
                statement = self.cx.index.statement(name)
                for string in self.cx.index.nodes(cst.SimpleString):
                    if self.cx.index.statement(string) is statement:
                        found.add(self.cx.string(string) or "")
            self._all_names = frozenset(found)
        return self._all_names


def _line_after(layout: Layout, offset: int) -> int:
    end = layout.source.line_bounds(offset)[1]
    text = layout.text
    if text.startswith("\r\n", end):
        return end + 2
    return min(end + 1, len(text))
