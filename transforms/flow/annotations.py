"""Types that are written as text: annotations in quotes, and the first argument of `typing.cast`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from transforms.engine.context import Context

_CASTS = ("typing.cast", "typing_extensions.cast")


def is_type_text(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a text stands for a type."""
    if cx.index.enclosing(node, cst.Annotation) is not None:
        return True
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and call.args[0] is arg and cx.origin(call.func).name in _CASTS


def names_in(node: cst.SimpleString) -> Iterator[tuple[int, str]]:
    """Names of torch.cuda in the token of a text, each with its offset: two in `"tuple[torch.cuda.Stream, ...]"`."""
    for match in re.finditer(r"(?<![\w.])torch\.cuda(?:\.\w+)+", node.value):
        yield match.start(), match.group()
