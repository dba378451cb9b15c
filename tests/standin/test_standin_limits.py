"""What the device refuses, the stand-in refuses; and how it enters a process."""

from __future__ import annotations

from pathlib import Path

import pytest
from standin_support import RunProgram

from migrate.standin import launch

pytestmark = pytest.mark.standin

ONE_RANK = """
import os
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
import torch, torch.distributed as dist
store = dist.HashStore()
"""


@pytest.mark.parametrize("use", ["torch.neuron.set_device(0)", "torch.ones(1, device='neuron')"])
def test_process_group_comes_before_any_use_of_the_device(use: str, run_text: RunProgram) -> None:
    run = run_text(ONE_RANK + f"{use}\ndist.init_process_group('neuron', store=store, rank=0, world_size=1)\n")
    assert run.code == 1
    assert "should not be initialized before the init_process_group" in run.stderr
    assert [(h.code, h.line) for h in run.seen.hazards] == [("TN402", 7)]
    assert "(first at script.py:6)" in run.seen.hazards[0].message


def test_process_group_first_is_accepted(run_text: RunProgram) -> None:
    text = "torch.neuron.is_available()\ndist.init_process_group('neuron', store=store, rank=0, world_size=1)\n"
    run = run_text(ONE_RANK + text + "torch.neuron.set_device(0)\ndist.barrier()\n")
    assert (run.code, run.codes()) == (0, set()), run.stderr


def test_fork_after_use_is_refused(run_text: RunProgram) -> None:
    run = run_text(
        "import os, torch\n"
        "torch.ones(1, device='neuron')\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    try:\n"
        "        torch.ones(1, device='neuron')\n"
        "    except RuntimeError as error:\n"
        "        os._exit('forked subprocess' in str(error))\n"
        "    os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert run.stdout == "1\n"
    assert [(h.code, h.severity, h.line) for h in run.seen.hazards] == [("TN410", "error", 6)]


def test_fork_before_use_is_accepted(run_text: RunProgram) -> None:
    run = run_text(
        "import os, torch\n"
        "pid = os.fork()\n"
        "torch.ones(1, device='neuron')\n"
        "if pid:\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert (run.stdout, run.codes()) == ("0\n", set()), run.stderr


def test_unknown_names_work_and_are_listed(run_text: RunProgram) -> None:
    run = run_text("import torch\nprint(len(torch.neuron.get_rng_state_all()), torch.neuron.mem_get_info()[1] > 0)\n")
    assert run.stdout == "1 True\n"
    assert {(name, line) for name, _path, line in run.seen.unverified} == {
        ("torch.neuron.get_rng_state_all", 2),
        ("torch.neuron.mem_get_info", 2),
    }


def test_unheard_of_names_are_absent(run_text: RunProgram) -> None:
    run = run_text("import torch\nprint(hasattr(torch.neuron, 'warp_drive'), hasattr(torch.neuron, 'nvtx'))\n")
    assert run.stdout == "False False\n"


def test_nothing_of_ours_is_on_the_path(run_program: RunProgram, tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "transforms.py").write_text("WHO = 'user'\n")
    (folder / "migrate").mkdir()
    (folder / "migrate" / "__init__.py").write_text("WHO = 'user'\n")
    script = folder / "script.py"
    script.write_text(
        "import sys, torch, migrate, transforms\n"
        "print(migrate.WHO, transforms.WHO, [p for p in sys.path if 'standin' in p])\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('standin', 'runtime', 'inject')])\n"
    )
    run = run_program(script)
    assert run.stdout == "user user []\n[]\n", run.stderr


def test_users_own_sitecustomize_runs_first(
    run_text: RunProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text("import builtins\nbuiltins.USER_HOOK = __file__\n")
    monkeypatch.setenv("PYTHONPATH", str(hooks))
    run = run_text("import torch\nprint(USER_HOOK, torch.ones(1, device='neuron').item())\n")
    assert run.stdout == f"{hooks / 'sitecustomize.py'} 1.0\n", run.stderr


def test_child_processes_have_the_device(run_text: RunProgram) -> None:
    run = run_text(
        "import subprocess, sys\n"
        "code = 'import torch; print(torch.ones(1, device=\"neuron\").device)'\n"
        "subprocess.run([sys.executable, '-c', code], check=True)\n"
    )
    assert run.stdout == "neuron:0\n", run.stderr


def test_spawned_workers_train(run_text: RunProgram) -> None:
    run = run_text(
        "import torch, torch.distributed as dist, torch.multiprocessing as mp\n"
        "def worker(rank, port):\n"
        "    url = f'tcp://127.0.0.1:{port}'\n"
        "    dist.init_process_group('neuron', init_method=url, rank=rank, world_size=2)\n"
        "    torch.neuron.set_device(rank)\n"
        "    t = torch.ones(1, device=f'neuron:{rank}')\n"
        "    dist.all_reduce(t)\n"
        "    assert t.item() == 2\n"
        "    dist.destroy_process_group()\n"
        "if __name__ == '__main__':\n"
        "    import socket\n"
        "    with socket.socket() as s:\n"
        "        s.bind(('127.0.0.1', 0))\n"
        "        port = s.getsockname()[1]\n"
        "    mp.spawn(worker, (port,), nprocs=torch.neuron.device_count())\n"
        "    print('done')\n",
        mode=launch.Mode(devices=2),
    )
    assert (run.code, run.stdout) == (0, "done\n"), run.stderr
    assert run.codes() == set()
