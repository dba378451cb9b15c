"""The catch-all: every CUDA- or XLA-specific token of the code that no rule has spoken about."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transforms.engine.context import Context, PendingFinding
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.names import Origin, dotted_name
from transforms.engine.spans import Spans
from transforms.engine.text_roles import is_docstring, text_role
from transforms.engine.words import SPECIFIC, is_specific, words

UNKNOWN_SITE = Rule(
    code="TN003",
    name="unknown-site",
    summary="A CUDA- or XLA-specific name or string that no rule knows",
    best=Safety.MANUAL,
    argument="It never edits.",
    source="TorchNeuron documentation, Neuron SDK 2.33.0: names that are absent there",
    why="A silent miss is worse than a noisy report: what is not understood is listed, not passed over.",
    silent="Comments and docstrings; names and texts of the program's own are kept, with the reason.",
)

_FATAL = ("torch.cuda", "torch.backends.cuda", "torch.backends.cudnn", "torch_xla", "torch.version.cuda")
_PATH = re.compile(r"\btorch\.(cuda|backends\.cud\w+)\.\w+")
_PATH_IN_TEXT = "holds a path of torch.cuda: where it is looked up or run, change it with the code that it is for"
_FOREIGN_TEXT = "names CUDA or XLA and nothing says what the text is for"


def is_fatal(name: str) -> bool:
    """Whether a qualified name without counterpart raises on a host that has neither CUDA nor XLA."""
    return any(name == f or name.startswith(f + ".") for f in _FATAL)


class Residue:
    """Candidates of one file, and what is to be said about those that stay uncovered."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.candidates: list[cst.CSTNode] = list(self._collect())

    def _collect(self) -> Iterator[cst.CSTNode]:
        index = self.cx.index
        yield from self._uses_of_imports()
        for spelling, nodes in index.names.items():
            if is_specific(spelling):
                for node in nodes:
                    yield self._chain(node)
        for string in index.nodes(cst.SimpleString):
            if is_specific(string.value) and not is_docstring(self.cx, string) and not self._inside_string(string):
                yield string
        for kind in (cst.FormattedString, cst.TemplatedString):
            for formatted in index.nodes(kind):
                if not self._inside_string(formatted) and self._text_is_specific(formatted):
                    yield formatted

    def _uses_of_imports(self) -> Iterator[cst.CSTNode]:
        """Uses of names whose import is specific although the name is not: `GradScaler` of torch.cuda.amp."""
        for alias in self.cx.index.nodes(cst.ImportAlias):
            qualified = self.cx.names.imported_name(alias)
            bound = alias.asname.name if alias.asname is not None else alias.name
            if not isinstance(bound, cst.Name) or is_specific(bound.value) or not is_specific(qualified):
                continue
            if qualified.split(".")[0] in ("torch", "torch_xla"):
                for use in self.cx.names.uses(bound.value, self.cx.names.scope(bound)):
                    yield self._chain(use)

    def _text_is_specific(self, node: cst.CSTNode) -> bool:
        return any(is_specific(getattr(part, "value", "")) for part in getattr(node, "parts", ()))

    def _inside_string(self, node: cst.CSTNode) -> bool:
        return self.cx.index.enclosing(node, cst.FormattedString, cst.TemplatedString) is not None

    def _chain(self, node: cst.CSTNode) -> cst.CSTNode:
        """The longest dotted chain around a name that comes from a package, else the name itself."""
        top = node
        above = self.cx.parent(top)
        while isinstance(above, cst.Attribute) and self._known_chain(above):
            top, above = above, self.cx.parent(above)
        return top

    def _known_chain(self, node: cst.Attribute) -> bool:
        if isinstance(self._statement_of_import(node), cst.CSTNode):
            return True
        return any(name.split(".")[0] != "builtins" for name in self.cx.origin(node).names)

    def _statement_of_import(self, node: cst.CSTNode) -> cst.CSTNode | None:
        for above in self.cx.index.ancestors(node):
            if isinstance(above, (cst.ImportAlias, cst.ImportFrom, cst.Import, cst.LazyImport, cst.LazyImportFrom)):
                return above
            if not isinstance(above, (cst.Attribute, cst.AsName)):
                return None
        return None

    def uncovered(self, spans: Spans, covered: list[tuple[int, int]]) -> Iterator[PendingFinding]:
        """Findings for candidates that no finding's site touches."""
        taken = _Ranges(covered)
        for node in self.candidates:
            if not spans.has(node) or all(taken.touches(*spans.of(part)) for part in self._own_parts(node)):
                continue
            if (pending := self._judge(node)) is not None:
                taken.add(*spans.of(node))
                yield pending

    def _own_parts(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """What of a candidate names CUDA: the texts of an f-string, whose expressions are sites of their own."""
        parts = [p for p in getattr(node, "parts", ()) if is_specific(getattr(p, "value", ""))]
        return parts or [node]

    def asked(self) -> Iterator[cst.CSTNode]:
        """Nodes whose place `uncovered` needs."""
        for node in self.candidates:
            yield node
            yield from self._own_parts(node)

    def _judge(self, node: cst.CSTNode) -> PendingFinding | None:
        if isinstance(node, (cst.SimpleString, cst.FormattedString, cst.TemplatedString)):
            reason = text_role(self.cx, node)
            if reason:
                return self._kept(node, reason)
            code = self.cx.code(node)
            shown = code if len(code) < 60 else code[:57] + "..."
            if _PATH.search(code):
                return self._open(node, f"{shown} {_PATH_IN_TEXT}", WARNING)
            return self._open(node, f"{shown} {_FOREIGN_TEXT}", WARNING)
        if (statement := self._statement_of_import(node)) is not None:
            return self._imported(node, statement)
        origin = self.cx.origin(node)
        foreign = [n for n in sorted(origin.names) if is_specific(n) and n.split(".")[0] != "builtins"]
        if foreign and not (isinstance(node, cst.Name) and self._attribute_or_keyword(node)):
            return self._foreign(node, foreign, origin)
        if self._may_be_torch(node):
            message = "torch is a value here, not an import: if it is the package, this needs the name of torch.neuron"
            return self._open(node, message, WARNING)
        return self._kept(node, self._reason(node))

    def _may_be_torch(self, node: cst.CSTNode) -> bool:
        """Whether this is `cuda` of `torch.cuda`, where torch is a parameter, an attribute, or what a call gives."""
        above = self.cx.parent(node)
        if not isinstance(above, cst.Attribute) or above.attr is not node or self.cx.origin(above).names:
            return False
        holder = above.value
        last = holder.attr if isinstance(holder, cst.Attribute) else holder
        return isinstance(last, cst.Name) and last.value == "torch"

    def _attribute_or_keyword(self, node: cst.Name) -> bool:
        above = self.cx.parent(node)
        return (isinstance(above, cst.Attribute) and above.attr is node) or (
            isinstance(above, cst.Arg) and above.keyword is node
        ) or self._assigned(node)

    def _assigned(self, node: cst.Name) -> bool:
        """Whether a plain name receives a value here: the value speaks for itself."""
        above = self.cx.parent(node)
        if isinstance(above, (cst.AnnAssign, cst.NamedExpr)):
            return above.target is node
        return isinstance(above, cst.AssignTarget)

    def _foreign(self, node: cst.CSTNode, names: list[str], origin: Origin) -> PendingFinding:
        name = names[0]
        if name.startswith(".") or self._of_repository(node, name):
            return self._kept(node, "name of the repository")
        if name.split(".")[0] in self.cx.facts.modules and self._asked_whether(node):
            return self._kept(node, "setting of the repository")
        fatal = is_fatal(name) and not origin.local
        return self._open(node, f"{name} has no known counterpart on neuron", ERROR if fatal else WARNING)

    def _asked_whether(self, node: cst.CSTNode) -> bool:
        """Whether an attribute of an imported object decides something by its truth: `if hparams.use_cuda:`."""
        above = self.cx.parent(node)
        if not isinstance(node, cst.Attribute) or not is_specific(node.attr.value):
            return False
        if isinstance(above, (cst.If, cst.While, cst.IfExp, cst.Assert)):
            return above.test is node
        return isinstance(above, cst.BooleanOperation) or (
            isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not)
        )

    def _of_repository(self, node: cst.CSTNode, name: str) -> bool:
        """Whether a qualified name is a function, class or constant that a module of the repository defines, or a
        member of its classes. What is no more than passed on may be a compiled extension of the repository."""
        *modules, last = name.split(".")
        member = bool(modules) and modules[-1][:1].isupper()
        if member:
            modules.pop()
        above = self.cx.parent(node)
        called = isinstance(above, cst.Call) and above.func is node
        known = bool(modules) and all(part in self.cx.facts.modules for part in modules)
        if len(modules) == 1:  # a folder somewhere may have the name of a package that is installed
            return known and (member or last.isupper())
        return known and (member or called or last[:1].isupper())

    def _imported(self, node: cst.CSTNode, statement: cst.CSTNode) -> PendingFinding | None:
        if isinstance(statement, cst.ImportAlias):
            qualified = self.cx.names.imported_name(statement)
            if (
                isinstance(node, cst.Name)
                and isinstance(statement.asname, cst.AsName)
                and node is statement.asname.name
            ):
                return self._kept(node, "local name")
        else:
            module = getattr(statement, "module", None)
            if getattr(statement, "relative", ()):
                return self._kept(node, "module of the repository")
            names = getattr(statement, "names", ())
            if isinstance(names, (list, tuple)):
                qualified = dotted_name(module)
                speaking = qualified.split(".")[0] in ("torch", "torch_xla")
                if speaking or any(is_specific(dotted_name(a.name)) for a in names):
                    return None  # the imported names speak for the statement
            qualified = dotted_name(module)
        if qualified.startswith("."):
            return self._kept(node, "module of the repository")
        root = qualified.split(".")[0]
        if root in self.cx.facts.modules:
            return self._kept(node, "module of the repository")
        fatal = any(qualified == f or qualified.startswith(f + ".") for f in ("torch_xla",))
        return self._open(
            node, f"the import of {qualified} has no known counterpart on neuron", ERROR if fatal else WARNING
        )

    def _reason(self, node: cst.CSTNode) -> str:
        above = self.cx.parent(node)
        if isinstance(above, cst.Attribute):
            return "attribute of an own object"
        if isinstance(above, cst.Arg) and above.keyword is node:
            return "name of a parameter"
        if isinstance(above, cst.FunctionDef):
            holder = self.cx.index.enclosing(above, cst.ClassDef, cst.FunctionDef)
            return "own method" if isinstance(holder, cst.ClassDef) else "own function"
        if isinstance(above, cst.ClassDef) and above.name is node:
            return "own class"
        if isinstance(above, cst.Param):
            return "name of a parameter"
        return "local name"

    def _kept(self, node: cst.CSTNode, reason: str) -> PendingFinding:
        return PendingFinding(self._code(node), node, reason, None, None, [], None, reason)

    def _open(self, node: cst.CSTNode, message: str, severity: str) -> PendingFinding:
        return PendingFinding(UNKNOWN_SITE.code, node, message, Safety.MANUAL, severity, [], None, None)

    def _code(self, node: cst.CSTNode) -> str:
        """Kept texts belong to the rule that would change them if they were values."""
        if isinstance(node, (cst.SimpleString, cst.FormattedString)):
            found = {w for w in words(self.cx.code(node)) if w in SPECIFIC}
            if found == {"cuda"}:
                return "TN101"
            if found == {"nccl"}:
                return "TN401"
        return UNKNOWN_SITE.code


class _Ranges:
    """Ranges of text that are spoken for."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self._ranges = sorted(ranges)
        self._more: list[tuple[int, int]] = []

    def add(self, start: int, end: int) -> None:
        self._more.append((start, end))

    def touches(self, start: int, end: int) -> bool:
        from bisect import bisect_left

        place = bisect_left(self._ranges, (end, end))
        near = self._ranges[max(0, place - 40) : place]
        return any(a < end and start < b for a, b in near) or any(a < end and start < b for a, b in self._more)
