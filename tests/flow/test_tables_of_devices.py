"""Dicts whose values, or keys, are devices: in variables and in the bodies of classes."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"
VALUES = [
    pytest.param("T = {1: 'cuda', 2: 'cpu'}\n\n\ndef f(k):\n    return torch.device(T[k])", id="any keys"),
    pytest.param("T = {'gpu': 'cuda', 'host': 'cpu'}\n\n\ndef f(k):\n    return torch.device(T[k])", id="keys that are texts"),
    pytest.param("def f(k):\n    t = {'gpu': 'cuda'}\n    return torch.ones(2, device=t.get(k, 'cpu'))", id="get"),
    pytest.param("class C:\n    T = {1: 'cuda', 2: 'cpu'}\n\n    def f(self, k):\n        return torch.device(self.T[k])", id="self"),
    pytest.param("class C:\n    T = {1: 'cuda', 2: 'cpu'}\n\n\ndef f(k):\n    return torch.device(C.T[k])", id="class"),
]


@pytest.mark.parametrize("code", VALUES)
def test_values_change(code: str) -> None:
    outcome = migrate(HEAD + code + "\n")
    assert outcome.text == HEAD + code.replace("'cuda'", "'neuron'") + "\n"


def test_values_of_a_class_are_open_to_others() -> None:
    text = f"{HEAD}class C:\n    T = {{1: 'cuda', 2: 'cpu'}}\n\n    def f(self, k):\n        return torch.device(self.T[k])\n"
    assert migrate(text).one("TN101")["safety"] == "review"


def test_values_of_other_tables_stay() -> None:
    text = f"{HEAD}class C:\n    T = {{1: 'cuda', 2: 'metal'}}\n\n    def f(self, k):\n        return self.T[k]\n"
    outcome = migrate(text)
    assert outcome.text == text and outcome.one("TN101")["safety"] == "manual"


def test_keys_in_a_class_change_with_what_looks_them_up() -> None:
    text = (
        f"{HEAD}class C:\n    sizes = {{'cuda': 2, 'cpu': 1}}\n    dev = 'cuda'\n\n"
        "    def f(self, x):\n        return x.to(self.dev), self.sizes[self.dev]\n"
    )
    assert migrate(text).text == text.replace("'cuda'", "'neuron'")


def test_a_table_that_something_unknown_reads_too_is_for_review() -> None:
    code = "def f(x, k):\n    t = {'cuda': 1, 'cpu': 2}\n    return t[x.device.type]"
    assert migrate(f"{HEAD}{code}\n").one("TN104")["safety"] == "safe"
    assert migrate(f"{HEAD}{code} + t[k()]\n").one("TN104")["safety"] == "review"


def test_an_enumeration_read_by_its_value() -> None:
    text = (
        "import enum\n\nimport torch\n\n\nclass D(enum.Enum):\n    GPU = 'cuda'\n    CPU = 'cpu'\n\n"
        "    def torch(self):\n        return torch.device(self.value)\n"
    )
    outcome = migrate(text)
    assert outcome.text == text.replace("'cuda'", "'neuron'") and outcome.one("TN101")["safety"] == "review"


def test_a_cut_of_a_text_that_stays() -> None:
    code = "name = 'cuda' if n else 'rocky'\n    torch.ones(2, device=name)\n    return name[:4] == 'cuda', name[5:]"
    text = f"{HEAD}def f(n):\n    {code}\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert {(f["safety"], f["severity"]) for f in outcome.findings if f["line"] == 5} == {("manual", "error")}


def test_capitals_beside_a_device_are_for_review() -> None:
    code = "def g(d):\n    return d.upper() == 'CUDA', torch.device(d)\n\n\ng('cuda')\n"
    assert migrate(HEAD + code).one("TN101")["safety"] == "review"
