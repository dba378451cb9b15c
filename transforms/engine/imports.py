"""Imports of a file: findings for imported names, and the edits that fixes in force ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from transforms.engine.changes import Change, Layout
from transforms.engine.context import Context, PendingFinding
from transforms.engine.model import (
    ERROR,
    WARNING,
    Edit,
    Fix,
    ImportItem,
    ImportStatement,
    ImportTable,
    Safety,
)
from transforms.engine.names import dotted_name
from transforms.engine.residue import is_fatal
from transforms.engine.statements import RemoveStatement
from transforms.engine.words import is_specific

_PLAIN = (cst.Import, cst.LazyImport)
_FROM = (cst.ImportFrom, cst.LazyImportFrom)


class ImportNodes:
    """The import statements of one file, said in nodes."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.statements: list[cst.CSTNode] = []
        for kind in (*_PLAIN, *_FROM):
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

    # findings ---------------------------------------------------------------------------------------------------

    def findings(self, found: list[PendingFinding]) -> list[PendingFinding]:
        """What happens to each imported name that is specific to CUDA or XLA: it follows its uses, all of them."""
        by_use: dict[int, PendingFinding] = {}
        for finding in found:
            inner = finding.site
            while isinstance(inner, cst.Attribute):
                inner = inner.value
            held = by_use.get(id(inner))
            if held is None or (held.safety is None and finding.safety is not None):
                by_use[id(inner)] = finding
        spoken = {id(f.site) for f in found}
        result = []
        for statement in self.statements:
            for alias in self.aliases(statement):
                qualified = self.cx.names.imported_name(alias)
                if qualified.split(".")[0] not in ("torch", "torch_xla") or not is_specific(qualified):
                    continue
                if id(alias.name) not in spoken:
                    result.append(self._finding(alias, qualified, by_use))
        return result

    def _finding(self, alias: cst.ImportAlias, qualified: str, by_use: dict[int, PendingFinding]) -> PendingFinding:
        statement = self.cx.parent(alias)
        uses = self.uses(alias)
        severity = ERROR if qualified.split(".")[0] == "torch_xla" else WARNING
        if isinstance(statement, _PLAIN) and alias.asname is None and not self._specific_uses(alias, uses):
            return _manual(alias.name, f"{qualified} is imported; nothing in the file uses it", WARNING, "TN003")
        if importers := self._importers(alias, [o for use in uses if (o := by_use.get(id(use))) is not None]):
            message = f"{', '.join(importers[:3])} imports {qualified} from here: import it there from where it lives"
            return _manual(alias.name, message, ERROR, "TN003")
        if not uses:
            return _manual(alias.name, f"{qualified} is imported and not used here", severity, "TN003")
        owners = [by_use.get(id(use)) for use in self._specific_uses(alias, uses)]
        known = [o for o in owners if o is not None]
        if len(known) < len(owners) or any(o.fix is None for o in known):
            blocked = next((o for o in known if o.fix is None), None)
            rule = blocked.rule if blocked else "TN003"
            worst = blocked.severity if blocked and blocked.severity else severity
            if not known and not blocked:
                worst = ERROR if is_fatal(qualified) else WARNING
                message = f"{qualified} has no known counterpart on neuron, and this file uses it"
                return _manual(alias.name, message, worst, rule)
            return _manual(alias.name, f"{qualified} is still used in this file", worst, rule)
        safety = Safety.SAFE
        for owner in known:
            assert owner.safety is not None
            safety = safety.at_most(owner.safety)
        fix = self.cx.fix(
            f"the import of {qualified} follows its uses", *self._shortened(alias), requires=[o.site for o in known]
        )
        return PendingFinding(
            known[0].rule, alias.name, f"the import of {qualified} follows its uses", safety, None, [], fix, None
        )

    def _importers(self, alias: cst.ImportAlias, known: list[PendingFinding]) -> tuple[str, ...]:
        """Files that import the name from this one, where the fixes of its uses do not keep it."""
        bound = self.bound(alias)
        if bound is None or not isinstance(self.cx.names.scope(bound), cst.Module):
            return ()
        if isinstance(self.cx.parent(alias), _PLAIN) and alias.asname is None:
            return ()
        if any(m.local == bound.value for o in known if o.fix is not None for m in o.fix.moves):
            return ()
        return self.cx.facts.importers.get(bound.value, ())

    def _shortened(self, alias: cst.ImportAlias) -> list[Change]:
        """`import torch.cuda.amp` binds torch: that stays, unless another import of the scope binds it as well."""
        statement = self.cx.parent(alias)
        if not isinstance(statement, _PLAIN) or alias.asname is not None or not isinstance(alias.name, cst.Attribute):
            return []
        bound = self.bound(alias)
        if bound is None or bound.value != "torch":
            return []
        scope = self.cx.names.scope(bound)
        others = [b for b in self.cx.names.bindings("torch", scope) if b.node is not bound and b.scope is scope]
        again = any(self._plainly(b.node, "torch") for b in others)
        if again and len(statement.names) == 1 and isinstance(statement, cst.Import):
            return [self.cx.remove_statement(statement)]
        return [self.cx.replace(alias.name, "torch")]

    def _plainly(self, node: cst.Name, module: str) -> bool:
        """Whether a name is bound by `import module` at the top of the file."""
        alias = self.cx.parent(node)
        if not isinstance(alias, cst.ImportAlias) or alias.name is not node or node.value != module:
            return False
        line = self.cx.index.enclosing(alias, cst.SimpleStatementLine)
        return line is not None and isinstance(self.cx.parent(line), cst.Module)

    def _specific_uses(self, alias: cst.ImportAlias, uses: list[cst.Name]) -> list[cst.Name]:
        """Uses that mean the imported module: `import torch.cuda` binds `torch`, whose other uses say nothing of it."""
        statement = self.cx.parent(alias)
        if not isinstance(statement, _PLAIN) or alias.asname is not None or isinstance(alias.name, cst.Name):
            return uses
        dotted = dotted_name(alias.name)
        result = []
        for use in uses:
            top: cst.CSTNode = use
            while isinstance(above := self.cx.parent(top), cst.Attribute) and above.value is top:
                top = above
            if any(n == dotted or n.startswith(dotted + ".") for n in self.cx.origin(top).names):
                result.append(use)
        return result

    # table ------------------------------------------------------------------------------------------------------

    def wants(self) -> Iterator[cst.CSTNode]:
        """Nodes whose offsets the table needs."""
        for statement in self.statements:
            yield statement
            assert isinstance(statement, cst.BaseSmallStatement)
            yield RemoveStatement.of(self.cx.index, statement).first
            if isinstance(statement, _FROM) and statement.module is not None:
                yield statement.module
            for alias in self.aliases(statement):
                yield alias
                yield alias.name
                if self._matters(alias):
                    yield from self.uses(alias)
                    yield from self._in_types(alias)
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
        module = node.module if isinstance(node, _FROM) else None
        line = self.cx.parent(node)
        block = self.cx.parent(line) if line is not None else None
        assert isinstance(node, cst.BaseSmallStatement)
        removal = RemoveStatement.of(self.cx.index, node)
        items = []
        for alias in self.aliases(node):
            bound = self.bound(alias)
            span = layout.spans.of(alias)
            read = [*self.uses(alias), *self._in_types(alias)] if self._matters(alias) else []
            uses = [layout.spans.of(u) for u in read]
            items.append(
                ImportItem(
                    span[0],
                    span[1],
                    bound.value if bound else "",
                    self.cx.names.imported_name(alias, root=isinstance(node, _PLAIN) and alias.asname is None),
                    tuple(uses),
                    self._exported(bound.value if bound else "", alias),
                )
            )
        return ImportStatement(
            start,
            end,
            layout.source.line_bounds(start)[0],
            _line_after(layout, end),
            None if not isinstance(node, _FROM) else "." * len(node.relative) + dotted_name(module),
            layout.spans.of(module) if module is not None else None,
            tuple(items),
            isinstance(block, cst.Module),
            isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1,
            isinstance(self.cx.index.enclosing(node, cst.Try, cst.TryStar), (cst.Try, cst.TryStar)),
            (layout.spans.of(removal.first)[0], removal.count),
        )

    def _exported(self, name: str, alias: cst.ImportAlias) -> bool:
        if self.cx.options.path.endswith("__init__.py"):
            return True
        if alias.asname is not None and dotted_name(alias.name) == name:
            return True
        if self.cx.facts.importers.get(name) and isinstance(self.cx.names.scope(alias), cst.Module):
            return True
        return name in self._all

    def _in_types(self, alias: cst.ImportAlias) -> list[cst.SimpleString]:
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


