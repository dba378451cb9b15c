"""A device that is picked out of a list, by whatever index, is a device."""

from __future__ import annotations

import pytest

from harness import migrate

P = 'hasattr(torch, "neuron") and torch.neuron.is_available()'
PICKED = [
    pytest.param(
        'x.to(["cpu", "cuda"][torch.cuda.is_available()])', f'x.to(["cpu", "neuron"][{P}])', id="by a probe"
    ),
    pytest.param(
        'x.to(("cuda", "cpu")[int(not torch.cuda.is_available())])',
        f'x.to(("neuron", "cpu")[int(not ({P}))])',
        id="by a number made of a probe",
    ),
    pytest.param('x.to(["cpu", "cuda"][n > 0])', 'x.to(["cpu", "neuron"][n > 0])', id="by a comparison"),
    pytest.param('x.to(["cpu", "cuda"][n % 2])', 'x.to(["cpu", "neuron"][n % 2])', id="by a sum"),
]
STAYS = [
    pytest.param('"cuda"[n - 1]', id="a letter"),
    pytest.param('print(["cpu", "cuda"][n % 2])', id="printed"),
    pytest.param('["a", "cuda"][n % 2]', id="nothing says that it is a device"),
]


@pytest.mark.parametrize(("old", "new"), PICKED)
def test_picked(old: str, new: str) -> None:
    frame = "import torch\n\n\ndef f(x, n):\n    return {}\n"
    assert migrate(frame.format(old)).text == frame.format(new)


@pytest.mark.parametrize("old", STAYS)
def test_stays(old: str) -> None:
    text = f"import torch\n\n\ndef f(x, n):\n    return {old}\n"
    assert migrate(text).text == text
