"""A name of torch.cuda that is replaced in the file is not replaced on torch.neuron: its uses are reviewed."""

from __future__ import annotations

import pytest

from harness import migrate

REPLACED = [
    pytest.param('monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)', id="setattr of an object and a name"),
    pytest.param('monkeypatch.setattr("torch.cuda.device_count", lambda: 4)', id="setattr by path"),
    pytest.param('mock.patch("torch.cuda.device_count", return_value=4)', id="patch by path"),
    pytest.param('mock.patch.object(torch.cuda, "device_count", return_value=4)', id="patch of an object"),
    pytest.param("torch.cuda.device_count = lambda: 4", id="assigned"),
]
OTHERS = [
    pytest.param('monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)', id="another function"),
    pytest.param('mock.patch("mylib.device_count", return_value=4)', id="another module"),
    pytest.param('print("torch.cuda.device_count")', id="printed"),
]
HEAD = "import torch\nfrom unittest import mock\n\n\ndef test_f(monkeypatch):\n"
TEXT = HEAD + "    {}\n    n = torch.cuda.device_count()\n"


@pytest.mark.parametrize("line", REPLACED)
def test_a_replaced_name_is_reviewed(line: str) -> None:
    last = migrate(TEXT.format(line), tests=True).findings[-1]
    assert (last["rule"], last["line"], last["safety"]) == ("TN106", 7, "review")


@pytest.mark.parametrize("line", OTHERS)
def test_other_names_are_safe(line: str) -> None:
    last = migrate(TEXT.format(line), tests=True).findings[-1]
    assert (last["rule"], last["line"], last["safety"]) == ("TN106", 7, "safe")


def test_a_patched_probe_is_reviewed() -> None:
    text = (
        "import torch\nfrom unittest import mock\n\n\n"
        '@mock.patch("torch.cuda.is_available", return_value=True)\n'
        "def test_f(probe):\n    assert torch.cuda.is_available()\n"
    )
    outcome = migrate(text, name="tests/test_f.py", tests=True)
    assert outcome.one("TN103")["safety"] == "review"
    assert "holds a path of torch.cuda" in outcome.one("TN003")["message"]


def test_tests_are_left_alone_unless_asked_for() -> None:
    text = (
        "import pytest\nimport torch\n\n"
        'needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs cuda")\n\n\n'
        '@needs_cuda\n@pytest.mark.parametrize("device", ["cpu", "cuda"])\n'
        "def test_f(device):\n    assert torch.ones(1, device=device).sum() == 1\n"
    )
    assert migrate(text, name="tests/test_f.py").text == text
    changed = migrate(text, name="tests/test_f.py", tests=True).text
    assert 'parametrize("device", ["cpu", "neuron"])' in changed
    assert 'skipif(not (hasattr(torch, "neuron") and torch.neuron.is_available()), reason="needs cuda")' in changed