def _manual(site: cst.CSTNode, message: str, severity: str, rule: str) -> PendingFinding:
    return PendingFinding(rule, site, message, Safety.MANUAL, severity, [], None, None)


def _line_after(layout: Layout, offset: int) -> int:
    end = layout.source.line_bounds(offset)[1]
    text = layout.text
    if text.startswith("\r\n", end):
        return end + 2
    return min(end + 1, len(text))


# edits --------------------------------------------------------------------------------------------------------------


def resolve(table: ImportTable, fixes: Iterable[Fix], text: str, newline: str) -> list[Edit]:
    """Edits of the import block for the fixes in force: moved names, new imports, and imports that lost their last use.

    Nothing is taken out of a `try:` probe, of `__all__`, or of a package's `__init__.py`.
    """
    fixes = list(fixes)
    edits = sorted({e for f in fixes for e in f.edits}, key=lambda e: e.start)
    moves = {(m.local, m.old): m.new for f in fixes for m in f.moves}
    requests = _requests(fixes)
    written = " ".join(e.text for e in edits)
    gone = {s.start: [_unused(i, s, edits, written) for i in s.items] for s in table.statements}
    moving = {
        s.start: [None if g else moves.get((i.local, i.qualified)) for i, g in zip(s.items, gone[s.start])]
        for s in table.statements
    }
    staying = [s for s in table.statements if not all(g or m for g, m in zip(gone[s.start], moving[s.start]))]
    found: list[Edit] = []
    for statement in table.statements:
        lost, moved = gone[statement.start], moving[statement.start]
        if not any(lost) and not any(moved):
            continue
        needed = not statement.top_level and not _others_stay(statement, table, edits)
        found += _edit_statement(statement, moved, lost, requests, text, newline, staying, needed)
    return found + _additions(table, staying, requests, text, newline)


