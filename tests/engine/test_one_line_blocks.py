"""Blocks of simple statements behind their colon (`if x: a(); b()`) are blocks like others, for every rule."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import libcst as cst
import pytest

from harness import FIXTURES, fixture_cases, migrate


class _OneLine(cst.CSTTransformer):
    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        lines = updated_node.body
        if not lines or not all(isinstance(line, cst.SimpleStatementLine) for line in lines):
            return updated_node
        plain = [s.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for line in lines for s in line.body]  # type: ignore[union-attr]
        return cst.SimpleStatementSuite(plain)


def _written_on_one_line() -> list[Path]:
    return [case for case in fixture_cases() if ":\n" in case.read_text()]


@pytest.mark.parametrize("case", _written_on_one_line(), ids=lambda p: str(p.relative_to(FIXTURES)))
def test_every_fixture_with_its_blocks_on_one_line(case: Path) -> None:
    """`migrate` checks that nothing breaks; the rules that speak are those that speak about the same code in lines."""
    text = case.read_text()
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError:
        return  # a fixture about what can't be read
    one_line = module.visit(_OneLine()).code
    spoken = Counter(f["rule"] for f in migrate(text).findings)
    assert Counter(f["rule"] for f in migrate(one_line).findings) == spoken


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "def f(g, timing):\n    s, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\n"
            "    if timing: s.record()\n    g()\n"
            "    if timing: e.record(); e.synchronize(); return s.elapsed_time(e)\n",
            "def f(g, timing):\n    if timing: torch.neuron.synchronize(); s = time.perf_counter()\n    g()\n"
            "    if timing: torch.neuron.synchronize(); e = time.perf_counter(); return (e - s) * 1000.0\n",
            id="timing: recording, waiting and reading behind a colon",
        ),
        pytest.param(
            'def f():\n    if torch.cuda.is_available(): device = "cuda"\n    else: device = "cpu"\n'
            "    return torch.ones(1, device=device)\n",
            'def f():\n    if hasattr(torch, "neuron") and torch.neuron.is_available(): device = "neuron"\n'
            '    else: device = "cpu"\n    return torch.ones(1, device=device)\n',
            id="device chosen in an if of one line",
        ),
    ],
)
def test_changes(before: str, after: str) -> None:
    wanted = ("import time\n" if "time." in after else "") + "import torch\n" + after
    assert migrate("import torch\n" + before).text == wanted
