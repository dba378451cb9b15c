"""TN107: names without a counterpart."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_device import CONSTANTS, MISSING_API, NO_EFFECT

HEAD = "import torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, rank):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("row", MISSING_API, ids=lambda r: r.name)
def test_every_missing_name_is_an_error_with_advice(row) -> None:
    outcome = migrate(inside(f"return {row.name}(x)"))
    assert outcome.text == inside(f"return {row.name}(x)")
    found = outcome.one("TN107")
    assert (found["safety"], found["severity"]) == ("manual", "error")
    assert row.note in found["message"]


@pytest.mark.parametrize("row", NO_EFFECT, ids=lambda r: r.name)
def test_a_statement_without_effect_goes(row) -> None:
    outcome = migrate(inside(f"{row.name}(0)  # tuned", "return x"))
    assert outcome.text == inside("# tuned", "return x")
    assert outcome.one("TN107")["safety"] == "review"


@pytest.mark.parametrize("row", CONSTANTS, ids=lambda r: r.name)
def test_a_question_gets_its_answer(row) -> None:
    asked = row.name if ".has_" in row.name else f"{row.name}()"
    assert migrate(inside(f"return {asked}")).text == inside(f"return {row.new}")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("y = torch.cuda.ipc_collect()", id="value-used"),
        pytest.param("torch.cuda.set_per_process_memory_fraction(x.next())", id="argument-with-an-effect"),
        pytest.param("return torch.cuda.ipc_collect", id="passed-on"),
        pytest.param("return torch.cuda.is_tf32_supported", id="question-passed-on"),
        pytest.param("torch.cuda.cudaStatus = x", id="replaced"),
        pytest.param("return x.device_of(x)", id="own-method"),
        pytest.param("return torch.neuron.utilization()", id="not-on-cuda"),
        pytest.param("print('torch.cuda.ipc_collect()')", id="text"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)


def test_a_block_does_not_become_empty() -> None:
    assert migrate(inside("if rank:", "    torch.cuda.ipc_collect()")).text == inside("if rank:", "    pass")


def test_names_below_a_missing_module_are_reported_once() -> None:
    outcome = migrate("from torch.cuda import comm\n\n\ndef f(x):\n    return comm.gather(x)\n")
    assert outcome.lines("TN107") == [1, 5]


@pytest.mark.parametrize(
    "line, severity",
    [
        pytest.param("return torch._C._cuda_getCurrentRawStream(0)", "error", id="function-of-a-cuda-build"),
        pytest.param("assert isinstance(x, torch._C._CudaStreamBase)", "warning", id="class-in-a-test"),
        pytest.param("try: x()\n    except torch.cuda.CudaError: pass", "warning", id="error-that-is-never-raised"),
    ],
)
def test_severity(line: str, severity: str) -> None:
    assert migrate(inside(line)).one("TN107")["severity"] == severity


def test_a_missing_name_through_an_assigned_module() -> None:
    outcome = migrate(HEAD + "def f():\n    m = torch.cuda\n    return m.utilization()\n")
    assert outcome.lines("TN107") == [6]
