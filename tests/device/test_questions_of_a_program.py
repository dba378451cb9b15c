"""Versions, environment, columns of the profiler, generators: what a program asks, and does with the answer."""

from __future__ import annotations

import pytest

from harness import migrate

KEPT = [
    pytest.param('{"cuda": torch.version.cuda, "hip": torch.version.hip}', id="a dict of versions"),
    pytest.param('{"cuda": torch.version.cuda or "none"}', id="with a text for none"),
    pytest.param("dict(cuda=torch.version.cuda)", id="keyword of dict()"),
    pytest.param("print(torch.version.cuda)", id="printed"),
]


@pytest.mark.parametrize("value", KEPT)
def test_a_version_under_a_label_is_kept(value: str) -> None:
    assert migrate(f"import torch\n\nx = {value}\n").rules() == []


def test_a_version_stored_under_a_key_is_kept() -> None:
    assert migrate('import torch\n\ninfo = {}\ninfo["cuda"] = torch.version.cuda\n').rules() == []


OPEN = [
    pytest.param("x = torch.version.cuda", "warning", id="in a variable, which may be tested"),
    pytest.param("x = float(torch.version.cuda)", "error", id="None raises here"),
    pytest.param("x = 1 if torch.version.cuda else 2", "warning", id="tested"),
]


@pytest.mark.parametrize(("line", "severity"), OPEN)
def test_a_version_that_decides_is_reported(line: str, severity: str) -> None:
    assert migrate(f"import torch\n\n{line}\n").one("TN122")["severity"] == severity


def test_answers_of_several_accelerators_stay_reported() -> None:
    text = 'import torch\n\nx = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}\n'
    assert migrate(text).one("TN124")["severity"] == "error"


VISIBLE = 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = {}\nn = os.environ["CUDA_VISIBLE_DEVICES"]\n'


def test_who_reads_the_variable_follows_who_sets_it() -> None:
    outcome = migrate(VISIBLE.format('"0"'))
    assert outcome.text == VISIBLE.format('"0"').replace("CUDA_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES")
    assert [f["safety"] for f in outcome.findings] == ["review", "review"]


@pytest.mark.parametrize("value", ['"0,1"', '""', '"-1"', "devices()"], ids=["two", "none", "minus one", "unknown"])
def test_where_it_stays_its_readers_stay(value: str) -> None:
    text = VISIBLE.format(value)
    outcome = migrate(text)
    assert outcome.text == text
    assert [f["severity"] for f in outcome.findings] == ["warning", "error"]


def test_hiding_all_devices_has_no_twin() -> None:
    message = migrate(VISIBLE.format('""')).findings[0]["message"]
    assert "NEURON_RT_VISIBLE_CORES" not in message and "CPU" in message


SORTED = "import torch\n\n\ndef f(p, gpu, key={}):\n    {}\n    print(p.table(sort_by=key), torch.profiler)\n"
COLUMNS = [
    pytest.param('"x"', 'key = "cuda_time_total" if gpu else "cpu_time_total"', id="arm of a conditional"),
    pytest.param('"x"', 'key = "cuda_time_total"', id="in a variable"),
    pytest.param('"cuda_time_total"', "pass", id="default of a parameter"),
]


@pytest.mark.parametrize(("default", "line"), COLUMNS)
def test_a_stored_column_is_renamed(default: str, line: str) -> None:
    text = SORTED.format(default, line)
    outcome = migrate(text)
    assert outcome.text == text.replace("cuda_time_total", "device_time_total")
    assert outcome.one("TN118")["safety"] == "review"


ELSEWHERE = [
    pytest.param(SORTED.format('"x"', 'row = {"cuda_time_total": 1}'), id="a key"),
    pytest.param(
        'import torch\nimport torch.profiler\n\n\ndef f():\n    key = "cuda_time_total"\n    return key\n',
        id="nothing is sorted here",
    ),
]


@pytest.mark.parametrize("text", ELSEWHERE)
def test_other_texts_stay(text: str) -> None:
    assert migrate(text).text == text


def test_a_generator_of_the_device_is_reviewed() -> None:
    text = 'import torch\n\n\ndef f():\n    return torch.Generator({}"cuda")\n'
    for keyword in ("", "device="):
        finding = migrate(text.format(keyword)).one("TN101")
        assert finding["safety"] == "review"
    other = 'import torch\n\n\ndef f():\n    return torch.zeros(1, device="cuda")\n'
    assert migrate(other).one("TN101")["safety"] == "safe"


def test_tensors_made_from_tensors() -> None:
    assert migrate('def f(x):\n    return x.new_zeros(3, device="cuda")\n').one("TN101")["safety"] == "safe"
    assert migrate('def f(x):\n    return x.build(3, device="cuda")\n').one("TN101")["safety"] == "review"
