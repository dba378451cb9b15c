"""TN402: what may change places with init_process_group, and what may not."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import os\n\nimport torch\nimport torch.distributed as dist\n\n\n"


def lines(body: str) -> str:
    return HEAD + "def f(rank, args, model, world):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


SET, START = "torch.neuron.set_device(rank)", 'dist.init_process_group("neuron")'

MOVED = [
    pytest.param(
        f"try:\n    {SET}\n    raise ValueError\nexcept ValueError: pass\n{START}",
        f"{START}\ntry:\n    {SET}\n    raise ValueError\nexcept ValueError: pass",
        "review",
        id="a raise that is caught ends nothing",
    ),
    pytest.param(f"{SET}\n{START}", f"{START}\n{SET}", "safe", id="adjacent, code for neuron already"),
    pytest.param(f"{SET}\nx = rank + 1\n{START}", f"x = rank + 1\n{START}\n{SET}", "safe", id="arithmetic between"),
    pytest.param(
        f"{SET}\ndevice = torch.device('neuron', rank)\n{START}",
        f"device = torch.device('neuron', rank)\n{START}\n{SET}",
        "safe",
        id="a device object between",
    ),
    pytest.param(
        f"{SET}\nos.environ['A'] = '1'\n{START}",
        f"os.environ['A'] = '1'\n{START}\n{SET}",
        "safe",
        id="the environment is set before the start as before",
    ),
    pytest.param(f"{SET}\nlog(args)\n{START}", f"log(args)\n{START}\n{SET}", "review", id="unknown function between"),
    pytest.param(
        f"if args.gpu:\n    {SET}\n{START}", f"{START}\nif args.gpu:\n    {SET}", "review", id="under a condition"
    ),
    pytest.param(
        f"{SET}\nif world > 1:\n    {START}\n    dist.barrier()",
        f"if world > 1:\n    {START}\n    dist.barrier()\n{SET}",
        "review",
        id="start under a condition, then only torch.distributed",
    ),
    pytest.param(
        f"{SET}\ns = torch.neuron.Stream()\n{START}",
        f"{START}\n{SET}\ns = torch.neuron.Stream()",
        "review",
        id="the start moves up past a device use",
    ),
    pytest.param(
        f"model = model.to('neuron')\n{START}",
        f"{START}\nmodel = model.to('neuron')",
        "review",
        id="the start moves up past a placement",
    ),
    pytest.param(
        f"{SET}\nrank = 1\n{START}",
        f"{START}\n{SET}\nrank = 1",
        "review",
        id="the start moves up where the argument is written between",
    ),
]


@pytest.mark.parametrize(("before", "after", "level"), MOVED)
def test_moves(before: str, after: str, level: str) -> None:
    outcome = migrate(lines(before))
    assert outcome.text == lines(after)
    assert outcome.one("TN402")["safety"] == level


REPORTED = [
    pytest.param(f"{SET}\nrank = choose()\n{START}", id="the argument is written between"),
    pytest.param(f"torch.neuron.set_device(args.gpu)\nargs = parse()\n{START}", id="its holder is written between"),
    pytest.param(
        f"{SET}\nrank = 1\ndist.init_process_group('neuron', rank=rank)", id="both need what is written between"
    ),
    pytest.param(f"{SET}\nif world == 1:\n    return\n{START}", id="the block may be left between"),
    pytest.param(f"{SET}; {START}", id="one line"),
    pytest.param(f"if alone:\n    {SET}\n    if done: return\n{START}", id="a branch that may return"),
    pytest.param(
        f"for m in model:\n    if m:\n        {SET}\n        continue\n    {START}\n    m()",
        id="an earlier turn of a loop",
    ),
    pytest.param(f"{SET}\nif world > 1:\n    {START}\n    train(model)", id="the program runs before the new place"),
    pytest.param(
        f"{SET}\ndist.init_process_group('neuron', rank=torch.neuron.current_device())", id="the start needs the device"
    ),
    pytest.param(f"m = model.cuda()\nos.environ['A'] = '1'\n{START}", id="the start needs the environment between"),
    pytest.param(f"x = torch.neuron.Stream()\nlog(x)\n{START}", id="the start would pass an unknown function"),
]


@pytest.mark.parametrize("body", REPORTED)
def test_reports_what_it_cannot_move(body: str) -> None:
    outcome = migrate(lines(body), select=["TN402"])
    assert outcome.text == lines(body)
    finding = outcome.one("TN402")
    assert (finding["safety"], finding["severity"]) == ("manual", "error")
    assert finding["evidence"]


SILENT = [
    pytest.param(f"{START}\n{SET}", id="right order"),
    pytest.param(f"if world:\n    {START}\nelse:\n    {SET}", id="different arms"),
    pytest.param(f"n = torch.neuron.device_count()\n{START}", id="counting starts nothing"),
    pytest.param(f"torch.manual_seed(1)\ntorch.neuron.manual_seed_all(1)\n{START}", id="seeds"),
    pytest.param(f"model.to('cpu')\nmodel.to(torch.bfloat16)\n{START}", id="other .to()"),
    pytest.param(f"def g():\n    {SET}\n{START}", id="a function that is only defined"),
    pytest.param(f"model.set_device(rank)\n{START}", id="set_device of another object"),
    pytest.param(f"{SET}\nmodel.init_process_group('x')", id="init_process_group of another object"),
    pytest.param(f"{START}\ntorch.accelerator.set_device_index(rank)", id="portable code in the right order"),
    pytest.param(f"{SET}\ndist.init_process_group('gloo')", id="a group of the host"),
    pytest.param(f"b = 'gloo'\n{SET}\ndist.init_process_group(b)", id="a group of the host by a variable"),
    pytest.param(f"if alone:\n    {SET}\n    return model\n{START}", id="a branch that returns"),
    pytest.param(f"if alone:\n    with lock:\n        {SET}\n    raise SystemExit\n{START}", id="a branch that raises"),
    pytest.param(f"import sys\nif alone:\n    {SET}\n    sys.exit(0)\n{START}", id="a branch that ends the process"),
    pytest.param(
        f"with lock:\n    if alone:\n        {SET}\n        return\n{START}", id="a branch that returns further in"
    ),
]


@pytest.mark.parametrize("body", SILENT)
def test_says_nothing(body: str) -> None:
    outcome = migrate(lines(body))
    assert outcome.text == lines(body)
    assert outcome.lines("TN402") == []


def test_a_rebound_global_is_reported() -> None:
    text = HEAD + (
        "RANK = 0\n\n\ndef choose():\n    global RANK\n    RANK = 1\n\n\ndef f():\n    torch.neuron.set_device(RANK)\n"
        f"    choose()\n    {START}\n"
    )
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN402")["severity"] == "error"


def test_the_rename_and_the_backend_go_in_the_same_round() -> None:
    outcome = migrate(lines('torch.cuda.set_device(rank)\ndist.init_process_group("nccl", device_id=rank)'))
    assert outcome.text == lines(f"{START}\n{SET}")
    assert not any(f["after"] for f in outcome.findings)


def test_through_a_function_that_only_starts_the_group() -> None:
    setup = f"def setup():\n    {START}\n    dist.barrier()\n\n\n"
    outcome = migrate(HEAD + setup + f"def main(rank):\n    {SET}\n    setup()\n")
    assert outcome.text == HEAD + setup + f"def main(rank):\n    setup()\n    {SET}\n"


def test_through_a_function_that_does_more() -> None:
    text = (
        HEAD
        + f"def run(model):\n    {START}\n    train(model)\n\n\ndef main(rank, model):\n    {SET}\n    run(model)\n"
    )
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN402")["line"] == text[: text.index("    run(model)")].count("\n") + 1


def test_the_index_of_torch_accelerator_is_set_behind_the_start() -> None:
    head = "import torch\nimport torch.distributed as dist\n\n\ndef setup(rank):\n"
    choice, start = "    torch.accelerator.set_device_index(rank)\n", "    dist.init_process_group()\n"
    outcome = migrate(head + choice + start)
    assert outcome.text == head + start + choice
    assert outcome.one("TN402")["safety"] == "safe"
    assert "TN402" not in migrate(head + start + choice).rules("open", "applied")


def test_other_uses_of_torch_accelerator_before_the_start_are_said() -> None:
    head = "import torch\nimport torch.distributed as dist\n\n\ndef setup(rank):\n"
    body = "    torch.accelerator.synchronize(); run()\n    dist.init_process_group()\n"
    assert migrate(head + body).one("TN402")["severity"] == "error"
    asked = "    d = torch.accelerator.current_accelerator()\n    dist.init_process_group()\n"
    assert "TN402" not in migrate(head + asked).rules("open", "applied")