def _requests(fixes: Sequence[Fix]) -> dict[str, int]:
    """Imports that fixes ask for, each with the place of the first edit that needs it: it must stand before."""
    found: dict[str, int] = {}
    for fix in fixes:
        for request in fix.requests:
            first = min((e.start for e in fix.edits), default=0)
            found[request] = min(first, found.get(request, first))
    return found


def _unused(item: ImportItem, statement: ImportStatement, edits: list[Edit], written: str) -> bool:
    if not item.uses or item.exported or statement.guarded:
        return False
    if not is_specific(item.qualified) and not item.qualified.startswith("torch."):
        return False
    if re.search(rf"(?<![\w.]){re.escape(item.local)}\b", written):
        return False
    return all(any(e.start <= a and b <= e.end for e in edits) for a, b in item.uses)


def _others_stay(statement: ImportStatement, table: ImportTable, edits: Sequence[Edit]) -> bool:
    """Whether the block of an import surely holds something else when the edits are made and its imports are gone."""
    removed = sum(e.block is not None and e.block[:2] == statement.block for e in edits)
    imports = sum(s.block == statement.block for s in table.statements)
    return statement.block[1] > removed + imports


def _edit_statement(
    statement: ImportStatement,
    moved: list[str | None],
    gone: list[bool],
    requests: dict[str, int],
    text: str,
    newline: str,
    staying: Sequence[ImportStatement],
    needed: bool,
) -> list[Edit]:
    modules = {m.rpartition(".")[0] for m in moved if m}
    if len(modules) == 1 and statement.module_span and not any(gone) and all(moved):
        same_names = all(
            m and m.rpartition(".")[2] == i.qualified.rpartition(".")[2] for m, i in zip(moved, statement.items)
        )
        if same_names:
            return [Edit(*statement.module_span, modules.pop())]
    fresh: dict[str, int] = {}
    for item, new in zip(statement.items, moved):
        if new:
            module, _, name = new.rpartition(".")
            line = f"from {module} import {name}" + (f" as {item.local}" if item.local != name else "")
            fresh[line] = min((start for start, _ in item.uses), default=statement.start)
    left = [i for i, (m, g) in enumerate(zip(moved, gone)) if not m and not g]
    if left:
        return _drop_items(statement, left, text) + _beside(statement, fresh, requests, text, newline, staying)
    new_lines = list(fresh) if statement.alone else []
    if statement.alone and statement.top_level:
        new_lines = [r for r in requests if _lands_here(r) and statement.start <= requests[r]] + new_lines
    requests |= fresh
    indent = text[statement.line_start : statement.start]
    if statement.alone and not indent.strip():
        tail = text[statement.end : statement.line_end].strip("\r\n \t;")
        if new_lines:
            for line in new_lines:
                del requests[line]
            return [Edit(statement.start, statement.end, (newline + indent).join(new_lines))]
        if needed:
            return [Edit(statement.start, statement.end, "pass")]
        if tail:
            return [Edit(statement.start, text.index("#", statement.end), "")]
        return [Edit(statement.line_start, statement.line_end, "")]
    return [Edit(statement.start, statement.end, "pass")]


