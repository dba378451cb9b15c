"""What hangs on a backend's name or on dropped arguments: tables, read attributes, calls that would go."""

from __future__ import annotations

import pytest

from harness import migrate

DIST = "import os\n\nimport torch\nimport torch.distributed as dist\n\n\n"
DDP = "from torch.nn.parallel import DistributedDataParallel as DDP\n\n\n"

TABLES = [
    pytest.param('x = {"nccl": 1, "gloo": 2}[dist.get_backend()]', id="in place"),
    pytest.param('T = {"nccl": 1, "gloo": 2}\n\n\ndef f():\n    return T[dist.get_backend()]', id="through a name"),
    pytest.param('T = {"nccl": 1}\nx = T.get(dist.get_backend(), 3)', id="get"),
    pytest.param('T = {"nccl": 1}\nb = dist.get_backend()\nx = T[b]', id="through a variable"),
    pytest.param('T = {"nccl": 1}\n\n\ndef f(args):\n    return T[args.backend]', id="an attribute called backend"),
    pytest.param('T = {"nccl": 1}\nx = T[str(dist.get_backend()).lower()]', id="as text"),
]


@pytest.mark.parametrize("body", TABLES)
def test_key_that_a_backend_looks_up_is_an_error(body: str) -> None:
    outcome = migrate(DIST + body + "\n")
    finding = outcome.one("TN401")
    assert (finding["status"], finding["safety"], finding["severity"]) == ("open", "manual", "error")
    assert outcome.text == DIST + body + "\n"


def test_other_key_is_kept() -> None:
    finding = migrate(DIST + 'T = {"nccl": 1}\n\n\ndef f(name):\n    return T[name]\n').one("TN401")
    assert finding["status"] == "kept"


def test_ids_that_are_read_back_stay() -> None:
    text = DDP + "def f(m, r):\n    m = DDP(m, device_ids=[r])\n    return m.device_ids[0]\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert (outcome.one("TN404")["safety"], outcome.one("TN404")["severity"]) == ("manual", "warning")


def test_output_device_that_is_read_back_stays() -> None:
    text = DDP + "def f(m, r):\n    m = DDP(m, output_device=r)\n    return m.output_device\n"
    assert migrate(text).text == text


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param("args.device_ids", id="the options have the name"),
        pytest.param("self.device_ids", id="the class has the name"),
    ],
)
def test_ids_of_other_objects_do_not_matter(ids: str) -> None:
    outcome = migrate(DDP + f"def f(self, m, args):\n    print({ids})\n    return DDP(m, device_ids=[{ids}[0]])\n")
    assert "DDP(m)" in outcome.text


LOST = [
    pytest.param("dist.barrier(device_ids=[f()])", "TN407", "review", id="barrier, unknown call"),
    pytest.param("dist.barrier(device_ids=[int(os.environ['A'])])", "TN407", "safe", id="barrier, pure call"),
    pytest.param("dist.init_process_group('neuron', device_id=f())", "TN403", "review", id="start, unknown call"),
    pytest.param(
        "dist.init_process_group('neuron', device_id=int(os.environ.get('A', '0')))", "TN403", "safe", id="start, pure"
    ),
    pytest.param("dist.barrier(device_ids=[print(1)])", "TN407", "review", id="print is seen"),
]


@pytest.mark.parametrize(("body", "rule", "level"), LOST)
def test_call_that_goes_with_an_argument(body: str, rule: str, level: str) -> None:
    finding = migrate(DIST + body + "\n").one(rule)
    assert finding["safety"] == level
    assert any("goes with it" in e["text"] for e in finding["evidence"]) == (level == "review")


GUARDED = [
    pytest.param("if shutil.which('nvidia-smi'):\n    subprocess.check_output(['nvidia-smi'])", "warning", id="if"),
    pytest.param(
        "if shutil.which('nvidia-smi') is not None and x:\n    subprocess.check_output(['nvidia-smi'])",
        "warning",
        id="is not None",
    ),
    pytest.param(
        "s = shutil.which('nvidia-smi')\nif s:\n    subprocess.check_output(['nvidia-smi'])", "warning", id="name"
    ),
    pytest.param(
        "if not shutil.which('nvidia-smi'):\n    subprocess.check_output(['nvidia-smi'])", "error", id="the other way"
    ),
    pytest.param("if shutil.which('git'):\n    subprocess.check_output(['nvidia-smi'])", "error", id="another tool"),
]


@pytest.mark.parametrize(("body", "severity"), GUARDED)
def test_tool_that_is_looked_for(body: str, severity: str) -> None:
    outcome = migrate(f"import shutil\nimport subprocess\n\n{body}\n")
    assert [f["severity"] for f in outcome.findings if f["rule"] == "TN411"] == [severity]


def test_a_required_site_without_rule_is_named() -> None:
    text = DIST + 'dist.init_process_group("nccl")\nT = {"cuda": "nccl", "cpu": "gloo"}\n'
    finding = migrate(text, select=["TN401"]).findings[-1]
    assert "it needs the change at 8:6, \"cuda\"," in finding["reason"]
    assert "not selected: select both" in finding["reason"]
