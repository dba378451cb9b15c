"""TN106: device and runtime functions."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_device import DEVICE_API

HEAD = "import torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(rank: int, x, cfg):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("row", DEVICE_API, ids=lambda r: r.name)
def test_every_row_is_renamed_as_a_value(row) -> None:
    outcome = migrate(inside(f"return {row.name}"))
    assert outcome.text == inside(f"return {row.new}")
    assert outcome.one("TN106")["safety"] == ("safe" if row.confidence == "hi" else "review")


@pytest.mark.parametrize(
    "before, after, level",
    [
        pytest.param("torch.cuda.set_device(rank)", "torch.neuron.set_device(rank)", "safe", id="index"),
        pytest.param(
            "torch.cuda.set_device(cfg)", "torch.neuron.set_device(cfg)", "review", id="unknown-is-taken-for-an-index"
        ),
        pytest.param(
            "torch.cuda.set_device(cfg.device)",
            "torch.neuron.set_device(torch.device(cfg.device))",
            "review",
            id="a-setting-may-be-a-text",
        ),
        pytest.param(
            "torch.cuda.set_device(x.device)", "torch.neuron.set_device(x.device)", "safe", id="device-of-a-tensor"
        ),
        pytest.param(
            "torch.cuda.synchronize(device=rank)", "torch.neuron.synchronize(device=rank)", "safe", id="keyword"
        ),
        pytest.param("torch.cuda.synchronize(*cfg)", "torch.neuron.synchronize(*cfg)", "review", id="unpacked"),
        pytest.param(
            "torch.cuda.set_device(1)", "torch.neuron.set_device(1)", "review", id="literal-index-of-another-rank"
        ),
        pytest.param(
            "x.to(torch.cuda.current_device())",
            "x.to(torch.neuron.current_device())",
            "review",
            id="index-given-as-device",
        ),
        pytest.param(
            "with torch.cuda.device(rank): x()", "with torch.neuron.device(rank): x()", "review", id="context"
        ),
        pytest.param(
            "print(torch.cuda.get_device_name(0))",
            "print(torch.neuron.get_device_name(0))",
            "safe",
            id="name-for-people",
        ),
        pytest.param(
            "return torch.cuda.get_device_name()",
            "return torch.neuron.get_device_name()",
            "review",
            id="name-for-somebody",
        ),
        pytest.param(
            "return torch.cuda.get_device_properties(0).total_memory",
            "return torch.neuron.get_device_properties(0).total_memory",
            "safe",
            id="property-that-neuron-has",
        ),
        pytest.param(
            "return f'{torch.cuda.device_count()}'", "return f'{torch.neuron.device_count()}'", "safe", id="f-string"
        ),
        pytest.param(
            "cfg(key=lambda: torch.cuda.init())", "cfg(key=lambda: torch.neuron.init())", "review", id="lambda"
        ),
    ],
)
def test_calls(before: str, after: str, level: str) -> None:
    outcome = migrate(inside(before))
    assert outcome.text == inside(after)
    assert outcome.one("TN106")["safety"] == level


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(
            ('d = f"cuda:{rank}"', "torch.cuda.set_device(d)"),
            ('d = f"neuron:{rank}"', "torch.neuron.set_device(rank)"),
            id="adjacent",
        ),
        pytest.param(
            ('d = f"cuda:{rank}"', "rank = 0", "torch.cuda.set_device(d)"),
            ('d = f"neuron:{rank}"', "rank = 0", "torch.neuron.set_device(torch.device(d))"),
            id="index-changed-between",
        ),
        pytest.param(
            ('d = f"cuda:{rank}"', "if x:", "    torch.cuda.set_device(d)"),
            ('d = f"neuron:{rank}"', "if x:", "    torch.neuron.set_device(torch.device(d))"),
            id="in-another-block",
        ),
        pytest.param(
            ('d = f"cuda:{rank + 1}"', "torch.cuda.set_device(d)"),
            ('d = f"neuron:{rank + 1}"', "torch.neuron.set_device(torch.device(d))"),
            id="computed-index",
        ),
        pytest.param(
            ('torch.cuda.set_device("cuda:0")',),
            ('torch.neuron.set_device(torch.device("neuron:0"))',),
            id="literal-keeps-its-index",
        ),
        pytest.param(
            ('d = torch.device("cuda:0")', "torch.cuda.set_device(d)"),
            ('d = torch.device("neuron:0")', "torch.neuron.set_device(d)"),
            id="device-object-keeps-its-index",
        ),
    ],
)
def test_set_device_takes_no_text(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    outcome = migrate(inside(*before))
    assert outcome.text == inside(*after)
    assert not [f for f in outcome.findings if f["after"]]


@pytest.mark.parametrize(
    "source, expected",
    [
        pytest.param(
            "import torch.cuda as tc\n\n\ndef f():\n    tc.synchronize()\n",
            "import torch\n\n\ndef f():\n    torch.neuron.synchronize()\n",
            id="module-alias",
        ),
        pytest.param(
            "from torch.cuda import synchronize as wait\n\n\ndef f():\n    wait()\n",
            "import torch\n\n\ndef f():\n    torch.neuron.synchronize()\n",
            id="renamed-import",
        ),
        pytest.param(
            "import torch as t\n\n\ndef f():\n    t.cuda.synchronize()\n",
            "import torch as t\n\n\ndef f():\n    t.neuron.synchronize()\n",
            id="alias-of-torch",
        ),
        pytest.param(
            "import torch\n\nt = torch\n\n\ndef f():\n    t.cuda.synchronize()\n",
            "import torch\n\nt = torch\n\n\ndef f():\n    t.neuron.synchronize()\n",
            id="assigned-alias-of-torch",
        ),
        pytest.param(
            "import torch\n\ndev = torch.cuda\n\n\ndef f():\n    dev.synchronize()\n",
            "import torch\n\ndev = torch.neuron\n\n\ndef f():\n    dev.synchronize()\n",
            id="assigned-module-carries-its-uses",
        ),
        pytest.param(
            "import torch\n\n\ndef f(sync=torch.cuda.synchronize):\n    sync()\n",
            "import torch\n\n\ndef f(sync=torch.neuron.synchronize):\n    sync()\n",
            id="default-argument",
        ),
        pytest.param(
            "import torch\n\n\ndef f(name):\n    return getattr(torch.cuda, name)()\n",
            "import torch\n\n\ndef f(name):\n    return getattr(torch.neuron, name)()\n",
            id="looked-up-by-name",
        ),
    ],
)
def test_spellings(source: str, expected: str) -> None:
    assert migrate(source).text == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("class cuda:\n    pass\n\n\ncuda.synchronize()\n", id="own-class"),
        pytest.param("def f(torch):\n    torch.cuda.synchronize()\n", id="shadowed-by-a-parameter"),
        pytest.param("import mylib as torch\n\ntorch.cuda.synchronize()\n", id="another-package-of-that-name"),
        pytest.param("import numba.cuda as cuda\n\ncuda.synchronize()\n", id="numba"),
        pytest.param("import torch\n\nprint('torch.cuda.synchronize()')\n", id="text"),
        pytest.param("import torch\n\n# torch.cuda.synchronize()\n", id="comment"),
        pytest.param("import torch\n\ntorch.neuron.synchronize()\n", id="already-migrated"),
        pytest.param("import torch\n\ntorch.accelerator.synchronize()\n", id="accelerator"),
        pytest.param("import torch\n\ntorch.cuda.synchronize = print\n", id="replaced"),
        pytest.param("import torch\n\ndel torch.cuda.synchronize\n", id="deleted"),
        pytest.param(
            "import torch\n\n\ndef f(x):\n    return isinstance(x, torch.cuda.device)\n",
            id="class-that-is-a-function-there",
        ),
        pytest.param("import torch\n\nm = {'cuda': torch.cuda, 'xpu': torch.xpu}\n", id="one-of-several"),
        pytest.param(
            "import torch\n\n\ndef f(mock):\n    mock.patch.object(torch.cuda, 'synchronize')\n", id="patched-in-a-test"
        ),
    ],
)
def test_left_alone(source: str) -> None:
    assert migrate(source).text == source


def test_one_of_two_modules_is_renamed_where_it_is_assigned() -> None:
    source = (
        HEAD + "def f(c):\n    if c:\n        m = torch.cuda\n    else:\n        m = torch.cpu\n    m.synchronize()\n"
    )
    assert migrate(source).text == source.replace("torch.cuda", "torch.neuron")


def test_a_call_at_import_time_is_for_review() -> None:
    assert migrate("import torch\n\ntorch.cuda.synchronize()\n").one("TN106")["safety"] == "review"
    assert migrate("import torch\n\nn = torch.cuda.device_count()\n").one("TN106")["safety"] == "safe"
    assert (
        migrate("import torch\n\nif __name__ == '__main__':\n    torch.cuda.synchronize()\n").one("TN106")["safety"]
        == "safe"
    )


def test_exec_makes_it_a_matter_for_review() -> None:
    source = "import torch\n\nexec(open('c.py').read())\n\n\ndef f():\n    torch.cuda.synchronize()\n"
    assert migrate(source).one("TN106")["safety"] == "review"
    assert migrate(source, level="safe").text == source


def test_properties_that_neuron_lacks_are_errors_at_the_attribute() -> None:
    outcome = migrate(
        inside("p = torch.cuda.get_device_properties(0)", "return p.multi_processor_count + p.total_memory")
    )
    assert [(f["line"], f["severity"]) for f in outcome.findings if f["safety"] == "manual"] == [(6, "error")]


def test_chip_names_in_tests_are_errors() -> None:
    outcome = migrate(inside('return "A100" in torch.cuda.get_device_name()'))
    assert [f["severity"] for f in outcome.findings if f["safety"] == "manual"] == ["error"]


def test_a_device_that_may_be_none_or_a_text_is_an_error() -> None:
    outcome = migrate(HEAD + "def f(d: 'str | None'):\n    torch.cuda.synchronize(d)\n")
    assert outcome.one("TN106")["severity"] == "error"


@pytest.mark.parametrize(
    "head, body, given",
    [
        pytest.param("def f(device=None):", (), "device", id="none-by-default-is-no-device"),
        pytest.param("def f(device=None):", ("if other is None:", "    device2 = 1"), "device", id="another-name"),
        pytest.param(
            "def f(device=None):", ("if x:", "    if device is None:", "        return"), "device", id="only-sometimes"
        ),
        pytest.param(
            "def f(device=None):", ("if device is None:", "    device = x"), "device", id="replaced-by-anything"
        ),
        pytest.param(
            "def f(device=None):", ("if device is not None:", "    return"), "device", id="ends-for-the-others"
        ),
        pytest.param(
            "def f(device=None):",
            ("if device is None:", "    device = make()"),
            "torch.device(device)",
            id="replaced-by-a-device",
        ),
        pytest.param(
            "def f(device=None):", ("if not device: return",), "torch.device(device)", id="the-function-ends-for-none"
        ),
        pytest.param("def f(device):", (), "torch.device(device)", id="no-default"),
    ],
)
def test_none_is_not_made_a_device(head: str, body: tuple[str, ...], given: str) -> None:
    lines = (*body, "torch.cuda.synchronize(device=device)", "return torch.cuda.memory_allocated(device)")
    text = f"{HEAD}{head}\n" + "".join(f"    {line}\n" for line in lines)
    outcome = migrate(text)
    assert outcome.text == text.replace("device=device)", f"device={given})").replace(
        "torch.cuda.memory_allocated(device)", f"torch.neuron.memory_allocated({given})"
    ).replace("torch.cuda.synchronize", "torch.neuron.synchronize")
    assert outcome.one("TN106")["safety"] == "review"


def test_a_device_that_is_asked_for_none_first_may_be_a_text() -> None:
    text = HEAD + "def f(device=None):\n    if device is not None:\n        torch.cuda.synchronize(device)\n"
    wanted = text.replace("torch.cuda.synchronize(device)", "torch.neuron.synchronize(torch.device(device))")
    assert migrate(text).text == wanted


def test_none_that_an_object_keeps_is_not_made_a_device() -> None:
    text = (
        "class A:\n    def __init__(self, device=None):\n        self.device = device\n\n"
        "    def f(self):\n        torch.cuda.synchronize(self.device)\n"
    )
    outcome = migrate(HEAD + text)
    assert outcome.text == HEAD + text.replace("torch.cuda.", "torch.neuron.")


def test_what_is_looked_up_and_missing_is_reported() -> None:
    outcome = migrate(inside('return hasattr(torch.cuda, "nvtx")'))
    assert outcome.text == inside('return hasattr(torch.cuda, "nvtx")')
    assert outcome.rules() == ["TN106"]


def test_a_literal_index_is_for_review_in_a_distributed_repository() -> None:
    from harness import run_tree

    body = inside("torch.cuda.set_device(0)").encode()
    other = b"import torch.distributed as dist\n\ndist.init_process_group('gloo')\n"
    result, _ = run_tree({"a.py": body, "b.py": other})
    found = [i for f in result.files for i in f.items if i.rule == "TN106"]
    assert [i.safety.value for i in found if i.safety] == ["review"]
