"""Modules that a call imports: `torch = pytest.importorskip("torch")`."""

from __future__ import annotations

import pytest

from harness import migrate

USE = 'def f(x):\n    torch.cuda.synchronize()\n    return x.to(torch.device("cuda"))\n'
IMPORTED = {
    "importorskip": 'import pytest\n\ntorch = pytest.importorskip("torch")\n\n\n',
    "an imported importorskip": 'from pytest import importorskip\n\ntorch = importorskip("torch", reason="no")\n\n\n',
    "import_module": 'import importlib\n\ntorch = importlib.import_module("torch")\n\n\n',
    "the builtin": 'torch = __import__("torch")\n\n\n',
    "the builtin, with a dotted name": 'torch = __import__("torch.cuda")\n\n\n',
    "or nothing": 'import importlib\n\ntry:\n    torch = importlib.import_module("torch")\nexcept ImportError:\n    torch = None\n\n\n',  # noqa: E501
}
UNKNOWN = {
    "a mock": "from unittest import mock\n\ntorch = mock.Mock()\n\n\n",
    "another function": 'from lib import load\n\ntorch = load("torch")\n\n\n',
    "a name that is not known": "import importlib, sys\n\ntorch = importlib.import_module(sys.argv[1])\n\n\n",
}


@pytest.mark.parametrize("head", IMPORTED.values(), ids=IMPORTED)
def test_it_is_the_module(head: str) -> None:
    text = head + USE
    after = head + USE.replace("torch.cuda.", "torch.neuron.").replace('"cuda"', '"neuron"')
    outcome = migrate(text)
    assert outcome.text == after
    assert "TN106" in outcome.rules("open", "applied")


def test_another_name_for_it() -> None:
    text = 'import importlib\n\nlib = importlib.import_module("torch")\nn = lib.cuda.device_count()\n'
    assert migrate(text).text == text.replace("lib.cuda", "lib.neuron")


def test_a_submodule() -> None:
    text = 'import importlib\n\n\ndef f():\n    gpu = importlib.import_module("torch.cuda")\n    gpu.synchronize()\n'
    assert "torch.neuron.synchronize()" in migrate(text).text


@pytest.mark.parametrize("head", UNKNOWN.values(), ids=UNKNOWN)
def test_what_may_be_torch_is_told(head: str) -> None:
    outcome = migrate(head + "def f():\n    torch.cuda.synchronize()\n")
    assert outcome.text == head + "def f():\n    torch.cuda.synchronize()\n"
    told = [f for f in outcome.findings if f["rule"] == "TN003" and f["safety"] == "manual"]
    assert [f["severity"] for f in told] == ["warning"] and "torch is a value here" in told[0]["message"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("def f(torch):\n    return torch.cuda.device_count()\n", id="a-parameter"),
        pytest.param("def f(self):\n    return self.torch.cuda.device_count()\n", id="an-attribute"),
    ],
)
def test_a_value_called_torch_is_told(code: str) -> None:
    assert "torch is a value here" in migrate(code).one("TN003")["message"]


def test_a_value_of_another_name_is_kept() -> None:
    assert migrate("def f(backend):\n    return backend.cuda.device_count()\n").one("TN003")["status"] == "kept"
