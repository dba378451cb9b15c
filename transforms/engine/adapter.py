"""Ordinary LibCST transformers and codemod commands as transforms of the pipeline.

They run over the whole module, as they would by themselves; the difference between the old and the new text becomes
edits, so that their result passes through the same ledger, review and checks as everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.changes import Layout
from transforms.engine.context import Context
from transforms.engine.model import Edit, Rule, Safety
from transforms.engine.spans import Spans
from transforms.engine.transform import Transform

if TYPE_CHECKING:
    from libcst.codemod import Codemod

_TOKEN = re.compile(r"\w+|[ \t]+|\r\n|[\r\n]|.", re.S)


@dataclass(frozen=True)
class Written:
    """Edits whose offsets are known already."""

    written: tuple[Edit, ...]

    def wants(self) -> Iterator[cst.CSTNode]:
        """Nothing."""
        return iter(())

    def edits(self, layout: Layout) -> list[Edit]:
        """The edits as they are."""
        return list(self.written)


class Adapted(Transform):
    """A transformer behind a rule. Everything that it changes in a file is one fix, told at each changed statement.

    `make` is called once per file, so that no state can leak between files. `triggers` are byte literals as for any
    transform. The finding has the rule's best safety: nobody but its author can argue for it.
    """

    nodes = (cst.Module,)

    def __init__(
        self, rule: Rule, make: Callable[[], cst.CSTTransformer | Codemod], triggers: tuple[bytes, ...] = (b"",)
    ) -> None:
        self.rules = (rule,)  # type: ignore[misc]
        self.triggers = triggers  # type: ignore[misc]
        self.make = make

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Run the transformer and report the statements that it changes."""
        assert isinstance(node, cst.Module)
        changed = transformed(node, self.make())
        edits = difference(cx.source.parsed, changed)
        if not edits:
            return
        edits = [Edit(cx.source.offset(e.start), cx.source.offset(e.end), e.text) for e in edits]
        fix = cx.fix(self.rule.summary, Written(tuple(edits)))
        for statement in _touched(cx, edits):
            if self.rule.best is Safety.MANUAL:
                cx.report(statement, self.rule.summary, Safety.MANUAL)
            else:
                cx.report(statement, self.rule.summary, self.rule.best, fix=fix)


def transformed(module: cst.Module, transformer: cst.CSTTransformer | Codemod) -> str:
    """The module's text after a transformer or codemod command."""
    command = getattr(transformer, "transform_module", None)
    if command is not None:  # commands are transformers too; only this way do their requests for imports take effect
        code: str = command(module).code
        return code
    assert isinstance(transformer, cst.CSTTransformer)
    if getattr(transformer, "METADATA_DEPENDENCIES", ()):
        from libcst.metadata import MetadataWrapper

        return MetadataWrapper(module).visit(transformer).code
    return module.visit(transformer).code


def difference(old: str, new: str) -> list[Edit]:
    """A small set of edits that turns `old` into `new`: by lines first, then by tokens within changed lines."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    edits = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            edits += _by_tokens(starts[a], "".join(before[a:b]), "".join(after[c:d]))
    return edits


def _by_tokens(at: int, old: str, new: str) -> list[Edit]:
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    starts = [at]
    for token in before:
        starts.append(starts[-1] + len(token))
    opcodes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [Edit(starts[a], starts[b], "".join(after[c:d])) for tag, a, b, c, d in opcodes if tag != "equal"]


def _touched(cx: Context, edits: list[Edit]) -> list[cst.CSTNode]:
    """The first statement of each edit: simple ones before the compound ones around them."""
    statements: list[cst.CSTNode] = []
    for nodes in list(cx.index.by_type.values()):
        statements += [n for n in nodes if isinstance(n, (cst.BaseSmallStatement, cst.BaseCompoundStatement))]
    spans = Spans(cx.module, statements, cx.source)
    ranked = sorted((spans.of(n)[1] - spans.of(n)[0], spans.of(n), n) for n in statements if spans.has(n))
    found: dict[int, cst.CSTNode] = {}
    for edit in edits:
        holder = next((n for _, (a, b), n in ranked if a <= edit.start <= b), None)
        if holder is None and ranked:
            holder = min(ranked, key=lambda r: abs(r[1][0] - edit.start))[2]
        if holder is not None:
            found[id(holder)] = holder
    return list(found.values())
