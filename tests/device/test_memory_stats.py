"""TN113: memory."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_memory import MEMORY_API, MEMORY_MISSING

HEAD = "import torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, i: int, device: str):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("row", MEMORY_API, ids=lambda r: r.name)
def test_every_row(row) -> None:
    outcome = migrate(inside(f"return {row.name}()"))
    assert outcome.text == inside(f"return {row.new}()")
    handed_on = row.new == "torch.neuron.memory_stats"  # a dict whose keys are others
    assert outcome.one("TN113")["safety"] == ("safe" if row.confidence == "hi" and not handed_on else "review")


@pytest.mark.parametrize("row", MEMORY_MISSING, ids=lambda r: r.name)
def test_every_missing_name(row) -> None:
    assert migrate(inside(f"return {row.name}(x)")).one("TN113")["severity"] == "error"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("memory_allocated(i)", "memory_allocated(i)", id="index"),
        pytest.param("memory_allocated(device)", "memory_allocated(torch.device(device))", id="text"),
        pytest.param('memory_allocated("cuda")', 'memory_allocated(torch.device("neuron"))', id="literal"),
        pytest.param("memory_summary(abbreviated=True)", "memory_summary(abbreviated=True)", id="other-argument"),
    ],
)
def test_devices(before: str, after: str) -> None:
    assert migrate(inside(f"return torch.cuda.{before}")).text == inside(f"return torch.neuron.{after}")


@pytest.mark.parametrize(
    "lines, severities",
    [
        pytest.param(('return torch.cuda.memory_stats()["allocated_bytes.all.peak"]',), ["error"], id="direct"),
        pytest.param(
            ("s = torch.cuda.memory_stats()", 'return s["active.all.current"]'), ["error"], id="through-a-variable"
        ),
        pytest.param(
            ("s = torch.cuda.memory_stats()", 'return s.get("active.all.current", 0)'), ["warning"], id="with-a-default"
        ),
        pytest.param(('return torch.cuda.memory_stats()["num_ooms"]',), [], id="key-that-neuron-has"),
        pytest.param(("return torch.cuda.memory_stats()[x]",), [], id="key-not-known"),
    ],
)
def test_keys(lines: tuple[str, ...], severities: list[str]) -> None:
    outcome = migrate(inside(*lines))
    assert [f["severity"] for f in outcome.findings if f["safety"] == "manual"] == severities


def test_the_advice_names_the_nested_key() -> None:
    outcome = migrate(inside('return torch.cuda.memory_stats()["reserved_bytes.all.current"]'))
    assert '["reserved_bytes"]["current"]' in next(f for f in outcome.findings if f["safety"] == "manual")["message"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("return x.memory_allocated()", id="own-method"),
        pytest.param("return torch.neuron.memory_allocated()", id="already-migrated"),
        pytest.param("return torch.accelerator.memory_allocated()", id="accelerator"),
        pytest.param("return torch.cuda.memory", id="module-as-a-value"),
        pytest.param("return torch.mps.empty_cache()", id="another-device"),
        pytest.param("print('torch.cuda.empty_cache()')", id="text"),
        pytest.param("torch.cuda.empty_cache = x", id="replaced"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)
