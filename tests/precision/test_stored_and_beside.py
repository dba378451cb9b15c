"""TN201, TN202, TN207: functions that are stored or handed on, and what stands beside an autocast that changes."""

from __future__ import annotations

import pytest

from harness import migrate, run_tree

BOUND = 'functools.partial(torch.autocast, "neuron", dtype=torch.bfloat16)'


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        pytest.param("class T:\n    cls = torch.cuda.amp.autocast\n", "TN201", id="attribute of a class"),
        pytest.param(
            "class T:\n    def __init__(self, on):\n        self.ctx = torch.cuda.amp.autocast\n"
            "    def f(self, on):\n        with self.ctx(on):\n            pass\n",
            "TN201",
            id="attribute that is called by position",
        ),
        pytest.param(
            "class T:\n    def __init__(self):\n        self.ctx = torch.cuda.amp.autocast\n",
            "TN201",
            id="attribute whose calls are not in sight",
        ),
        pytest.param(
            "def f(on, null):\n    ctx = torch.cuda.amp.autocast if on else null\n    with ctx(True):\n        pass\n",
            "TN201",
            id="arm of a choice that is called by position",
        ),
        pytest.param(
            "def f(ctx=torch.cuda.amp.autocast):\n    with ctx(True):\n        pass\n",
            "TN201",
            id="default of a parameter that is called by position",
        ),
        pytest.param(
            "def f():\n    table = {1: torch.cuda.amp.autocast}\n    with table[1](True):\n        pass\n",
            "TN201",
            id="in a table whose values are called by position",
        ),
        pytest.param(
            "import functools\ndef f():\n    ctx = functools.partial(torch.cuda.amp.autocast, cache_enabled=False)\n"
            "    with ctx(True):\n        pass\n",
            "TN201",
            id="partial that is called by position",
        ),
        pytest.param(
            "class T:\n    cls = torch.cuda.amp.GradScaler\n    def f(self):\n        return self.cls(1024.0)\n",
            "TN202",
            id="scaler as attribute of a class",
        ),
    ],
)
def test_stored_where_a_call_would_break(code: str, rule: str) -> None:
    outcome = migrate("import torch\n" + code)
    assert outcome.text == "import torch\n" + code
    assert outcome.one(rule)["severity"] == "error"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "class T:\n    def __init__(self):\n        self.ctx = torch.cuda.amp.autocast\n"
            "    def f(self, on):\n        with self.ctx(enabled=on):\n            pass\n",
            f"class T:\n    def __init__(self):\n        self.ctx = {BOUND}\n"
            "    def f(self, on):\n        with self.ctx(enabled=on):\n            pass\n",
            id="attribute that is called by keyword",
        ),
        pytest.param(
            "def f(on, null):\n    ctx = torch.cuda.amp.autocast if on else null\n    with ctx():\n        pass\n",
            f"def f(on, null):\n    ctx = {BOUND} if on else null\n    with ctx():\n        pass\n",
            id="arm of a choice that is called without arguments",
        ),
    ],
)
def test_stored_with_its_device(before: str, after: str) -> None:
    assert migrate("import torch\n" + before).text == "import functools\nimport torch\n" + after


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("class T:\n    cls = torch.amp.GradScaler\n", id="attribute of a class"),
        pytest.param("def f():\n    return torch.amp.GradScaler\n", id="returned"),
    ],
)
def test_scaler_of_torch_amp_that_is_passed_on(code: str) -> None:
    outcome = migrate("import torch\n" + code)
    assert outcome.text == "import torch\n" + code
    assert outcome.one("TN202")["severity"] == "warning"


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        pytest.param(
            {
                "pkg/compat.py": "from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler\n",
                "pkg/train.py": "from .compat import ShardedGradScaler as S\nimport pkg.compat\n"
                "a = S()\nb = S(1024.0)\nc = pkg.compat.ShardedGradScaler(enabled=True)\n",
            },
            [3, 4, 5],
            id="from a module of the repository, called without a device",
        ),
        pytest.param(
            {
                "pkg/compat.py": "from torch.amp import GradScaler\n",
                "pkg/train.py": "from pkg.compat import GradScaler\n"
                'a = GradScaler("neuron")\nb = GradScaler(device=dev)\nc = GradScaler(dev)\nd = GradScaler(**kw)\n',
            },
            [],
            id="with a device, or what may be one",
        ),
        pytest.param(
            {
                "pkg/compat.py": "class GradScaler:\n    pass\n",
                "pkg/train.py": "from pkg.compat import GradScaler\na = GradScaler()\n",
            },
            [],
            id="a class of the repository's own",
        ),
        pytest.param(
            {"pkg/train.py": "from apex.amp import GradScaler\na = GradScaler()\n"}, [], id="from another package"
        ),
    ],
)
def test_scaler_that_is_handed_on(files: dict[str, str], lines: list[int]) -> None:
    result, _ = run_tree({name: text.encode() for name, text in files.items()})
    file = next(f for f in result.files if f.path == "pkg/train.py")
    assert file.source is not None
    found = [file.source.position(i.start)[0] for i in file.items if i.rule == "TN202"]
    assert found == lines


MIXED = "import torch\n\n\ndef f(net, x):\n    with torch.cuda.amp.autocast():\n        y = net(x)\n    "


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("return y @ x.half()", id="half beside it"),
        pytest.param("assert y.dtype == torch.float16", id="the dtype is asserted"),
        pytest.param("return y.dtype in (x.dtype,) or torch.half != y.dtype", id="compared from the left"),
        pytest.param("return torch.zeros(2, dtype=torch.float16)", id="a tensor of float16"),
        pytest.param("return y.to(torch.float16)", id="cast"),
    ],
)
def test_float16_beside_an_autocast_that_becomes_bfloat16(code: str) -> None:
    found = migrate(MIXED + code + "\n").one("TN207")
    assert (found["line"], found["severity"], found["safety"]) == (7, "warning", "manual")
    assert found["evidence"][0]["line"] == 5


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(MIXED.replace("()", "(dtype=torch.float16)", 1) + "return y.half()\n", id="float16 was asked for"),
        pytest.param("import torch\n\n\ndef f(y):\n    return y.half()\n", id="no autocast"),
    ],
)
def test_float16_elsewhere_is_a_note(code: str) -> None:
    assert migrate(code).one("TN207")["safety"] == "note"


SCALED = (
    "import torch\nscaler = torch.cuda.amp.GradScaler()\n\n\n"
    "def f(net, x, scaler):\n    with torch.cuda.amp.autocast():\n        y = net(x)\n    "
)


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        pytest.param("return scaler.get_scale() < 128", [8], id="compared"),
        pytest.param("scale = scaler.get_scale(); return scale > 1", [8], id="compared later"),
        pytest.param("print(scaler.get_scale())", [], id="printed"),
        pytest.param("return x * scaler.get_scale()", [], id="a factor of 1.0 is right"),
    ],
)
def test_scale_of_a_scaler_that_is_switched_off(code: str, lines: list[int]) -> None:
    outcome = migrate(SCALED + code + "\n")
    assert "enabled=False" in outcome.text
    assert [f["line"] for f in outcome.findings if f["rule"] == "TN202" and f["severity"] == "warning"] == lines
