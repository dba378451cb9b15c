"""TN106, TN108: torch.cuda in a variable, types that reach the default, and numbers of devices that decide."""

from __future__ import annotations

import pytest

from harness import migrate

GUARD = 'hasattr(torch, "neuron")'
PROBE = f"{GUARD} and torch.neuron.is_available()"
COUNT = f"(torch.neuron.device_count() if {GUARD} else 0)"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        pytest.param(
            "T = torch.cuda if torch.cuda.is_available() else torch\nx = T.FloatTensor([1.0])\ny = T.LongTensor(3)\n",
            "FloatTensor, LongTensor",
            id="one arm of a choice",
        ),
        pytest.param("th = torch.cuda\nth.synchronize()\nth.LongTensor([3])\n", "LongTensor", id="plain variable"),
        pytest.param(
            "class A:\n    def __init__(self):\n        self.m = torch.cuda\n"
            "    def f(self):\n        return self.m.FloatTensor([1])\n",
            "FloatTensor",
            id="attribute",
        ),
        pytest.param("def f(m=torch.cuda):\n    return m.ByteStorage()\n", "ByteStorage", id="default of a parameter"),
        pytest.param("m = torch.cuda\nm.nccl.version()\n", "nccl", id="a name that has no counterpart"),
    ],
)
def test_module_whose_uses_need_what_is_absent(code: str, names: str) -> None:
    """Neither the module nor the probe that chooses it changes, and the finding says what is absent."""
    outcome = migrate("import torch\n" + code)
    assert outcome.text == "import torch\n" + code
    found = [f for f in outcome.findings if f["rule"] == "TN106"]
    assert [f["severity"] for f in found] == ["error"]
    assert f"no {names}," in found[0]["message"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("tc = torch.cuda\ntc.synchronize()\n", "tc = torch.neuron\ntc.synchronize()\n", id="all known"),
        pytest.param(
            "T = torch.cuda if torch.cuda.is_available() else torch.cpu\nT.synchronize()\n",
            f"T = torch.neuron if {PROBE} else torch.cpu\nT.synchronize()\n",
            id="an arm whose uses have counterparts",
        ),
        pytest.param(
            "th = torch\nth.cuda.synchronize()\ny = th.LongTensor(3)\n",
            "th = torch\nth.neuron.synchronize()\ny = th.LongTensor(3)\n",
            id="torch itself in a variable, and a type of the CPU",
        ),
    ],
)
def test_module_that_is_renamed(before: str, after: str) -> None:
    assert migrate("import torch\n" + before).text == "import torch\n" + after


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            't = "torch.cuda.FloatTensor" if torch.cuda.is_available() else "torch.FloatTensor"\n'
            "torch.set_default_tensor_type(t)\nk = x.type()\n",
            id="conditional in a variable",
        ),
        pytest.param(
            'def f(kind="torch.cuda.HalfTensor"):\n    torch.set_default_tensor_type(kind)\n    return x.type()\n',
            id="default of a parameter",
        ),
        pytest.param(
            'class A:\n    def __init__(self):\n        self.t = "torch.cuda.FloatTensor"\n'
            "        torch.set_default_tensor_type(self.t)\n        x.type()\n",
            id="attribute",
        ),
    ],
)
def test_name_of_a_type_that_becomes_the_default(code: str) -> None:
    """There is no torch.neuron.FloatTensor to import, so the text must not become that."""
    outcome = migrate("import torch\n" + code)
    assert outcome.text == "import torch\n" + code
    assert outcome.one("TN108")["severity"] == "error"


def test_name_of_a_type_that_is_compared_follows() -> None:
    code = 'import torch\nk = "torch.cuda.FloatTensor"\ndef f(x):\n    return x.type() == k\n'
    assert migrate(code).text == code.replace("cuda", "neuron")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            'dev = "cuda" if torch.cuda.device_count() else "cpu"\n',
            f'dev = "neuron" if {GUARD} and torch.neuron.device_count() else "cpu"\n',
            id="truth in a conditional",
        ),
        pytest.param(
            "if torch.cuda.device_count():\n    pass\n",
            f"if {GUARD} and torch.neuron.device_count():\n    pass\n",
            id="if",
        ),
        pytest.param(
            "while torch.cuda.device_count() > 1:\n    pass\n", f"while {COUNT} > 1:\n    pass\n", id="compared"
        ),
        pytest.param("ok = 2 <= torch.cuda.device_count()\n", f"ok = 2 <= {COUNT}\n", id="compared from the right"),
        pytest.param("ok = not torch.cuda.device_count()\n", f"ok = not {COUNT}\n", id="negated"),
        pytest.param("n = torch.cuda.device_count() or 1\n", f"n = {COUNT} or 1\n", id="or gives a number"),
        pytest.param(
            "s = f'{torch.cuda.device_count() > 1}'\n", f"s = f'{{{COUNT} > 1}}'\n", id="other quotes in a text"
        ),
        pytest.param(
            "def f(many):\n    return many and torch.cuda.device_count() > 1\n",
            f"def f(many):\n    return many and {COUNT} > 1\n",
            id="behind a condition that says nothing about the device",
        ),
        pytest.param(
            "if torch.cuda.is_available():\n    pass\nelse:\n    assert torch.cuda.device_count() == 0\n",
            f"if {PROBE}:\n    pass\nelse:\n    assert {COUNT} == 0\n",
            id="in the branch without an accelerator",
        ),
    ],
)
def test_number_of_devices_as_a_probe(before: str, after: str) -> None:
    """Without torch.neuron the number is 0, as it was on a host without CUDA."""
    assert migrate("import torch\n" + before).text == "import torch\n" + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("print(torch.cuda.device_count())\n", "print(torch.neuron.device_count())\n", id="no test"),
        pytest.param("n = torch.cuda.device_count()\n", "n = torch.neuron.device_count()\n", id="stored"),
        pytest.param(
            "ok = torch.cuda.is_available() and torch.cuda.device_count() > 1\n",
            f"ok = {PROBE} and torch.neuron.device_count() > 1\n",
            id="behind a probe",
        ),
        pytest.param(
            "ok = not torch.cuda.is_available() or torch.cuda.device_count() > 1\n",
            f"ok = not ({PROBE}) or torch.neuron.device_count() > 1\n",
            id="behind a negated probe",
        ),
        pytest.param(
            "if torch.cuda.is_available():\n    if torch.cuda.device_count() > 1:\n        pass\n",
            f"if {PROBE}:\n    if torch.neuron.device_count() > 1:\n        pass\n",
            id="inside a probe",
        ),
        pytest.param(
            'def f(d, r):\n    gpu = d.type != "cpu"\n    return gpu and r == -1 and torch.cuda.device_count() > 1\n',
            'def f(d, r):\n    gpu = d.type != "cpu"\n    return gpu and r == -1 and torch.neuron.device_count() > 1\n',
            id="behind a device that is not the CPU",
        ),
        pytest.param(
            "c = torch.cuda\nif c.device_count() > 1:\n    pass\n",
            "c = torch.neuron\nif c.device_count() > 1:\n    pass\n",
            id="the variable has asked for the module already",
        ),
    ],
)
def test_number_of_devices_elsewhere(before: str, after: str) -> None:
    assert migrate("import torch\n" + before).text == "import torch\n" + after


def test_number_of_devices_with_plain_probes() -> None:
    """The setting that leaves the guard out of probes leaves it out here."""
    outcome = migrate("import torch\nok = torch.cuda.device_count() > 1\n", probe="plain")
    assert outcome.text == "import torch\nok = torch.neuron.device_count() > 1\n"
