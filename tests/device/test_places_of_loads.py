"""map_location as a function, and where it is missing."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"

CHANGED = {
    "a lambda": (
        'def f():\n    return torch.load("m", map_location=lambda s, l: s.cuda())',
        'def f():\n    return torch.load("m", map_location="neuron")',
    ),
    "a lambda with an index": (
        'def f(r):\n    return torch.load("m", map_location=lambda storage, loc: storage.cuda(r))',
        'def f(r):\n    return torch.load("m", map_location="neuron")',
    ),
    "a lambda by position": (
        'def f():\n    return torch.load("m", lambda s, l: s.cuda(0))',
        'def f():\n    return torch.load("m", "neuron")',
    ),
    "a function": (
        'def move(storage, where):\n    return storage.cuda()\n\n\ndef f():\n    return torch.load("m", map_location=move)',
        'def move(storage, where):\n    return storage.to(device="neuron")\n\n\ndef f():\n    return torch.load("m", map_location=move)',
    ),
    "a lambda with a choice": (
        'def f():\n    return torch.load("m", map_location=lambda s, l: s.cuda() if l != "cpu" else s)',
        'def f():\n    return torch.load("m", map_location=lambda s, l: s.to(device="neuron") if l != "cpu" else s)',
    ),
    "a loader of another package": (
        'from lib import load\n\n\ndef f():\n    return load("m", map_location=lambda s, l: s.cuda())',
        'from lib import load\n\n\ndef f():\n    return load("m", map_location="neuron")',
    ),
}

UNCHANGED = {
    "the CPU": 'def f():\n    return torch.load("m", map_location="cpu")',
    "a function that returns the storage": 'def f():\n    return torch.load("m", map_location=lambda storage, loc: storage)',
    "a device of the program": 'def f(device):\n    return torch.load("m", map_location=device)',
    "the CPU by position": 'def f():\n    return torch.load("m", "cpu")',
    "unpacked arguments": 'def f(kw):\n    return torch.load("m", **kw)',
    "another load": "import json\n\n\ndef f(x):\n    return json.load(x)",
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_changed(before: str, after: str) -> None:
    assert migrate(HEAD + before + "\n").text == HEAD + after + "\n"


@pytest.mark.parametrize("code", UNCHANGED.values(), ids=UNCHANGED)
def test_nothing_to_say(code: str) -> None:
    outcome = migrate(HEAD + code + "\n", level="offer")
    assert outcome.text == HEAD + code + "\n"
    assert "TN110" not in outcome.rules()


def test_a_missing_map_location_is_an_offer() -> None:
    text = HEAD + 'def f():\n    return torch.load("m")\n'
    assert migrate(text).text == text
    assert migrate(text).one("TN110")["safety"] == "offer"
    assert migrate(text, level="offer").text == text.replace('"m")', '"m", map_location="cpu")')
