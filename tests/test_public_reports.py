"""Faults that people reported of other migration tools, as inputs of our own: each must come out right here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness import migrate, run_tree
from migrate.report.json import document


def command(*arguments: str, cwd: Path, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    import os

    code = "from migrate.cli import main; main()"
    env = {**os.environ, "PYTHONIOENCODING": encoding, "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, env=env, capture_output=True, timeout=120, check=False
    )


def test_keep_comment_behind_a_statement_of_many_lines_holds_for_all_of_it() -> None:
    text = (
        "import torch\n\nbody = torch.nn.GELU()\nbody = torch.compile(\n    body,\n    mode='reduce-overhead',\n"
        "    dynamic=True,\n)  # neuron: keep measured on the old cluster\ny = torch.zeros(3, device='cuda')\n"
    )
    outcome = migrate(text)
    assert outcome.text == text.replace("device='cuda'", "device='neuron'")
    assert {f["rule"] for f in outcome.findings if f["line"] in range(4, 9) and f["status"] == "open"} == set()
    assert not outcome.lines("TN002")


def test_keep_comment_above_a_statement() -> None:
    text = 'import torch\n\n# neuron: keep[device-string] the lab\nx = torch.ones(1, device="cuda")\n'
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN101")["status"] == "suppressed"
    assert outcome.one("TN101")["reason"] == "the lab"


def test_unused_keep_comment_is_told() -> None:
    assert migrate("x = 1  # neuron: keep\ny = torch_cuda = 2\n").lines("TN002") == [1]


def test_imports_alone_are_reported_and_renamed_to_nothing() -> None:
    text = (
        "import torch.backends.cudnn as dnn\nimport torch.cuda.nvtx as ranges\nfrom torch.cuda import nccl, comm\n"
        "from torch.cuda.graphs import graph_pool_handle as pool\n\n"
        "__all__ = ['comm', 'dnn', 'nccl', 'pool', 'ranges']\n"
    )
    outcome = migrate(text)
    assert outcome.text == text
    assert {f["line"] for f in outcome.findings if f["status"] == "open"} >= {1, 2, 3, 4}


def test_imports_of_one_file_never_reach_its_neighbours() -> None:
    files = {
        "pkg/__init__.py": b"",
        "pkg/names.py": b'"""Names."""\nNAMES = ["cuda lamp"]\n',
        "pkg/other.py": b"import torch\n\nTWO = torch.ones(2)\n",
        "pkg/loop.py": b"from torch.cuda.amp import autocast\n\n\ndef go(f, x):\n    with autocast():\n"
        b"        return f(x)\n",
    }
    _, after = run_tree(files)
    assert {p for p in files if after[p] != files[p]} == {"pkg/loop.py"}
    assert b"torch.cuda" not in after["pkg/loop.py"]
    assert b"dtype=torch.bfloat16" in after["pkg/loop.py"]
    assert b"import torch\n" in after["pkg/loop.py"]


def test_templates_are_reported_and_left_and_their_neighbours_migrate() -> None:
    template = b"import torch\nfrom {{ cookiecutter.name }} import Net\n\nnet = Net({{ cookiecutter.size }}).cuda()\n"
    files = {
        "{{cookiecutter.name}}/main.py": template,
        "hooks/after.py": b"import torch\n\n\ndef f():\n    return torch.ones(1, device='cuda')\n",
    }
    result, after = run_tree(files)
    assert after["{{cookiecutter.name}}/main.py"] == template
    assert b"device='neuron'" in after["hooks/after.py"]
    found = [f for f in document(result)["files"] if f["path"].startswith("{{")]
    assert {f["rule"] for f in found[0]["findings"]} == {"TN001", "TN003"}


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_narrow_output_encoding_costs_neither_report_nor_patch(tmp_path: Path, encoding: str) -> None:
    import json

    source = 'import torch\n\ns = "日本 – größer"\n\n\ndef f():\n    return torch.ones(2, device="cuda")  # ✓\n'
    (tmp_path / "量.py").write_text(source, encoding="utf-8")
    text = command("check", ".", cwd=tmp_path, encoding=encoding)
    assert (text.returncode, text.stderr) == (1, b"")
    assert b"TN101" in text.stdout
    report = json.loads(command("check", "--format", "json", ".", cwd=tmp_path, encoding=encoding).stdout)
    assert [f["path"] for f in report["files"] if f["findings"]] == ["量.py"]
    patch = command("diff", ".", cwd=tmp_path, encoding=encoding).stdout
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True)
    assert (tmp_path / "量.py").read_text(encoding="utf-8") == source.replace('"cuda"', '"neuron"')


def test_requirements_for_cuda_are_counted_as_not_read() -> None:
    files = {"requirements.txt": b"torch==2.3.0+cu121\nflash-attn\nnumpy\n", "a.py": b"x = 1\n"}
    result, after = run_tree(files)
    found = next(f for f in document(result)["files"] if f["path"] == "requirements.txt")
    assert (found["status"], found["hits"]) == ("not_read", 2)
    assert after == files
