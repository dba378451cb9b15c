"""What a transform works with: names, values, and the services that turn its verdicts into findings and edits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

import libcst as cst

from transforms.engine.arguments import Arguments, find_argument
from transforms.engine.bound import declared_behind, runs_at_once, surely_bound
from transforms.engine.changes import Change, Replace, ReplaceFrom
from transforms.engine.index import Index
from transforms.engine.model import ERROR, Move, Rule, Safety
from transforms.engine.names import Names, Origin, dotted_name
from transforms.engine.source import Source
from transforms.engine.statements import InsertStatements, RemoveStatement
from transforms.engine.transform import Options, RepositoryFacts, Transform

if TYPE_CHECKING:
    from transforms.flow.devices import Devices
    from transforms.flow.uses import Uses

T = TypeVar("T")
_LOOSER = {
    "and": (cst.UnaryOperation, cst.BinaryOperation, cst.Attribute, cst.Subscript, cst.Await, cst.StarredElement)
}


@dataclass(eq=False)
class PendingFix:
    """A fix said in nodes. Several findings may share it."""

    description: str
    changes: list[Change] = field(default_factory=list)
    requires: list[cst.CSTNode] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    numerics: dict[str, str] | None = None
    group: str = ""


@dataclass(eq=False)
class PendingFinding:
    """A finding said in nodes."""

    rule: str
    site: cst.CSTNode
    message: str
    safety: Safety | None
    severity: str | None
    evidence: list[tuple[cst.CSTNode, str]]
    fix: PendingFix | None
    reason: str | None
    note: bool = False


class Context:
    """One file as a transform sees it."""

    def __init__(
        self, source: Source, module: cst.Module, facts: RepositoryFacts | None = None, options: Options | None = None
    ) -> None:
        self.source = source
        self.module = module
        self.index = Index(module)
        self.names = Names(self.index)
        self.facts = facts or RepositoryFacts()
        self.options = options or Options()
        self.findings: list[PendingFinding] = []
        self.held: list[cst.CSTNode] = []
        self.held_why: dict[int, str] = {}
        self.held_kept: set[int] = set()
        self._transform: Transform | None = None
        self._devices: Devices | None = None
        self._shared: dict[object, object] = {}
        self._uses: Uses | None = None

    def run(self, transform: Transform) -> None:
        """Show a transform every node that it asks for."""
        self._transform = transform
        for kind in transform.nodes:
            for node in self.index.nodes(kind):
                transform.check(node, self)

    # looking ----------------------------------------------------------------------------------------------------

    @property
    def devices(self) -> Devices:
        """Where device values are born, kept and tested in this file."""
        if self._devices is None:
            from transforms.flow.devices import Devices

            self._devices = Devices(self)
        return self._devices

    @property
    def uses(self) -> Uses:
        """Every use of a name of torch in this file, by qualified name."""
        if self._uses is None:
            from transforms.flow.uses import Uses

            self._uses = Uses(self)
        return self._uses

    def shared(self, kind: Callable[[Context], T]) -> T:
        """The one instance of a class that looks at the whole file, made when it is first asked for."""
        if kind not in self._shared:
            self._shared[kind] = kind(self)
        return cast(T, self._shared[kind])

    def origin(self, node: cst.CSTNode) -> Origin:
        """What an expression stands for."""
        return self.names.origin(node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds `node`."""
        return self.index.parent(node)

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node, its own parentheses included."""
        return self.module.code_for_node(node)

    def argument(self, call: cst.Call, name: str, position: int | None = None) -> cst.Arg | None:
        """The argument given for a parameter, by keyword or at a position."""
        return find_argument(call, name, position)

    def string(self, node: cst.CSTNode | None) -> str | None:
        """The value of a plain string literal (implicit concatenation included), None for anything else."""
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
            if isinstance(node, cst.SimpleString) and "\\" not in node.value and node.value[0] == node.value[-1]:
                quotes = len(node.quote)  # no prefix and no escape: what stands there is the value
                return node.value[quotes:-quotes]
            value = node.evaluated_value
            return value if isinstance(value, str) else None
        return None

    def integer(self, node: cst.CSTNode | None) -> int | None:
        """The value of an integer literal."""
        return int(node.value, 0) if isinstance(node, cst.Integer) else None

    def at_import_time(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs when the module is imported: not inside a function body, lambda or main guard."""
        if not runs_at_once(self.names, node):
            return False
        for above in self.index.ancestors(node):
            if isinstance(above, cst.If) and "__name__" in self.code(above.test):
                return False
        return True

    def is_type(self, node: cst.CSTNode, stored: bool = True) -> bool:
        """Whether an expression stands for a type: annotation, base class, isinstance, `type(x) is T`, pattern.

        With `stored` also one in a variable that is used as a type, or a tuple of types, everywhere in this file.
        """
        child = node
        for above in self.index.ancestors(node):
            if isinstance(above, (cst.Annotation, cst.TypeVar, cst.TypeParam)):
                return True
            if isinstance(above, cst.MatchClass):
                return above.cls is child
            if isinstance(above, cst.Comparison):
                return any(_asks_type(side) for side in (above.left, *(c.comparator for c in above.comparisons)))
            if isinstance(above, cst.Arg) and isinstance(holder := self.parent(above), cst.ClassDef):
                return any(a is above for a in holder.bases)
            if isinstance(above, cst.Call):
                name = dotted_name(above.func)
                if name in ("isinstance", "issubclass", "typing.cast", "cast", "TypeVar", "typing.TypeVar"):
                    return not any(a is child for a in above.args[:1]) or name.endswith("cast")
                return False
            if isinstance(above, cst.Assign):
                return stored and self._holds_types(above, node)
            if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return False
            child = above
        return False

    def _holds_types(self, statement: cst.Assign, node: cst.CSTNode) -> bool:
        """Whether a statement keeps a type, alone or in a tuple, in a variable that stands for types alone."""
        target = statement.targets[0].target
        members = [e.value for e in statement.value.elements] if isinstance(statement.value, cst.Tuple) else []
        if len(statement.targets) > 1 or not isinstance(target, cst.Name) or node not in (statement.value, *members):
            return False
        scope = self.names.scope(target)
        if isinstance(scope, cst.ClassDef):  # read as an attribute, which is not followed
            return False
        uses = self.names.uses(target.value, scope)
        outside = self.facts.importers.get(target.value) or self.facts.importers.get("*")
        if not uses or len(self.names.bindings(target.value, scope)) != 1 or outside:
            return False
        return all(self.is_type(use, stored=False) for use in uses)

    def own_method(self, name: str) -> str:
        """Why a method of this name may not be torch's, empty when all classes of the repository leave it alone."""
        files = self.facts.methods.get(name, ())
        return f"{', '.join(files[:3])} defines its own {name}()" if files else ""

    # spelling ---------------------------------------------------------------------------------------------------

    def spell(self, qualified: str, at: cst.CSTNode) -> tuple[str, list[str]]:
        """How to write a qualified name at a place, and the imports that this needs.

        A name of the package that is in scope is used, alias or not; otherwise the package itself is requested.
        """
        root, _, rest = qualified.partition(".")
        scope = self.names.scope(at)
        for alias, module in self._module_aliases():
            if declared_behind(self.names, alias, at):
                continue
            if qualified.startswith(module + ".") and self.origin_of(alias, scope).name == module:
                bound, bindings = surely_bound(self.names, alias, at), self.names.bindings(alias, scope)
                if bound or isinstance(bindings[0].scope, cst.Module):
                    request = f"import {module}" if alias == module else f"import {module} as {alias}"
                    return f"{alias}{qualified[len(module) :]}", [] if bound else [request]
        taken = self.names.bindings(root, scope)
        late = bool(taken) and not isinstance(taken[0].scope, cst.Module) and not surely_bound(self.names, root, at)
        late = late or declared_behind(self.names, root, at)
        if late or (taken and self.origin_of(root, scope).name != root):
            return f"__import__({self.quote(at)}{root}{self.quote(at)}).{rest}", []
        return qualified, [] if taken and surely_bound(self.names, root, at) else [f"import {root}"]

    def origin_of(self, name: str, scope: cst.CSTNode) -> Origin:
        """What an identifier stands for when it is used in a scope."""
        return self.names.origin_of_name(name, scope)

    def _module_aliases(self) -> list[tuple[str, str]]:
        """Names in this file that are bound to `torch` itself, by an import."""
        if not hasattr(self, "_aliases"):
            found: dict[str, str] = {}
            for alias in self.index.nodes(cst.ImportAlias):
                dotted = dotted_name(alias.name)
                if dotted.split(".")[0] != "torch" or not isinstance(self.parent(alias), (cst.Import, cst.LazyImport)):
                    continue
                if alias.asname is None:
                    found["torch"] = "torch"
                elif dotted == "torch" and isinstance(alias.asname.name, cst.Name):
                    found[alias.asname.name.value] = "torch"
            self._aliases = sorted(found.items(), key=lambda pair: pair[0] != "torch")
        return self._aliases

    def quote(self, at: cst.CSTNode) -> str:
        """A quotation mark that is free at a place: before Python 3.12 an f-string can't hold its own quotes."""
        taken = {
            above.quote[0]
            for above in self.index.ancestors(at)
            if isinstance(above, (cst.FormattedString, cst.TemplatedString))
        }
        return "'" if '"' in taken else '"'

    def literal(self, value: str, at: cst.CSTNode) -> str:
        """A string literal for `value` that may stand at a place."""
        quote = self.quote(at)
        return f"{quote}{value}{quote}"

    def rename(self, node: cst.CSTNode, old: str, new: str) -> tuple[list[Change], list[str]]:
        """Changes that turn a use of the qualified name `old` into `new`, and the imports that they need.

        Only the differing part of a dotted chain is touched when the chain spells out what differs.
        """
        chain, before, after = node, old.split("."), new.split(".")
        nodes: list[cst.Attribute] = []
        while isinstance(chain, cst.Attribute):
            nodes.append(chain)
            chain = chain.value
        written = len(nodes)
        if written < len(before) and len(before) == len(after):
            differ = [i for i, (a, b) in enumerate(zip(before, after)) if a != b]
            first = len(before) - written
            spelled = all(n.attr.value == before[-1 - i] for i, n in enumerate(nodes))
            if spelled and differ and differ[0] >= first:
                return [Replace(nodes[len(before) - 1 - i].attr, after[i]) for i in differ], []
        text, requests = self.spell(new, node)
        return [Replace(node, text)], requests

    def parenthesize(self, node: cst.CSTNode, text: str) -> str:
        """Parentheses around an `and` expression where the place of `node` binds tighter."""
        above = self.parent(node)
        if isinstance(above, cst.Call) and above.func is node:
            return f"({text})"
        if isinstance(above, (cst.Comparison, cst.ComparisonTarget, *_LOOSER["and"])):
            return text if getattr(node, "lpar", ()) else f"({text})"
        if isinstance(above, cst.Arg) and above.star:
            return f"({text})"
        return text

    # emitting ---------------------------------------------------------------------------------------------------

    def arguments(self, call: cst.Call) -> Arguments:
        """A change to the arguments of a call."""
        return Arguments(call)

    def remove_statement(self, node: cst.BaseSmallStatement) -> RemoveStatement:
        """The removal of a simple statement."""
        return RemoveStatement.of(self.index, node)

    def insert_before(self, anchor: cst.BaseSmallStatement, *lines: str) -> InsertStatements:
        """Lines of code before a statement."""
        return InsertStatements(anchor, lines)

    def fix(
        self,
        description: str,
        *changes: Change | None,
        requires: Iterable[cst.CSTNode] = (),
        requests: Iterable[str] = (),
        moves: Iterable[Move] = (),
        numerics: dict[str, str] | None = None,
        group: str = "",
    ) -> PendingFix:
        """Changes that stand or fall together. `group` ties fixes of one value to each other across the file."""
        kept = [c for c in changes if c is not None and (not isinstance(c, Arguments) or c)]
        return PendingFix(description, kept, list(requires), list(requests), list(moves), numerics, group)

    def report(
        self,
        site: cst.CSTNode,
        message: str,
        safety: Safety,
        *,
        rule: Rule | None = None,
        fix: PendingFix | None = None,
        severity: str | None = None,
        evidence: Sequence[tuple[cst.CSTNode, str]] = (),
    ) -> None:
        """Say something about a site. A finding without a fix is manual (severity `error` unless told) or a note."""
        if fix is None and safety not in (Safety.MANUAL, Safety.NOTE):
            raise ValueError(f"{self._code(rule)}: a {safety.value} finding needs a fix")
        if safety is Safety.MANUAL and severity is None:
            severity = ERROR
        self.findings.append(
            PendingFinding(self._code(rule), site, message, safety, severity, list(evidence), fix, None)
        )

    def keep(self, site: cst.CSTNode, reason: str, *, rule: Rule | None = None) -> None:
        """Leave a site alone on purpose, and say why."""
        self.findings.append(PendingFinding(self._code(rule), site, reason, None, None, [], None, reason))

    def hold(self, *blocks: cst.CSTNode, why: str = "", keep: bool = False) -> None:
        """Nothing inside these nodes is edited: the reason for it stands outside of them and stays.

        `why` ends the messages of what is held. With `keep` all sites inside are left alone on purpose, for it.
        """
        self.held += blocks
        if keep:
            self.held_kept.update(id(block) for block in blocks)
        if why:
            self.held_why.update((id(block), why) for block in blocks)

    def guards(self, fix: PendingFix, test: cst.CSTNode) -> None:
        """The fix turns a test towards neuron: it goes with the branch that the test guards (see `flow/guards.py`)."""
        from transforms.flow.guards import Guards

        self.shared(Guards).add(fix, test)

    def settle_guards(self) -> None:
        """Decide about the tests that `guards` was told of, once every transform has spoken."""
        from transforms.flow.guards import Guards

        if Guards in self._shared:
            self.shared(Guards).settle()

    def _code(self, rule: Rule | None) -> str:
        if rule is not None:
            return rule.code
        assert self._transform is not None
        return self._transform.rule.code

    def replace(self, node: cst.CSTNode, text: str) -> Replace:
        """New text for a node."""
        return Replace(node, text)

    def replace_from(self, first: cst.CSTNode, last: cst.CSTNode, text: str) -> ReplaceFrom:
        """New text for the range from one node to another."""
        return ReplaceFrom(first, last, text)


def _asks_type(node: cst.CSTNode) -> bool:
    """Whether an expression is the type of a value: `type(x)`, `x.__class__`."""
    if isinstance(node, cst.Call):
        return len(node.args) == 1 and isinstance(node.func, cst.Name) and node.func.value == "type"
    return isinstance(node, cst.Attribute) and node.attr.value == "__class__"
