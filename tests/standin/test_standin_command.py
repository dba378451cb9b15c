"""The command: exit codes, where output goes, time limit, Ctrl-C, and machines that lack something."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import migrate
from migrate.standin import build, interpreter
from migrate.standin.errors import CannotRun

pytestmark = pytest.mark.standin

TOOL_PATH = str(Path(migrate.__file__).resolve().parents[1])
CODE = "from migrate.standin.command import verify; verify(prog_name='verify')"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(library: Path, tmp_path: Path) -> Start:
    """Start the command in `tmp_path`, as the tool's own process would."""

    def run(*arguments: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", CODE, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": TOOL_PATH, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


def verify(start: Start, *arguments: str, **env: str) -> tuple[int, str, str]:
    process = start(*arguments, **env)
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err


def test_the_tools_own_process_needs_no_torch() -> None:
    code = (
        "import sys, pkgutil, importlib, migrate.standin as s\n"
        "names = [m.name for m in pkgutil.iter_modules(s.__path__, s.__name__ + '.') if not m.ispkg]\n"
        "[importlib.import_module(n) for n in names]\n"
        "assert len(names) > 10 and 'torch' not in sys.modules, names\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": TOOL_PATH})


def test_clean_script_passes_its_output_through(start: Start, tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text(
        "import sys, torch\nprint('hello', *sys.argv[1:], torch.ones(1, device='neuron').device)\n"
    )
    code, out, err = verify(start, "ok.py", "--python", sys.executable, "--", "--steps", "3")
    assert code == 0, err
    assert out.startswith("hello --steps 3 neuron:0\nverify ok.py on the CPU stand-in")
    assert out.endswith("hazards: none\nresult: it runs\n")


def test_json_is_alone_on_stdout(start: Start, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import torch\nprint('hello')\ntorch.ones(2).cuda()\n")
    code, out, err = verify(start, "bad.py", "--python", sys.executable, "--format", "json")
    report = json.loads(out)
    assert (code, report["exit"], report["run"]["code"]) == (1, 1, 1)
    assert "hello" in err and "Torch not compiled with CUDA" in err
    (hazard,) = report["hazards"]
    assert (hazard["code"], hazard["path"], hazard["line"], hazard["severity"]) == ("TN107", "bad.py", 3, "error")


@pytest.mark.parametrize("to_file", [False, True], ids=["stdout", "file"])
def test_json_gives_the_reason_when_nothing_was_run(to_file: bool, start: Start, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("import torch\n")
    (tmp_path / "old.py").write_text("import torch\nraise SystemExit(3)\n")
    output = ["--output", "report.json"] if to_file else []
    arguments = ["--python", sys.executable, "--against", "old.py", "--format", "json", *output]
    code, out, err = verify(start, "new.py", *arguments)
    report = json.loads((tmp_path / "report.json").read_text() if to_file else out)
    reason = "the original (old.py) failed with exit code 3 on the stand-in, nothing was compared"
    assert (code, report["exit"], report["run"], report["program"]["target"]) == (2, 2, None, "new.py")
    assert report["verdict"].startswith(f"nothing is proven: {reason}")
    assert reason in err
    if to_file:
        assert out == ""


def test_warnings_alone_do_not_fail_and_output_goes_to_a_file(start: Start, tmp_path: Path) -> None:
    (tmp_path / "w.py").write_text("import torch\nprint('hello')\ntorch.ones(2, device='neuron').double()\n")
    code, out, err = verify(start, "w.py", "--python", sys.executable, "--output", "report.txt")
    assert (code, out) == (0, "hello\n"), err
    report = (tmp_path / "report.txt").read_text()
    assert "w.py:3: warning TN204 float64: " in report


def test_module_is_run_like_python_m(start: Start, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("import torch\nprint(__name__, __package__)\n")
    code, out, err = verify(start, "-m", "package.train", "--python", sys.executable)
    assert (code, out.splitlines()[0]) == (0, "__main__ package"), err


def test_script_without_torch_proves_nothing(start: Start, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('hello')\n")
    code, out, _err = verify(start, "plain.py", "--python", sys.executable)
    assert code == 2
    assert "did not import torch" in out


def test_missing_script(start: Start) -> None:
    code, out, err = verify(start, "absent.py", "--python", sys.executable)
    assert (code, out) == (2, "")
    assert "absent.py: there is no such script" in err


def fake_python(folder: Path, torch_version: str | None) -> str:
    """An interpreter whose torch says that it is `torch_version`; without one it has no torch at all."""
    site = folder / "site"
    site.mkdir()
    if torch_version:
        (site / "torch").mkdir()
        (site / "torch" / "__init__.py").write_text("raise ImportError('must not be imported')\n")
        (site / "torch" / "version.py").write_text(f"__version__ = {torch_version!r}\n")
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys._base_executable}" -S "$@"\n')  # type: ignore[attr-defined]
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def test_unsupported_torch_names_the_supported_ones(start: Start, tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("import torch\n")
    code, out, err = verify(start, "ok.py", "--python", fake_python(tmp_path, "2.9.1+cpu"))
    assert (code, out) == (2, "")
    assert "torch 2.9.1+cpu" in err and "Supported: 2.13, 2.14" in err


def test_interpreter_without_torch(start: Start, tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("import torch\n")
    code, _out, err = verify(start, "ok.py", "--python", fake_python(tmp_path, None))
    assert code == 2
    assert "has no torch. The stand-in needs torch 2.13, 2.14" in err


def test_active_environment_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert interpreter.choose(None) == str(tmp_path / "bin" / "python")


def test_machine_without_a_compiler_is_told_what_is_missing(start: Start, tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("import torch\n")
    (tmp_path / "bin").mkdir()
    empty_cache = str(tmp_path / "cache")
    environment = {"PATH": str(tmp_path / "bin"), "NEURON_MIGRATE_CACHE_DIR": empty_cache}
    code, out, err = verify(start, "ok.py", "--python", sys.executable, **environment)
    assert (code, out) == (2, "")
    assert "this machine lacks" in err and "g++" in err
    assert "Every other command of neuron-migrate works without it" in err


def test_failed_build_shows_the_compilers_words(tmp_path: Path, python: interpreter.Interpreter) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *-v*|*--version*) echo 12.2.0; exit 0;; esac\necho no such luck >&2\nexit 1\n'
    )
    compiler.chmod(0o755)
    os.environ["CXX"] = str(compiler)
    try:
        with pytest.raises(CannotRun, match="could not be compiled") as caught:
            build.ensure(python, tmp_path / "cache")
    finally:
        del os.environ["CXX"]
    assert "no such luck" in str(caught.value)
    assert [p.name for p in (tmp_path / "cache").iterdir() if p.is_dir()] == []


def test_lock_held_elsewhere_ends_with_the_time_limit(tmp_path: Path, python: interpreter.Interpreter) -> None:
    with open(tmp_path / f"{build.key(python)}.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(CannotRun, match="another process has been building"):
            build.ensure(python, tmp_path, time_limit=0.5)


def test_killed_build_leaves_nothing_that_hinders(library: Path, python: interpreter.Interpreter) -> None:
    """A lock file and a half-filled folder stay behind a killed build: neither is looked at again."""
    folder = library.parents[1]
    (folder / "building-left").mkdir(exist_ok=True)
    (folder / f"{build.key(python)}.lock").touch()
    assert build.ensure(python, folder, time_limit=5) == library
    (folder / "building-left").rmdir()


def living(folder: Path) -> list[int]:
    return [int(p.name) for p in folder.iterdir() if os.path.exists(f"/proc/{p.name}/stat") and not zombie(int(p.name))]


def zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


SLEEPER = """
import os, pathlib, subprocess, sys, time, torch
pids = pathlib.Path("pids"); pids.mkdir(exist_ok=True)
torch.ones(1, device="neuron").double()
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
(pids / str(child.pid)).touch()
(pids / str(os.getpid())).touch()
time.sleep(600)
"""


def test_time_limit_ends_the_run_and_still_reports(start: Start, tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    code, out, err = verify(start, "sleeper.py", "--python", sys.executable, "--time-limit", "20")
    assert code == 2, err
    assert "stopped by the time limit" in out
    assert "TN204" in out
    assert len(list((tmp_path / "pids").iterdir())) == 2
    assert living(tmp_path / "pids") == []


@pytest.mark.parametrize(
    ("number", "launcher", "children"),
    [(signal.SIGINT, ["--nproc", "2"], 4), (signal.SIGTERM, [], 2)],
    ids=["Ctrl-C under torchrun", "terminated"],
)
def test_interrupt_ends_all_children(
    number: int, launcher: list[str], children: int, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    process = start("sleeper.py", "--python", sys.executable, *launcher)
    pids = tmp_path / "pids"
    deadline = time.monotonic() + 120
    while not (pids.is_dir() and len(list(pids.iterdir())) == children):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.1)
    process.send_signal(number)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert living(pids) == []
