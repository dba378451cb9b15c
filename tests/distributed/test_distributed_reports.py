"""TN405 to TN416: what is only said. Each case: code, and the severities of the rule's findings on it."""

from __future__ import annotations

import pytest

from harness import migrate

D = "import torch\nimport torch.distributed as dist\n"
G = D + "dist.init_process_group('gloo')\n"
F = "from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel as FSDP\n"
SMI = "import shutil, subprocess\ndef f():\n    {}\n    return subprocess.check_output(['nvidia-smi'])\n"
N = "import torch\nimport torch.nn as nn\nfrom torch.nn.parallel import DistributedDataParallel as W\n"

CASES = [
    ("TN406", "import torch.nn as nn\nm = nn.DataParallel(m)\n", ["error"], "wrapper"),
    ("TN406", "import torch.nn as nn\nok = isinstance(m, nn.DataParallel)\n", [], "type test"),
    ("TN406", "from mine import DataParallel\nm = DataParallel(m)\n", [], "another package"),
    ("TN406", "import torch.nn as nn\ndef f(m: nn.DataParallel):\n    pass\n", [], "annotation"),
    ("TN406", N + "if torch.cuda.device_count() > 1:\n    m = nn.DataParallel(m)\n", ["warning"], "several devices"),
    ("TN406", N + "n = torch.cuda.device_count()\nif n > 1:\n    m = nn.DataParallel(m)\n", ["warning"], "a count"),
    ("TN406", N + "if a.cuda and a.ngpu >= 2:\n    m = nn.DataParallel(m)\n", ["warning"], "an option that counts"),
    ("TN406", N + "m = m if ngpu <= 1 else nn.DataParallel(m)\n", ["warning"], "the other arm of one device"),
    ("TN406", N + "if len(a.gpu_ids) > 0:\n    m = nn.DataParallel(m)\n", ["error"], "one device is enough"),
    ("TN406", N + "if ngpu > 1:\n    pass\nelse:\n    m = nn.DataParallel(m)\n", ["error"], "one device"),
    ("TN406", N + "if epochs > 1:\n    m = nn.DataParallel(m)\n", ["error"], "another count"),
    ("TN406", N + "if a.dist:\n    m = W(m)\nelif a.dp:\n    m = nn.DataParallel(m)\n", ["warning"], "an option"),
    (
        "TN406",
        N + "if a.dist:\n    m = W(m)\nelif d.type == 'neuron':\n    m = nn.DataParallel(m)\n",
        ["error"],
        "the branch of any device beside DDP",
    ),
    ("TN406", N + "if a.dp:\n    m = nn.DataParallel(m)\n", ["error"], "option alone"),
    ("TN406", N + "if not a.dist:\n    m = nn.DataParallel(m)\nelse:\n    W(m)\n", ["error"], "no distributed run"),
    (
        "TN406",
        N + "if a.dist:\n    m = W(m)\nelif a.gpu is not None:\n    pass\nelse:\n    m = nn.DataParallel(m)\n",
        ["error"],
        "the last branch beside DDP",
    ),
    ("TN405", F + "FSDP(m, cpu_offload=CPUOffload(offload_params=True))\n", ["warning"], "offload"),
    ("TN405", F + "FSDP(m, cpu_offload=CPUOffload(True))\n", ["warning"], "offload by position"),
    ("TN405", F + "FSDP(m, cpu_offload=CPUOffload(offload_params=False))\n", [], "offload is off"),
    ("TN405", F + "FSDP(m, cpu_offload=CPUOffload())\n", [], "offload is off by default"),
    ("TN406", N + "if device.type == 'cpu':\n    m = nn.DataParallel(m)\n", [], "branch of the CPU"),
    (
        "TN406",
        N + "def f(m):\n    if n_gpu < 2:\n        return m\n    return nn.DataParallel(m)\n",
        ["warning"],
        "left before",
    ),
    ("TN406", N + "if type(m) is nn.DataParallel:\n    m = m.module\n", [], "exact type"),
    ("TN406", N + "if m.__class__ in (W, nn.DataParallel):\n    m = m.module\n", [], "one of the exact types"),
    ("TN406", N + "match m:\n    case nn.DataParallel():\n        m = m.module\n", [], "class pattern"),
    ("TN406", N + "T = (nn.DataParallel, W)\nok = isinstance(m, T)\n", [], "tuple of types"),
    ("TN406", N + "T = (nn.DataParallel, W)\nm = T[0](m)\n", ["error"], "tuple of wrappers"),
    ("TN406", N + "T = [nn.DataParallel(m)]\nok = isinstance(m, T)\n", ["error"], "an object is no type"),
    ("TN406", N + "if make(nn.DataParallel) is type(m):\n    pass\n", ["error"], "made inside of a test"),
    (
        "TN407",
        D + "dist.barrier(dist.distributed_c10d._get_default_group())\n",
        [],
        "the default group by its function",
    ),
    ("TN407", D + "dist.barrier(dist.group.WORLD if a else None)\n", [], "the default group either way"),
    ("TN407", D + "dist.barrier(dist.new_group([0]) if a else None)\n", ["error"], "another group in one arm"),
    ("TN407", G + "dist.barrier(dist.new_group([0]))\n", [], "all groups are on gloo"),
    (
        "TN407",
        G + "dist.barrier(dist.new_group([0], backend='neuron'))\n",
        ["error"],
        "a group of the device beside gloo",
    ),
    ("TN407", D + "dist.barrier(dist.new_group([0]))\n", ["error"], "a group built here"),
    ("TN407", D + "def f(group):\n    dist.barrier(group)\n", ["warning"], "a group from elsewhere"),
    ("TN407", D + "dist.barrier(dist.new_group([0], backend='gloo'))\n", [], "gloo"),
    ("TN407", D + "g = None\ndist.barrier(g)\n", [], "None"),
    ("TN407", D + "dist.barrier(dist.group.WORLD)\n", [], "the default group by name"),
    ("TN407", D + "def f(pool):\n    pool.barrier(1)\n", [], "another object"),
    ("TN408", D + "dist.all_gather_object(a, b)\n", ["warning"], "objects"),
    ("TN408", D + "dist.all_gather_object(a, b, dist.new_group(backend='gloo'))\n", [], "objects over gloo"),
    ("TN408", D + "dist.all_gather(a, b)\n", [], "tensors"),
    ("TN408", G + "dist.all_gather_object(a, b)\n", [], "objects over a default group on gloo"),
    ("TN408", G + "dist.init_process_group('neuron')\ndist.all_gather_object(a, b)\n", ["warning"], "gloo or neuron"),
    ("TN408", G + "dist.all_gather_object(a, b, g)\n", ["warning"], "a group from elsewhere"),
    ("TN409", "import os\nv = os.getenv('NCCL_DEBUG')\n", ["warning"], "read"),
    ("TN409", "import os\nNCCL_DEBUG = os.getenv('FI_PROVIDER')\n", [], "EFA"),
    ("TN410", "import torch.multiprocessing as mp\nmp.set_start_method('fork')\n", ["warning"], "fork"),
    ("TN410", "import torch.multiprocessing as mp\nmp.set_start_method('spawn')\n", [], "spawn"),
    ("TN410", "import multiprocessing as m\nk = 'fork'\nm.get_context(k)\n", ["warning"], "fork by a variable"),
    ("TN410", "import multiprocessing as m\nk = 'fork'\nk = o.k\nm.get_context(k)\n", [], "variable that is set anew"),
    ("TN410", "def f(git):\n    git.get_context('fork')\n", [], "another object"),
    ("TN411", "import torch.multiprocessing as mp\nmp.spawn(f, nprocs=2)\n", ["warning"], "mp.spawn"),
    ("TN411", "import subprocess\nsubprocess.check_output(['nvidia-smi'])\n", ["error"], "nvidia-smi"),
    ("TN411", "import os\nos.system('nvidia-smi')\n", ["warning"], "a shell that nobody checks"),
    (
        "TN411",
        "import shutil\ndef f(run):\n    if shutil.which('nvidia-smi'):\n        run('nvidia-smi')\n",
        [],
        "no runner",
    ),
    (
        "TN411",
        SMI.format("if shutil.which('nvidia-smi') is None:\n        return"),
        ["warning"],
        "left without the tool",
    ),
    ("TN411", SMI.format("if not shutil.which('nvidia-smi'):\n        raise OSError"), ["warning"], "error without it"),
    ("TN411", SMI.format("if shutil.which('nvidia-smi'):\n        return"), ["error"], "left with the tool"),
    ("TN411", SMI.format("if shutil.which('nvidia-smi') is None:\n        log()"), ["error"], "not left"),
    ("TN411", "print('run nvidia-smi')\n", [], "text"),
    ("TN411", G + "import torch.multiprocessing as mp\nmp.spawn(f, nprocs=2)\n", [], "workers on gloo"),
    ("TN411", G + "import torch.multiprocessing as mp\nm.to('neuron')\nmp.spawn(f)\n", ["warning"], "gloo, a device"),
    ("TN413", D + "dist.init_device_mesh('cpu', (2, 4), mesh_dim_names=('tp', 'dp'))\n", [], "mesh of the CPU"),
    ("TN412", G + "dist.new_group([0])\n", [], "group beside a default group on gloo"),
    ("TN414", D + "dist.all_to_all_single(a, b, [n] * w, [n] * w)\n", [], "one size for all"),
    ("TN414", D + "dist.all_to_all_single(a, b, [4, 4], [4, 4])\n", [], "equal numbers"),
    ("TN414", D + "dist.all_to_all_single(a, b, [4, 2], [4, 4])\n", ["error"], "one side is uneven"),
    ("TN414", D + "dist.all_to_all_single(a, b, [n, n * 2] * w)\n", ["error"], "a pattern of sizes"),
    ("TN414", D + "dist.all_to_all_single(a, b, [n, m])\n", ["error"], "two unknown sizes"),
    ("TN415", "import lightning as L\nL.DDPStrategy(ddp_comm_hook=h)\n", ["error"], "hook by an argument"),
    ("TN415", "import lightning as L\nL.DDPStrategy(ddp_comm_hook=None)\n", [], "no hook by an argument"),
    ("TN415", "import mine\nmine.DDPStrategy(ddp_comm_hook=h)\n", [], "argument of another package"),
    ("TN416", G + "dist.monitored_barrier()\n", [], "monitored on gloo"),
    (
        "TN413",
        D + "m = dist.init_device_mesh('neuron', (2, 4), mesh_dim_names=('tp', 'dp'))\n",
        ["warning"],
        "tp outside",
    ),
    ("TN413", D + "m = dist.init_device_mesh('neuron', (2, 4), mesh_dim_names=('dp', 'tp'))\n", [], "tp inside"),
    ("TN414", D + "dist.all_to_all_single(o, i, [1, 2], [2, 1])\n", ["error", "error"], "sizes"),
    ("TN414", D + "def f(s=None):\n    dist.all_to_all_single(o, i, s)\n", ["warning"], "sizes that may be None"),
    ("TN414", D + "dist.all_to_all_single(o, i)\n", [], "even"),
    ("TN416", D + "dist.monitored_barrier()\n", ["warning"], "barrier of gloo"),
    ("TN416", D + "dist.monitored_barrier(dist.new_group(backend='gloo'))\n", [], "on gloo"),
    ("TN416", D + "with dist._coalescing_manager(device=d):\n    pass\n", ["error"], "coalescing"),
    ("TN416", "import torch.distributed.rpc as rpc\nrpc.init_rpc('w')\n", ["warning"], "RPC"),
    ("TN416", "def f(rpc):\n    rpc.init_rpc('w')\n", [], "another object"),
    ("TN415", "def f(model, hook):\n    model.register_comm_hook(None, hook)\n", ["error"], "hook"),
    ("TN415", "def f(model, hook):\n    model.register_forward_hook(hook)\n", [], "another hook"),
]


@pytest.mark.parametrize(("rule", "text", "severities", "why"), CASES, ids=[f"{c[0]}-{c[3]}" for c in CASES])
def test_reports(rule: str, text: str, severities: list[str], why: str) -> None:
    outcome = migrate(text)
    if "torch.cuda" not in text:
        assert outcome.text == text
    assert [f["severity"] for f in outcome.findings if f["rule"] == rule and f["safety"] == "manual"] == severities


def test_settings_of_nccl_go_on_request_only() -> None:
    text = 'import os\n\nos.environ["NCCL_DEBUG"] = "INFO"\nprint(1)\n'
    assert migrate(text).text == text
    assert migrate(text, "offer").text == "import os\n\nprint(1)\n"


def test_advice_comes_once_per_file() -> None:
    outcome = migrate(D + "a = dist.new_group([0])\nb = dist.new_group([1])\n")
    assert outcome.lines("TN412") == [3]
    assert outcome.one("TN412")["safety"] == "note"
