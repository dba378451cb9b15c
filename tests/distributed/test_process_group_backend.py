"""TN401: what names a backend, and what only looks like one."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch.distributed as dist\n\n\n"

CHANGED = [
    pytest.param(
        'def f(backend):\n    if backend == "nccl":\n        return 1\n    return NCCLCopy()',
        'def f(backend):\n    if backend == "neuron":\n        return 1\n    return NCCLCopy()',
        "review",
        id="a test of a parameter called backend",
    ),
    pytest.param('dist.init_process_group("nccl")', 'dist.init_process_group("neuron")', "safe", id="position"),
    pytest.param(
        "dist.init_process_group(backend='nccl')", "dist.init_process_group(backend='neuron')", "safe", id="quotes stay"
    ),
    pytest.param(
        'dist.init_process_group(("nc" "cl") and "nccl")',
        'dist.init_process_group(("nc" "cl") and "neuron")',
        "safe",
        id="operand",
    ),
    pytest.param(
        'dist.new_group([0], None, "cpu:gloo,cuda:nccl")',
        'dist.new_group([0], None, "cpu:gloo,neuron:neuron")',
        "safe",
        id="composite",
    ),
    pytest.param(
        'b = "nccl"\ndist.init_process_group(b)', 'b = "neuron"\ndist.init_process_group(b)', "safe", id="variable"
    ),
    pytest.param(
        'ok = dist.get_backend() in ("nccl", "gloo")', 'ok = dist.get_backend() in ("neuron", "gloo")', "safe", id="in"
    ),
    pytest.param("ok = dist.is_nccl_available()", 'ok = dist.is_backend_available("neuron")', "safe", id="probe"),
    pytest.param(
        "ok = dist.get_backend() == dist.Backend.NCCL", 'ok = dist.get_backend() == "neuron"', "safe", id="constant"
    ),
    pytest.param("MY_BACKEND = 'nccl'", "MY_BACKEND = 'neuron'", "review", id="called a backend"),
    pytest.param(
        "def f(cfg):\n    return cfg.ddp_backend == 'nccl'",
        "def f(cfg):\n    return cfg.ddp_backend == 'neuron'",
        "review",
        id="test of an attribute called a backend",
    ),
    pytest.param(
        "def f(cfg):\n    return cfg.backend.upper() == 'NCCL'",
        "def f(cfg):\n    return cfg.backend.upper() == 'NEURON'",
        "review",
        id="capitals stay capitals",
    ),
]


@pytest.mark.parametrize(("before", "after", "level"), CHANGED)
def test_changes(before: str, after: str, level: str) -> None:
    outcome = migrate(HEAD + before + "\n")
    assert outcome.text == HEAD + after + "\n"
    assert {f["safety"] for f in outcome.findings if f["rule"] == "TN401"} == {level}


UNCHANGED = [
    pytest.param('print("nccl")', id="printed"),
    pytest.param('raise RuntimeError("nccl")', id="error text"),
    pytest.param('def f():\n    "nccl"', id="docstring"),
    pytest.param('name = "nccl"', id="a name that is no backend"),
    pytest.param('def f(lib):\n    return lib == "nccl"', id="compared with something unknown"),
    pytest.param('dist.init_process_group("gloo")', id="gloo"),
    pytest.param('dist.init_process_group("neuron")', id="migrated"),
    pytest.param("class Backend:\n    NCCL = 1\n\n\nuse = Backend.NCCL", id="own class"),
    pytest.param("def is_nccl_available():\n    return 1\n\n\nuse = is_nccl_available()", id="own function"),
    pytest.param('def f(dist):\n    dist.init_process_group("nccl")', id="dist is a parameter here"),
    pytest.param('table = {"nccl": 1}', id="key of a dict"),
    pytest.param("try: ...\nexcept OSError as e:\n    if 'nccl' in str(e): ...", id="looked for in an error"),
    pytest.param(
        'def f(backend):\n    if backend == "nccl":\n        return NCCLCopy()\n    return None',
        id="chooses an implementation of the program for NCCL",
    ),
    pytest.param('import deepspeed\n\ndeepspeed.init_distributed("nccl")', id="another package's backend"),
    pytest.param(
        'b = {"cuda": "nccl", "hpu": "hccl"}.get("x")\ndist.init_process_group(b)', id="one of many accelerators"
    ),
]


@pytest.mark.parametrize("body", UNCHANGED)
def test_leaves_alone(body: str) -> None:
    outcome = migrate(HEAD + body + "\n")
    assert outcome.text == HEAD + body + "\n"


def test_a_module_constant_that_others_import_is_review() -> None:
    from harness import run_tree

    files = {
        "a.py": b'import torch.distributed as dist\n\nNAME = "nccl"\ndist.init_process_group(NAME)\n',
        "b.py": b"from a import NAME\n",
    }
    result, after = run_tree(files)
    assert b'NAME = "neuron"' in after["a.py"]
    assert [i.safety.value for i in result.counted if i.rule == "TN401" and i.safety] == ["review"]
    _, cautious = run_tree(files, "safe")
    assert cautious == files


def test_value_and_test_stand_or_fall_together() -> None:
    text = (
        'def f(backend="nccl", other=None):\n    if backend == "nccl":  # neuron: keep\n        pass\n'
        "    dist.init_process_group(backend)\n"
    )
    outcome = migrate(HEAD + text)
    assert outcome.text == HEAD + text


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        pytest.param('setup(0, backend="nccl")', "error", id="the name of the argument says backend"),
        pytest.param('setup(0, dist_backend="nccl")', "error", id="as a part of it"),
        pytest.param('setup(0, "nccl")', "warning", id="by position"),
        pytest.param('setup(0, library="nccl")', "warning", id="by another name"),
    ],
)
def test_what_functions_of_other_files_are_given(call: str, severity: str) -> None:
    found = migrate(f"from tools import setup\n\n{call}\n").one("TN401")
    assert (found["safety"], found["severity"]) == ("manual", severity)


def test_names_that_are_imported_under_others() -> None:
    before = (
        "import torch\nfrom torch.distributed import Backend as B\n"
        "from torch.distributed import init_process_group, is_nccl_available as there\n\n"
        "if there():\n    init_process_group(B.NCCL)\n"
    )
    after = (
        "import torch\nfrom torch.distributed import init_process_group\n\n"
        'if torch.distributed.is_backend_available("neuron"):\n    init_process_group("neuron")\n'
    )
    assert migrate(before).text == after


def test_a_class_that_is_imported_under_another_name() -> None:
    outcome = migrate("from torch.distributed import ProcessGroupNCCL as PG\n\noptions = PG.Options()\n")
    assert (3, "error") in [(f["line"], f["severity"]) for f in outcome.findings if f["rule"] == "TN401"]
