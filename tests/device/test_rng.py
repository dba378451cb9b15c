"""TN111: random numbers."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_rng import RNG_API, RNG_MISSING

HEAD = "import torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, path):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("row", RNG_API, ids=lambda r: r.name)
def test_every_row_is_renamed_as_a_value(row) -> None:
    assert migrate(inside(f"return {row.name}")).text == inside(f"return {row.new}")


@pytest.mark.parametrize("row", RNG_MISSING, ids=lambda r: r.name)
def test_generators_are_errors(row) -> None:
    assert migrate(inside(f"return {row.name}[0]")).one("TN111")["severity"] == "error"


@pytest.mark.parametrize(
    "lines, level",
    [
        pytest.param(("s = torch.cuda.get_rng_state()", "torch.cuda.set_rng_state(s)"), "safe", id="state-of-this-run"),
        pytest.param(("torch.cuda.set_rng_state(torch.cuda.get_rng_state().cpu())",), "safe", id="state-of-this-call"),
        pytest.param(("torch.cuda.set_rng_state(torch.load(path)['rng'])",), "review", id="from-a-file"),
        pytest.param(("s = x['rng']", "torch.cuda.set_rng_state(s)"), "review", id="from-a-dict"),
        pytest.param(("torch.cuda.set_rng_state(x)",), "review", id="from-a-caller"),
    ],
)
def test_restoring(lines: tuple[str, ...], level: str) -> None:
    outcome = migrate(inside(*lines))
    found = [f for f in outcome.findings if f["rule"] == "TN111" and "set_rng_state" in f["message"]]
    assert [f["safety"] for f in found] == [level]
    assert any("checkpoint" in e["text"] for e in found[0]["evidence"]) == (level == "review")


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("fork_rng(devices=[0])", 'fork_rng(devices=[0], device_type="neuron")', id="devices"),
        pytest.param("fork_rng([0], True)", 'fork_rng([0], True, device_type="neuron")', id="positions"),
        pytest.param(
            "fork_rng(devices=x, enabled=path)", 'fork_rng(devices=x, enabled=path, device_type="neuron")', id="unknown"
        ),
    ],
)
def test_fork(before: str, after: str) -> None:
    assert migrate(inside(f"with torch.random.{before}: x()")).text == inside(f"with torch.random.{after}: x()")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("with torch.random.fork_rng(devices=[]): x()", id="cpu-alone"),
        pytest.param("with torch.random.fork_rng(): x()", id="an-offer-is-not-applied"),
        pytest.param("with torch.random.fork_rng(devices=None): x()", id="none-is-an-offer-too"),
        pytest.param("with torch.random.fork_rng(devices=[0], enabled=False): x()", id="switched-off"),
        pytest.param("with torch.random.fork_rng([0], False): x()", id="switched-off-by-position"),
        pytest.param('with torch.random.fork_rng(devices=["cuda:0"]): x()', id="devices-as-texts"),
        pytest.param('with torch.random.fork_rng([0], device_type="neuron"): x()', id="already-migrated"),
        pytest.param("with torch.random.fork_rng(**x): x()", id="unpacked"),
        pytest.param("torch.manual_seed(0)", id="seeds-every-device"),
        pytest.param("torch.neuron.manual_seed_all(0)", id="neuron-already"),
        pytest.param("return x['cuda_rng_state']", id="key-of-a-checkpoint"),
        pytest.param("x.manual_seed(0)", id="own-generator"),
        pytest.param("torch.cuda.manual_seed = x", id="replaced"),
        pytest.param("print('torch.cuda.manual_seed(0)')", id="text"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)


@pytest.mark.parametrize(
    "call, level",
    [
        pytest.param("fork_rng()", "offer", id="every-device"),
        pytest.param("fork_rng(None)", "offer", id="none"),
        pytest.param("fork_rng([0])", "review", id="devices"),
        pytest.param("fork_rng([x, 'cuda:1'])", "manual", id="a-text"),
    ],
)
def test_level_of_a_fork(call: str, level: str) -> None:
    assert migrate(inside(f"with torch.random.{call}: x()")).one("TN111")["safety"] == level


@pytest.mark.parametrize("call", ["fork_rng(enabled=False)", "fork_rng([])", "fork_rng([0], device_type='xpu')"])
def test_no_finding_where_no_generator_of_cuda_is_forked(call: str) -> None:
    assert migrate(inside(f"with torch.random.{call}: x()")).findings == []


def test_imported_seed() -> None:
    source = "import torch\nfrom torch.cuda import manual_seed_all\n\n\ndef f():\n    manual_seed_all(3)\n"
    assert migrate(source).text == "import torch\n\n\ndef f():\n    torch.neuron.manual_seed_all(3)\n"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(
            ("torch.manual_seed(x)", "torch.cuda.manual_seed(x)", "torch.cuda.manual_seed_all(x)"),
            ("torch.manual_seed(x)",),
            id="both-seeds",
        ),
        pytest.param(
            ("torch.manual_seed(x.seed + 1)", "import random", "random.seed(1)", "torch.cuda.manual_seed(x.seed + 1)"),
            ("torch.manual_seed(x.seed + 1)", "import random", "random.seed(1)"),
            id="a-sum-and-another-library-between",
        ),
        pytest.param(
            ("torch.manual_seed(0); torch.cuda.manual_seed(seed=0)",), ("torch.manual_seed(0)",), id="one-line"
        ),
    ],
)
def test_a_seed_of_the_device_beside_the_one_of_torch_goes(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    outcome = migrate(inside(*before), level="safe")
    assert outcome.text == inside(*after)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("torch.cuda.manual_seed_all(x)",), id="alone"),
        pytest.param(("torch.manual_seed(0)", "torch.cuda.manual_seed_all(x)"), id="another-number"),
        pytest.param(("torch.manual_seed(x)", "x += 1", "torch.cuda.manual_seed_all(x)"), id="rebound"),
        pytest.param(("torch.manual_seed(x.s)", "x.s = 1", "torch.cuda.manual_seed_all(x.s)"), id="attribute-set"),
        pytest.param(("torch.manual_seed(x)", "path()", "torch.cuda.manual_seed_all(x)"), id="numbers-drawn-between"),
        pytest.param(("torch.manual_seed(x())", "torch.cuda.manual_seed_all(x())"), id="a-call-may-differ"),
        pytest.param(
            ("torch.manual_seed(x)", "torch.manual_seed(0)", "torch.cuda.manual_seed_all(x)"), id="seeded-anew"
        ),
        pytest.param(("if x: torch.manual_seed(0)", "torch.cuda.manual_seed_all(0)"), id="under-a-condition"),
    ],
)
def test_a_seed_of_the_device_that_stays_raises_without_neuron(lines: tuple[str, ...]) -> None:
    outcome = migrate(inside(*lines))
    assert "torch.neuron.manual_seed_all" in outcome.text
    assert outcome.one("TN111")["safety"] == "review"
    assert any("raises where" in e["text"] for e in outcome.one("TN111")["evidence"])


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("if torch.cuda.is_available(): torch.cuda.manual_seed_all(x)", id="probe"),
        pytest.param('if x.device.type == "cuda": torch.cuda.manual_seed_all(x)', id="device"),
        pytest.param("if path.n_gpu > 0: torch.cuda.manual_seed_all(x)", id="count"),
    ],
)
def test_a_guarded_seed_is_renamed(line: str) -> None:
    outcome = migrate(inside("torch.manual_seed(x)", line))
    assert "torch.neuron.manual_seed_all(x)" in outcome.text
    assert outcome.one("TN111")["safety"] == "safe"
