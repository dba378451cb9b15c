"""`verify` proves that a migrated program computes what its original computed, or shows where it does not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from standin_support import PROGRAMS, TIME_LIMIT

from migrate.journal import Journal
from migrate.standin import interpreter, launch, render, verify
from migrate.standin.errors import CannotRun

pytestmark = pytest.mark.standin

NUMERICS = {"autocast_dtype": "bfloat16", "scaler": "disabled"}


@pytest.fixture
def check(python: interpreter.Interpreter, library: Path, tmp_path: Path) -> Any:
    """Verify a script and return the report as its JSON, with the text report beside."""

    def run(script: str, against: str | None, *arguments: str, nproc: int | None = None, **options: Any) -> Any:
        program = launch.Program(script, arguments, options.pop("folder", str(tmp_path)), False, nproc)
        request = verify.Request(program, against, time_limit=TIME_LIMIT, **options)
        with open(tmp_path / "stdout", "w", encoding="utf-8") as out:
            report = verify.verify(request, python, out)
        return {**json.loads(render.as_json(report)), "text": render.text(report)}

    return run


def pair(name: str) -> tuple[str, str]:
    return str(PROGRAMS / f"{name}_neuron.py"), str(PROGRAMS / f"{name}_cuda.py")


@pytest.mark.parametrize(
    ("name", "nproc", "counts"),
    [
        ("gpt", None, {"loss": 4, "parameters": 4, "save": 1, "print": 8}),
        ("diffusion", None, {"loss": 4, "parameters": 4, "save": 1, "print": 12}),
        ("ddp", 2, {"loss": 8, "parameters": 8, "save": 0, "print": 2}),
    ],
    ids=["compiled in bfloat16", "attention and convolutions", "two processes"],
)
def test_migrated_program_is_bit_equal(
    name: str, nproc: int | None, counts: dict[str, int], check: Any, tmp_path: Path
) -> None:
    arguments = {
        "gpt": ["--steps", "4", "--checkpoint", str(tmp_path / "c.pt")],
        "diffusion": ["--steps", "4"],
        "ddp": ["--epochs", "1"],
    }
    got = check(*pair(name), *arguments.get(name, []), nproc=nproc)
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"] == counts
    assert (got["hazards"], got["unverified"]) == ([], [])
    assert "computes what the original computes" in got["verdict"]


def test_declared_numerics_are_made_to_the_original_too(check: Any) -> None:
    got = check(*pair("cnn"), numerics=NUMERICS)
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"]["parameters"] == 8
    assert (got["hazards"], got["unverified"]) == ([], [])
    effect = got["comparison"]["effect"]
    assert effect["losses"] == 8
    assert 0 < effect["largest"] < 0.1
    assert "autocast dtype bfloat16, scaler disabled" in got["text"]


MIXED = (
    "import torch\n"
    "x = torch.arange(24.0).view(4, 6).div(7).cuda().requires_grad_()\n"
    "scaler = torch.cuda.amp.GradScaler()\n"
    "with torch.cuda.amp.autocast():\n"
    "    loss = torch.nn.functional.linear(x, x).pow(2).mean()\n"
    "scaler.scale(loss).backward()\n"
)
MIXED_MIGRATED = (
    MIXED.replace(".cuda()", ".to('neuron')")
    .replace("torch.cuda.amp.GradScaler()", "torch.amp.GradScaler('neuron', enabled=False)")
    .replace("torch.cuda.amp.autocast()", "torch.autocast('neuron', dtype=torch.bfloat16)")
)


def test_undeclared_numerics_are_a_difference(check: Any, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(MIXED)
    (tmp_path / "new.py").write_text(MIXED_MIGRATED)
    got = check("new.py", "old.py")
    assert got["exit"] == 1
    assert got["comparison"]["first_difference"]["kind"] == "loss"
    assert got["comparison"]["first_difference"]["step"] == 0
    assert got["comparison"]["effect"] is None


def test_planted_difference_is_found_with_its_step_and_name(check: Any, tmp_path: Path) -> None:
    migrated, original = pair("diffusion")
    text = Path(migrated).read_text()
    planted = text.replace(
        "        optimizer.step()\n",
        "        if step == 2:\n            model.layers[1].mlp[2].bias.grad[0] *= 0.5\n        optimizer.step()\n",
    )
    assert planted != text
    (tmp_path / "planted.py").write_text(planted)
    got = check(str(tmp_path / "planted.py"), original, "--steps", "4")
    assert got["exit"] == 1
    first = got["comparison"]["first_difference"]
    assert (first["step"], first["kind"], first["name"]) == (2, "parameters", "layers.1.mlp.2.bias after the step")
    assert "step 2: layers.1.mlp.2.bias after the step" in got["text"]


def test_program_that_differs_from_itself_proves_nothing(check: Any, tmp_path: Path) -> None:
    text = (
        "import os, torch\n"
        "w = torch.ones(3, device='cuda', requires_grad=True)\n"
        "noise = int.from_bytes(os.urandom(4), 'little') / 2**32\n"
        "(w.sum() * noise).backward()\n"
    )
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(text.replace("cuda", "neuron"))
    got = check(str(tmp_path / "new.py"), str(tmp_path / "old.py"))
    assert got["exit"] == 2
    assert "seed its random numbers" in got["verdict"]


PARALLEL = (
    "import torch\n"
    "torch.manual_seed(0)\n"
    "net = torch.nn.DataParallel(torch.nn.Linear(4, 2)).cuda()\n"
    "inputs = {'input': torch.rand(6, 4)}\n"
    "net(**inputs).sum().backward()\n"
)


def test_original_with_data_parallel_over_one_device(check: Any, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(PARALLEL)
    one = PARALLEL.replace("DataParallel(torch.nn.Linear(4, 2)).cuda()", "Linear(4, 2).to('neuron')")
    (tmp_path / "new.py").write_text(one.replace("rand(6, 4)", "rand(6, 4).to('neuron')"))
    got = check("new.py", "old.py")
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"]["loss"] == 1
    with pytest.raises(CannotRun, match="DataParallel over 2 devices"):
        check("new.py", "old.py", devices=2)


def test_original_that_fails_is_no_verdict(check: Any, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("import torch\nraise ValueError('broken before')\n")
    (tmp_path / "new.py").write_text("import torch\n")
    with pytest.raises(CannotRun, match="broken before"):
        check(str(tmp_path / "new.py"), str(tmp_path / "old.py"))


def test_original_that_fails_under_torchrun_shows_its_traceback(check: Any, tmp_path: Path) -> None:
    text = (
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('nccl')\n"
        "if dist.get_rank() == 1:\n"
        "    raise ValueError('broken before')\n"
        "dist.barrier()\n"
    )
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(text.replace("nccl", "neuron"))
    with pytest.raises(CannotRun) as caught:
        check("new.py", "old.py", nproc=2)
    first, *rest = str(caught.value).splitlines()
    assert first == "the original (old.py) failed with exit code 1 on the stand-in, nothing was compared:"
    assert "[rank1]: ValueError: broken before" in rest
    assert not any("elastic" in line for line in rest)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("step 1\n[rank1]: Traceback (x):\n[rank0]: Traceback (y):\n[rank1]: E\nE torch/distributed/run\n", "[rank1]"),
        ("Traceback (most recent call last):\nValueError: x\nE1 torch/distributed/elastic/m.py] died\n", "ValueError"),
        ("ValueError: x\n", "ValueError"),
        ("torch.distributed.elastic: no such file\n", "no such file"),
    ],
    ids=["ranks mixed", "before the group is made", "no launcher", "the launcher itself"],
)
def test_last_words_are_the_programs_own(output: str, words: str) -> None:
    said = verify._last_words(output)
    assert words in said.splitlines()[-1]
    assert "[rank0]" not in said


def test_against_a_git_revision(check: Any, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    (root / "sub").mkdir(parents=True)
    script = root / "sub" / "train.py"
    text = (
        "import torch\n"
        "from helper import DEVICE\n"
        "scale = float(open('scale.txt').read())\n"
        "w = torch.nn.Parameter(torch.ones(3, device=DEVICE))\n"
        "opt = torch.optim.SGD([w], lr=scale)\n"
        "for _ in range(2):\n"
        "    w.pow(2).sum().backward()\n"
        "    opt.step()\n"
    )
    script.write_text(text)
    (root / "sub" / "helper.py").write_text("DEVICE = 'cuda'\n")
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "cuda"], check=True)
    (root / "sub" / "helper.py").write_text("DEVICE = 'neuron'\n")
    (root / "sub" / "scale.txt").write_text("0.25\n")  # data that git doesn't know
    got = check("train.py", "git:HEAD", folder=str(root / "sub"))
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"]["parameters"] == 2
    with pytest.raises(CannotRun, match="nonsense"):
        check("train.py", "git:nonsense", folder=str(root / "sub"))


def test_against_the_state_before_a_run(check: Any, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text(MIXED)
    change = {"train.py": (MIXED.encode(), MIXED_MIGRATED.encode())}
    run = Journal(root).write_run(change, {}, {"numerics": [NUMERICS]})
    got = check("train.py", f"run:{run.id}", folder=str(root))
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["numerics"] == NUMERICS
    assert got["comparison"]["effect"]["largest"] > 0
    with pytest.raises(CannotRun, match="run:99"):
        check("train.py", "run:99", folder=str(root))


def test_difference_that_a_run_declares_names_the_run(check: Any, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(MIXED)
    (tmp_path / "train.py").write_text(MIXED_MIGRATED)
    change = {"train.py": (MIXED.encode(), MIXED_MIGRATED.encode())}
    Journal(tmp_path).write_run({"other.py": (b"1\n", b"2\n")}, {}, {})
    Journal(tmp_path).write_run(change, {}, {"numerics": [NUMERICS]})
    got = check("train.py", "old.py")
    assert got["exit"] == 1
    said = "run without what run:2 declares (autocast dtype bfloat16, scaler disabled): compare with run:2\n"
    assert said in got["text"]
    assert "declares" not in check("train.py", "old.py", numerics=NUMERICS)["text"]


def test_files_that_no_run_wrote_are_named(check: Any, tmp_path: Path) -> None:
    """Changed by hand since, they are the same on both sides: the comparison says nothing about them."""
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    (root / "train.py").write_text(MIXED)
    for name in ("net.py", "same.py", "sub/deep.py"):
        (root / name).write_text("WIDTH = 1\n")
    change = {"train.py": (MIXED.encode(), MIXED_MIGRATED.encode())}
    run = Journal(root).write_run(change, {}, {"numerics": [NUMERICS]})
    got = check("train.py", f"run:{run.id}", folder=str(root))
    assert (got["comparison"]["restored"], got["comparison"]["changed_since"]) == (["train.py"], None)
    assert f"with the tree as it is now, except for the 1 file of run:{run.id}" in got["text"]
    assert "is not known" in got["text"]

    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "init", "-q"], check=True)
    (root / "train.py").write_text(MIXED)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "cuda"], check=True)
    (root / "train.py").write_text(MIXED_MIGRATED)
    got = check("train.py", f"run:{run.id}", folder=str(root))
    assert got["comparison"]["changed_since"] == []
    assert "differ from git" not in got["text"] and "is not known" not in got["text"]

    for name in ("net.py", "sub/deep.py"):
        (root / name).write_text("WIDTH = 2\n")
    got = check("train.py", f"run:{run.id}", folder=str(root))
    assert got["comparison"]["changed_since"] == ["net.py", "sub/deep.py"]
    assert "differ from git's HEAD, and are used as they are now on both sides: net.py, sub/deep.py\n" in got["text"]
    assert got["exit"] == 0


def test_compiled_regions_agree_with_eager(check: Any) -> None:
    got = check(pair("gpt")[0], None, "--steps", "2", compare_eager=True)
    assert got["exit"] == 0, got["text"]
    (region,) = got["compiled_vs_eager"]
    assert (region["name"], region["equal"], region["exact"]) == ("GPT", True, True)


def test_compiled_region_that_differs_from_eager_is_shown(check: Any, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\n"
        "@torch.compile(backend='neuron', dynamic=False)\n"
        "def f(x):\n"
        "    return x * 2 if torch.compiler.is_compiling() else x * 3\n"
        "f(torch.ones(4, device='neuron'))\n"
    )
    got = check(str(tmp_path / "script.py"), None, compare_eager=True)
    assert got["exit"] == 1
    (region,) = got["compiled_vs_eager"]
    assert (region["equal"], region["line"]) == (False, 2)
    assert region["detail"].startswith("output 0: ")


def test_steps_end_an_endless_script(check: Any, tmp_path: Path) -> None:
    text = (
        "import torch\n"
        "w = torch.nn.Parameter(torch.ones(3, device='cuda'))\n"
        "opt = torch.optim.Adam([w])\n"
        "while True:\n"
        "    w.pow(2).sum().backward()\n"
        "    opt.step()\n"
    )
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(text.replace("cuda", "neuron"))
    got = check(str(tmp_path / "new.py"), str(tmp_path / "old.py"), steps=5)
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"]["parameters"] == 5


def test_runs_do_not_find_each_others_files(check: Any, tmp_path: Path) -> None:
    """A script that resumes from its own checkpoint computes something else the second time."""
    text = (
        "import os, torch\n"
        "w = torch.nn.Parameter(torch.ones(3, device='cuda'))\n"
        "if os.path.exists('out/w.pt'):\n"
        "    w.data = torch.load('out/w.pt')\n"
        "os.makedirs('out', exist_ok=True)\n"
        "opt = torch.optim.SGD([w], lr=0.1)\n"
        "w.pow(2).sum().backward()\n"
        "opt.step()\n"
        "torch.save(w.data, 'out/w.pt')\n"
    )
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "old.py").write_text(text)
    (folder / "new.py").write_text(text.replace("cuda", "neuron"))
    got = check("new.py", "old.py", folder=str(folder))
    assert got["exit"] == 0, got["text"]
    assert sorted(p.name for p in folder.iterdir()) == ["new.py", "old.py"]


def test_original_that_imports_the_migrated_tree_proves_nothing(check: Any, tmp_path: Path) -> None:
    """A path written into the script leads back to the migrated package: the runs would be the same program."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "helper.py").write_text("DEVICE = 'cuda'\n")
    text = f"import sys\nsys.path.insert(0, {str(root)!r})\nimport torch, helper\n"
    (root / "train.py").write_text(text)
    old = (root / "helper.py").read_bytes()
    run = Journal(root).write_run({"helper.py": (old, b"DEVICE = 'neuron'\n")}, {}, {})
    with pytest.raises(CannotRun, match="imported helper from the migrated tree"):
        check("train.py", f"run:{run.id}", folder=str(root))


