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


@pytest.mark.parametrize(
    ("call", "after"),
    [
        pytest.param('torch.load("m", map_location=None)', 'torch.load("m", map_location="cpu")', id="by-keyword"),
        pytest.param('torch.load("m", None)', 'torch.load("m", "cpu")', id="by-position"),
    ],
)
def test_none_says_no_place(call: str, after: str) -> None:
    text = HEAD + f"def f():\n    return {call}\n"
    assert migrate(text).one("TN110")["safety"] == "offer"
    assert migrate(text, level="offer").text == text.replace(call, after)


TABLES = {
    "one entry is its device, for files saved on neuron too": (
        'x = torch.load(p, map_location={"cuda:0": f"cuda:{r}"})',
        'x = torch.load(p, map_location=f"neuron:{r}")',
    ),
    "through a variable and a conditional": (
        'loc = {"cuda:0": f"cuda:{r}"} if d else "cpu"; x = torch.load(p, map_location=loc)',
        'loc = f"neuron:{r}" if d else "cpu"; x = torch.load(p, map_location=loc)',
    ),
    "templates, as in the DDP tutorial": (
        'loc = {"cuda:%d" % 0: "cuda:%d" % r}; x = torch.load(p, map_location=loc)',
        'loc = "neuron:%d" % r; x = torch.load(p, map_location=loc)',
    ),
    "by position, to a variable": ('x = torch.load(p, {"cuda:0": d})', "x = torch.load(p, d)"),
    "to the CPU": ('x = torch.load(p, {"cuda:0": "cpu"})', 'x = torch.load(p, "cpu")'),
    "a conditional as the target": (
        'loc = {"cuda:0": "cuda" if r else "cpu"} if d else None; x = torch.load(p, map_location=loc)',
        'loc = ("neuron" if r else "cpu") if d else None; x = torch.load(p, map_location=loc)',
    ),
    "a conditional in parentheses as the target": (
        'loc = {"cuda:0": ("cuda" if r else "cpu")} if d else None; x = torch.load(p, map_location=loc)',
        'loc = ("neuron" if r else "cpu") if d else None; x = torch.load(p, map_location=loc)',
    ),
    "a target over lines": (
        'loc = {\n        "cuda:0":\n            "cuda:%d"\n            % r,\n    }; x = torch.load(p, map_location=loc)',
        'loc = ("neuron:%d"\n            % r); x = torch.load(p, map_location=loc)',
    ),
    "an edit inside the target": (
        'x = torch.load(p, map_location={"cuda:0": f"cuda:{torch.cuda.current_device()}"})',
        'x = torch.load(p, map_location=f"neuron:{torch.neuron.current_device()}")',
    ),
    "several entries keep their keys": (
        'x = torch.load(p, map_location={"cuda:1": "cuda:0", "cuda:2": d, "cpu": "cpu"})',
        'x = torch.load(p, map_location={"cuda:1": "neuron", "cuda:2": d, "cpu": "cpu", "neuron:1": "neuron:0", "neuron:2": d})',
    ),
}


@pytest.mark.parametrize(("before", "after"), TABLES.values(), ids=TABLES)
def test_dicts(before: str, after: str) -> None:
    head = HEAD + "def f(p, r, d):\n    "
    outcome = migrate(head + before + "\n")
    assert outcome.text == head + after + "\n"
    assert [f["safety"] for f in outcome.findings if f["rule"] == "TN110" and f["status"] != "kept"] == ["review"]


def test_a_dict_that_is_unpacked_into_is_an_error() -> None:
    text = HEAD + 'def f(p, r, d):\n    return torch.load(p, map_location={"cuda:0": f"cuda:{r}", **d})\n'
    assert migrate(text).one("TN110")["severity"] == "error"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param('loc = {"cuda:0": f"cuda:{r}"}; print(loc); return torch.load(p, map_location=loc)', id="used-otherwise"),
        pytest.param('return torch.load(p, map_location={"cuda:0": "cuda:0", "mps": "cpu"})', id="several-accelerators"),
        pytest.param('return torch.load(p, map_location={"cpu": "cpu"})', id="no-cuda-key"),
    ],
)
def test_dicts_left_to_others(code: str) -> None:
    text = HEAD + f"def f(p, r, d):\n    {code}\n"
    assert "TN110" not in migrate(text).rules("open", "applied", "kept")
