"""TN114: running out of memory."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.changes import StringPart
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.text_roles import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.renames import rename
from transforms.tables.rows import LOW, Row

OOM_ERROR = Rule(
    code="TN114",
    name="oom-error",
    summary="The error of a device that is out of memory: its class and its message",
    best=Safety.REVIEW,
    argument=(
        "torch.cuda.OutOfMemoryError is torch.OutOfMemoryError, so the new name is the same class; that the neuron "
        "allocator "
        "raises it is not documented."
    ),
    source=(
        "torch 2.13: the CUDA name is an alias; torch-neuronx sources of April 2026, which raise RuntimeError in places"
    ),
    why="A handler that looks for CUDA's words never runs on Trainium.",
    silent=(
        "Messages for people, keys and states that merely contain the words, own error classes, and "
        "torch.OutOfMemoryError, which every device has."
    ),
    examples=(
        (
            "import torch\n\n\ndef f(g):\n    try:\n        g()\n    except torch.cuda.OutOfMemoryError:\n"
            "        return 1\n",
            "import torch\n\n\ndef f(g):\n    try:\n        g()\n    except torch.OutOfMemoryError:\n"
            "        return 1\n",
        ),
        (
            'def f(e):\n    return "CUDA out of memory" in str(e)\n',
            'def f(e):\n    return "out of memory" in str(e)\n',
        ),
    ),
)
_ROW = Row(
    "torch.cuda.OutOfMemoryError",
    "torch.OutOfMemoryError",
    LOW,
    "the same class; not documented that the neuron allocator raises it",
    starts=False,
)
_SEARCHES = frozenset("startswith endswith find index count __contains__ assertRaisesRegex assertIn".split())
_MESSAGE = re.compile(r"cuda(?: error:)? out of memory\.?\s*", re.I)


class OomError(Transform):
    """Renames the class and makes message tests independent of CUDA."""

    rules = (OOM_ERROR,)
    triggers = (b"OutOfMemory", b"out of memory")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use and every test of a message in a file."""
        for use in cx.uses.of(_ROW.name):
            rename(cx, use, _ROW)
        for string in cx.index.nodes(cst.SimpleString):
            text = cx.string(string)
            if text is not None and "out of memory" in text.lower():
                self._message(string, text, cx)

    def _message(self, string: cst.SimpleString, text: str, cx: Context) -> None:
        comparison = cx.parent(string)
        inside = comparison.comparisons if isinstance(comparison, cst.Comparison) and comparison.left is string else ()
        if not inside or not all(isinstance(c.operator, (cst.In, cst.NotIn)) for c in inside):
            if "cuda" in text.lower() and not is_docstring(cx, string) and not text_role(cx, string):
                self._other_test(string, cx)
            return
        evidence = [(string, "what the neuron runtime writes when memory runs out is not documented")]
        if _MESSAGE.fullmatch(text) and string.value[1:-1] == text:
            new = "out of memory" if text != text.upper() else "OUT OF MEMORY"
            fix = cx.fix("the test does not ask for CUDA", StringPart(string, 1, text, new))
            cx.report(string, "the message on Trainium does not name CUDA", Safety.REVIEW, fix=fix, evidence=evidence)
        elif "cuda" in text.lower():
            cx.report(string, "the message on Trainium does not name CUDA", Safety.MANUAL, evidence=evidence)
        else:
            message = "a test of the message of an error: see what the neuron runtime writes"
            cx.report(string, message, Safety.NOTE, evidence=evidence)

    def _other_test(self, string: cst.SimpleString, cx: Context) -> None:
        """CUDA's words where a message is tested in another way, or kept to be tested."""
        if _tests(string, cx):
            message = "this test looks for CUDA's words: the message on Trainium does not name CUDA"
            cx.report(string, message, Safety.MANUAL, severity=ERROR)
        else:
            message = "CUDA's words for an error: a message that is compared with them never matches on Trainium"
            cx.report(string, message, Safety.MANUAL, severity=WARNING)


def _tests(string: cst.SimpleString, cx: Context) -> bool:
    """Whether a text is compared, matched, or searched for: `==`, `.startswith(text)`, `re.search(text, message)`."""
    above = cx.parent(string)
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget, cst.MatchValue)):
        return True
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    return method in _SEARCHES or cx.origin(call.func).name.startswith("re.")
