"""Offsets of the nodes that somebody asked for, and the text that LibCST would write.

LibCST's position providers record every node, for 2.1 times the cost of the parse. This state records the wanted ones
by their token index, for 0.3 times, and gives the generated text besides, which must equal the source.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState  # not public; LibCST's own providers rest on it

from transforms.engine.source import Source


class _Unrecorded:
    """A context manager that does nothing, for the nodes that nobody asked for: nearly all of them."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class _Recorded:
    """Notes the tokens that a node writes without its own parentheses, commas and leading lines."""

    def __init__(self, state: _Recorder, node: cst.CSTNode) -> None:
        self.state = state
        self.key = id(node)

    def __enter__(self) -> None:
        self.start = len(self.state.tokens)

    def __exit__(self, *_: object) -> None:
        self.state.found[self.key] = (self.start, len(self.state.tokens))


_UNRECORDED = _Unrecorded()


class _Recorder(CodegenState):
    """Notes the token index where each wanted node begins and ends."""

    def __init__(self, module: cst.Module, wanted: set[int]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted = wanted
        self.found: dict[int, tuple[int, int]] = {}
        self.open: list[int] = []

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.open.append(len(self.tokens))

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            start = self.open.pop()
            self.found.setdefault(id(node), (start, len(self.tokens)))

    def record_syntactic_position(self, node: cst.CSTNode, **_: Any) -> Any:
        """LibCST's hook around a node's own tokens. A generator here would cost a third of the whole pass."""
        return _Recorded(self, node) if id(node) in self.wanted else _UNRECORDED


class Spans:
    """Half-open character ranges of nodes in the text of their module."""

    def __init__(self, module: cst.Module, wanted: Iterable[cst.CSTNode], source: Source) -> None:
        state = _Recorder(module, {id(node) for node in wanted})
        module._codegen(state)
        offsets = [0, *accumulate(map(len, state.tokens))]
        self.text = "".join(state.tokens)
        last = len(offsets) - 1
        found = {key: (offsets[min(a, last)], offsets[min(b, last)]) for key, (a, b) in state.found.items()}
        if source.parsed is not source.text:
            found = {
                key: (source.offset(a), source.offset(b - 1) + 1 if b > a else source.offset(b))
                for key, (a, b) in found.items()
            }
        self._at = found

    def of(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end of a node that was wanted, without its own parentheses."""
        return self._at[id(node)]

    def has(self, node: cst.CSTNode) -> bool:
        """Whether the node was wanted and met."""
        return id(node) in self._at
