"""Input that breaks tools: a clear report, the rest goes on, nothing is lost, the right exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import run_tree

GOOD = b'import torch\n\n\ndef f():\n    return torch.ones(1, device="cuda")\n'
FIXED = GOOD.replace(b"cuda", b"neuron")
CUDA = b'y = torch.ones(1, device="cuda")\n'


def cli(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    code = "from migrate.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, capture_output=True, timeout=120, check=False
    )


UNREADABLE = [
    pytest.param(b'print "loss", x.cuda()\n', "print", id="python 2"),
    pytest.param(b"def f(:\n    return x.cuda()\n", "invalid syntax", id="syntax error"),
    pytest.param(b'x = "a\0b".cuda()\n', "null bytes", id="null byte in a string"),
    pytest.param(b's = "caf\xe9"\nx.cuda()\n', "not valid utf-8", id="latin-1 without a cookie"),
    pytest.param(b"# coding: klingon\nx.cuda()\n", "unknown encoding", id="unknown cookie"),
    pytest.param("x.cuda()\n".encode("utf-16"), "no encoding is declared", id="utf-16"),
    pytest.param(b"x = " + b"(" * 2000 + b"1" + b")" * 2000 + b"\nx.cuda()\n", "nested", id="2,000 nested brackets"),
    pytest.param(b"cuda = " + b"(" * 3000, "nested", id="3,000 open brackets"),
    pytest.param(b"if 1:\n\tx.cuda()\n        y = 1\n", "tabs", id="inconsistent tabs"),
    pytest.param(b"<<<<<<< HEAD\nx.cuda()\n=======\n>>>>>>> b\n", "invalid syntax", id="merge conflict"),
    pytest.param(b"# cuda\n" * 1_500_000, "larger", id="over 10 MB"),
]


@pytest.mark.parametrize("data, reason", UNREADABLE)
def test_unreadable_file_is_reported_searched_and_left(data: bytes, reason: str) -> None:
    result, after = run_tree({"bad.py": data, "good.py": GOOD})
    assert after == {"bad.py": data, "good.py": FIXED}
    bad = next(f for f in result.files if f.path == "bad.py")
    assert bad.status == "unreadable"
    assert reason in (bad.reason or "")
    first = next(i for i in bad.items if i.rule == "TN001")
    assert (first.severity, first.safety and first.safety.value) == ("warning", "manual")
    assert not result.errors
    if b"#" not in data:
        assert any(i.rule == "TN003" and "cuda" in i.message for i in bad.items)


def swapped(data: bytes) -> bytes:
    return data.replace(b'device="cuda"', b'device="neuron"')


SURVIVING = [
    pytest.param(b"import torch\nx = a" + b".b()" * 1000 + b"\n" + CUDA, id="1,000 chained calls"),
    pytest.param(b"import torch\nx = " + b" + ".join([b"a"] * 3000) + b"\n" + CUDA, id="3,000 terms"),
    pytest.param(
        b"import torch\nif a == 0:\n    pass\n" + b"".join(b"elif a == %d:\n    pass\n" % i for i in range(500)) + CUDA,
        id="500 elif",
    ),
    pytest.param(b'import torch\ns = "' + b"a" * 3_000_000 + b'"\n' + CUDA, id="3 MB string"),
    pytest.param(b'import torch\r\nx = torch.ones(1, device="cuda")\r\ny = 2', id="CRLF, no final newline"),
    pytest.param(b'import torch\nx = torch.ones(1, device="cuda")\r\ny = 2\n', id="mixed newlines"),
    pytest.param(b"\xef\xbb\xbfimport torch\n" + CUDA, id="byte order mark"),
    pytest.param(b"# -*- coding: latin-1 -*-\nimport torch\ns = '\xe9'\n" + CUDA, id="latin-1 cookie"),
    pytest.param(b"import torch\n\x0cdef f():\n    pass\n\x0c\n\n" + CUDA, id="form feeds"),
    pytest.param(b"import torch\n" + CUDA + b"\n   ", id="blanks on an unended last line"),
    pytest.param(b'import torch\nif 1:\n\ty = torch.ones(1, device="cuda")\n', id="tabs"),
    pytest.param("import torch\ns = 'ü\u2028'\n".encode() + CUDA, id="line separator in a string"),
    pytest.param(b"import torch\ntry:\n    pass\nexcept ValueError, TypeError:\n    pass\n" + CUDA, id="PEP 758"),
    pytest.param(b'import torch\nname = t"hello {x}"\n' + CUDA, id="template string"),
]


@pytest.mark.parametrize("data", SURVIVING)
def test_odd_but_legal_file_is_edited_and_nothing_else_moves(data: bytes) -> None:
    result, after = run_tree({"odd.py": data})
    assert after["odd.py"] == swapped(data)
    assert not result.errors
    _, twice = run_tree(after)
    assert twice == after


def test_carriage_returns_alone_are_never_half_edited() -> None:
    data = b'import torch\rx = torch.ones(1, device="cuda")\r'
    result, after = run_tree({"mac.py": data})
    assert after["mac.py"] in (data, swapped(data))
    assert any("cuda" in i.message for i in result.items())


def test_character_outside_the_encoding_is_not_written(tmp_path: Path) -> None:
    data = b"# -*- coding: ascii -*-\nimport torch\n" + CUDA
    _, after = run_tree({"a.py": data})
    assert after["a.py"] == swapped(data)


def test_path_that_does_not_exist(tmp_path: Path) -> None:
    done = cli("check", "nowhere.py", cwd=tmp_path)
    assert done.returncode == 2
    assert b"nowhere.py" in done.stderr
    assert b"Traceback" not in done.stderr


def test_repository_with_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    for command in (["check"], ["run"], ["diff"]):
        done = cli(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert not (tmp_path / "a.py").read_text().startswith("import")
    assert cli("diff", cwd=tmp_path).stdout == b""


def test_empty_folder(tmp_path: Path) -> None:
    assert cli("check", cwd=tmp_path).returncode == 0


def test_file_that_vanishes_while_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from migrate import pipeline
    from migrate.settings import Settings

    (tmp_path / "a.py").write_bytes(GOOD)
    (tmp_path / "b.py").write_bytes(GOOD)
    listed = pipeline.discover

    def vanish(*arguments: object, **options: object) -> object:
        found = listed(*arguments, **options)  # type: ignore[arg-type]
        (tmp_path / "a.py").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(pipeline, "discover", vanish)
    result = pipeline.run_pipeline(tmp_path, [tmp_path], Settings())
    states = {f.path: f.status for f in result.files}
    assert states == {"a.py": "unreadable", "b.py": "changed"}


def test_modules_of_our_names_in_the_users_folder(tmp_path: Path) -> None:
    (tmp_path / "transforms.py").write_text("raise RuntimeError('imported the wrong module')\n")
    (tmp_path / "migrate").mkdir()
    (tmp_path / "migrate" / "__init__.py").write_text("raise RuntimeError('imported the wrong package')\n")
    (tmp_path / "a.py").write_bytes(GOOD)
    script = Path(sys.executable).with_name("neuron-migrate")
    done = subprocess.run([script, "check", "a.py"], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1, done.stderr
    assert b"TN101" in done.stdout


def test_interrupt_leaves_every_file_whole(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"m{number}.py").write_bytes(GOOD * 40)
    code = "from migrate.cli import main; print('up', flush=True); main()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, "run", "-q"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(1.0)
    os.kill(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode in (0, 130), errors
    assert b"Traceback" not in errors
    for number in range(60):
        assert (tmp_path / f"m{number}.py").read_bytes() in (GOOD * 40, FIXED * 40)


def test_fault_of_a_rule_costs_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from transforms.device.device_string import DeviceString

    check = DeviceString.check

    def faulty(self: DeviceString, node: object, cx: object) -> None:
        if "boom" in cx.source.text:  # type: ignore[attr-defined]
            raise KeyError("boom")
        check(self, node, cx)  # type: ignore[arg-type]

    monkeypatch.setattr(DeviceString, "check", faulty)
    result, after = run_tree({"a.py": GOOD, "b.py": b"boom = 1\n" + GOOD})
    assert after == {"a.py": FIXED, "b.py": b"boom = 1\n" + GOOD}
    assert [e for e in result.errors if e.startswith("b.py: internal error: KeyError")]


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("form", ["text", "markdown", "github", "json", "sarif"])
def test_every_report_tells_a_fault_that_leaves_a_file_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, form: str
) -> None:
    from click.testing import CliRunner

    from migrate.cli import cli
    from transforms.device.device_string import DeviceString

    def faulty(self: DeviceString, node: object, cx: object) -> None:
        raise KeyError("boom")

    monkeypatch.setattr(DeviceString, "check", faulty)
    (tmp_path / "a.py").write_bytes(GOOD)
    done = CliRunner().invoke(cli, [command, "--no-cache", "--format", form, str(tmp_path)])
    assert done.exit_code == 3, done.output
    assert "internal error: KeyError" in done.stdout
    assert "in a file that can't be parsed" not in done.stdout
    if form == "json":
        assert json.loads(done.stdout)["summary"]["runnable"] is False
    elif form == "sarif":
        run = json.loads(done.stdout)["runs"][0]
        assert run["invocations"][0]["executionSuccessful"] is False
        assert "error" in {r["level"] for r in run["results"]}
    elif form == "github":
        assert "::error" in done.stdout
    if form in ("text", "markdown", "github"):
        said = " ".join(done.stdout.split())
        assert "1 file could not be handled, through a fault of neuron-migrate" in said
        assert "runnable" not in said.replace("not runnable yet", "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits on address space hold on Linux")
def test_no_room_for_the_stack_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(GOOD)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))"
    code = f"{limit}\nfrom migrate.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "--no-cache"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.decode().startswith("neuron-migrate: 512 MiB of address space are needed")
    assert b"Traceback" not in done.stderr
