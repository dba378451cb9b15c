"""The catch-all: every CUDA- or XLA-specific token of the code that no rule has spoken about."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transforms.engine.context import Context, PendingFinding
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.names import Origin, dotted_name
from transforms.engine.spans import Spans
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
        if name.startswith("."):
            return self._kept(node, "name of the repository")
        fatal = is_fatal(name) and not origin.local
        return self._open(node, f"{name} has no known counterpart on neuron", ERROR if fatal else WARNING)

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


def is_docstring(cx: Context, node: cst.CSTNode) -> bool:
    """Whether a string is the docstring of its module, class or function."""
    outer: cst.CSTNode = node
    above = cx.parent(outer)
    if isinstance(above, cst.ConcatenatedString):
        while isinstance(above, cst.ConcatenatedString):
            outer, above = above, cx.parent(above)
    if not isinstance(above, cst.Expr):
        return False
    line = cx.parent(above)
    if not isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) or line.body[0] is not above:
        return False
    block = line if isinstance(line, cst.SimpleStatementSuite) else cx.parent(line)
    if isinstance(block, cst.Module):
        return block.body[0] is line
    holder = cx.parent(block) if block is not None else None
    first = block is line or (isinstance(block, cst.IndentedBlock) and block.body[0] is line)
    return first and isinstance(holder, (cst.FunctionDef, cst.ClassDef))


_PRINTERS = frozenset(
    [
        "print",
        "log",
        "debug",
        "info",
        "warning",
        "warn",
        "error",
        "exception",
        "critical",
        "write",
        "print_rank_0",
        "fail",
        "skip",
        "xfail",
        "skipTest",
        "skipIf",
        "skipUnless",
        "echo",
        "secho",
    ]
)
_LABELS = frozenset(
    "getLogger get_logger record_function range_push range_start add_scalar add_scalars set_description "
    "title set_title suptitle xlabel ylabel set_xlabel set_ylabel legend".split()
)
"""Functions that give a name to a logger, a range of a profile, a curve, or a plot."""
SPEAKING = _PRINTERS | _LABELS
_COLUMNS = frozenset({"columns", "fieldnames", "field_names", "headers"})
_HELP = frozenset(
    [
        "help",
        "description",
        "epilog",
        "usage",
        "metavar",
        "msg",
        "message",
        "reason",
        "title",
        "label",
        "doc",
        "desc",
        "name",
    ]
)


_ADDRESS = re.compile(
    r"(https?|s3|gs|hf)://\S+$|[^\s:]*\.(pt|pth|ckpt|safetensors|npy|npz|pkl|h5|csv|log|txt|md|png|svg|jpe?g|pdf)$"
)
_LOOKUPS = frozenset({"get", "pop", "setdefault"})


def text_role(cx: Context, node: cst.CSTNode) -> str:
    """Why a text that names CUDA is for people (help, log, error, no effect), empty when it may be a value."""
    child: cst.CSTNode = node
    if _ADDRESS.match(cx.string(node) or ""):
        return "address or name of a data file"
    for above in cx.index.ancestors(node):
        if isinstance(above, cst.Expr):
            return "text without effect"
        if isinstance(above, (cst.Raise, cst.Assert)):
            return "error text" if not (isinstance(above, cst.Assert) and child is above.test) else ""
        if isinstance(above, cst.Arg) and above.keyword is not None and above.keyword.value in _HELP:
            return "help text" if above.keyword.value != "name" else "name for people"
        if isinstance(above, cst.Arg) and above.keyword is not None and above.keyword.value in _COLUMNS:
            return "name of a column"
        if isinstance(above, cst.Call):
            if child is above.func:
                return ""
            return _call_role(cx, above, node, child)
        if isinstance(above, (cst.Arg, cst.ConcatenatedString, cst.BinaryOperation, cst.FormattedString)):
            child = above
            continue
        if isinstance(above, cst.IfExp) and child is not above.test:
            child = above
            continue
        if isinstance(above, (cst.FormattedStringExpression, cst.Attribute)):
            child = above
            continue
        if isinstance(above, cst.DictElement):
            if above.key is child:
                return "key of a dict"
            return "help text" if (cx.string(above.key) or "") in _HELP - {"name"} else ""
        if isinstance(above, cst.MatchMappingElement) and above.key is child:
            return "key of a dict"
        if isinstance(above, cst.Index):
            return _key_role(cx, above)
        if isinstance(above, cst.Comparison):
            return "key of a dict" if _asks_for_key(cx, above, node) else ""
        if isinstance(above, (cst.Element, cst.List, cst.Tuple)):
            child = above
            continue
        if isinstance(above, (cst.Assign, cst.AugAssign)):
            return "exported name" if cx.code(above).lstrip().startswith("__all__") else ""
        return ""
    return ""


def _key_role(cx: Context, index: cst.Index) -> str:
    """A subscript by text is a key, but not that of the environment."""
    subscript = cx.index.enclosing(index, cst.Subscript)
    if subscript is None or cx.origin(subscript.value).names:
        return ""
    return "key of a dict"


def _asks_for_key(cx: Context, test: cst.Comparison, node: cst.CSTNode) -> bool:
    """Whether `"cuda_rng" in state` asks for a key that is read from the same object elsewhere in the file."""
    target = test.comparisons[0]
    if test.left is not node or not isinstance(target.operator, (cst.In, cst.NotIn)):
        return False
    holder, text = cx.code(target.comparator), cx.string(node)
    for read in cx.index.nodes(cst.Subscript):
        part = read.slice[0].slice
        if isinstance(part, cst.Index) and cx.string(part.value) == text and cx.code(read.value) == holder:
            return not cx.origin(read.value).names
    for name in (n for lookup in _LOOKUPS for n in cx.index.names.get(lookup, [])):
        method = cx.parent(name)
        call = cx.parent(method) if isinstance(method, cst.Attribute) and method.attr is name else None
        if not isinstance(method, cst.Attribute) or not isinstance(call, cst.Call) or call.func is not method:
            continue
        if call.args and cx.string(call.args[0].value) == text and cx.code(method.value) == holder:
            return not cx.origin(method.value).names
    return False


def _call_role(cx: Context, call: cst.Call, node: cst.CSTNode, arg: cst.CSTNode) -> str:
    called = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted_name(call.func)
    if called in _PRINTERS:
        return "log text"
    if called in _LABELS:
        return "name for people"
    if called == "namedtuple":
        return "name of a field"
    if called.endswith(("Error", "Exception", "Warning", "Exit")):
        return "error text"
    if called == "format" and isinstance(call.func, cst.Attribute):
        return text_role(cx, call)
    if called in ("get", "pop", "setdefault", "itemgetter") and call.args[0].value is node:
        own = isinstance(call.func, cst.Attribute) and not cx.origin(call.func.value).names
        return "key of a dict" if own or called == "itemgetter" else ""
    keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
    if (called == "add_parser" and keyword == "aliases") or (called == "add_subparsers" and keyword == "dest"):
        return "name of an option"
    if called in ("add_argument", "add_option", "add_parser", "option", "argument"):
        return "name of an option" if (cx.string(node) or "").startswith("-") or call.args[0].value is node else ""
    if called in _LOOKUPS and isinstance(call.func, cst.Attribute) and call.args and call.args[0].value is node:
        return "" if cx.origin(call.func.value).names else "key of a dict"
    if called in ("getattr", "hasattr", "setattr", "delattr") and len(call.args) > 1 and call.args[1].value is node:
        receiver = cx.origin(call.args[0].value)
        return "" if receiver.names and not receiver.ambiguous else "attribute of an own object"
    return ""
