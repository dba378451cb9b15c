"""A conditional on a probe that chooses a file or a part made for CUDA: on neuron its other arm is the right one."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

OLD = "torch.cuda.is_available()"
NEW = 'hasattr(torch, "neuron") and torch.neuron.is_available()'


def case(value: str) -> str:
    """A function with one statement."""
    return f"import torch\n\n\ndef f(load, x):\n    return {value}\n"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(f'load("ops_cuda.so" if {OLD} else "ops_cpu.so")', id="a-library-file"),
        pytest.param(f'load("ops_cpu.so" if not {OLD} else "ops_cuda.so")', id="the-test-is-negated"),
        pytest.param(f'load(engine="cudnn" if {OLD} else "mkldnn")', id="a-library-by-name"),
        pytest.param(f'load("kernels/cuda/op" if x and {OLD} else "kernels/op")', id="a-part-of-the-test"),
    ],
)
def test_the_test_stays(value: str) -> None:
    outcome = migrate(case(value))
    assert outcome.text == case(value)
    found = outcome.one("TN103")
    assert (found["safety"], found["severity"]) == ("manual", "warning")
    assert "stays" in found["message"]


@pytest.mark.parametrize(
    "value, after",
    [
        pytest.param(f'torch.device("cuda" if {OLD} else "cpu")', f'torch.device("neuron" if {NEW} else "cpu")', id="device"),
        pytest.param(f'print("on_cuda" if {OLD} else "on_cpu")', f'print("on_cuda" if {NEW} else "on_cpu")', id="log-text"),
        pytest.param(
            f'load("runs on cuda" if {OLD} else "runs")', f'load("runs on cuda" if {NEW} else "runs")', id="a-sentence"
        ),
        pytest.param(f'load("fast" if {OLD} else "cuda_free")', f'load("fast" if {NEW} else "cuda_free")', id="other-arm"),
        pytest.param(
            f'torch.distributed.init_process_group("nccl" if {OLD} else "gloo")',
            f'torch.distributed.init_process_group("neuron" if {NEW} else "gloo")',
            id="a-backend",
        ),
        pytest.param(
            f'["cuda" if {OLD} else None, "cpu"]', f'["neuron" if {NEW} else None, "cpu"]', id="a-device-or-nothing"
        ),
        pytest.param(
            f'list(filter(None, ["cuda" if {OLD} else None, "cpu"]))',
            f'list(filter(None, ["neuron" if {NEW} else None, "cpu"]))',
            id="a-device-or-nothing-in-a-call",
        ),
    ],
)
def test_the_test_turns(value: str, after: str) -> None:
    assert migrate(case(value)).text == case(after)


def test_nothing_beside_it_is_no_proof_of_a_device() -> None:
    outcome = migrate(case(f'load("cuda" if {OLD} else None)'))
    assert '"cuda"' in outcome.text
