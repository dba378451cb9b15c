"""TN122: the CUDA version."""

from __future__ import annotations

import pytest

from harness import migrate

VERSION = "torch.version.cuda"


def inside(line: str) -> str:
    """A function with one line."""
    return f"import torch\n\n\ndef f(x):\n    {line}\n"


@pytest.mark.parametrize(
    "line, severity",
    [
        pytest.param(f"return float({VERSION})", "error", id="number"),
        pytest.param(f"return {VERSION}.split('.')", "error", id="method"),
        pytest.param(f"return {VERSION}[:2]", "error", id="cut"),
        pytest.param(f"return {VERSION} >= '11'", "error", id="order"),
        pytest.param(f"return '11' <= {VERSION}", "error", id="order-the-other-way"),
        pytest.param(f"return 'cu' + {VERSION}", "error", id="sum"),
        pytest.param(f"assert {VERSION}", "error", id="assert"),
        pytest.param(f"return {VERSION} is None", "warning", id="identity"),
        pytest.param(f"return {VERSION} == '11.8'", "warning", id="equality"),
        pytest.param(f"if {VERSION}: x()", "warning", id="branch"),
        pytest.param(f"return {VERSION}", "warning", id="handed-on"),
        pytest.param(f"{VERSION} = None", "warning", id="replaced"),
    ],
)
def test_reads(line: str, severity: str) -> None:
    outcome = migrate(inside(line))
    assert outcome.text == inside(line)
    assert outcome.one("TN122")["severity"] == severity


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f"print({VERSION})", id="print"),
        pytest.param(f"return f'cuda {{{VERSION}}}'", id="f-string"),
        pytest.param(f"return {{'v': {VERSION}}}", id="table-of-facts"),
    ],
)
def test_for_people(line: str) -> None:
    assert migrate(inside(line)).rules("kept") == ["TN122"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("return torch.version.hip", id="another-version"),
        pytest.param("return x.version.cuda", id="own-object"),
        pytest.param("return torch.__version__", id="version-of-torch"),
    ],
)
def test_silent(line: str) -> None:
    assert migrate(inside(line)).lines("TN122") == []
