"""A device that is also part of the name of a module, function or library stays: the other name would not be found."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import importlib\n\nimport torch\n\n\n"
NAMES = [
    pytest.param("importlib.import_module(f'kernels.{kind}')", id="a module"),
    pytest.param("importlib.import_module('kernels.' + kind)", id="a module, by a sum"),
    pytest.param("importlib.import_module('kernels.%s' % kind)", id="a module, by a template"),
    pytest.param("__import__(f'kernels.{kind}')", id="an import by its function"),
    pytest.param("globals()[f'run_{kind}']", id="a function of the file"),
    pytest.param("getattr(x, f'forward_{kind}')", id="a method"),
    pytest.param("getattr(x, 'forward_' + kind)", id="a method, by a sum"),
    pytest.param("x.__dict__['on_' + kind]", id="an attribute"),
    pytest.param("eval(f'torch.{kind}.synchronize()')", id="code"),
    pytest.param("torch.ops.load_library(f'lib_{kind}.so')", id="a library"),
]
TEXTS = [
    pytest.param("print(f'on {kind}')", id="a log"),
    pytest.param("open(f'out_{kind}.txt', 'w')", id="a data file"),
    pytest.param("x.table[f'time_{kind}']", id="a key"),
    pytest.param("getattr(x, 'forward')(f'on {kind}')", id="an argument of what is looked up"),
    pytest.param("importlib.import_module('kernels')", id="a name without it"),
]


@pytest.mark.parametrize("use", NAMES)
def test_part_of_a_name_stays(use: str) -> None:
    text = f"{HEAD}def f(x, kind='cuda'):\n    found = {use}\n    return found, torch.ones(2, device=kind)\n"
    outcome = migrate(text)
    assert outcome.text == text
    finding = outcome.one("TN101")
    assert (finding["safety"], finding["severity"]) == ("manual", "error") and "looked up" in finding["message"]


def test_through_a_variable() -> None:
    text = (
        f"{HEAD}def f(kind='cuda'):\n    name = f'kernels.{{kind}}'\n    m = importlib.import_module(name)\n"
        "    return m, torch.ones(2, device=kind)\n"
    )
    assert migrate(text).text == text


@pytest.mark.parametrize("use", TEXTS)
def test_other_texts_hold_nothing_back(use: str) -> None:
    text = f"{HEAD}def f(x, kind='cuda'):\n    found = {use}\n    return found, torch.ones(2, device=kind)\n"
    outcome = migrate(text)
    assert "kind='neuron'" in outcome.text and "manual" not in {f["safety"] for f in outcome.findings}
