"""TN401: the name of the process-group backend."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.changes import StringPart
from transforms.engine.context import Context
from transforms.engine.index import below
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.text_roles import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.backends import Backends, backend_text, names_backend
from transforms.flow.beside import indexed_by
from transforms.flow.devices import Verdict, device_text
from transforms.tables.distributed import OPTIONS_POSITION

PROCESS_GROUP_BACKEND = Rule(
    code="TN401",
    name="process-group-backend",
    summary='The backend of a process group: `"nccl"` becomes `"neuron"`',
    best=Safety.SAFE,
    argument=(
        "The string is the backend argument of a torch.distributed function, or is compared with what get_backend() "
        "returns; TorchNeuron registers its backend under the name neuron for neuron tensors. Value and tests "
        "change together."
    ),
    source=(
        'TorchNeuron documentation 2.33, distributed: `dist.init_process_group(backend="neuron")`; '
        "torch 2.13 is_backend_available"
    ),
    why="NCCL moves CUDA tensors only; a wheel without CUDA refuses the backend.",
    silent="gloo and mpi, which go on serving CPU tensors; texts for people.",
    examples=(
        (
            'import torch.distributed as dist\n\ndist.init_process_group("nccl")\n',
            'import torch.distributed as dist\n\ndist.init_process_group("neuron")\n',
        ),
        (
            'import torch.distributed as dist\n\nbackend = "nccl" if dist.is_nccl_available() else "gloo"\n'
            "dist.init_process_group(backend=backend)\n",
            "import torch.distributed as dist\n\n"
            'backend = "neuron" if dist.is_backend_available("neuron") else "gloo"\n'
            "dist.init_process_group(backend=backend)\n",
        ),
    ),
)

_PART = re.compile(r"cuda:nccl|nccl", re.I)
_PROBES = frozenset(("torch.distributed.is_nccl_available", "torch.distributed.distributed_c10d.is_nccl_available"))
_CONSTANTS = frozenset(("torch.distributed.Backend.NCCL", "torch.distributed.distributed_c10d.Backend.NCCL"))
_CLASSES = ("torch.distributed.ProcessGroupNCCL", "torch.distributed.distributed_c10d.ProcessGroupNCCL")
_MESSAGE = "the backend is neuron on Trainium"


class ProcessGroupBackend(Transform):
    """Rewrites backend names where the flow of values proves what they are."""

    rules = (PROCESS_GROUP_BACKEND,)
    triggers = (b"nccl", b"NCCL")
    nodes = (cst.SimpleString, cst.FormattedString, cst.Attribute, cst.Name, cst.Module)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one string, or one name."""
        if isinstance(node, cst.SimpleString):
            text = cx.string(node)
            if text == "ProcessGroupNCCL" and _is_feature_test(cx.index.enclosing(node, cst.Call), cx):
                cx.keep(node, "feature test: false without NCCL")
            elif text is not None and backend_text(text) and not is_docstring(cx, node):
                self._string(node, cx)
        elif isinstance(node, cst.FormattedString):
            self._formatted(node, cx)
        elif isinstance(node, cst.Module):
            for use in cx.uses.under(*_PROBES, *_CONSTANTS, *_CLASSES):
                if not use.aliased and not any(_spelled(part) for part in below(use.node)):
                    self._name(use.node, cx)  # from torch.distributed import is_nccl_available as there
        elif _spelled(node):
            self._name(node, cx)

    # strings ----------------------------------------------------------------------------------------------------

    def _string(self, node: cst.SimpleString, cx: Context) -> None:
        verdict = Backends(cx).literal(node)
        if verdict.kind in ("given", "test"):
            changes = [StringPart(node, m.start(), m.group(), _renamed(m.group())) for m in _PART.finditer(node.value)]
            fix = cx.fix(
                "the process group runs on the neuron backend",
                *changes,
                group=verdict.group,
                requires=_key_beside(node, cx),
            )
            cx.report(node, _MESSAGE, verdict.safety, fix=fix, evidence=verdict.evidence)
        else:
            self._open(node, verdict, cx)

    def _formatted(self, node: cst.FormattedString, cx: Context) -> None:
        texts = [p for p in node.parts if isinstance(p, cst.FormattedStringText)]
        parts = [p for p in texts if _PART.search(p.value)]
        if not parts or not re.fullmatch(r"[\w:,\s]*", "".join(p.value for p in texts)):
            return
        verdict = Backends(cx).literal(node)
        if verdict.kind in ("given", "test"):
            changes = [cx.replace(p, _PART.sub(lambda m: _renamed(m.group()), p.value)) for p in parts]
            fix = cx.fix("the process group runs on the neuron backend", *changes, group=verdict.group)
            cx.report(node, _MESSAGE, verdict.safety.at_most(Safety.REVIEW), fix=fix, evidence=verdict.evidence)

    def _open(self, node: cst.CSTNode, verdict: Verdict, cx: Context) -> None:
        if verdict.kind == "multi":
            message = f'{cx.code(node)} is one of several backends by device: add the entry "neuron": "neuron"'
            cx.report(node, message, Safety.MANUAL, evidence=verdict.evidence)
        elif verdict.kind == "foreign":
            message = f"{cx.code(node)} is the {verdict.evidence[0][1]}, a package with backends of its own"
            cx.report(node, message, Safety.MANUAL, evidence=verdict.evidence)
        elif (asked := _looked_up(node, cx)) is not None:
            text, key = cx.code(asked), cx.code(node)
            message = f"{key} is a key that {text} looks up, on Trainium neuron: change it with its value"
            cx.report(node, message, Safety.MANUAL, evidence=[(asked, "looked up here")])
        elif reason := text_role(cx, node) or _searched(node, cx):
            cx.keep(node, reason)
        else:
            message = f"{cx.code(node)} may name a process-group backend: nothing in this file says how it is used"
            arg = cx.parent(node)
            named = isinstance(arg, cst.Arg) and arg.keyword is not None and "backend" in arg.keyword.value
            severity = ERROR if named else WARNING
            cx.report(node, message, Safety.MANUAL, severity=severity, evidence=verdict.evidence)

    # names ------------------------------------------------------------------------------------------------------

    def _name(self, node: cst.CSTNode, cx: Context) -> None:
        above = cx.parent(node)
        if isinstance(above, cst.Attribute) and (above.attr is node or cx.origin(above).names & _CONSTANTS):
            return
        origin = cx.origin(node)
        best = Safety.REVIEW if origin.ambiguous else Safety.SAFE
        if origin.names & _PROBES and _is_use(node, cx):
            self._probe(node, best, cx)
        elif origin.names & _CONSTANTS:
            verdict = Backends(cx).literal(node)
            if verdict.kind in ("given", "test"):
                fix = cx.fix(
                    "the process group runs on the neuron backend",
                    cx.replace(node, cx.literal("neuron", node)),
                    group=verdict.group,
                )
                cx.report(node, _MESSAGE, verdict.safety.at_most(best), fix=fix, evidence=verdict.evidence)
            else:
                self._open(node, verdict, cx)
        elif origin.name.startswith(_CLASSES) and _is_use(node, cx):
            self._class(node, cx)

    def _probe(self, node: cst.CSTNode, best: Safety, cx: Context) -> None:
        call = cx.parent(node)
        if not isinstance(call, cst.Call) or call.func is not node or call.args:
            cx.report(node, 'is_nccl_available is used as a value: is_backend_available needs "neuron"', Safety.MANUAL)
            return
        changes, requests = cx.rename(
            node, "torch.distributed.is_nccl_available", "torch.distributed.is_backend_available"
        )
        arguments = cx.arguments(call).append(cx.literal("neuron", node))
        fix = cx.fix("ask for the neuron backend", *changes, arguments, requests=requests)
        cx.report(node, "asks whether the neuron backend is there", best, fix=fix)

    def _class(self, node: cst.CSTNode, cx: Context) -> None:
        """ProcessGroupNCCL and its Options: absent from a wheel without CUDA."""
        for above in cx.index.ancestors(node):
            if isinstance(above, cst.Arg):
                call = cx.parent(above)
                if isinstance(call, cst.Call) and cx.origin(call.func).name in OPTIONS_POSITION:
                    return  # goes with the argument pg_options
        message = (
            "ProcessGroupNCCL does not exist without CUDA: neuron's process group has another class and takes no "
            "options"
        )
        cx.report(node, message, Safety.MANUAL, severity=WARNING if _guarded(node, cx) else ERROR)


