"""Arguments of libraries that have names of their own for accelerators."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

TOLD = {
    "Lightning's gpu": 'import lightning.pytorch as pl\npl.Trainer(accelerator="gpu")',
    "Lightning's cuda": 'import pytorch_lightning as pl\npl.Trainer(accelerator="cuda")',
    "Lightning chooses": 'from lightning import Trainer\nTrainer(accelerator="auto")',
    "a conditional": 'from lightning import Trainer\nTrainer(accelerator="gpu" if fast else "cpu")',
    "Fabric": 'from lightning.fabric import Fabric\nFabric(accelerator="cuda")',
    "a count of GPUs": "from pytorch_lightning import Trainer\nTrainer(gpus=2)",
    "a device map": 'from transformers import AutoModel\nAutoModel.from_pretrained("m", device_map="auto")',
    "a device map as a dict": 'from transformers import AutoModel\nAutoModel.from_pretrained("m", device_map={"": "cuda:0"})',
    "XGBoost": 'import xgboost as xgb\nxgb.XGBClassifier(device="cuda")',
    "CatBoost": 'from catboost import CatBoost\nCatBoost(task_type="GPU")',
    "Ray": "import ray\nray.remote(num_gpus=1)",
}

SILENT = {
    "the CPU": 'import lightning.pytorch as pl\npl.Trainer(accelerator="cpu")',
    "no argument": "import lightning.pytorch as pl\npl.Trainer(max_epochs=1)",
    "a Trainer of somebody else": 'from mine import Trainer\nTrainer(accelerator="gpu")',
    "an own Trainer": 'class Trainer:\n    def __init__(self, accelerator):\n        pass\n\n\nTrainer(accelerator="gpu")',
    "no GPUs": "from pytorch_lightning import Trainer\nTrainer(gpus=0)",
    "a device map of the CPU": 'from transformers import AutoModel\nAutoModel.from_pretrained("m", device_map="cpu")',
    "XGBoost on the CPU": 'import xgboost as xgb\nxgb.XGBClassifier(device="cpu")',
}


@pytest.mark.parametrize("code", TOLD.values(), ids=TOLD)
def test_told_and_not_edited(code: str) -> None:
    outcome = migrate(code + "\n")
    assert outcome.text == code + "\n"
    assert outcome.one("TN123")["safety"] == "manual"


@pytest.mark.parametrize("code", SILENT.values(), ids=SILENT)
def test_silent(code: str) -> None:
    outcome = migrate(code + "\n")
    assert outcome.text == code + "\n"
    assert "TN123" not in outcome.rules()


def test_a_name_in_a_variable_and_its_probe_stay() -> None:
    text = 'import torch\nfrom lightning import Trainer\n\nname = "cuda" if torch.cuda.is_available() else "cpu"\nTrainer(accelerator=name)\n'
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.rules() == ["TN123", "TN103"]


def test_a_value_that_torch_gets_as_well_stays_too() -> None:
    text = (
        "import faster_whisper\nimport torch\n\n\ndef f(m):\n"
        '    device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        '    return faster_whisper.WhisperModel("base", device=device), m.to(device)\n'
    )
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.rules() == ["TN123", "TN103"]


def test_a_device_that_is_also_a_device_map_is_for_review() -> None:
    text = (
        "import torch\nfrom transformers import AutoModel\n\n\ndef f(x):\n"
        '    device = torch.device("cuda")\n'
        '    return AutoModel.from_pretrained("m", device_map=device), x.to(device)\n'
    )
    found = migrate(text).one("TN101")
    assert found["safety"] == "review"
    assert any("device_map=" in e["text"] for e in found["evidence"])


@pytest.mark.parametrize("package", ["ctranslate2", "faster_whisper", "open3d", "oneflow", "keras"])
def test_packages_with_devices_of_their_own(package: str) -> None:
    text = f'import {package} as lib\n\n\ndef f(x):\n    return lib.make(x, device="cuda")\n'
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN123")["safety"] == "manual"


@pytest.mark.parametrize("line", ['x.to("cuda")', "x.cuda()"])
@pytest.mark.parametrize("imports, level", [("import oneflow", "review"), ("import jax, torch", "safe"), ("", "safe")])
def test_moves_in_a_file_of_another_library_are_for_review(line: str, imports: str, level: str) -> None:
    found = [f for f in migrate(f"{imports}\n\n\ndef f(x):\n    return {line}\n").findings if f["safety"]]
    assert [f["safety"] for f in found] == [level]


BRANCHES = [
    pytest.param(
        "import torch\n\n\ndef sync(d):\n    if d.type == 'cuda':\n        torch.cuda.synchronize()\n"
        "        return torch.ones(1, device='cuda')\n    elif d.type == 'xpu':\n        torch.xpu.synchronize()\n",
        id="what stands behind a test that stays, stays",
    ),
    pytest.param(
        "import torch\n\n\ndef pick():\n    if torch.cuda.is_available():\n        torch.cuda.empty_cache()\n"
        "        return torch.device('cuda')\n    elif torch.backends.mps.is_available():\n"
        "        return torch.device('mps')\n    return torch.device('cpu')\n",
        id="probe and device of one arm stay together",
    ),
]


@pytest.mark.parametrize("text", BRANCHES)
def test_branch_of_a_choice_between_accelerators_is_left_whole(text: str) -> None:
    outcome = migrate(text)
    assert outcome.text == text
    assert "TN124" in outcome.rules()


def test_device_of_another_array_library_is_told_not_edited() -> None:
    text = 'import jax\n\n\ndef f(x):\n    return jax.device_put(x, device="cuda")\n'
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN123")["severity"] == "warning"


def test_value_beside_the_key_of_a_table_of_accelerators_stays() -> None:
    text = (
        "import torch\n\n\ndef f(x):\n"
        '    return {"cuda": torch.cuda.synchronize, "mps": torch.mps.synchronize}[x.device.type]()\n'
    )
    assert migrate(text).text == text
