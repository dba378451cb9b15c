"""Environment variables of CUDA."""

from __future__ import annotations

import pytest

from harness import migrate

SET = 'import os\n\nos.environ["{}"] = {}\nprint(1)\n'


@pytest.mark.parametrize(
    "use",
    [
        'os.environ["CUDA_LAUNCH_BLOCKING"] = "1"',
        'os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")',
        'x = os.environ.get("CUDA_LAUNCH_BLOCKING", "0")',
        'x = os.getenv("CUDA_LAUNCH_BLOCKING")',
        'x = "CUDA_LAUNCH_BLOCKING" in os.environ',
        'del os.environ["CUDA_LAUNCH_BLOCKING"]',
        'env = {"CUDA_LAUNCH_BLOCKING": "1"}',
    ],
)
def test_launch_blocking_has_a_twin(use: str) -> None:
    text = f"import os\n\n{use}\n"
    assert migrate(text).text == text.replace("CUDA_LAUNCH_BLOCKING", "NEURON_LAUNCH_BLOCKING")


def test_it_is_safe_before_torch_is_imported() -> None:
    text = 'import os\n\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\nimport torch\n'
    assert migrate(text).one("TN121")["safety"] == "safe"


def test_it_is_review_after_torch_is_imported() -> None:
    text = 'import os\n\nimport torch\n\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n'
    found = migrate(text).one("TN121")
    assert found["safety"] == "review"
    assert "after torch is imported" in found["evidence"][1]["text"]


@pytest.mark.parametrize("value", ['"0"', '"3"', "str(i)", 'f"{i}"'])
def test_one_core_of_a_single_process(value: str) -> None:
    text = f'import os\n\ni = 1\nos.environ["CUDA_VISIBLE_DEVICES"] = {value}\n'
    outcome = migrate(text)
    assert outcome.text == text.replace("CUDA_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES")
    assert outcome.one("TN121")["safety"] == "review"


@pytest.mark.parametrize("value", ['"0,1"', '""', '"-1"', "args.gpus", '",".join(ids)'])
def test_other_values_are_reported(value: str) -> None:
    text = SET.format("CUDA_VISIBLE_DEVICES", value)
    outcome = migrate(text)
    assert outcome.text == text
    assert (outcome.one("TN121")["safety"], outcome.one("TN121")["severity"]) == ("manual", "warning")


def test_under_torchrun_each_rank_has_its_core() -> None:
    text = (
        'import os\n\nimport torch.distributed as dist\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'
        'dist.init_process_group("gloo")\n'
    )
    outcome = migrate(text)
    assert outcome.text == text
    assert "each rank" in outcome.one("TN121")["message"]


def test_a_read_that_fails_is_an_error() -> None:
    text = 'import os\n\nn = len(os.environ["CUDA_VISIBLE_DEVICES"].split(","))\n'
    assert migrate(text).one("TN121")["severity"] == "error"


@pytest.mark.parametrize("name", ["PYTORCH_CUDA_ALLOC_CONF", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_ORDER"])
def test_a_variable_that_nobody_reads_may_go(name: str) -> None:
    text = SET.format(name, '"1"')
    assert migrate(text).text == text
    assert migrate(text).one("TN121")["safety"] == "offer"
    assert migrate(text, level="offer").text == "import os\n\nprint(1)\n"


@pytest.mark.parametrize(
    "code",
    [
        'assert os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS") == "1"',
        'home = os.environ.get("CUDA_HOME")',
        'env = dict(os.environ, CUDA_VISIBLE_DEVICES="0")',
        'env = {"CUDA_VISIBLE_DEVICES": "0"}',
        'NAME = "CUDA_VISIBLE_DEVICES"',
        'os.environ["CUDA_SOMETHING_NEW"] = "1"',
    ],
)
def test_other_uses_are_reported(code: str) -> None:
    text = f"import os\n\n{code}\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN121")["safety"] == "manual"


@pytest.mark.parametrize(
    "code", ['print("set CUDA_HOME")', 'raise SystemExit("CUDA_VISIBLE_DEVICES")', '"""CUDA_HOME."""']
)
def test_texts_are_kept(code: str) -> None:
    outcome = migrate(code + "\n")
    assert "TN121" not in outcome.rules()