def _searched(node: cst.CSTNode, cx: Context) -> str:
    """Why a text is looked for in the message of an error (`if "NCCL" in str(error)`), empty when it is not."""
    test = cx.parent(node)
    if not isinstance(test, cst.Comparison) or test.left is not node or len(test.comparisons) > 1:
        return ""
    stack: list[cst.CSTNode] = [test.comparisons[0].comparator]
    while stack:
        here = stack.pop()
        bindings = cx.names.bindings(here.value, cx.names.scope(here)) if isinstance(here, cst.Name) else []
        if any(b.kind == "except" for b in bindings):
            return "looked for in an error"
        stack += here.children
    return ""


def _spelled(node: cst.CSTNode) -> bool:
    return "NCCL" in (last := _last(node)) or last == "is_nccl_available"


def _last(node: cst.CSTNode) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""


def _renamed(old: str) -> str:
    new = "neuron:neuron" if ":" in old else "neuron"
    return new.upper() if old.isupper() else new


def _is_use(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a name is read here, not imported or bound."""
    return not any(isinstance(above, (cst.ImportAlias, cst.AssignTarget)) for above in _near(node, cx))


def _is_feature_test(call: cst.CSTNode | None, cx: Context) -> bool:
    return (
        isinstance(call, cst.Call)
        and cx.origin(call.func).name == "builtins.hasattr"
        and cx.origin(call.args[0].value).name.startswith("torch.distributed")
    )


def _guarded(node: cst.CSTNode, cx: Context) -> bool:
    """Whether the code runs only where a feature test found ProcessGroupNCCL, or may fail to import it."""
    child = node
    for above in cx.index.ancestors(node):
        if isinstance(above, (cst.If, cst.IfExp)) and above.test is not child:
            test = cx.code(above.test)
            if "hasattr" in test and "ProcessGroupNCCL" in test:
                return True
        if isinstance(above, cst.Try):
            return True
        if isinstance(above, cst.FunctionDef):
            return False
        child = above
    return False


def _near(node: cst.CSTNode, cx: Context) -> list[cst.CSTNode | None]:
    above = cx.parent(node)
    return [above, cx.parent(above) if above is not None else None]


def _looked_up(node: cst.CSTNode, cx: Context) -> cst.CSTNode | None:
    """Where a dict is indexed by a backend that has this key, as `{"nccl": ...}[dist.get_backend()]`."""
    element = cx.parent(node)
    holder: cst.CSTNode | None = None
    if isinstance(element, cst.DictElement) and element.key is node:
        holder = cx.parent(element)
    elif isinstance(element, cst.Index):
        subscript = cx.index.enclosing(element, cst.Subscript)
        holder = subscript.value if subscript is not None else None
    elif isinstance(element, cst.Arg) and isinstance(call := cx.parent(element), cst.Call):
        origin = cx.origin(call.func)
        if element.keyword is None and isinstance(call.func, cst.Attribute) and not origin.names:
            holder = call.func.value if call.func.attr.value in ("get", "pop", "setdefault") else None
    if holder is None:
        return None
    return next((s for s in indexed_by(cx, holder) if _is_backend(s, cx, 0)), None)


def _is_backend(value: cst.CSTNode, cx: Context, hops: int) -> bool:
    """Whether an expression is the backend of a group: `get_backend()`, or a variable or attribute named so."""
    if isinstance(value, cst.Call):
        origin = cx.origin(value.func)
        if origin.name.startswith("torch.distributed.") and origin.name.endswith("get_backend"):
            return True
        plain = isinstance(value.func, cst.Attribute) and value.func.attr.value in ("lower", "upper", "strip")
        inner = value.func.value if plain and isinstance(value.func, cst.Attribute) else None
        if inner is None and origin.name == "builtins.str" and value.args:
            inner = value.args[0].value
        return inner is not None and hops < 4 and _is_backend(inner, cx, hops + 1)
    if isinstance(value, (cst.Name, cst.Attribute)) and names_backend(_last(value)):
        return True
    if isinstance(value, cst.Name) and hops < 4:
        found = cx.names.bindings(value.value, cx.names.scope(value))
        return any(b.value is not None and _is_backend(b.value, cx, hops + 1) for b in found)
    return False


def _key_beside(node: cst.SimpleString, cx: Context) -> list[cst.CSTNode]:
    """The device name that a backend belongs to in a table."""
    element = cx.parent(node)
    if isinstance(element, cst.DictElement) and element.value is node and device_text(cx.string(element.key) or ""):
        return [element.key]
    return []
