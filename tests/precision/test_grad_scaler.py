"""TN202: scalers by the dtype in use, their saved states, and the offer to take them out."""

from __future__ import annotations

import pytest

from harness import migrate, run_tree

HEAD = "import torch\n"
BF16 = '\nwith torch.autocast("cuda", dtype=torch.bfloat16):\n    pass\n'
FP16 = '\nwith torch.autocast("cuda", dtype=torch.float16):\n    pass\n'


def scaler_line(text: str) -> str:
    """The migrated line that makes the scaler."""
    return next(line for line in migrate(HEAD + text).text.splitlines() if "Scaler(" in line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("s = torch.cuda.amp.GradScaler()", 's = torch.amp.GradScaler("neuron")', id="no autocast here"),
        pytest.param(
            "s = torch.cuda.amp.GradScaler()" + FP16, 's = torch.amp.GradScaler("neuron")', id="float16 needs scaling"
        ),
        pytest.param(
            "s = torch.cuda.amp.GradScaler()" + BF16,
            's = torch.amp.GradScaler("neuron", enabled=False)',
            id="bfloat16 proven",
        ),
        pytest.param(
            "s = torch.cuda.amp.GradScaler()\nwith torch.cuda.amp.autocast():\n    pass\n",
            's = torch.amp.GradScaler("neuron", enabled=False)',
            id="bfloat16 by the fix of autocast",
        ),
        pytest.param(
            "s = torch.cuda.amp.GradScaler(enabled=print)" + BF16,
            's = torch.amp.GradScaler("neuron", enabled=False)',
            id="a switch of the caller is off for bfloat16",
        ),
        pytest.param(
            "d = input()\ns = torch.cuda.amp.GradScaler(enabled=d == 'float16')" + BF16,
            "s = torch.amp.GradScaler(\"neuron\", enabled=d == 'float16')",
            id="a comparison with float16 is right by itself",
        ),
        pytest.param(
            "s = torch.cuda.amp.GradScaler()" + BF16 + FP16[1:],
            's = torch.amp.GradScaler("neuron")',
            id="two dtypes in use",
        ),
        pytest.param(
            'd = {"a": torch.bfloat16}[input()]\ns = torch.cuda.amp.GradScaler()\n'
            'with torch.autocast("cuda", dtype=d):\n    pass\n',
            's = torch.amp.GradScaler("neuron")',
            id="a dtype that can't be told",
        ),
        pytest.param(
            "d = torch.bfloat16\ns = torch.cuda.amp.GradScaler()\nwith torch.cuda.amp.autocast(dtype=d):\n    pass\n",
            's = torch.amp.GradScaler("neuron", enabled=False)',
            id="a dtype from a variable",
        ),
        pytest.param(
            "s = torch.cuda.amp.GradScaler()\nwith torch.cuda.amp.autocast(enabled=False):\n    pass\n",
            's = torch.amp.GradScaler("neuron")',
            id="an island in float32 says nothing",
        ),
        pytest.param(
            'x = torch.autocast("cpu", dtype=torch.bfloat16)\ns = torch.cuda.amp.GradScaler()',
            's = torch.amp.GradScaler("neuron")',
            id="autocast of the CPU says nothing",
        ),
        pytest.param(
            "s = torch.cuda.amp.GradScaler(1024.0, 2.0, enabled=True)" + BF16,
            's = torch.amp.GradScaler("neuron", 1024.0, 2.0, enabled=False)',
            id="positions move on by one",
        ),
        pytest.param(
            "k = {}\ns = torch.cuda.amp.GradScaler(**k)" + BF16,
            's = torch.amp.GradScaler("neuron", **k)',
            id="unpacked arguments may hold enabled",
        ),
        pytest.param("s = torch.amp.GradScaler()", 's = torch.amp.GradScaler("neuron")', id="the default is cuda"),
        pytest.param(
            's = torch.amp.GradScaler("cuda")' + BF16,
            's = torch.amp.GradScaler("neuron", enabled=False)',
            id="device string and switch go together",
        ),
        pytest.param('s = torch.amp.GradScaler("cuda")', 's = torch.amp.GradScaler("neuron")', id="only the string"),
        pytest.param('s = torch.amp.GradScaler("cpu")', 's = torch.amp.GradScaler("cpu")', id="the CPU's stays"),
        pytest.param(
            's = torch.amp.GradScaler("neuron")' + BF16.replace("cuda", "neuron"),
            's = torch.amp.GradScaler("neuron")',
            id="on neuron already",
        ),
        pytest.param(
            "def f(d):\n    return torch.amp.GradScaler(d)" + BF16,
            "    return torch.amp.GradScaler(d)",
            id="any device: bfloat16 was there before",
        ),
        pytest.param("class GradScaler: ...\ns = GradScaler()", "s = GradScaler()", id="an own class"),
        pytest.param("def f(torch):\n    return torch.cuda.amp.GradScaler()", "    return torch.cuda.amp.GradScaler()",
                     id="torch is a parameter"),
        pytest.param("from fairscale.optim.grad_scaler import ShardedGradScaler\ns = ShardedGradScaler()",
                     "s = ShardedGradScaler()", id="another package"),
    ],
)  # fmt: skip
def test_scaler(text: str, line: str) -> None:
    """What the call becomes."""
    assert scaler_line(text) == line


