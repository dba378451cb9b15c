"""TN403 and TN404: arguments that are dropped, and calls that only look alike."""

from __future__ import annotations

import pytest

from harness import migrate

DDP = "from torch.nn.parallel import DistributedDataParallel as DDP\n\n\n"
DIST = "import torch\nimport torch.distributed as dist\n\n\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("DDP(m, device_ids=[r])", "DDP(m)", id="keyword"),
        pytest.param("DDP(m, [r], r, 0, False)", "DDP(m, None, None, 0, False)", id="positional with more behind"),
        pytest.param("DDP(m, output_device=r)", "DDP(m)", id="output_device alone"),
        pytest.param("DDP(module=m, device_ids=ids or None)", "DDP(module=m)", id="computed ids"),
        pytest.param(
            "DDP(\n    m,\n    device_ids=[r],  # mine\n)", "DDP(\n    m,\n    # mine\n)", id="a comment stays"
        ),
    ],
)
def test_ddp(before: str, after: str) -> None:
    outcome = migrate(DDP + f"def f(m, r, ids):\n    return {before}\n".replace("\n    m", "\n        m"))
    wanted = DDP + f"def f(m, r, ids):\n    return {after}\n".replace("\n    m", "\n        m")
    assert outcome.text == wanted
    assert {f["safety"] for f in outcome.findings} == {"review"}


@pytest.mark.parametrize(
    ("given", "moved"),
    [
        pytest.param("torch.randn(2, 3)", True, id="made in the call"),
        pytest.param('torch.zeros(3, device="cpu")', True, id="made on the CPU by name"),
        pytest.param("made", True, id="a variable of the function"),
        pytest.param("x", False, id="a parameter: unknown"),
        pytest.param("torch.ones(3, device=r)", False, id="made elsewhere"),
        pytest.param("torch.ones(3).to(r)", False, id="moved already"),
        pytest.param("torch.ones_like(x)", False, id="where another tensor is"),
        pytest.param("twice", False, id="a variable with two values"),
        pytest.param("3", False, id="no tensor"),
        pytest.param("*torch.ones(3)", False, id="unpacked"),
    ],
)
def test_inputs_that_the_wrapper_moved(given: str, moved: bool) -> None:
    text = (
        f"import torch\n{DDP}def f(m, r, x):\n    made = torch.ones(1)\n    twice = x\n    twice = torch.ones(1)\n"
        f"    w = DDP(m, device_ids=[r])\n    m(torch.ones(1))\n    return w({given})\n"
    )
    after = text.replace(", device_ids=[r]", "")
    assert migrate(text).text == (after.replace(f"w({given})", f'w({given}.to("neuron"))') if moved else after)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("if r:\n        m = DDP(m, device_ids=[r])\n    m(torch.ones(1))", id="wrapped in a branch"),
        pytest.param("w = DDP(m, device_ids=[r])\n    w = m\n    w(torch.ones(1))", id="bound again"),
        pytest.param("w(torch.ones(1))\n    w = DDP(m, device_ids=[r])", id="called before"),
    ],
)
def test_calls_that_may_be_of_another_model(body: str) -> None:
    text = f"import torch\n{DDP}def f(m, r):\n    {body}\n"
    assert migrate(text).text == text.replace(", device_ids=[r]", "")


def test_a_model_is_wrapped_under_its_own_name() -> None:
    body = "m = DDP(m, device_ids=[r])\n    for _ in r:\n        m(torch.ones(1))"
    text = f"import torch\n{DDP}def f(m, r):\n    {body}\n"
    assert 'm(torch.ones(1).to("neuron"))' in migrate(text).text


def test_a_default_device_makes_the_inputs_there() -> None:
    body = "    torch.set_default_device(r)\n    w = DDP(m, device_ids=[r])\n    w(torch.ones(1))\n"
    text = f"import torch\n{DDP}def f(m, r):\n{body}"
    assert "w(torch.ones(1))\n" in migrate(text).text


