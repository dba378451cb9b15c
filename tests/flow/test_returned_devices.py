"""A probe and what its branches return are one choice, with an `else` or without."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate, run_tree

HEAD = "import torch\n\n\n"
PROBE = 'hasattr(torch, "neuron") and torch.neuron.is_available()'
RETURNED = [
    pytest.param("if torch.cuda.is_available():\n        return 'cuda'\n    return 'cpu'", id="a branch that leaves"),
    pytest.param("if torch.cuda.is_available():\n        return 'cuda'\n    else:\n        return 'cpu'", id="two branches"),
    pytest.param("if not torch.cuda.is_available():\n        return 'cpu'\n    return 'cuda'", id="the CPU leaves"),
    pytest.param(
        "if torch.cuda.is_available():\n        return 'cuda', torch.float16\n    return 'cpu', torch.float32",
        id="first of two values",
    ),
    pytest.param("d = 'cpu'\n    if torch.cuda.is_available():\n        d = 'cuda'\n    return d", id="a plain variable"),
    pytest.param("if n and torch.cuda.is_available():\n        return f'cuda:{n}'\n    return 'cpu'", id="with an index"),
]
OTHER = [
    pytest.param("if torch.cuda.is_available():\n        return 'cuda'\n    return 'slow'", id="no device beside it"),
    pytest.param("if n:\n        return 'cuda'\n    return 'cpu'", id="no probe"),
    pytest.param("if not torch.cuda.is_available():\n        return 'cuda'\n    return 'cpu'", id="where there is none"),
]


@pytest.mark.parametrize("body", RETURNED)
def test_probe_and_value_change_together(body: str) -> None:
    outcome = migrate(f"{HEAD}def pick(n):\n    {body}\n")
    assert "cuda" not in outcome.text and "neuron.is_available" in outcome.text
    assert {f["safety"] for f in outcome.findings if f["rule"] in ("TN101", "TN103")} == {"review"}


@pytest.mark.parametrize("body", RETURNED)
def test_neither_changes_where_only_safe_changes_may(body: str) -> None:
    text = f"{HEAD}def pick(n):\n    {body}\n"
    assert migrate(text, "safe").text == text


@pytest.mark.parametrize("body", OTHER)
def test_other_texts_stay(body: str) -> None:
    outcome = migrate(f"{HEAD}def pick(n):\n    {body}\n")
    assert "'cuda'" in outcome.text and outcome.one("TN101")["safety"] == "manual"


def test_a_probe_goes_with_the_constant_on_its_arm() -> None:
    files = {
        "a.py": "import torch\n\nDEV = 'cuda'\nhere = DEV if torch.cuda.is_available() else 'cpu'\n",
        "b.py": "from a import DEV\n",
    }
    before = {name: text.encode() for name, text in files.items()}
    assert run_tree(before, "safe")[1] == before
    assert b"cuda" not in run_tree(before)[1]["a.py"]


def test_an_arm_stays_where_its_test_does() -> None:
    text = f"{HEAD}def f(x, kind):\n    return x.to('cuda' if 'cuda' in kind() else 'cpu')\n"
    outcome = migrate(text)
    assert outcome.text == text and set(outcome.rules()) == {"TN101"}


def test_a_function_called_for_a_device_is_tested_like_one() -> None:
    text = "import torch\nfrom lib import get_device\n\nkind = 'cuda' if 'cuda' in str(get_device()) else 'cpu'\ntorch.ones(2, device=kind)\n"
    outcome = migrate(text)
    assert outcome.text == text.replace("'cuda'", "'neuron'") and "safe" not in {f["safety"] for f in outcome.findings}


IN_ONE = [
    pytest.param("d = ('cpu', 'cuda')[torch.cuda.is_available()]", id="an element by the answer"),
    pytest.param("d = torch.cuda.is_available() and 'cuda' or 'cpu'", id="and, or"),
    pytest.param("on = 1 if torch.cuda.is_available() else 0\n    d = 'cuda' if on else 'cpu'", id="an answer as a number"),
    pytest.param("on = torch.cuda.device_count() > 0\n    d = 'cuda' if on else 'cpu'", id="an answer by the count"),
]


@pytest.mark.parametrize("body", IN_ONE)
def test_a_choice_in_one_statement(body: str) -> None:
    outcome = migrate(f"{HEAD}def pick():\n    {body}\n    return d\n")
    assert "cuda" not in outcome.text and "'neuron'" in outcome.text


def test_an_answer_kept_in_an_attribute() -> None:
    text = (
        f"{HEAD}class A:\n    def __init__(self, on):\n        self.on = on and torch.cuda.is_available()\n\n"
        "    def pick(self):\n        if self.on:\n            return 'cuda'\n        return 'cpu'\n"
    )
    assert "cuda" not in migrate(text).text
    other = text.replace("    def pick", "    def set(self):\n        self.on = True\n\n    def pick")
    assert "'cuda'" in migrate(other).text


def test_a_function_whose_name_says_device() -> None:
    code = "def {name}(n):\n    dev = 'cuda'\n    if n:\n        dev = 'cpu'\n    return dev\n"
    assert migrate(HEAD + code.format(name="get_device")).one("TN101")["safety"] == "review"
    other = HEAD + code.format(name="mode").replace("dev", "word")
    assert migrate(other).text == other


def test_a_probe_that_decides_about_an_unknown_text_is_for_review() -> None:
    finding = migrate(f"{HEAD}def f():\n    return 'cuda' if torch.cuda.is_available() else 'slow'\n").one("TN103")
    assert finding["safety"] == "review" and "nothing says what it is used for" in str(finding["evidence"])


HANDED_ON = [
    pytest.param("take('cuda' if torch.cuda.is_available() else 'cpu')", id="an arm given to an unknown function"),
    pytest.param("take(name='cuda' if torch.cuda.is_available() else 'cpu')", id="an arm given as a name"),
    pytest.param("take(['cuda' if torch.cuda.is_available() else 'cpu'])", id="an arm in a list"),
    pytest.param("own(device='cuda')", id="device= of a function that hands it on"),
]
FOR_PEOPLE = [
    pytest.param("print('cuda' if torch.cuda.is_available() else 'cpu')", id="printed"),
    pytest.param("take('cuda' if torch.cuda.is_available() else 'slow')", id="no device beside it"),
    pytest.param("own(mode='cuda')", id="another name"),
]


@pytest.mark.parametrize("call", HANDED_ON)
def test_what_is_handed_on_changes(call: str) -> None:
    outcome = migrate(f"{HEAD}def own(**more):\n    return take(**more)\n\n\n{call}\n")
    assert "cuda" not in outcome.text and outcome.one("TN101")["safety"] == "review"


@pytest.mark.parametrize("call", FOR_PEOPLE)
def test_what_may_be_for_people_stays(call: str) -> None:
    assert "'cuda'" in migrate(f"{HEAD}def own(**more):\n    return take(**more)\n\n\n{call}\n").text


@pytest.mark.parametrize("test", ["lib.DEVICE.split(':')[0] == 'cuda'", "lib.get_device().lower() == 'cuda'"])
def test_parts_of_another_files_device(test: str) -> None:
    outcome = migrate(f"import lib\n\nok = {test}\n")
    assert "'neuron'" in outcome.text and outcome.one("TN104")["safety"] == "review"


def test_parts_of_another_files_text_stay() -> None:
    text = "import lib\n\nok = lib.MODE.split(':')[0] == 'cuda'\n"
    assert migrate(text).text == text
