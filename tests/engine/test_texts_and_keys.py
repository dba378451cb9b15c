"""Texts that name CUDA and are no values: keys, addresses, labels; and what is said about paths and imports."""

from __future__ import annotations

import pytest

from harness import migrate

KEPT = [
    pytest.param('if "cuda_rng" in s:\n        return s["cuda_rng"]', "key of a dict", id="asked for, then read"),
    pytest.param('if "cuda_rng" not in s:\n        s["cuda_rng"] = 1', "key of a dict", id="asked for, then written"),
    pytest.param('if "cuda_rng" in s:\n        s.pop("cuda_rng")', "key of a dict", id="asked for, then taken out"),
    pytest.param('return s.get("cuda_rng", None)', "key of a dict", id="looked up"),
    pytest.param('u = "https://example.org/cuda/a.bin"', "address or name of a data file", id="an address"),
    pytest.param('u = open("runs/cuda_run.log")', "address or name of a data file", id="a log file"),
    pytest.param('u = "model_cuda.pt"', "address or name of a data file", id="weights"),
]
OPEN = [
    pytest.param('if "cuda_fused" in s:\n        return 1', id="part of a text"),
    pytest.param('u = "conf/cuda.yaml"', id="a configuration, which may choose the device"),
    pytest.param('u = "libs/my_cuda.so"', id="a library"),
    pytest.param('u = "see cuda and a.txt"', id="a sentence"),
]


@pytest.mark.parametrize(("line", "reason"), KEPT)
def test_kept(line: str, reason: str) -> None:
    found = migrate(f"import torch\n\n\ndef f(s):\n    {line}\n").findings
    assert {(f["status"], f["reason"]) for f in found} == {("kept", reason)}


@pytest.mark.parametrize("line", OPEN)
def test_open(line: str) -> None:
    assert migrate(f"import torch\n\n\ndef f(s):\n    {line}\n").one("TN003")["severity"] == "warning"


def test_a_path_in_a_text() -> None:
    message = migrate('import torch\n\nx = eval("torch.cuda.is_available()")\n').one("TN003")["message"]
    assert "holds a path of torch.cuda" in message


IMPORTS = [
    pytest.param("from torch.utils.cpp_extension import CUDA_HOME\n\nx = CUDA_HOME\n", "warning", id="of the build"),
    pytest.param("from torch.cuda import a_new_name\n\nx = a_new_name()\n", "error", id="of torch.cuda"),
]


@pytest.mark.parametrize(("text", "severity"), IMPORTS)
def test_an_import_is_as_bad_as_its_uses(text: str, severity: str) -> None:
    found = migrate(text).findings
    assert [f["severity"] for f in found if f["safety"] == "manual"] == [severity, severity]


IN_F_STRINGS = [
    pytest.param('x = f"cuda {torch.cuda.device_count()}"', {"TN003", "TN106"}, id="a text of unknown use"),
    pytest.param('print(f"cuda {torch.cuda.device_count()}")', {"TN101", "TN106"}, id="a text for people"),
    pytest.param('x = f"{torch.cuda.device_count()} devices"', {"TN106"}, id="no text of CUDA"),
    pytest.param('x = torch.device(f"cuda:{torch.cuda.current_device()}")', {"TN101", "TN106"}, id="a device"),
]


@pytest.mark.parametrize(("line", "rules"), IN_F_STRINGS)
def test_texts_of_an_f_string_beside_its_expressions(line: str, rules: set[str]) -> None:
    """What an expression in an f-string is says nothing about the text around it; both are seen at first sight."""
    found = migrate(f"import torch\n\n{line}\n").findings
    assert {f["rule"] for f in found} == rules
    assert [f["after"] for f in found] == [[] for _ in found]
