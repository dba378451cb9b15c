"""TN113-TN124: what looks like a site and is none, and sites in a less usual form."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import os\nimport torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, e, device):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "line, severity",
    [
        pytest.param("return str(e).startswith('CUDA out of memory')", "error", id="prefix"),
        pytest.param("return e.args[0] == 'CUDA out of memory'", "error", id="whole message"),
        pytest.param("import re; return re.search('CUDA out of memory', str(e))", "error", id="pattern"),
        pytest.param("return any(m in str(e) for m in ('CUDA out of memory', 'x'))", "warning", id="one of several"),
        pytest.param("PHRASE = 'CUDA out of memory'; return PHRASE in str(e)", "warning", id="kept in a variable"),
    ],
)
def test_messages_of_errors(line: str, severity: str) -> None:
    outcome = migrate(inside(line))
    assert outcome.text == inside(line)
    assert outcome.one("TN114")["severity"] == severity


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("return x.state == 'out of memory'", id="state of a job"),
        pytest.param("return {'out of memory': 1}", id="key"),
        pytest.param("raise ValueError('CUDA out of memory')", id="raised here"),
    ],
)
def test_no_messages_of_errors(line: str) -> None:
    assert migrate(inside(line)).lines("TN114") == []


@pytest.mark.parametrize(
    "line, safety",
    [
        pytest.param("return torch.cuda.memory_stats()['num_ooms']", "safe", id="a figure of the same name"),
        pytest.param("return torch.cuda.memory_stats()", "review", id="handed on"),
        pytest.param("return list(torch.cuda.memory_stats().items())", "review", id="all figures"),
        pytest.param("return torch.cuda.memory_stats()[x]", "review", id="a figure by variable"),
        pytest.param("return torch.cuda.memory_stats", "review", id="the function itself"),
    ],
)
def test_figures_whose_keys_differ(line: str, safety: str) -> None:
    assert migrate(inside(line)).one("TN113")["safety"] == safety


@pytest.mark.parametrize(
    "lines, severity",
    [
        pytest.param(["return os.path.join(x, torch.version.cuda)"], "error", id="path"),
        pytest.param(["x.write(torch.version.cuda)"], "error", id="written to a file"),
        pytest.param(["v = torch.version.cuda", "return v.split('.')"], "error", id="method of a variable"),
        pytest.param(["a, b = torch.version.cuda"], "error", id="unpacked"),
        pytest.param(["for c in torch.version.cuda: pass"], "error", id="run over"),
        pytest.param(["assert torch.version.cuda is not None"], "error", id="assert"),
        pytest.param(["return lambda: float(torch.version.cuda)"], "error", id="lambda"),
        pytest.param(["if torch.version.cuda is not None: x", "return float(torch.version.cuda)"], "error", id="after"),
        pytest.param(["return f'cu{torch.version.cuda}'"], "warning", id="a tag"),
        pytest.param(["return str(torch.version.cuda).split('.')"], "warning", id="text None is cut"),
        pytest.param(["return getattr(torch.version, 'cuda', None)"], "warning", id="looked up by name"),
    ],
)
def test_versions_taken_apart(lines: list[str], severity: str) -> None:
    found = [f for f in migrate(inside(*lines)).findings if f["rule"] == "TN122" and f["safety"]]
    assert [f["severity"] for f in found][-1] == severity


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["if torch.version.cuda:", "    return float(torch.version.cuda)"], id="branch"),
        pytest.param(["return torch.version.cuda and float(torch.version.cuda)"], id="and"),
        pytest.param(["return torch.version.cuda is None or float(torch.version.cuda) > 11"], id="or"),
        pytest.param(["return int(torch.version.cuda[:2]) if torch.version.cuda is not None else 0"], id="conditional"),
        pytest.param(["if not torch.version.cuda:", "    return 0", "return torch.version.cuda[:2]"], id="left early"),
    ],
)
def test_versions_that_are_guarded(lines: list[str]) -> None:
    outcome = migrate(inside(*lines))
    assert [f["severity"] for f in outcome.findings if f["rule"] == "TN122"].count("error") == 0
    assert "runs only where torch was built for CUDA" in [f["reason"] for f in outcome.findings]


@pytest.mark.parametrize(
    "line, severity",
    [
        pytest.param("del os.environ['CUDA_VISIBLE_DEVICES']", "error", id="deleted, which raises"),
        pytest.param("os.environ.pop('CUDA_VISIBLE_DEVICES')", "error", id="popped without a default"),
        pytest.param("os.environ.pop('CUDA_VISIBLE_DEVICES', None)", "warning", id="popped with a default"),
    ],
)
def test_variables_that_are_not_set(line: str, severity: str) -> None:
    assert migrate(inside(line)).one("TN121")["severity"] == severity


def test_names_of_that_shape_are_no_variables() -> None:
    assert migrate(inside("return x('CUDA_ERROR_OUT_OF_MEMORY'), x['CUDA_R_16F']")).lines("TN121") == []


def test_a_dict_is_not_surely_the_environment() -> None:
    assert migrate(inside("return {'CUDA_LAUNCH_BLOCKING': '1'}")).one("TN121")["safety"] == "review"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["{0} = True", "assert {0}"], id="asserted"),
        pytest.param(["{0} = True", "return x if {0} else e"], id="tested"),
        pytest.param(["while x:", "    e({0})", "    {0} = True"], id="read in the next turn of a loop"),
    ],
)
def test_switches_that_are_read_stay(lines: list[str]) -> None:
    source = inside(*(line.format("torch.backends.cudnn.deterministic") for line in lines))
    assert migrate(source).text == source


@pytest.mark.parametrize(
    "lines, after",
    [
        pytest.param(["e({0})", "{0} = True"], ["e({0})"], id="read before"),
        pytest.param(["{0} = True", "print({0})"], ["print({0})"], id="only printed"),
        pytest.param(["torch.backends.cudnn.fastest = True", "return x"], ["return x"], id="no switch of torch"),
    ],
)
def test_switches_that_go(lines: list[str], after: list[str]) -> None:
    flag = "torch.backends.cudnn.deterministic"
    outcome = migrate(inside(*(line.format(flag) for line in lines)))
    assert outcome.text == inside(*(line.format(flag) for line in after))


PROFILER = "import torch\nfrom torch.profiler import ProfilerActivity, profile\n\n\n"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("class R:\n    cuda_time = 0\n\n\ndef f(r):\n    return r.cuda_time\n", id="own field"),
        pytest.param("def f(df):\n    df['cuda_time'] = 1\n    return df.cuda_time\n", id="column of a table"),
        pytest.param("A = [ProfilerActivity.CUDA, ProfilerActivity.XPU]\n", id="several accelerators"),
        pytest.param("A = [ProfilerActivity.CUDA, ProfilerActivity.PrivateUse1]\n", id="neuron stands beside it"),
    ],
)
def test_profiler_leaves_alone(code: str) -> None:
    assert migrate(PROFILER + code).text == PROFILER + code


def test_columns_called_after_the_device() -> None:
    code = (
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nx = torch.ones(1, device=device)\n"
        "def f(p):\n    return p.key_averages().table(sort_by=device + '_time_total')\n"
    )
    assert migrate(PROFILER + code).one("TN118")["severity"] == "error"
    assert migrate(PROFILER + code.replace("sort_by=", "title=")).lines("TN118") == []


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("def f(d):\n    return DataLoader(d, pin_memory_device=None)\n", id="None"),
        pytest.param("def f(x, place):\n    return x.pin_memory(place)\n", id="not known to be a device"),
        pytest.param(
            "class B:\n    def pin_memory(self, device=None):\n        return self\n\n\ndef f(b, device):\n"
            "    return b.pin_memory(device)\n",
            id="own method",
        ),
    ],
)
def test_pinned_memory_leaves_alone(code: str) -> None:
    source = "from torch.utils.data import DataLoader\n\n\n" + code
    assert migrate(source).text == source
    assert migrate(source).lines("TN119") == []


LIBRARIES = "import torch\nimport xgboost as xgb\nimport ray\nfrom lightning.pytorch import Trainer\n\n\n"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("xgb.train({'device': 'cuda'}, d)\n", id="parameters in a dict"),
        pytest.param("p = dict(device='cuda')\nxgb.train(p, d)\n", id="dict in a variable"),
        pytest.param("p = {}\np['device'] = 'cuda:0'\nxgb.cv(p, d)\n", id="dict that is filled"),
        pytest.param("k = 'gpu'\nTrainer(accelerator=k)\n", id="constant"),
        pytest.param("import functools\nfunctools.partial(Trainer, accelerator='gpu')\n", id="partial"),
    ],
)
def test_libraries_have_names_of_their_own(code: str) -> None:
    outcome = migrate(LIBRARIES + code)
    assert outcome.text == LIBRARIES + code
    assert outcome.one("TN123")["safety"] == "manual"


def test_what_a_library_counts_stays() -> None:
    code = "from ray.train import ScalingConfig\n\nScalingConfig(use_gpu=torch.cuda.is_available())\n"
    assert migrate(LIBRARIES + code).text == LIBRARIES + code


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("OK = ('cuda', 'neuron')\n\n\ndef f(x):\n    return x.device.type in OK\n", id="list"),
        pytest.param("def f(x):\n    return {'cuda': torch.cuda, 'neuron': torch.neuron}[x.device.type]\n", id="table"),
        pytest.param(
            "def f(x):\n    if x.device.type == 'cuda':\n        torch.cuda.empty_cache()\n"
            "    elif x.device.type == 'neuron':\n        torch.neuron.empty_cache()\n",
            id="chain",
        ),
        pytest.param(
            "def f(x):\n    match x.device.type:\n        case 'cuda':\n            torch.cuda.empty_cache()\n"
            "        case 'neuron':\n            torch.neuron.empty_cache()\n",
            id="match",
        ),
        pytest.param("def f(x):\n    return x.device.type == 'cuda' or x.device.type == 'neuron'\n", id="or"),
        pytest.param(
            "def f(n):\n    return torch.device('neuron' if n else 'cuda' if torch.cuda.is_available() else 'cpu')\n",
            id="conditional",
        ),
        pytest.param(
            "def f(x):\n    if x.device.type == 'cuda':\n        return torch.cuda.memory_allocated()\n"
            "    if x.device.type == 'neuron':\n        return 0\n",
            id="branches that return",
        ),
    ],
)
def test_code_that_knows_neuron_already(code: str) -> None:
    outcome = migrate("import torch\n\n" + code)
    assert outcome.text == "import torch\n\n" + code
    assert {f["status"] for f in outcome.findings} == {"kept"}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("def f(x):\n    return x.device.type == 'cuda' or x.device.type == 'mps'\n", id="or"),
        pytest.param(
            "def f(x):\n    match x.device.type:\n        case 'cuda':\n            torch.cuda.empty_cache()\n"
            "        case 'xpu':\n            torch.xpu.empty_cache()\n",
            id="match",
        ),
        pytest.param(
            "def f(x):\n    if x.device.type == 'cuda':\n        return torch.cuda.memory_allocated()\n"
            "    if x.device.type == 'mps':\n        return 0\n",
            id="branches that return",
        ),
    ],
)
def test_code_for_several_accelerators_stays_whole(code: str) -> None:
    outcome = migrate("import torch\n\n" + code)
    assert outcome.text == "import torch\n\n" + code
    assert outcome.one("TN124")["safety"] == "manual"


def test_branches_for_cuda_and_the_cpu_alone_change() -> None:
    code = "import torch\n\n\ndef f(x):\n    return x.device.type == 'cuda' or x.device.type == 'cpu'\n"
    assert migrate(code).text == code.replace("'cuda'", "'neuron'")