def _beside(
    statement: ImportStatement,
    fresh: dict[str, int],
    requests: dict[str, int],
    text: str,
    newline: str,
    staying: Sequence[ImportStatement],
) -> list[Edit]:
    """Moved names on lines of their own before the import that keeps the others, else as requests."""
    indent = text[statement.line_start : statement.start]
    merged = statement.top_level and any(_merge(staying, line, before) is not None for line, before in fresh.items())
    if not fresh or merged or not statement.alone or indent.strip():
        requests |= fresh
        return []
    return [Edit(statement.start, statement.start, "".join(line + newline + indent for line in fresh))]


def _lands_here(request: str) -> bool:
    return request.startswith("from torch")


def _drop_items(statement: ImportStatement, left: list[int], text: str) -> list[Edit]:
    """Take names out of an import that keeps others."""
    found = []
    items = statement.items
    for i in range(len(items)):
        if i in left:
            continue
        if i < left[-1]:
            found.append(Edit(items[i].start, items[i + 1].start, ""))
        elif i == left[-1] + 1:
            found.append(Edit(items[left[-1]].end, items[-1].end, ""))
    return found


def _additions(
    table: ImportTable, staying: Sequence[ImportStatement], requests: dict[str, int], text: str, newline: str
) -> list[Edit]:
    found: list[Edit] = []
    fresh: dict[str, int] = {}
    for request, before in requests.items():
        if _present(staying, request, before):
            continue
        merged = _merge(staying, request, before)
        if merged is None:
            fresh[request] = before
        else:
            found.append(merged)
    if fresh:
        found.append(_place(table, list(fresh), min(fresh.values()), text, newline))
    return found


def _serving(imports: Sequence[ImportStatement], before: int) -> list[ImportStatement]:
    """Imports that surely have run when the code at `before` runs: at top level, unguarded, and ahead of it."""
    return [s for s in imports if s.top_level and not s.guarded and s.end <= before]


def _present(imports: Sequence[ImportStatement], request: str, before: int) -> bool:
    words = request.split()
    for statement in _serving(imports, before):
        for item in statement.items:
            if words[0] == "import":
                local = words[3] if len(words) > 3 else words[1].split(".")[0]
                if (
                    item.local == local
                    and item.qualified in (words[1], words[1].split(".")[0])
                    and statement.module is None
                ):
                    return True
            elif item.qualified == f"{words[1]}.{words[3]}" and item.local == words[-1]:
                return True
    return False


def _merge(imports: Sequence[ImportStatement], request: str, before: int) -> Edit | None:
    """The request as one more name of an existing `from` import of the same module."""
    words = request.split()
    if words[0] != "from":
        return None
    for statement in _serving(imports, before):
        if statement.module == words[1] and statement.items:
            at = statement.items[-1].end
            return Edit(at, at, ", " + " ".join(words[3:]))
    return None


def _place(table: ImportTable, lines: list[str], before: int, text: str, newline: str) -> Edit:
    """New import lines: beside an import of the same package, else at the top of the imports or of the code.

    They stand ahead of `before`, the first code that needs them; what runs inside functions counts like the rest.
    """
    code = "".join(line + newline for line in lines)
    roots = {line.split()[1].split(".")[0] for line in lines}
    top = [s for s in table.statements if s.top_level and s.module != "__future__"]
    ahead = [s for s in top if s.alone and table.insert_at <= s.line_start <= before]
    for statement in ahead:
        names = [statement.module or ""] + [i.qualified for i in statement.items]
        if any(n.split(".")[0] in roots for n in names):
            return Edit(statement.line_start, statement.line_start, code)
    if ahead and top[0].alone:
        return Edit(ahead[0].line_start, ahead[0].line_start, code)
    if before < table.insert_at:  # the code stands on the line of the docstring or of a `__future__` import
        return Edit(table.behind, table.behind, "".join("; " + line for line in lines))
    blank = newline if table.blank_before or (table.insert_at and not table.blank_after) else ""
    if table.insert_at and not text[: table.insert_at].endswith(("\n", "\r")):
        blank = newline + blank
    return Edit(table.insert_at, table.insert_at, blank + code + (newline if table.blank_after else ""))