def test_suppressed_autocast_holds_the_scaler_back() -> None:
    """The scaler is switched off only together with the dtype that it rests on."""
    text = (
        "import torch\ns = torch.cuda.amp.GradScaler()\n"
        "with torch.cuda.amp.autocast():  # neuron: keep[TN201] measured in float16\n    pass\n"
    )
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN202")["safety"] == "manual"


def test_subclass_is_reported() -> None:
    """Its __init__ hands positions on to the base."""
    text = "import torch\n\n\nclass Mine(torch.cuda.amp.GradScaler):\n    pass\n"
    outcome = migrate(text)
    assert outcome.text == text and outcome.one("TN202")["severity"] == "error"


LOOP = """import torch

{made}


def step(net, opt, x):
    with torch.autocast("neuron", dtype=torch.bfloat16):
        loss = net(x)
    {scaled}
    scaler.step(opt)
    scaler.update()
"""


def loop(
    made: str = 'scaler = torch.amp.GradScaler("neuron", enabled=False)', scaled: str = "scaler.scale(loss).backward()"
) -> str:
    """A training step with a scaler."""
    return LOOP.format(made=made, scaled=scaled)


def test_offer_takes_all_statements_out() -> None:
    """The whole of it, at the level of offers only."""
    assert migrate(loop()).text == loop()
    assert "scaler" not in migrate(loop(), "offer").text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            loop(scaled="scaler.scale(loss).backward()\n    print(scaler.get_scale())"), id="the scale is read"
        ),
        pytest.param(loop(scaled="help(scaler)\n    scaler.scale(loss).backward()"), id="it is passed on"),
        pytest.param(loop(scaled="torch.save(scaler.state_dict(), 'p')"), id="its state is saved"),
        pytest.param(loop(made='scaler = torch.amp.GradScaler("neuron", enabled=True)'), id="it is on"),
        pytest.param(loop() + "\n\nscaler = None\n", id="the name is bound again"),
        pytest.param(loop(scaled="scaler.scale([\n        loss,\n    ]).backward()"), id="it scales a list over lines"),
    ],
)
def test_no_offer(text: str) -> None:
    """Whole, or not at all."""
    assert migrate(text, "offer").text == text


def test_no_offer_when_another_file_imports_the_scaler() -> None:
    """The other file would miss it."""
    files = {"loop.py": loop().encode(), "main.py": b"from loop import scaler\nprint(scaler)\n"}
    assert run_tree(files, "offer")[1] == files


def test_saved_state_is_reported() -> None:
    """A disabled scaler saves nothing, and that is said where it is saved and loaded."""
    text = (
        "import torch\nscaler = torch.cuda.amp.GradScaler()\n"
        + BF16
        + 'torch.save(scaler.state_dict(), "p")\nscaler.load_state_dict(torch.load("p", map_location="cpu"))\n'
    )
    outcome = migrate(text)
    said = [f for f in outcome.findings if f["rule"] == "TN202" and f["severity"] == "warning"]
    assert [f["line"] for f in said] == [6, 7]
    assert not [f for f in migrate(outcome.text).findings if f["severity"]]


def test_numerics_are_declared() -> None:
    """Whoever compares the old program with the new one has to know."""
    outcome = migrate("import torch\ns = torch.cuda.amp.GradScaler()\n" + BF16)
    item = next(i for i in outcome.result.items() if i.rule == "TN202" and i.safety and i.safety.value == "review")
    assert item.fix is not None and item.fix.fix.numerics == {"scaler": "disabled"}


def test_offer_that_a_fix_brings_up_is_in_the_ledger() -> None:
    """The scaler is switched off in the first round, on the dtype that autocast receives, and taken out in the next."""
    text = loop("scaler = torch.cuda.amp.GradScaler()").replace(
        'torch.autocast("neuron", dtype=torch.bfloat16)', "torch.cuda.amp.autocast()"
    )
    outcome = migrate(text, "offer")
    assert "scaler" not in outcome.text
    offer = next(f for f in outcome.findings if f["safety"] == "offer")
    assert offer["after"] and not offer["owner"] and offer["line"] == 3
    assert len([f for f in outcome.findings if f["line"] == 3 and f["owner"]]) == 1


def test_a_scaler_of_either_module_keeps_its_unpacked_device() -> None:
    text = (
        "import torch\n\ntry:\n    from torch.amp import GradScaler\n\n    KW = dict(device='cuda')\n"
        "except ImportError:\n    from torch.cuda.amp import GradScaler\n\n    KW = {}\nscaler = GradScaler(**KW)\n"
    )
    outcome = migrate(text)
    assert outcome.text == text.replace("'cuda'", "'neuron'")
    finding = next(f for f in outcome.findings if f["rule"] == "TN202")
    assert (finding["safety"], finding["severity"]) == ("manual", "warning") and "unpacked" in finding["message"]
    assert "TN003" not in outcome.rules()