def test_path_of_the_environment_leads_to_the_working_copy(
    check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "project"
    (root / "scripts").mkdir(parents=True)
    (root / "helper.py").write_text("DEVICE = 'cuda'\n")
    (root / "scripts" / "train.py").write_text(
        "import torch, helper\n(torch.ones(2, device=helper.DEVICE, requires_grad=True) * 2).sum().backward()\n"
    )
    old = (root / "helper.py").read_bytes()
    run = Journal(root).write_run({"helper.py": (old, b"DEVICE = 'neuron'\n")}, {}, {})
    monkeypatch.setenv("PYTHONPATH", str(root))
    got = check("scripts/train.py", f"run:{run.id}", folder=str(root))
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"]["loss"] == 1


def test_original_sees_cuda_devices(check: Any, tmp_path: Path) -> None:
    """What an original asks about its device, it is told as on CUDA; the migrated one as on neuron."""
    old = (
        "import torch\n"
        "x = torch.ones(2, device='cuda:0')\n"
        "assert x.is_cuda and x.device.type == 'cuda' and torch.cuda.device_count() == 1\n"
        "assert torch.cuda.get_device_capability() >= (8, 0) and torch.version.cuda\n"
        "assert isinstance(torch.Generator(device='cuda'), torch.Generator)\n"
        "y = torch.cuda.FloatTensor([1, 2]).type(torch.cuda.HalfTensor)\n"
        "with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream(0)):\n"
        "    z = torch.nn.Linear(2, 2).cuda(0)(x)\n"
        "torch.set_default_device('cuda')\n"
        "print(torch.zeros(3).sum().item(), y.dtype)\n"
        "z.sum().backward()\n"
    )
    new = (
        "import torch\n"
        "x = torch.ones(2, device='neuron:0')\n"
        "z = torch.nn.Linear(2, 2).to('neuron')(x)\n"
        "print(0.0, torch.float16)\n"
        "z.sum().backward()\n"
    )
    (tmp_path / "old.py").write_text(old)
    (tmp_path / "new.py").write_text(new)
    got = check("new.py", "old.py")
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"] == {"loss": 1, "parameters": 0, "save": 0, "print": 1}


def test_original_is_redirected_inside_compiled_regions(check: Any, tmp_path: Path) -> None:
    """Autocast, factories and tests of the device that Dynamo traces mean the stand-in too."""
    text = (
        "import torch\n"
        "@torch.compile(fullgraph=True)\n"
        "def f(x):\n"
        "    with torch.autocast('cuda', dtype=torch.bfloat16):\n"
        "        y = x @ x\n"
        "    if x.device.type == 'cuda':\n"
        "        y = y * 3\n"
        "    return (y + torch.arange(4, device='cuda:0')).sum()\n"
        "w = torch.rand(4, 4, device='cuda', requires_grad=True)\n"
        "f(w).backward()\n"
    )
    (tmp_path / "old.py").write_text(text)
    new = text.replace("cuda", "neuron").replace("fullgraph=True", "backend='neuron', fullgraph=True, dynamic=False")
    (tmp_path / "new.py").write_text(new)
    got = check("new.py", "old.py")
    assert got["exit"] == 0, got["text"]
    assert got["comparison"]["counts"]["loss"] == 1
