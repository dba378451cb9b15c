"""What a text is for: docstrings, help and log texts, names for people, keys of dicts; else it may be a value."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.names import dotted_name


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


PRINTERS = frozenset(
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
SPEAKING = PRINTERS | _LABELS
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
    if called in PRINTERS:
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
