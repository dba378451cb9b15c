"""A test of the device goes with the branch that it guards: both change, or neither does."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n"
STAYS = {
    "a kernel launch": "def f(x):\n    if x.is_cuda:\n        kernel[(1,)](x)\n    return x",
    "a kernel launch on a grid": "def f(x, grid):\n    if x.is_cuda:\n        add[grid](x)\n    return x",
    "a kernel of the file": "import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n\n\ndef f(x, n):\n    if x.is_cuda:\n        k[n](x)",
    "the device type is compared": 'def f(x):\n    if x.device.type == "cuda":\n        kernel[(1,)](x)\n    return x',
    "the else arm of the opposite": "def f(x):\n    if not x.is_cuda:\n        return x\n    else:\n        kernel[(1,)](x)",
    "behind an early return": "def f(x):\n    if not x.is_cuda:\n        return x\n    kernel[(1,)](x)\n    return x",
    "an import": "if torch.cuda.is_available():\n    from apex.normalization import FusedLayerNorm",
    "a call of a package": "import pynvml\n\nif torch.cuda.is_available():\n    pynvml.nvmlInit()",
    "an imported function": "from flash_attn import flash_attn_func\n\n\ndef f(q, ok):\n    if q.is_cuda and ok:\n        return flash_attn_func(q)\n    return q",
    "an arm": "import flash_attn\n\n\ndef f(x):\n    return flash_attn.flash_attn_func(x) if x.is_cuda else x",
    "the right side of and": "import cupy\n\n\ndef f(x):\n    return x.is_cuda and cupy.asarray(x)",
    "the module itself": "import cupy as cp\nimport numpy as np\n\nxp = cp if torch.cuda.is_available() else np",
    "a part of faiss": "import faiss\n\n\ndef f(i):\n    if torch.cuda.is_available():\n        i = faiss.index_cpu_to_all_gpus(i)\n    return i",
    "a provider of ONNX Runtime": 'p = ["CUDAExecutionProvider"] if torch.cuda.is_available() else ["CPUExecutionProvider"]',
    "an extension called after CUDA": "from my_ext import cuda_rms\n\n\ndef f(x):\n    if x.is_cuda:\n        return cuda_rms(x)\n    return x",
    "a variable keeps the answer": "fused = torch.cuda.is_available()\nif fused:\n    from apex.normalization import FusedLayerNorm",
    "what else is in the branch": "def f(x, y):\n    if x.is_cuda:\n        y = y.cuda()\n        kernel[(1,)](x, y)\n    return y",
    "a change by hand": "def f():\n    if torch.cuda.is_available():\n        return torch.cuda.mem_get_info()\n    return 0",
    "one of CUDA's tools": 'import subprocess\n\nif torch.cuda.is_available():\n    print(subprocess.check_output("nvidia-smi"))',
}
CHANGES = {
    "an element of a list of layers": "def f(x, layers):\n    if x.is_cuda:\n        return layers[0](x)\n    return x",
    "an entry of a table of functions": "def f(x, table, key):\n    if x.is_cuda:\n        return table[key](x)\n    return x",
    "a kernel in the else arm": "def f(x):\n    if x.is_cuda:\n        return x\n    else:\n        kernel[(1,)](x)",
    "faiss on the host": "import faiss\n\n\ndef f(x):\n    if x.is_cuda:\n        return faiss.IndexFlatL2(3)\n    return x",
    "a kernel outside": "def f(x):\n    if x.is_cuda:\n        print(1)\n    kernel[(1,)](x)\n    return x",
    "own names": "def f(x, apex):\n    if x.is_cuda:\n        return apex(x)\n    return x",
}


@pytest.mark.parametrize("code", STAYS.values(), ids=STAYS)
def test_test_and_branch_stay(code: str) -> None:
    text = f"{HEAD}{code}\n"
    outcome = migrate(text)
    assert outcome.text == text
    tests = [f for f in outcome.findings if f["rule"] in ("TN103", "TN104")]
    assert [(f["safety"], f["severity"]) for f in tests] == [("manual", "warning")]
    assert "this test stays" in tests[0]["message"]


@pytest.mark.parametrize("code", CHANGES.values(), ids=CHANGES)
def test_other_branches_change(code: str) -> None:
    text = f"{HEAD}{code}\n"
    assert migrate(text, "safe").text == text.replace(".is_cuda", '.device.type == "neuron"')


def test_all_tests_of_one_branch_stay() -> None:
    text = f"{HEAD}\n\ndef f(x, y):\n    if x.is_cuda and y.is_cuda:\n        kernel[(1,)](x, y)\n    return x\n"
    assert migrate(text).text == text
    text = f"{HEAD}\n\ndef f(x, y):\n    if x.is_cuda and y.is_cuda:\n        torch.cuda.mem_get_info()\n    return x\n"
    assert migrate(text).text == text


def test_the_kernel_alone_keeps_the_inner_test() -> None:
    text = f"{HEAD}\n\ndef f(x):\n    if torch.cuda.is_available():\n        x = x.cuda()\n        if x.is_cuda:\n            kernel[(1,)](x)\n    return x\n"
    new = migrate(text).text
    assert 'hasattr(torch, "neuron")' in new and 'x.to("neuron")' in new and "if x.is_cuda:" in new


REQUIRED = {
    "a probe": "def f():\n    if torch.cuda.is_available():\n        torch.cuda.get_device_properties(0)",
    "is_cuda": "def f(x, d):\n    if x.is_cuda:\n        torch.cuda.synchronize(d)",
    "a device type": 'def f(x, d):\n    if x.device.type == "cuda":\n        torch.cuda.synchronize(d)',
    "a variable that keeps the answer": "has = torch.cuda.is_available()\n\n\ndef f(d):\n    if has:\n        torch.cuda.synchronize(d)",
}


@pytest.mark.parametrize("code", REQUIRED.values(), ids=REQUIRED)
def test_no_test_is_surer_than_its_branch(code: str) -> None:
    text = f"{HEAD}\n\n{code}\n"
    assert migrate(text, "safe").text in (text, migrate(text, "review").text)
    assert "neuron" in migrate(text, "review").text
    only = migrate(text, "review", select=("TN103", "TN104")).text
    assert only == text


def test_a_safe_branch_leaves_its_test_safe() -> None:
    text = f"{HEAD}\n\ndef f(x):\n    if x.is_cuda:\n        torch.cuda.synchronize()\n"
    assert "torch.neuron.synchronize()" in migrate(text, "safe").text


def test_a_change_by_hand_behind_a_variable_leaves_the_rest() -> None:
    text = f"{HEAD}\nhas = torch.cuda.is_available()\n\n\ndef f(x):\n    if has:\n        torch.cuda.mem_get_info()\n    if has:\n        x = x.cuda()\n    return x\n"
    assert 'x.to("neuron")' in migrate(text, "safe").text


def test_sites_outside_of_the_branch_are_not_needed() -> None:
    text = f"{HEAD}\n\ndef f(x, m):\n    if x.is_cuda:\n        print(1)\n    return m.cuda(m.rank)\n"
    assert ".device.type" in migrate(text, "safe").text
    assert "m.cuda(m.rank)" in migrate(text, "safe").text
