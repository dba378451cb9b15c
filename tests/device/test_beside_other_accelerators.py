"""Code that asks for several accelerators is left to a person, in whatever form it asks."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"
ASKED = [
    pytest.param("def f(x):\n    return x.is_cuda or x.is_mps", "error", id="or"),
    pytest.param("def f(x):\n    return not (x.is_xpu or x.is_cuda)", "error", id="or, negated, the other one first"),
    pytest.param("def f(x):\n    return not x.is_cuda and not x.is_mps", "error", id="neither"),
    pytest.param("def f(x):\n    return x.is_cuda | x.is_xpu", "error", id="a bar"),
    pytest.param("def f(x):\n    return any([x.is_cuda, x.is_mps])", "error", id="any of a list"),
    pytest.param("def f(x):\n    return x.is_cuda or x.device.type == 'mps'", "error", id="another form of the question"),
    pytest.param("def f(x):\n    return x.is_cuda or x.device.type in ('mps', 'xpu')", "error", id="a list of types"),
    pytest.param("def f(x):\n    return x.is_cuda if not x.is_mps else True", "error", id="an arm of the other question"),
    pytest.param("def f(x):\n    return 1 if x.is_cuda else 2 if x.is_mps else 3", "error", id="a conditional for each"),
    pytest.param("def f(x):\n    if x.is_cuda:\n        return 1\n    elif x.is_mps:\n        return 2", "warning", id="elif"),
    pytest.param("def f(x):\n    if x.is_mps:\n        return 1\n    if x.is_cuda:\n        return 2", "warning", id="each leaves"),
]
ALONE = [
    pytest.param("def f(x):\n    return x.is_cuda, x.is_mps", id="two answers, not one"),
    pytest.param("def f(x, g):\n    return g(x.is_cuda, x.is_mps)", id="two arguments"),
    pytest.param("def f(x, y):\n    a = x.is_mps\n    return y.is_cuda", id="another statement"),
    pytest.param("def f(x):\n    return x.is_cuda or x.is_cpu", id="the CPU is no accelerator"),
    pytest.param("def f(x):\n    if x.is_cuda:\n        y = 1\n    if x.is_mps:\n        y = 2\n    return y", id="no branch leaves"),
    pytest.param("def f(x, kind):\n    return x.is_cuda or kind == 'tpu'", id="a text that is no device's"),
    pytest.param("def f(x):\n    if x.is_cuda:\n        return x.is_mps\n    return False", id="asked inside the branch"),
]


@pytest.mark.parametrize(("code", "severity"), ASKED)
def test_a_question_beside_another_stays(code: str, severity: str) -> None:
    outcome = migrate(HEAD + code + "\n")
    assert outcome.text == HEAD + code + "\n"
    finding = outcome.one("TN124")
    assert (finding["safety"], finding["severity"]) == ("manual", severity)
    assert '.device.type == "neuron"' in finding["message"]


@pytest.mark.parametrize("code", ALONE)
def test_a_question_of_its_own_changes(code: str) -> None:
    outcome = migrate(HEAD + code + "\n")
    assert "is_cuda" not in outcome.text and "TN124" not in outcome.rules()


def test_the_branch_of_a_chain_stays_with_its_question() -> None:
    text = f"{HEAD}def f(x):\n    if x.is_cuda:\n        torch.cuda.synchronize()\n    elif x.is_mps:\n        pass\n"
    outcome = migrate(text)
    assert outcome.text == text and outcome.one("TN106")["safety"] == "manual"


CHOSEN = [
    pytest.param(
        "def f():\n    if torch.cuda.is_available():\n        return 'cuda'\n"
        "    if torch.backends.mps.is_available():\n        return 'mps'\n    return 'cpu'",
        id="a row of returns",
    ),
    pytest.param(
        "def f():\n    if torch.backends.mps.is_available():\n        return torch.device('mps')\n"
        "    if torch.cuda.is_available():\n        return torch.device('cuda')\n    return torch.device('cpu')",
        id="a row of returned devices",
    ),
]


@pytest.mark.parametrize("code", CHOSEN)
def test_a_row_of_returns_is_a_choice_between_accelerators(code: str) -> None:
    outcome = migrate(HEAD + code + "\n")
    assert outcome.text == HEAD + code + "\n"
    assert outcome.rules() == ["TN124", "TN124"]


def test_rows_of_a_table_stay_whole() -> None:
    text = f'{HEAD}MODULES = (("cuda", torch.cuda), ("mps", torch.backends.mps))\n'
    outcome = migrate(text)
    assert outcome.text == text and outcome.one("TN124")["severity"] == "error"


def test_an_enumeration_of_accelerators_stays() -> None:
    text = (
        "import enum\n\nimport torch\n\n\nclass D(enum.Enum):\n    CUDA = 'cuda'\n    MPS = 'mps'\n\n"
        "    def torch(self):\n        return torch.device(self.value)\n"
    )
    outcome = migrate(text)
    assert outcome.text == text and outcome.one("TN124")["severity"] == "error"
