"""`explain`: what it says about rules and lines, and what it says where there is nothing to explain."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import migrate
from migrate.discover import UsageError
from migrate.explain import explain_line, explain_rule
from transforms.registry import rules

SOURCE = b"""import argparse

import torch
from torch.cuda import is_available

device = "cuda" if is_available() else "cpu"


def f(x):
    argparse.ArgumentParser().add_argument("-d", help="cuda or cpu")
    x = x.cuda(  # neuron: keep[TN102] measured
        non_blocking=True,
    )
    torch.cuda.no_such_call()
    return x.to("cuda"), x.cuda()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_bytes(SOURCE)
    return tmp_path / "a.py"


@pytest.mark.parametrize("rule", list(rules()), ids=lambda r: r.code)
def test_rules_by_code_and_name(rule: object) -> None:
    code, name = getattr(rule, "code"), getattr(rule, "name")  # noqa: B009
    assert explain_rule(code) == explain_rule(name) == explain_rule(code.lower())
    assert explain_rule(code).startswith(f"# {name} ({code})\n")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("TN10", r"did you mean TN10\d"),
        ("device-sting", "did you mean device-string"),
        ("zzz", "neuron-migrate rules lists them"),
    ],
)
def test_unknown_rules(word: str, hint: str) -> None:
    with pytest.raises(click.UsageError, match=f"there is no rule {word}; {hint}"):
        explain_rule(word)


def test_a_file_without_a_line(file: Path) -> None:
    with pytest.raises(click.UsageError, match=r"say which line of .*a\.py to explain, as in .*a\.py:12"):
        explain_rule(str(file))


def test_finding_with_evidence_and_fix(file: Path) -> None:
    text = explain_line(file, 15)
    assert text.startswith('a.py:15: return x.to("cuda"), x.cuda()\n')
    assert re.search(r"  15:17 TN101 device-string, \w+: ", text)
    assert "    evidence, line 15: " in text
    assert "      15:18: 'cuda' becomes 'neuron'" in text
    assert "    more: neuron-migrate explain TN101" in text


def test_kept_site(file: Path) -> None:
    assert re.search(r"  10:55 TN101 device-string, kept: help text", explain_line(file, 10))


def test_suppressed_finding_names_the_comment(file: Path) -> None:
    text = explain_line(file, 11)
    assert re.search(r"TN102 cuda-method, \w+, suppressed: ", text)
    assert "held back by a comment in line 11: measured" in text


def test_other_lines_of_the_statement(file: Path) -> None:
    assert re.search(r"  in the same statement:\n    line 11: TN102 ", explain_line(file, 12))


def test_manual_finding(file: Path) -> None:
    text = explain_line(file, 14)
    assert "TN003 unknown-site, error: torch.cuda.no_such_call has no known counterpart" in text
    assert "fix:" not in text


def test_fixes_that_go_together(file: Path) -> None:
    text = explain_line(file, 6)
    assert "goes together with the fixes of a.py:" in text


def test_imports_that_change(file: Path) -> None:
    assert re.search(r"the applied fixes change the imports here: 4:\d+: ", explain_line(file, 4))


def test_line_without_anything(file: Path) -> None:
    assert explain_line(file, 2) == "a.py:2: \n  nothing is known about this line"


def test_place_as_reports_print_it(file: Path) -> None:
    assert explain_line(Path(f"{file}:15"), 17) == explain_line(file, 15)


@pytest.mark.parametrize("line", [0, 16, 999])
def test_line_that_is_not_there(file: Path, line: int) -> None:
    with pytest.raises(click.UsageError, match=f"a.py has 15 lines; there is no line {line}"):
        explain_line(file, line)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file or folder"):
        explain_line(tmp_path / "none.py", 1)


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="is a folder; name a file and a line"):
        explain_line(tmp_path, 1)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("bad.py", b"x = (\ny.cuda()\n", "cuda in a file that can't be parsed"),
        ("Dockerfile", b"FROM x\nENV CUDA_HOME=/usr\n", "this line names CUDA or XLA"),
        ("vendor/a.py", b"x\ny.cuda()\n", "vendored: lies in vendor/"),
        ("image.png", b"\x89PNG\0\n\0\n", "image.png: "),
        ("tests/test_a.py", b"def test(x):\n    x.cuda()\n", "a test: edited with --tests alone"),
    ],
)
def test_other_files(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / "neuron-migrate.toml").touch()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(data)
    assert said in explain_line(tmp_path / name, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("TN101",), 0, "# device-string (TN101)"),
        (("a.py:6",), 0, "a.py:6: device ="),
        (("a.py:99",), 2, "a.py has 15 lines"),
        (("none.py:3",), 2, "none.py: there is no such file or folder"),
        (("nonsense",), 2, "there is no rule nonsense"),
    ],
)
def test_command(file: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "migrate.cli", "explain", *arguments],
        cwd=file.parent,
        env={**os.environ, "PYTHONPATH": str(Path(migrate.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert said in (done.stdout if code == 0 else done.stderr)
    assert "Traceback" not in done.stderr


def test_code_of_a_run_time_hazard_points_to_the_guide() -> None:
    assert "docs/guides/verify.md" in explain_rule("TN361")
    assert "TN361" in explain_rule("recompile")
