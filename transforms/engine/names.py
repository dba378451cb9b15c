"""What a name stands for: lazy scopes, bindings and qualified names, with an explicit answer for "can't tell".

Only the identifiers that a transform asks about are looked at, each once. The rules of Python's language reference,
section 4.2, hold: class scopes are invisible to functions in them, comprehensions have a scope of their own (their
first iterable lies outside it), a walrus binds around it, defaults and decorators are evaluated outside.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from transforms.engine.index import Index

_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)
_IMPORTS = (cst.Import, cst.LazyImport)
_FROM_IMPORTS = (cst.ImportFrom, cst.LazyImportFrom)
_COMPREHENSION_SET = frozenset(_COMPREHENSIONS)


_IMPORTERS = frozenset({"importlib.import_module", "pytest.importorskip"})
"""Functions that return the module whose name they are given (Python library, pytest)."""
_USING = frozenset(
    (
        *(cst.Call, cst.Subscript, cst.Index, cst.BinaryOperation, cst.BooleanOperation, cst.UnaryOperation),
        *(cst.Comparison, cst.ComparisonTarget, cst.Return, cst.Expr, cst.If, cst.IfExp, cst.Annotation),
        *(cst.FormattedStringExpression, cst.Await, cst.Yield, cst.Assert, cst.Raise, cst.Slice, cst.While),
        *(cst.Decorator, cst.DictElement),
    )
)
"""Parents under which a name is always read; most names have one of them."""


@dataclass(frozen=True)
class Origin:
    """All things that an expression can be, by qualified name.

    `local` says that something that is no import is among the candidates (a parameter, a class, a computed value), so
    an Origin without names and with `local` is surely not from a package. `why` says what makes it ambiguous.
    """

    names: frozenset[str] = frozenset()
    local: bool = False
    why: str = ""

    @property
    def ambiguous(self) -> bool:
        """Whether the expression may be something else than its one name."""
        return bool(self.why) or self.local or len(self.names) > 1

    @property
    def name(self) -> str:
        """The one candidate, or the empty string. Check `ambiguous` before anything is called safe."""
        return next(iter(self.names)) if len(self.names) == 1 else ""


NOTHING = Origin()
LOCAL = Origin(local=True)


@dataclass(frozen=True, eq=False)
class Binding:
    """One place that gives an identifier a value. `value` is the expression, where there is exactly one."""

    name: str
    node: cst.Name
    scope: cst.CSTNode
    kind: str  # import, assign, param, def, class, for, with, except, match, del, other
    value: cst.BaseExpression | None = None
    imported: str = ""


@dataclass(eq=False)
class Occurrences:
    """Every use of one identifier in a file, sorted by what it does."""

    bindings: dict[int, list[Binding]] = field(default_factory=dict)
    uses: list[tuple[cst.Name, cst.CSTNode]] = field(default_factory=list)
    declared: dict[int, cst.CSTNode] = field(default_factory=dict)


class Names:
    """Name resolution for one file."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: dict[str, Occurrences] = {}
        self._origins: dict[int, Origin] = {}
        self._variables: dict[tuple[str, int], Origin] = {}
        self._scopes: dict[int, cst.CSTNode] = {}
        self._stars: list[str] | None = None
        self._executes: bool | None = None

    # scopes -----------------------------------------------------------------------------------------------------

    def scope(self, node: cst.CSTNode) -> cst.CSTNode:
        """The scope that `node` is evaluated in: a module, class, function, lambda or comprehension node."""
        known = self._scopes.get(id(node))
        if known is None:
            known = self._scopes[id(node)] = self._find_scope(node)
        return known

    def _find_scope(self, node: cst.CSTNode) -> cst.CSTNode:
        # Classes are compared by identity: isinstance on LibCST's abstract bases is what costs here.
        child = node
        for above in self.index.ancestors(node):
            kind = type(above)
            if kind is cst.FunctionDef:
                if child is above.body or child is above.type_parameters:  # type: ignore[attr-defined]
                    return above
                if child is above.params and self._names_parameter(node):  # type: ignore[attr-defined]
                    return above
            elif kind is cst.Lambda:
                if child is above.body or self._names_parameter(node):  # type: ignore[attr-defined]
                    return above
            elif kind is cst.ClassDef:
                if child is above.body or child is above.type_parameters:  # type: ignore[attr-defined]
                    return above
            elif kind in _COMPREHENSION_SET and not self._in_first_iterable(node, above):
                return above
            child = above
        return self.index.module

    def _names_parameter(self, node: cst.CSTNode) -> bool:
        above = self.index.parent(node)
        return isinstance(above, cst.Param) and above.name is node

    def _in_first_iterable(self, node: cst.CSTNode, comprehension: cst.CSTNode) -> bool:
        first = comprehension.for_in.iter  # type: ignore[attr-defined]
        here: cst.CSTNode | None = node
        while here is not None and here is not comprehension:
            if here is first:
                return True
            here = self.index.parent(here)
        return False

    def outer(self, scope: cst.CSTNode) -> cst.CSTNode | None:
        """The scope around a scope, None for the module."""
        return None if isinstance(scope, cst.Module) else self.scope(scope)

    def visible_scopes(self, scope: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Scopes in which a name used in `scope` is looked up, from the inside out."""
        yield scope
        above = self.outer(scope)
        while above is not None:
            if not isinstance(above, cst.ClassDef):
                yield above
            above = self.outer(above)

    # bindings ---------------------------------------------------------------------------------------------------

    def occurrences(self, name: str) -> Occurrences:
        """Bindings and uses of an identifier in the whole file."""
        known = self._known.get(name)
        if known is not None:
            return known
        found = self._known[name] = Occurrences()
        nodes = self.index.names.get(name, [])
        for node in nodes:
            declaration = self.index.parent(node)
            if isinstance(declaration, cst.NameItem):
                statement = self.index.parent(declaration)
                scope = self.scope(node)
                if isinstance(statement, cst.Global):
                    found.declared[id(scope)] = self.index.module
                else:
                    outer = self.outer(scope)
                    while outer is not None and not isinstance(outer, (cst.FunctionDef, cst.Lambda, cst.Module)):
                        outer = self.outer(outer)
                    found.declared[id(scope)] = outer or self.index.module
        for node in nodes:
            binding = self._classify(node)
            if binding is None:
                continue
            if isinstance(binding, Binding):
                scope = found.declared.get(id(binding.scope), binding.scope)
                if scope is not binding.scope:
                    binding = Binding(name, node, scope, binding.kind, binding.value, binding.imported)
                found.bindings.setdefault(id(scope), []).append(binding)
                if binding.kind == "augmented":
                    found.uses.append((node, self.scope(node)))
            else:
                found.uses.append((node, binding))
        if any(isinstance(b[0].scope, cst.ClassDef) for b in found.bindings.values()):
            found.uses = [(node, self._read_in(node, scope, found)) for node, scope in found.uses]
        return found

    def _read_in(self, node: cst.Name, scope: cst.CSTNode, known: Occurrences) -> cst.CSTNode:
        """The scope in which a use looks its name up: in a class body that has yet to bind it the one around it."""
        bound = known.bindings.get(id(scope))
        if not isinstance(scope, cst.ClassDef) or not bound or id(scope) in known.declared:
            return scope
        if any(self._bound_by(b, node) for b in bound):
            return scope
        self._scopes[id(node)] = next(s for s in self.visible_scopes(scope) if s is not scope)
        return self._scopes[id(node)]

    def _bound_by(self, binding: Binding, use: cst.Name) -> bool:
        """Whether a binding in the same class body comes before a use: `x = x` reads the outer one."""
        statement = self.index.statement(binding.node)
        if use is binding.node or isinstance(statement, (cst.BaseCompoundStatement, cst.AugAssign)):
            made = isinstance(statement, (cst.FunctionDef, cst.ClassDef)) and statement.name is binding.node
            return not made and self.index.order(binding.node) < self.index.order(use)
        inside = any(above is statement for above in self.index.ancestors(use))
        return not inside and self.index.order(statement) < self.index.order(use)

    def _classify(self, node: cst.Name) -> Binding | cst.CSTNode | None:
        """A Binding, the scope of a use, or None when the node is no identifier (attribute name, keyword)."""
        above = self.index.parent(node)
        kind = type(above)
        if isinstance(above, cst.Attribute):
            return None if above.attr is node else self._leftmost(node)
        if kind in _USING:
            return self.scope(node)
        if isinstance(above, cst.Arg):
            return None if above.keyword is node else self.scope(node)
        if isinstance(above, cst.ImportAlias):
            return self._imported(node, above, whole=True)
        if isinstance(above, (*_FROM_IMPORTS, cst.NameItem, cst.MatchSingleton)):
            return None
        if isinstance(above, cst.MatchKeywordElement) and above.key is node:
            return None
        if isinstance(above, cst.AsName):
            return self._named_as(node, above)
        if isinstance(above, cst.FunctionDef) and above.name is node:
            return Binding(node.value, node, self.scope(above), "def")
        if isinstance(above, cst.ClassDef) and above.name is node:
            return Binding(node.value, node, self.scope(above), "class")
        if isinstance(above, cst.Param) and above.name is node:
            return Binding(node.value, node, self.scope(node), "param", above.default)
        if isinstance(above, (cst.MatchAs, cst.MatchStar)) and above.name is node:
            return Binding(node.value, node, self.scope(node), "match")
        if isinstance(above, cst.MatchMapping) and above.rest is node:
            return Binding(node.value, node, self.scope(node), "match")
        if isinstance(above, (cst.TypeVar, cst.TypeVarTuple, cst.ParamSpec)):
            return Binding(node.value, node, self.scope(node), "other")
        return self._target(node)

    def _leftmost(self, node: cst.Name) -> Binding | cst.CSTNode | None:
        """The first name of a dotted chain: part of an import, or a use."""
        top: cst.CSTNode = node
        above = self.index.parent(top)
        while isinstance(above, cst.Attribute) and above.value is top:
            top, above = above, self.index.parent(above)
        if isinstance(above, cst.ImportAlias):
            return self._imported(node, above, whole=False)
        if isinstance(above, _FROM_IMPORTS) and above.module is top:
            return None
        return self.scope(node)

    def _imported(self, node: cst.Name, alias: cst.ImportAlias, whole: bool) -> Binding | None:
        if alias.asname is not None:
            return None
        return Binding(node.value, node, self.scope(node), "import", imported=self.imported_name(alias, root=not whole))

    def imported_name(self, alias: cst.ImportAlias, root: bool = False) -> str:
        """Qualified name of what an import alias binds; `root` for `import a.b`, which binds `a`."""
        dotted = dotted_name(alias.name)
        statement = self.index.parent(alias)
        if isinstance(statement, _IMPORTS):
            return dotted.split(".")[0] if root else dotted
        assert isinstance(statement, _FROM_IMPORTS)
        module = dotted_name(statement.module) if statement.module else ""
        dots = "." * len(statement.relative)
        return f"{dots}{module}.{dotted}" if module else f"{dots}{dotted}"

    def _named_as(self, node: cst.Name, as_name: cst.AsName) -> Binding:
        holder = self.index.parent(as_name)
        scope = self.scope(node)
        if isinstance(holder, cst.ImportAlias):
            return Binding(node.value, node, scope, "import", imported=self.imported_name(holder))
        if isinstance(holder, cst.WithItem):
            return Binding(node.value, node, scope, "with", holder.item)
        return Binding(node.value, node, scope, "except")

    def _target(self, node: cst.Name) -> Binding | cst.CSTNode:
        """A binding by assignment, loop or walrus, or the scope of a plain use."""
        top: cst.CSTNode = node
        path: list[int] = []
        above = self.index.parent(top)
        starred = False
        while isinstance(above, (cst.Element, cst.StarredElement, cst.Tuple, cst.List)):
            if isinstance(above, (cst.Tuple, cst.List)):
                path.append(next(i for i, e in enumerate(above.elements) if e is top or e.value is top))
                starred = starred or any(isinstance(e, cst.StarredElement) for e in above.elements)
            top, above = above, self.index.parent(above)
        scope = self.scope(node)
        name = node.value
        if isinstance(above, cst.AssignTarget):
            statement = self.index.parent(above)
            assert isinstance(statement, cst.Assign)
            value = None if starred else _element(statement.value, path[::-1])
            return Binding(name, node, scope, "assign" if value is not None else "other", value)
        if isinstance(above, cst.AnnAssign) and above.target is top:
            return Binding(name, node, scope, "assign" if above.value is not None else "annotation", above.value)
        if isinstance(above, cst.AugAssign) and above.target is top:
            return Binding(name, node, scope, "augmented")
        if isinstance(above, cst.NamedExpr) and above.target is top:
            while isinstance(scope, _COMPREHENSIONS):
                scope = self.scope(scope)
            return Binding(name, node, scope, "assign", above.value)
        if isinstance(above, (cst.For, cst.CompFor)) and above.target is top:
            return Binding(name, node, scope, "for", above.iter if not path else None)
        if isinstance(above, cst.AsName):
            return Binding(name, node, scope, "other")
        if isinstance(above, cst.Del):
            return Binding(name, node, scope, "del")
        if isinstance(above, cst.TypeAlias) and above.name is top:
            return Binding(name, node, scope, "other")
        return scope

    def bindings(self, name: str, scope: cst.CSTNode) -> list[Binding]:
        """Bindings that a use of `name` in `scope` can see: those of the innermost scope that has any."""
        known = self.occurrences(name)
        declared = known.declared.get(id(scope))
        if declared is not None:
            return known.bindings.get(id(declared), [])
        for where in self.visible_scopes(scope):
            if found := known.bindings.get(id(where)):
                return found
        return []

    def binding_scope(self, name: str, scope: cst.CSTNode) -> cst.CSTNode | None:
        """The scope whose variable `name` is when used in `scope`, None when nothing in the file binds it."""
        found = self.bindings(name, scope)
        return found[0].scope if found else None

    def uses(self, name: str, scope: cst.CSTNode) -> list[cst.Name]:
        """Reads of the variable `name` of exactly this scope, wherever they stand."""
        return [n for n, where in self.occurrences(name).uses if self.binding_scope(name, where) is scope]

    # qualified names --------------------------------------------------------------------------------------------

    def origin(self, node: cst.CSTNode) -> Origin:
        """What an expression is. A dotted chain ends at a call: `torch.randn(3).cuda` has no origin."""
        known = self._origins.get(id(node))
        if known is None:
            known = self._origins[id(node)] = self._origin(node)
        return known

    def _origin(self, node: cst.CSTNode) -> Origin:
        kind = type(node)
        if kind is cst.Attribute:
            base = self.origin(node.value)  # type: ignore[attr-defined]
            if not base.names:
                return LOCAL if base.local else base
            attribute = node.attr.value  # type: ignore[attr-defined]
            return Origin(frozenset(f"{n}.{attribute}" for n in base.names), base.local, base.why)
        if kind is cst.Name:
            self.occurrences(node.value)  # type: ignore[attr-defined]  # which know what is read around a class
            return self.origin_of_name(node.value, self.scope(node))  # type: ignore[attr-defined]
        return LOCAL

    def origin_of_name(self, name: str, scope: cst.CSTNode) -> Origin:
        """What an identifier stands for when it is used in a scope."""
        key = (name, id(scope))
        known = self._variables.get(key)
        if known is None:
            self._variables[key] = LOCAL  # what a variable that is made of itself comes to
            known = self._variables[key] = self._origin_of_variable(name, scope)
        return known

    def _origin_of_variable(self, name: str, scope: cst.CSTNode) -> Origin:
        found = self.bindings(name, scope)
        if not found:
            if hasattr(builtins, name):
                return Origin(frozenset({f"builtins.{name}"}))
            if self.stars:
                modules = ", ".join(self.stars)
                return Origin(frozenset(f"{m}.{name}" for m in self.stars), local=True, why=f"star import of {modules}")
            return LOCAL
        names: set[str] = set()
        local, why = False, ""
        for binding in found:
            if binding.kind == "import":
                names.add(binding.imported)
            elif binding.kind == "annotation" or is_none(binding.value):
                continue  # `x = None` beside an import is the usual guard for an optional package
            elif binding.kind == "assign" and type(binding.value) in (cst.Name, cst.Attribute):
                assert binding.value is not None
                deeper = self.origin(binding.value)
                names |= deeper.names
                local |= deeper.local
                why = why or deeper.why
            elif binding.kind == "assign" and (module := self.module_of_call(binding.value)):
                names.add(module)
            else:
                local = True
        if names and isinstance(found[0].scope, cst.Module) and self.executes:
            why = why or "exec() may rebind module names"
        return Origin(frozenset(names), local, why)

    def module_of_call(self, value: cst.CSTNode | None) -> str:
        """The module that a call such as `pytest.importorskip("torch")` imports, empty for other expressions."""
        if not isinstance(value, cst.Call) or not value.args or value.args[0].keyword is not None:
            return ""
        given = value.args[0].value
        text = given.evaluated_value if isinstance(given, cst.SimpleString) else None
        if not isinstance(text, str) or not all(part.isidentifier() for part in text.split(".")):
            return ""
        importer = self.origin(value.func).name
        if importer == "builtins.__import__":
            return text.split(".")[0]
        return text if importer in _IMPORTERS else ""

    @property
    def stars(self) -> list[str]:
        """Modules imported with `*`."""
        if self._stars is None:
            self._stars = []
            for star in self.index.nodes(cst.ImportStar):
                statement = self.index.parent(star)
                if isinstance(statement, _FROM_IMPORTS):
                    module = dotted_name(statement.module) if statement.module else ""
                    self._stars.append("." * len(statement.relative) + module)
        return self._stars

    @property
    def executes(self) -> bool:
        """Whether the file calls `exec`, which may rebind any name of the module."""
        if self._executes is None:
            self._executes = any(
                isinstance(call := self.index.parent(node), cst.Call)
                and call.func is node
                and not self.bindings("exec", self.scope(node))
                for node in self.index.names.get("exec", [])
            )
        return self._executes


def dotted_name(node: cst.CSTNode | None) -> str:
    """`a.b.c` of a chain of plain names, else the empty string."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


def is_none(node: cst.CSTNode | None) -> bool:
    """Whether an expression is the literal None."""
    return isinstance(node, cst.Name) and node.value == "None"


def _element(value: cst.BaseExpression, path: list[int]) -> cst.BaseExpression | None:
    """The part of `value` that lands in a target at `path` of a tuple, None when it can't be told."""
    for position in path:
        if not isinstance(value, (cst.Tuple, cst.List)) or position >= len(value.elements):
            return None
        if any(isinstance(e, cst.StarredElement) for e in value.elements[: position + 1]):
            return None
        value = value.elements[position].value
    return value
