"""The words of the flow of values: places, sinks and origins."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

Place = tuple[str, int, str]
"""(kind, owner, name). Kinds: `var` (owner: its scope), `attr` (owner: a class of the file, or 0 when the receiver is
unknown), `item` (a text key), `contents` (values of a dict held by a variable), `return` (owner: the function; the
name ends in `#i` for the i-th part of a returned tuple)."""


@dataclass(frozen=True, eq=False)
class Sink:
    """A use that says something about the value. `kind`:

    device (only a device can stand here), likely (a parameter named device of a call that nobody here defines), arm (an
    arm of a conditional on an availability probe; `other` is the opposite one), probe (assigned where a probe holds),
    test (compared with `other`; `subject` is the side of the value, `indexed` says that an index takes part), key (of
    the dict or subscript `other`), choice (member of a Literal), index (an index is read out of the text), pattern
    (matched with a regular expression), taken (an argument that may be a device or an index), kernel (what a kernel is
    registered for), text (for people), code (part of the name of a module or function that is looked up), foreign (a
    name of a library of its own), leak (goes where nobody can follow), multi (one of several accelerators).
    """

    kind: str
    node: cst.CSTNode
    text: str
    other: cst.CSTNode | None = None
    subject: cst.CSTNode | None = None
    indexed: bool = True


@dataclass(frozen=True, eq=False)
class Origin:
    """A value that comes from outside the places: `device` (a device object), `literal`, `number` or `other`."""

    kind: str
    node: cst.CSTNode
    text: str


def is_sequence(node: cst.CSTNode) -> bool:
    """Whether an expression gives a list or tuple by its form: `["cuda"]`, `(["cuda"] if here else [])`, `[x] * 2`."""
    if isinstance(node, cst.IfExp):
        return is_sequence(node.body) or is_sequence(node.orelse)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Multiply)):
        return is_sequence(node.left) or is_sequence(node.right)
    return isinstance(node, (cst.List, cst.Tuple, cst.ListComp))
