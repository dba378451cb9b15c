"""Programs that ask for neuron already: their questions about CUDA, and what these guard, stay."""

from __future__ import annotations

import pytest

from harness import migrate

KEPT = {
    "an early return": (
        "if torch.neuron.is_available():\n        return x.to('neuron')\n"
        "    if torch.cuda.is_available():\n        torch.cuda.synchronize()\n        return x.to('cuda')"
    ),
    "a chain": (
        "if hasattr(torch, 'neuron') and torch.neuron.is_available():\n        torch.neuron.empty_cache()\n"
        "    elif torch.cuda.is_available():\n        torch.cuda.empty_cache()"
    ),
    "a conditional": "return 1 if torch.neuron.is_available() else 2 if torch.cuda.is_available() else 3",
    "an or": "return torch.neuron.is_available() or torch.cuda.is_available()",
    "an or, the other way round": "return torch.cuda.is_available() or torch.neuron.is_available()",
    "a tensor in an or": "return x.is_cuda or x.device.type == 'neuron'",
    "a tensor after an early return": (
        "if x.device.type == 'neuron':\n        return torch.neuron.synchronize()\n"
        "    if x.is_cuda:\n        return torch.cuda.synchronize()"
    ),
}
CHANGED = {
    "another tensor": "if y.device.type == 'neuron':\n        return 1\n    return x.is_cuda",
    "another tensor in an or": "return y.device.type == 'neuron' or x.is_cuda",
    "a negative question": "if x.device.type != 'neuron':\n        return 1\n    return torch.cuda.is_available()",
    "what follows where neuron is": (
        "if not torch.neuron.is_available():\n        return 1\n    return torch.cuda.is_available()"
    ),
    "an and": "return torch.neuron.is_available() and x.is_cuda",
    "a question about something else": "if name == 'neurons':\n        return 1\n    return torch.cuda.is_available()",
}
HEAD = "import torch\n\n\ndef f(x, y, name):\n    "


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT)
def test_kept(code: str) -> None:
    outcome = migrate(f"{HEAD}{code}\n")
    assert outcome.text == f"{HEAD}{code}\n"
    assert outcome.findings and outcome.rules() == []


@pytest.mark.parametrize("code", CHANGED.values(), ids=CHANGED)
def test_changed(code: str) -> None:
    assert "cuda" not in migrate(f"{HEAD}{code}\n").text