@pytest.mark.parametrize(
    ("bases", "dropped"),
    [
        pytest.param("DDP", True, id="torch's wrapper"),
        pytest.param("Base", False, id="another class"),
        pytest.param("Mixin, DDP", False, id="the first base may take the argument"),
    ],
)
def test_ddp_by_super(bases: str, dropped: bool) -> None:
    before = f"class W({bases}):\n    def __init__(self, m, r):\n        super().__init__(m, device_ids=[r])\n"
    after = before.replace(", device_ids=[r]", "") if dropped else before
    assert migrate(DDP + before).text == DDP + after


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x = DDP(m)", id="no ids"),
        pytest.param("x = DDP(m, device_ids=None)", id="None"),
        pytest.param("x = DDP(m, device_ids=[0, 1])", id="several ids: manual"),
        pytest.param("x = isinstance(m, DDP)", id="type test"),
        pytest.param("class DDP:\n    pass\n\n\nx = DDP(m, device_ids=[0])", id="own class"),
        pytest.param("from apex.parallel import DistributedDataParallel as D\n\nx = D(m, device_ids=[0])", id="apex"),
        pytest.param("def g(DDP):\n    return DDP(m, device_ids=[0])", id="parameter"),
    ],
)
def test_ddp_left_alone(body: str) -> None:
    text = DDP + "m = None\n" + body + "\n"
    assert migrate(text).text == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('"neuron", device_id=r', '"neuron"', id="rank"),
        pytest.param('"neuron", device_id=torch.device("cuda", r)', '"neuron"', id="a cuda device"),
        pytest.param('"neuron", device_id=torch.device("neuron", r)', None, id="a neuron device stays"),
        pytest.param('"neuron", device_id=None', None, id="None stays"),
        pytest.param('"gloo", device_id=r', None, id="gloo"),
        pytest.param('"neuron", pg_options=options', '"neuron"', id="options"),
        pytest.param('"neuron", init_method="env://", world_size=2, rank=r, timeout=t', None, id="the rest stays"),
    ],
)
def test_init_arguments(before: str, after: str | None) -> None:
    def text(arguments: str) -> str:
        return DIST + f"def f(r, t, options):\n    dist.init_process_group({arguments})\n"

    assert migrate(text(before)).text == text(before if after is None else after)


def test_a_dropped_argument_takes_its_sites_along() -> None:
    """Nothing inside the argument stays open, and no second round is needed."""
    outcome = migrate(
        DIST + 'dist.init_process_group("nccl", device_id=torch.device(f"cuda:{torch.cuda.current_device()}"))\n'
    )
    assert outcome.text == DIST + 'dist.init_process_group("neuron")\n'
    assert not any(f["after"] for f in outcome.findings)
    assert outcome.result.runnable is False  # `check` does not write; nothing is manual
    assert not [f for f in outcome.findings if f["safety"] == "manual"]


@pytest.mark.parametrize(
    ("base", "dropped"),
    [pytest.param("DDP", True, id="torch's wrapper"), pytest.param("Base", False, id="another class")],
)
def test_ddp_by_the_name_of_the_base(base: str, dropped: bool) -> None:
    init = f"        {base}.__init__(self, m, device_ids=[r])\n"
    text = f"{DDP}class W(DDP, Base):\n    def __init__(self, m, r):\n{init}"
    outcome = migrate(text)
    assert outcome.text == (text.replace(", device_ids=[r]", "") if dropped else text)


def test_a_wrapper_that_a_condition_chooses() -> None:
    text = DDP + "wrap = DDP if many else Other\nnet = wrap(net, device_ids=[0])\nnet = wrap(net)\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.lines("TN404") == [5] and outcome.one("TN404")["safety"] == "manual"


def test_another_choice_has_no_wrapper_of_torch() -> None:
    assert migrate(DDP + "wrap = One if many else Other\nnet = wrap(net, device_ids=[0])\n").findings == []
