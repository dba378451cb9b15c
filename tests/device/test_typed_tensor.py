"""Tensor types of torch.cuda, and the default type."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\n\n\n"

CHANGED = {
    "sizes": (
        "def f():\n    return torch.cuda.FloatTensor(2, 3)",
        'def f():\n    return torch.empty(2, 3, dtype=torch.float32, device="neuron")',
    ),
    "one size": (
        "def f():\n    return torch.cuda.IntTensor(4)",
        'def f():\n    return torch.empty(4, dtype=torch.int32, device="neuron")',
    ),
    "a shape": (
        "def f(x):\n    return torch.cuda.FloatTensor(x.shape).fill_(0)",
        'def f(x):\n    return torch.empty(x.shape, dtype=torch.float32, device="neuron").fill_(0)',
    ),
    "unpacked sizes": (
        "def f(size):\n    return torch.cuda.FloatTensor(*size)",
        'def f(size):\n    return torch.empty(*size, dtype=torch.float32, device="neuron")',
    ),
    "values": (
        "def f():\n    return torch.cuda.LongTensor([1, 2])",
        'def f():\n    return torch.tensor([1, 2], dtype=torch.int64, device="neuron")',
    ),
    "values in a variable": (
        "def f(n):\n    v = [n, n]\n    return torch.cuda.LongTensor(v)",
        'def f(n):\n    v = [n, n]\n    return torch.tensor(v, dtype=torch.int64, device="neuron")',
    ),
    "an array": (
        "import numpy as np\n\n\ndef f(n):\n    return torch.cuda.FloatTensor(np.zeros(n))",
        'import numpy as np\n\n\ndef f(n):\n    return torch.tensor(np.zeros(n), dtype=torch.float32, device="neuron")',
    ),
    "nothing": (
        "def f():\n    return torch.cuda.ByteTensor()",
        'def f():\n    return torch.empty(0, dtype=torch.uint8, device="neuron")',
    ),
    "a cast": (
        "def f(x):\n    return x.type(torch.cuda.HalfTensor)",
        'def f(x):\n    return x.to("neuron", torch.float16)',
    ),
    "a cast by text": (
        'def f(x):\n    return x.type("torch.cuda.FloatTensor")',
        'def f(x):\n    return x.to("neuron", torch.float32)',
    ),
    "a cast by a variable": (
        "def f(x, y):\n    kind = torch.cuda.FloatTensor\n    return x.type(kind), y.type(kind)",
        'def f(x, y):\n    kind = torch.float32\n    return x.to("neuron", kind), y.to("neuron", kind)',
    ),
    "a test by text": (
        'def f(x):\n    return x.type() == "torch.cuda.HalfTensor"',
        'def f(x):\n    return x.dtype == torch.float16 and x.device.type == "neuron"',
    ),
    "a negated test": (
        'def f(x):\n    return not x.type() == "torch.cuda.HalfTensor"',
        'def f(x):\n    return not (x.dtype == torch.float16 and x.device.type == "neuron")',
    ),
    "a list of texts": (
        'def f(x):\n    return x.type() in ["torch.cuda.HalfTensor", "torch.HalfTensor"]',
        'def f(x):\n    return x.type() in ["torch.neuron.HalfTensor", "torch.HalfTensor"]',
    ),
    "isinstance": (
        "def f(x):\n    return isinstance(x, torch.cuda.FloatTensor)",
        'def f(x):\n    return isinstance(x, torch.Tensor) and x.dtype == torch.float32 and x.device.type == "neuron"',
    ),
    "not isinstance": (
        "def f(x):\n    return not isinstance(x, torch.cuda.FloatTensor)",
        'def f(x):\n    return not (isinstance(x, torch.Tensor) and x.dtype == torch.float32 and x.device.type == "neuron")',
    ),
    "an annotation": ("def f(x: torch.cuda.FloatTensor):\n    return x", "def f(x: torch.Tensor):\n    return x"),
    "an annotation in quotes": (
        'def f(x: "torch.cuda.FloatTensor"):\n    return x',
        'def f(x: "torch.Tensor"):\n    return x',
    ),
    "the default type by text": (
        'def f():\n    torch.set_default_tensor_type("torch.cuda.HalfTensor")',
        'def f():\n    torch.set_default_dtype(torch.float16)\n    torch.set_default_device("neuron")',
    ),
    "the default type": (
        "def f():\n    torch.set_default_tensor_type(torch.cuda.FloatTensor)  # all of it",
        'def f():\n    torch.set_default_dtype(torch.float32)\n    torch.set_default_device("neuron")  # all of it',
    ),
    "the default type on a condition": (
        "def f(gpu):\n    torch.set_default_tensor_type(torch.cuda.FloatTensor if gpu else torch.FloatTensor)",
        'def f(gpu):\n    torch.set_default_dtype(torch.float32)\n    torch.set_default_device("neuron" if gpu else "cpu")',
    ),
    "the default type in a branch": (
        'def f(gpu):\n    if gpu:\n        torch.set_default_tensor_type("torch.cuda.FloatTensor")\n    else:\n        torch.set_default_tensor_type("torch.FloatTensor")',
        'def f(gpu):\n    if gpu:\n        torch.set_default_dtype(torch.float32)\n        torch.set_default_device("neuron")\n    else:\n        torch.set_default_tensor_type("torch.FloatTensor")',
    ),
}

UNCHANGED = {
    "sizes or values": "def f(x):\n    return torch.cuda.FloatTensor(x)",
    "a type as a value": "def f(gpu):\n    kind = torch.cuda.FloatTensor if gpu else torch.FloatTensor\n    return kind(3)",
    "a type in a table": "KINDS = {1: torch.cuda.FloatTensor}",
    "a variable that is also called": "def f(x):\n    kind = torch.cuda.FloatTensor\n    return x.type(kind), kind(3)",
    "several types in isinstance": "def f(x):\n    return isinstance(x, (torch.cuda.FloatTensor, torch.FloatTensor))",
    "isinstance of a call": "def f(x):\n    return isinstance(x.next(), torch.cuda.FloatTensor)",
    "a storage": "def f(x):\n    return torch.cuda.FloatStorage(x)",
    "a sparse type": "def f(i, v):\n    return torch.cuda.sparse.FloatTensor(i, v)",
    "a text with no use": 'NAME = "torch.cuda.FloatTensor"',
    "a log text": 'print("torch.cuda.FloatTensor")',
    "a text for another object": 'def f(x, run):\n    run.use("torch.cuda.FloatTensor")\n    return x.type()',
    "a key that no type looks up": 'def f(x, sizes):\n    return sizes["torch.cuda.FloatTensor"], x.type()',
    "a key of get that no type looks up": 'def f(x, sizes):\n    return sizes.get("torch.cuda.FloatTensor"), x.type()',
    "a table that nothing looks into": 'SIZES = {"torch.cuda.FloatTensor": 4}\n\n\ndef f(x):\n    return x.type()',
    "CPU types": "def f(x):\n    return x.type(torch.FloatTensor), torch.LongTensor([1])",
    "a CPU text": 'def f(x):\n    return x.type() == "torch.FloatTensor"',
    "the CPU default": 'def f():\n    torch.set_default_tensor_type("torch.FloatTensor")',
    "a default that is a value": "def f(gpu):\n    return gpu and torch.set_default_tensor_type(torch.cuda.FloatTensor)",
    "defaults of two dtypes": (
        "def f(gpu):\n    torch.set_default_tensor_type(torch.cuda.HalfTensor if gpu else torch.FloatTensor)"
    ),
    "an own type() method": 'class Box:\n    def type(self, name):\n        return name\n\n\nBox().type("torch.FloatTensor")',
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_changed(before: str, after: str) -> None:
    assert migrate(HEAD + before + "\n").text == HEAD + after + "\n"


@pytest.mark.parametrize("code", UNCHANGED.values(), ids=UNCHANGED)
def test_unchanged(code: str) -> None:
    text = HEAD + code + "\n"
    assert migrate(text).text == text


ANNOTATIONS = {
    "within another type": ('def f(x: "list[torch.cuda.FloatTensor]"): ...', 'def f(x: "list[torch.Tensor]"): ...'),
    "two of them": (
        'x: "tuple[torch.cuda.HalfTensor, torch.cuda.LongTensor]" = g()',
        'x: "tuple[torch.Tensor, torch.Tensor]" = g()',
    ),
    "a cast": (
        'from typing import cast\nx = cast("torch.cuda.FloatTensor", g())',
        'from typing import cast\nx = cast("torch.Tensor", g())',
    ),
    "beside an imported name": (
        'from torch.cuda import FloatTensor\n\n\ndef f(x: "torch.cuda.FloatTensor"):\n    return FloatTensor([1.0])',
        'def f(x: "torch.Tensor"):\n    return torch.tensor([1.0], dtype=torch.float32, device="neuron")',
    ),
}


@pytest.mark.parametrize(("before", "after"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_types_written_as_text(before: str, after: str) -> None:
    assert migrate("import torch\n" + before + "\n").text.replace("\n\n\n", "\n") == (
        ("import torch\n" + after + "\n").replace("\n\n\n", "\n")
    )


KEYS = {
    "a subscript": ('def f(report):\n    return report["torch.cuda.FloatTensor"]', None, None),
    "get": ('def f(report):\n    return report.get("torch.cuda.FloatTensor")', None, None),
    "a table for others": ('SIZES = {"torch.cuda.FloatTensor": 4}', "manual", "warning"),
    "a table that is looked up": (
        'SIZES = {"torch.cuda.FloatTensor": 4}\n\n\ndef f(x):\n    return SIZES[x.type()]', "review", None
    ),
    "a table that a variable looks up": (
        'SIZES = {"torch.cuda.FloatTensor": 4}\n\n\ndef f(x):\n    kind = x.type()\n    return SIZES.get(kind)', "review", None
    ),
    "a text for another object": ('def f(run):\n    run.use("torch.cuda.FloatTensor")', "manual", "error"),
    "beside the type": ('def f(x, case):\n    case.same(x.type(), "torch.cuda.FloatTensor")', "review", None),
    "for a function of this file": (
        'def same(x, kind):\n    return x.type() == kind\n\n\ndef f(x):\n    return same(x, "torch.cuda.FloatTensor")', "review", None
    ),
}


@pytest.mark.parametrize(("code", "level", "severity"), KEYS.values(), ids=KEYS)
def test_names_of_types_as_keys_and_arguments(code: str, level: str | None, severity: str | None) -> None:
    found = migrate(HEAD + code + "\n").one("TN108")
    assert (found["safety"], found["severity"]) == (level, severity)


def test_an_import_of_a_type_goes_with_its_last_use() -> None:
    text = "import torch\nfrom torch.cuda import FloatTensor\n\n\ndef f():\n    return FloatTensor([1.0])\n"
    after = 'import torch\n\n\ndef f():\n    return torch.tensor([1.0], dtype=torch.float32, device="neuron")\n'
    assert migrate(text).text == after


def test_what_is_not_changed_is_an_error() -> None:
    assert migrate(HEAD + "def f(x):\n    return torch.cuda.FloatTensor(x)\n").one("TN108")["severity"] == "error"


@pytest.mark.parametrize("call", ["np.prod(n)", "np.random.randint(9)", "np.int64(3)", "np.sum(n)"])
def test_an_integer_of_numpy_may_be_a_size(call: str) -> None:
    text = f"import numpy as np\nimport torch\n\n\ndef f(n):\n    return torch.cuda.FloatTensor({call})\n"
    outcome = migrate(text)
    assert outcome.text == text and "sizes or values" in outcome.one("TN108")["message"]


@pytest.mark.parametrize("call", ["np.random.normal(0, 1, n)", "np.arange(n)", "np.stack([n, n])"])
def test_an_array_of_numpy_is_values(call: str) -> None:
    outcome = migrate(f"import numpy as np\nimport torch\n\n\ndef f(n):\n    return torch.cuda.FloatTensor({call})\n")
    assert f"torch.tensor({call}, dtype=torch.float32" in outcome.text
