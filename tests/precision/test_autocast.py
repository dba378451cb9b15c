"""TN201: autocast, in the forms that real code has, and what only looks like it."""

from __future__ import annotations

import pytest

from harness import migrate, run_tree

CASES = [
    pytest.param(
        "import torch\nwith torch.cuda.amp.autocast():\n    pass\n",
        'import torch\nwith torch.autocast("neuron", dtype=torch.bfloat16):\n    pass\n',
        id="a dtype that is left out is written out",
    ),
    pytest.param(
        "import torch\nwith torch.cuda.amp.autocast(False):\n    pass\n",
        'import torch\nwith torch.autocast("neuron", enabled=False):\n    pass\n',
        id="the first position of the old form is enabled, and an island in float32 needs no dtype",
    ),
    pytest.param(
        "import torch\ndef f(on, dtype):\n    return torch.cuda.amp.autocast(on, dtype, False)\n",
        "import torch\ndef f(on, dtype):\n"
        '    return torch.autocast("neuron", enabled=on, dtype=dtype, cache_enabled=False)\n',
        id="positions become keywords because the new form orders them otherwise",
    ),
    pytest.param(
        "import torch\nwith torch.cuda.amp.autocast(dtype=torch.float16):\n    pass\n",
        'import torch\nwith torch.autocast("neuron", dtype=torch.float16):\n    pass\n',
        id="float16 that is asked for stays",
    ),
    pytest.param(
        "import torch\nwith torch.cuda.amp.autocast(dtype=None):\n    pass\n",
        'import torch\nwith torch.autocast("neuron", dtype=torch.bfloat16):\n    pass\n',
        id="None is no dtype",
    ),
    pytest.param(
        "import torch as t\nwith t.cuda.amp.autocast():\n    pass\n",
        'import torch as t\nwith t.autocast("neuron", dtype=t.bfloat16):\n    pass\n',
        id="torch under another name",
    ),
    pytest.param(
        "from torch.cuda.amp import autocast as ac\nwith ac():\n    pass\n",
        'import torch\nfrom torch.amp import autocast as ac\nwith ac("neuron", dtype=torch.bfloat16):\n    pass\n',
        id="an import keeps its local name and torch is imported for the dtype",
    ),
    pytest.param(
        "from torch import cuda\nwith cuda.amp.autocast(enabled=False):\n    pass\n",
        'import torch\nwith torch.autocast("neuron", enabled=False):\n    pass\n',
        id="an import of torch.cuda that loses its only use goes",
    ),
    pytest.param(
        "import torch.cuda.amp\nwith torch.cuda.amp.autocast(enabled=False):\n    pass\n",
        'import torch\nwith torch.autocast("neuron", enabled=False):\n    pass\n',
        id="a dotted import goes on binding torch",
    ),
    pytest.param(
        "import torch\nimport torch.cuda.amp\nwith torch.cuda.amp.autocast(enabled=False):\n    pass\n",
        'import torch\nwith torch.autocast("neuron", enabled=False):\n    pass\n',
        id="a dotted import beside a plain one goes",
    ),
    pytest.param(
        "import torch.cuda.amp as amp\nwith amp.autocast(enabled=False):\n    pass\n",
        'from torch import amp\nwith amp.autocast("neuron", enabled=False):\n    pass\n',
        id="an alias of the module moves as a whole",
    ),
    pytest.param(
        "import torch\nfrom torch.cuda.amp import autocast, common\n"
        "with autocast(enabled=False):\n    common.amp_definitely_not_available()\n",
        "import torch\nfrom torch.amp import autocast\nfrom torch.cuda.amp import common\n"
        'with autocast("neuron", enabled=False):\n    common.amp_definitely_not_available()\n',
        id="one of two imported names moves on a line beside the other",
    ),
    pytest.param(
        'import torch\nwith torch.autocast("cuda"):\n    pass\n',
        'import torch\nwith torch.autocast("neuron", dtype=torch.bfloat16):\n    pass\n',
        id="device string and dtype go together in one run",
    ),
    pytest.param(
        'import torch\ndevice_type = "cuda"\nwith torch.autocast(device_type):\n    pass\n',
        'import torch\ndevice_type = "neuron"\nwith torch.autocast(device_type, dtype=torch.bfloat16):\n    pass\n',
        id="the device comes from a variable that holds cuda",
    ),
    pytest.param(
        "import torch\nfrom torch.cuda.amp import *\nwith autocast(enabled=False):\n    pass\n",
        'import torch\nfrom torch.cuda.amp import *\nwith torch.autocast("neuron", enabled=False):\n    pass\n',
        id="a star import stays and is reported, the use is written out",
    ),
    pytest.param(
        "import torch\nf = lambda on: f'{torch.cuda.amp.autocast(enabled=on)}'\n",
        "import torch\nf = lambda on: f'{torch.autocast(\"neuron\", dtype=torch.bfloat16, enabled=on)}'\n",
        id="inside an f-string the other quotes are taken",
    ),
    pytest.param(
        "import torch\nctx = torch.cuda.amp.autocast\nwith ctx(enabled=False):\n    pass\n",
        'import torch\nctx = torch.autocast\nwith ctx("neuron", enabled=False):\n    pass\n',
        id="a variable whose calls are all known holds the new function",
    ),
    pytest.param(
        "import torch\nctx = torch.cuda.amp.autocast\nprint(ctx)\nwith ctx(enabled=False):\n    pass\n",
        "import functools\nimport torch\n"
        'ctx = functools.partial(torch.autocast, "neuron", dtype=torch.bfloat16)\nprint(ctx)\n'
        "with ctx(enabled=False):\n    pass\n",
        id="a variable that is passed on holds the function with its device bound",
    ),
    pytest.param(
        "import torch\nfrom contextlib import nullcontext\nfrom torch import autocast\n\n\ndef f(mixed):\n"
        '    scope = autocast if mixed else nullcontext\n    with scope("cuda"):\n        pass\n',
        "import functools\nimport torch\nfrom contextlib import nullcontext\nfrom torch import autocast\n\n\n"
        "def f(mixed):\n"
        "    scope = functools.partial(autocast, dtype=torch.bfloat16) if mixed else nullcontext\n"
        '    with scope("neuron"):\n        pass\n',
        id="one arm of a choice has its dtype bound",
    ),
    pytest.param(
        "import torch\nif torch.is_autocast_enabled():\n    print(torch.get_autocast_gpu_dtype())\n",
        'import torch\nif torch.is_autocast_enabled("neuron"):\n    print(torch.get_autocast_dtype("neuron"))\n',
        id="questions that mean CUDA are asked for neuron",
    ),
    pytest.param(
        "import torch\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.cuda.amp import GradScaler\n"
        "def f(s: 'GradScaler'):\n    return torch.cuda.amp.autocast(enabled=False)\n",
        "import torch\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.cuda.amp import GradScaler\n"
        "def f(s: 'GradScaler'):\n    return torch.autocast(\"neuron\", enabled=False)\n",
        id="an import for type checkers is none of the uses",
    ),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_changes(before: str, after: str) -> None:
    """What the use becomes; `migrate` checks that a second run changes nothing."""
    assert migrate(before).text.replace('\\"', '"') == after


UNCHANGED = [
    pytest.param("def autocast():\n    pass\n\n\nautocast()\n", id="an own function"),
    pytest.param("import torch\n\n\ndef f(torch):\n    return torch.cuda.amp.autocast()\n", id="torch is a parameter"),
    pytest.param(
        "class amp:\n    @staticmethod\n    def autocast():\n        pass\n\n\namp.autocast()\n",
        id="a class named amp",
    ),
    pytest.param('import torch\nwith torch.autocast("cpu"):\n    pass\n', id="the CPU has its own default"),
    pytest.param("import torch\nwith torch.cpu.amp.autocast():\n    pass\n", id="autocast of the CPU by module"),
    pytest.param(
        'import torch\nwith torch.autocast("neuron", dtype=torch.float16):\n    pass\n', id="already for neuron"
    ),
    pytest.param('import torch\nwith torch.autocast("neuron"):\n    pass\n', id="for neuron an offer"),
    pytest.param("import torch\ndef f(x):\n    return torch.autocast(x.device.type)\n", id="any device is an offer"),
    pytest.param("import torch\ndef f(d):\n    return torch.autocast(d, enabled=False)\n", id="an island"),
    pytest.param("def f(accelerator):\n    return accelerator.autocast()\n", id="a method of another object"),
    pytest.param(
        "import torch\ndef f(x, d, t):\n    scope = torch.autocast if x else print\n    scope(d, t)\n",
        id="a choice with a dtype",
    ),
    pytest.param('"""Call torch.cuda.amp.autocast() yourself."""\n', id="a docstring"),
    pytest.param("print('torch.cuda.amp.autocast is used')\n", id="a log text"),
    pytest.param('import torch\nprint(torch.is_autocast_enabled("neuron"))\n', id="a question with its device"),
    pytest.param("import torch\nprint(torch.is_autocast_cpu_enabled())\n", id="a question about the CPU"),
    pytest.param("import torch\ndef f(args):\n    return torch.cuda.amp.autocast(*args)\n", id="unpacked positions"),
    pytest.param("import torch\n@torch.cuda.amp.autocast\ndef f():\n    pass\n", id="a bare decorator is a mistake"),
    pytest.param("import torch\nx = isinstance(1, torch.cuda.amp.autocast)\n", id="the class in isinstance"),
    pytest.param("from apex import amp\nwith amp.scale_loss(1, 2):\n    pass\n", id="apex has its own amp"),
]


@pytest.mark.parametrize("text", UNCHANGED)
def test_stays(text: str) -> None:
    """What must not be edited."""
    assert migrate(text).text == text


@pytest.mark.parametrize(
    ("text", "safety", "numerics"),
    [
        pytest.param("torch.cuda.amp.autocast()", "review", {"autocast_dtype": "bfloat16"}, id="changed numerics"),
        pytest.param("torch.cuda.amp.autocast(dtype=torch.bfloat16)", "safe", None, id="the same numerics"),
        pytest.param("torch.cuda.amp.autocast(enabled=False)", "safe", None, id="switched off"),
    ],
)
def test_level_and_numerics(text: str, safety: str, numerics: dict[str, str] | None) -> None:
    """A change of numerics is declared and never safe."""
    outcome = migrate(f"import torch\nwith {text}:\n    pass\n")
    assert outcome.one("TN201")["safety"] == safety
    item = next(i for i in outcome.result.items() if i.rule == "TN201")
    assert item.fix is not None and item.fix.fix.numerics == numerics


def test_safe_level_leaves_string_and_dtype_together() -> None:
    """Without a dtype the literal device waits for it."""
    text = 'import torch\nwith torch.autocast("cuda"):\n    pass\n'
    assert migrate(text, "safe").text == text


def test_kept_island_goes_with_the_import() -> None:
    """One name of an import moves for all uses or for none."""
    text = (
        "import torch\nfrom torch.cuda.amp import autocast\nwith autocast():  # neuron: keep\n    pass\n"
        "with autocast(enabled=False):\n    pass\n"
    )
    assert migrate(text).text == text


def test_offer_adds_the_dtype() -> None:
    """Code that runs on neuron already may have its dtype written out."""
    outcome = migrate('import torch\nwith torch.autocast("neuron"):\n    pass\n', "offer")
    assert outcome.text == 'import torch\nwith torch.autocast("neuron", dtype=torch.bfloat16):\n    pass\n'


def test_name_that_another_file_imports_stays() -> None:
    """The other file calls the function with the arguments of torch.cuda.amp."""
    files = {
        "helpers.py": b"from torch.cuda.amp import autocast\n\n\ndef run(net):\n    with autocast():\n        net()\n",
        "train.py": b"from helpers import autocast, run\n\nwith autocast():\n    run(print)\n",
    }
    result, after = run_tree(files)
    assert after["helpers.py"].decode().startswith("import torch\nfrom torch.cuda.amp import autocast\n")
    assert b'with torch.autocast("neuron", dtype=torch.bfloat16):' in after["helpers.py"]
    found = [i for i in result.items() if i.path == "helpers.py" and i.safety and i.safety.value == "manual"]
    assert len(found) == 1 and "train.py" in found[0].message
    assert not result.runnable
