"""TN402: placements before the process group starts, wherever they hide, and moves that a call in between forbids."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import os\n\nimport torch\nimport torch.distributed as dist\nimport torch.nn as nn\n\n\n"
START = 'dist.init_process_group("neuron")'
SET = "torch.neuron.set_device(rank)"


def severities(text: str) -> list[str | None]:
    return [f["severity"] for f in migrate(HEAD + text).findings if f["rule"] == "TN402" and f["safety"] == "manual"]


EARLY = [
    pytest.param(
        f"device = torch.device('neuron', 0)\nmodel = nn.Linear(1, 1).to(device)\n{START}\n",
        "error",
        id="a device object",
    ),
    pytest.param(
        f"def f(rank):\n    m = nn.Linear(1, 1).to(f'neuron:{{rank}}')\n    {START}\n", "error", id="f-string in place"
    ),
    pytest.param(
        f"def f(rank):\n    d = f'neuron:{{rank}}'\n    x = make(torch.zeros(1, device=d))\n    {START}\n",
        "error",
        id="a factory function with a device",
    ),
    pytest.param(
        "device = torch.device('neuron' if os.environ.get('A') else 'cpu')\n"
        f"model = nn.Linear(1, 1).to(device)\n{START}\n",
        "warning",
        id="maybe the CPU",
    ),
    pytest.param(
        f"def prep(d):\n    return nn.Linear(1, 1).to(d)\n\n\ndef f():\n    m = prep('neuron')\n    {START}\n",
        "error",
        id="inside a called function",
    ),
    pytest.param(
        "def prep(x):\n    if x:\n        return nn.Linear(1, 1).to('neuron')\n\n\n"
        f"def f(x):\n    m = prep(x)\n    {START}\n",
        "warning",
        id="inside a called function, under a condition",
    ),
    pytest.param(
        "def inner():\n    return torch.zeros(1, device='neuron')\n\n\ndef outer():\n    return inner()\n\n\n"
        f"def f():\n    x = outer()\n    {START}\n",
        "error",
        id="two calls deep",
    ),
    pytest.param(
        f"def f(rank):\n    with torch.neuron.device(rank):\n        {START}\n",
        "error",
        id="inside the with of a device",
    ),
    pytest.param(f"def f(rank):\n    {SET}; {START}\n", "error", id="one line"),
]


@pytest.mark.parametrize(("text", "severity"), EARLY)
def test_early_use_is_reported(text: str, severity: str) -> None:
    assert severities(text) == [severity]
    assert migrate(HEAD + text).text == HEAD + text


def test_one_line_is_said() -> None:
    assert "stand on one line" in migrate(HEAD + f"def f(rank):\n    {SET}; {START}\n").one("TN402")["message"]


SILENT = [
    pytest.param(f"model = nn.Linear(1, 1).to('cpu')\n{START}\n", id="CPU"),
    pytest.param(f"d = torch.device('cpu')\nmodel = nn.Linear(1, 1).to(d)\n{START}\n", id="CPU device"),
    pytest.param(f"d = torch.device('neuron')\n{START}\n", id="a device is only named"),
    pytest.param(f"x = torch.zeros(1, device='cpu')\n{START}\n", id="a tensor on the CPU"),
    pytest.param(f"def f(m):\n    m = m.to(torch.float16)\n    {START}\n", id="dtype"),
    pytest.param(
        f"def prep(d):\n    return nn.Linear(1, 1).to(d)\n\n\ndef f():\n    {START}\n    m = prep('neuron')\n",
        id="the function is called after the start",
    ),
    pytest.param(
        f"def prep():\n    return nn.Linear(1, 1).to('neuron')\n\n\ndef f():\n    g = prep\n    {START}\n",
        id="the function is only named",
    ),
    pytest.param(
        f"def setup(rank):\n    {START}\n    {SET}\n\n\ndef f(rank):\n    setup(rank)\n",
        id="the function starts the group first",
    ),
    pytest.param(f"def f(m, d):\n    m = m.to(d)\n    {START}\n", id="nothing is known of the device"),
]


@pytest.mark.parametrize("text", SILENT)
def test_no_early_use(text: str) -> None:
    assert migrate(HEAD + text).lines("TN402") == []


def test_an_unknown_placement_keeps_the_order_from_being_safe() -> None:
    outcome = migrate(HEAD + f"def f(m, d, rank):\n    m = m.to(d)\n    {SET}\n    {START}\n")
    assert outcome.one("TN402")["safety"] == "review"
    assert any(".to(d)" in e["text"] for e in outcome.one("TN402")["evidence"])


READ = "torch.neuron.set_device(args.gpu)"
HELD = [
    pytest.param(
        f"def setup(args):\n    args.gpu += 1\n\n\ndef f(args):\n    {READ}\n    setup(args)\n    {START}\n",
        id="the call gets the object",
    ),
    pytest.param(f"def f(args):\n    {READ}\n    args.prepare()\n    {START}\n", id="a method of the object"),
    pytest.param(f"def f(args):\n    {READ}\n    log(x=[args])\n    {START}\n", id="the object inside a list"),
    pytest.param(
        f"def f(cfg):\n    torch.neuron.set_device(cfg['gpu'])\n    setup(cfg)\n    {START}\n", id="an item of a dict"
    ),
    pytest.param(
        f"args = parse()\n\n\ndef setup():\n    args.gpu = 3\n\n\ndef f():\n    {READ}\n    setup()\n    {START}\n",
        id="a function that can reach the global",
    ),
    pytest.param(
        f"def setup(a):\n    a.gpu = 1\n    {START}\n\n\ndef f(args):\n    {READ}\n    setup(args)\n",
        id="the starting function writes the attribute",
    ),
]


@pytest.mark.parametrize("text", HELD)
def test_call_that_may_change_what_is_read_forbids_the_move(text: str) -> None:
    assert severities(text) == ["error"]
    assert migrate(HEAD + text).text == HEAD + text


MOVED = [
    pytest.param(f"def f(args):\n    {READ}\n    log(1)\n    {START}\n", id="a call without the object"),
    pytest.param(
        f"def setup(a):\n    dist.init_process_group('neuron', rank=a.rank)\n\n\n"
        f"def f(args):\n    {READ}\n    setup(args)\n",
        id="the starting function only reads the object",
    ),
]


@pytest.mark.parametrize("text", MOVED)
def test_other_calls_leave_the_move_to_a_review(text: str) -> None:
    assert migrate(HEAD + text).one("TN402")["safety"] == "review"


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        pytest.param(" torch.neuron.set_device(rank)", "error", id="on the line of the function"),
        pytest.param(" x = 1; torch.neuron.set_device(rank)", "error", id="behind another statement"),
        pytest.param("\n    torch.neuron.set_device(rank)", "error", id="on a line of its own"),
        pytest.param(" rank and torch.neuron.set_device(rank)", "warning", id="under a condition"),
        pytest.param("\n    if rank: torch.neuron.set_device(rank)", "warning", id="on the line of a condition"),
    ],
)
def test_a_function_that_uses_the_device(body: str, severity: str) -> None:
    text = f"def pick(rank):{body}\n\n\ndef f(rank):\n    pick(rank)\n    return {START}\n"
    assert severities(text) == [severity]
