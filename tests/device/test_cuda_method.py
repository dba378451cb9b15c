"""`.cuda()` in all its forms."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\nfrom torch import nn\n\n\n"

CHANGED = {
    "no argument": ("def f(x):\n    return x.cuda()", 'def f(x):\n    return x.to("neuron")'),
    "keyword arguments stay": (
        "def f(x):\n    return x.cuda(non_blocking=True)",
        'def f(x):\n    return x.to("neuron", non_blocking=True)',
    ),
    "non_blocking by position": (
        "def f(x):\n    return x.cuda(None, True)",
        'def f(x):\n    return x.to("neuron", non_blocking=True)',
    ),
    "index 0": ("def f(x):\n    return x.cuda(0)", 'def f(x):\n    return x.to("neuron")'),
    "another index": ("def f(x):\n    return x.cuda(1)", 'def f(x):\n    return x.to("neuron:1")'),
    "None is the current device": ("def f(x):\n    return x.cuda(None)", 'def f(x):\n    return x.to("neuron")'),
    "an index that may be None": ("def f(m, args):\n    m.cuda(args.gpu)", 'def f(m, args):\n    m.to("neuron")'),
    "an index by keyword": (
        "def f(x, rank):\n    return x.cuda(device=rank)",
        'def f(x, rank):\n    return x.to(device="neuron")',
    ),
    "an index of a list": ("def f(x, ids):\n    return x.cuda(ids[0])", 'def f(x, ids):\n    return x.to("neuron")'),
    "an index that is computed from plain names": (
        "def f(x, r, n):\n    return x.cuda(r % n)",
        'def f(x, r, n):\n    return x.to("neuron")',
    ),
    "the local rank of the environment": (
        'import os\n\n\ndef f(x):\n    return x.cuda(int(os.environ["LOCAL_RANK"]))',
        'import os\n\n\ndef f(x):\n    return x.to("neuron")',
    ),
    "a device name": ('def f(x):\n    return x.cuda("cuda:0")', 'def f(x):\n    return x.to("neuron")'),
    "a device": (
        'd = torch.device("cuda:0")\n\n\ndef f(x):\n    return x.cuda(d)',
        'd = torch.device("neuron")\n\n\ndef f(x):\n    return x.to(d)',
    ),
    "chained": (
        "def f():\n    return nn.Linear(2, 2).cuda().eval()",
        'def f():\n    return nn.Linear(2, 2).to("neuron").eval()',
    ),
    "in a comprehension": (
        "def f(xs):\n    return [x.cuda() for x in xs]",
        'def f(xs):\n    return [x.to("neuron") for x in xs]',
    ),
    "in map": (
        "def f(xs):\n    return map(lambda x: x.cuda(), xs)",
        'def f(xs):\n    return map(lambda x: x.to("neuron"), xs)',
    ),
    "in apply": ("def f(m):\n    m.apply(lambda t: t.cuda())", 'def f(m):\n    m.apply(lambda t: t.to("neuron"))'),
    "in an f-string": ('def f(x):\n    return f"{x.cuda()}"', "def f(x):\n    return f\"{x.to('neuron')}\""),
    "unbound and called": (
        "def f(x):\n    return torch.Tensor.cuda(x)",
        'def f(x):\n    return torch.Tensor.to(x, "neuron")',
    ),
    "unbound and passed on": (
        "def f(xs):\n    return list(map(torch.Tensor.cuda, xs))",
        'def f(xs):\n    return list(map(lambda t: t.to("neuron"), xs))',
    ),
    "by its name": ('def f(x):\n    return getattr(x, "cuda")()', 'def f(x):\n    return x.to("neuron")'),
    "a storage": (
        "def f(x):\n    return x.untyped_storage().cuda()",
        'def f(x):\n    return x.untyped_storage().to(device="neuron")',
    ),
    "super() inside an own cuda()": (
        "class M(nn.Module):\n    def cuda(self):\n        return super().cuda()",
        'class M(nn.Module):\n    def cuda(self):\n        return super().to("neuron")',
    ),
    "over several lines": (
        "def f(x):\n    return x.cuda(\n        non_blocking=True,  # overlaps\n    )",
        'def f(x):\n    return x.to(\n        "neuron",\n        non_blocking=True,  # overlaps\n    )',
    ),
}

UNCHANGED = {
    "an attribute that is not called": "def f(args):\n    return args.cuda",
    "a flag that is stored": "def f(args, x):\n    args.cuda = x",
    "an own method": "class Box:\n    def cuda(self):\n        return 1\n\n\nBox().cuda()",
    "an own method of a base class": "class A:\n    def cuda(self):\n        return 1\n\n\nclass B(A):\n    pass\n\n\nb = B()\nb.cuda()",
    "an own static method": "class Box:\n    @staticmethod\n    def cuda():\n        return 1\n\n\nBox.cuda()",
    "unpacked arguments": "def f(x, args):\n    return x.cuda(*args)",
    "a computed index": "def f(x, pick):\n    return x.cuda(pick(3))",
    "a function called cuda": "def cuda(x):\n    return x\n\n\ncuda(3)",
    "a module of somebody else": "from numba import cuda\n\n\ncuda.synchronize()",
    "a name in a text": 'print("x.cuda()")',
    "a docstring": 'def f():\n    """Calls x.cuda()."""',
    "the method as a value": "def f(model):\n    return torch.Tensor.cuda",
    "methodcaller": 'from operator import methodcaller\n\n\nf = methodcaller("cuda")',
    "an attribute of settings by name": 'def f(args):\n    return getattr(args, "cuda", False)',
    "a storage with two positions": "def f(x):\n    return x.storage().cuda(0, True)",
    "on neuron already": 'def f(x):\n    return x.to("neuron")',
}


@pytest.mark.parametrize(("before", "after"), CHANGED.values(), ids=CHANGED)
def test_changed(before: str, after: str) -> None:
    assert migrate(HEAD + before + "\n").text == HEAD + after + "\n"


@pytest.mark.parametrize("code", UNCHANGED.values(), ids=UNCHANGED)
def test_unchanged(code: str) -> None:
    text = HEAD + code + "\n"
    assert migrate(text).text == text


def test_safe_when_nobody_defines_cuda() -> None:
    assert migrate("def f(x):\n    return x.cuda()\n").one("TN102")["safety"] == "safe"


def test_review_when_a_class_defines_cuda() -> None:
    text = f"{BOX}\n    def to(self, device):\n        return self\n\n\ndef f(x):\n    return x.cuda()\n"
    found = migrate(text).one("TN102")
    assert found["safety"] == "review"
    assert "defines its own cuda()" in found["evidence"][0]["text"]


BOX = "import torch\nfrom torch import nn\n\n\nclass Box:\n    def cuda(self):\n        return 1\n"
MAY_LACK_TO = {
    "a parameter": "def f(x):\n    return x.cuda()",
    "an element": "def f(xs):\n    return [x.cuda() for x in xs]",
    "an attribute": "def f(self):\n    return self.x.cuda()",
    "what an own function gives": "def f():\n    x = make()\n    return x.cuda()",
}
HAS_TO = {
    "annotated as a tensor": "def f(x: torch.Tensor):\n    return x.cuda()",
    "made by torch": "def f():\n    x = torch.ones(2)\n    return x.cuda()",
    "a module of the file": "class Net(nn.Module):\n    pass\n\n\ndef f():\n    net = Net()\n    return net.cuda()",
    "an object of another class": "def f():\n    net = Net()\n    return net.cuda()",
    "moved before": "def f():\n    x = torch.ones(2)\n    x = x.cuda()\n    return x.cuda()",
}


@pytest.mark.parametrize("code", MAY_LACK_TO.values(), ids=MAY_LACK_TO)
def test_by_hand_when_a_class_has_cuda_but_no_to(code: str) -> None:
    text = f"{BOX}\n\n{code}\n"
    outcome = migrate(text)
    assert outcome.text == text
    found = outcome.one("TN102")
    assert (found["safety"], found["severity"]) == ("manual", "error")
    assert "Box of this repository has cuda() but no to()" in found["message"]


@pytest.mark.parametrize("code", HAS_TO.values(), ids=HAS_TO)
def test_what_has_to_moves_even_then(code: str) -> None:
    text = f"{BOX}\n\n{code}\n"
    assert migrate(text).text == text.replace("x.cuda()", 'x.to("neuron")').replace("net.cuda()", 'net.to("neuron")')


@pytest.mark.parametrize("base", ["nn.Module", "Data", "HasTo"])
def test_a_base_may_bring_to(base: str) -> None:
    text = f"import torch\nfrom torch import nn\n\n\nclass Box({base}):\n    def cuda(self):\n        return 1\n\n\ndef f(x):\n    return x.cuda()\n"
    assert migrate(text).one("TN102")["safety"] == "review"


METHOD_KEPT = {
    "in a variable": "move = model.cuda\nmove()",
    "in a list": "fns = [x.cuda for x in xs]",
    "passed on": "run(model.cuda)",
    "of a layer, beside an own setting": "class A:\n    def __init__(self, cuda):\n        self.cuda = cuda\n\n\nf = nn.Linear(1, 1).cuda",
}
SETTING = {
    "an option": "use = args.cuda",
    "an option of self": "use = self.args.cuda",
    "an option by its name": 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--cuda", action="store_true")\nspace = p.parse_args()\nuse = space.cuda',
    "an own attribute": "class A:\n    def __init__(self, cuda):\n        self.cuda = cuda\n\n    def f(self):\n        return self.cuda",
    "a test": "if model.cuda:\n    print(1)",
    "an option that may be missing": 'use = getattr(args, "cuda", False)',
    "an option of self that may be missing": 'use = getattr(self.opt, "cuda", None)',
    "a store": "model.cuda = 1",
}


OTHERS = {
    "a tensor of paddle": "import paddle\nx = paddle.ones([3])\ny = x.cuda()",
    "a chain of calls of paddle": "import paddle\ny = paddle.ones([3]).reshape([1, 3])[0].cuda()",
    "a tensor of oneflow": "import oneflow as flow\ny = flow.randn(3).cuda()",
    "the base of an own class": (
        "class A:\n    def cuda(self):\n        return self\n\n    def to(self, d):\n        return self\n\n\n"
        "class B(A):\n    def cuda(self):\n        return super().cuda()"
    ),
}


@pytest.mark.parametrize("code", OTHERS.values(), ids=OTHERS)
def test_objects_of_other_libraries_and_own_bases_are_kept(code: str) -> None:
    outcome = migrate(HEAD + code + "\n")
    assert outcome.text == HEAD + code + "\n"
    assert (outcome.one("TN102")["status"], outcome.rules()) == ("kept", [])


def test_the_base_of_a_module_is_torchs() -> None:
    code = "class A(nn.Module):\n    def cuda(self, device=None):\n        return super().cuda(device)\n"
    assert 'super().to("neuron")' in migrate(HEAD + code).text


def test_a_chain_that_starts_at_another_package_is_for_review() -> None:
    assert migrate(HEAD + "import timm\nx = timm.create_model('a').eval().cuda()\n").one("TN102")["safety"] == "review"


@pytest.mark.parametrize("code", METHOD_KEPT.values(), ids=METHOD_KEPT)
def test_a_method_that_is_kept_is_reported(code: str) -> None:
    text = HEAD + code + "\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert (outcome.one("TN102")["safety"], outcome.one("TN102")["severity"]) == ("manual", "warning")


@pytest.mark.parametrize("code", SETTING.values(), ids=SETTING)
def test_a_setting_called_cuda_is_no_method(code: str) -> None:
    assert "TN102" not in migrate(HEAD + code + "\n").rules()


@pytest.mark.parametrize(
    "code",
    [
        "f = functools.partial(torch.Tensor.cuda, non_blocking=True)",
        "f = functools.partial(nn.Module.cuda, device=0)",
        "f = bind(torch.Tensor.cuda, non_blocking=True)",
        'def f(data):\n    data.cuda(0, "x")',
        'def f(data):\n    data.cuda(None, non_blocking="x")',
    ],
)
def test_arguments_that_a_new_call_would_not_take(code: str) -> None:
    text = "import functools\n" + HEAD + code + "\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN102")["safety"] == "manual"


@pytest.mark.parametrize("made", ["torch.FloatStorage(3)", "torch.UntypedStorage(3)", "torch.storage.TypedStorage(3)"])
def test_a_storage_takes_its_device_by_keyword(made: str) -> None:
    text = f"import torch\n\n\ndef f():\n    s = {made}\n    return s.cuda()\n"
    assert migrate(text).text == text.replace("cuda()", 'to(device="neuron")')


def test_safe_for_what_torch_made_even_then() -> None:
    text = "import torch\n\n\nclass Box:\n    def cuda(self):\n        return 1\n\n\ndef f(y):\n    return torch.ones(2).add(y).cuda()\n"
    assert migrate(text).one("TN102")["safety"] == "safe"


def test_review_at_import_time() -> None:
    assert migrate("import torch\n\nx = torch.ones(2).cuda()\n").one("TN102")["safety"] == "review"


def test_review_for_objects_of_other_packages() -> None:
    text = "from lib import Thing\n\n\ndef f():\n    thing = Thing()\n    thing.cuda()\n"
    assert migrate(text).one("TN102")["safety"] == "review"


def test_parameter_that_every_call_fills_with_a_tensor_moves_although_a_class_has_its_own_cuda() -> None:
    text = (
        "import torch\n\n\nclass Lamp:\n    def cuda(self):\n        return 1\n\n\ndef move(x):\n    return x.cuda()\n\n\n"
        "def main():\n    return move(torch.ones(2)), Lamp().cuda()\n"
    )
    outcome = migrate(text)
    assert outcome.text == text.replace("return x.cuda()", 'return x.to("neuron")')


@pytest.mark.parametrize(
    "before, given",
    [
        pytest.param("    if gpu is not None and x is y:\n        x.cuda(gpu)\n", True, id="asked in the branch"),
        pytest.param("    if gpu is None:\n        return\n    x.cuda(gpu)\n", True, id="left before"),
        pytest.param("    if not gpu is None:\n        x.cuda(gpu)\n", True, id="negated"),
        pytest.param("    if gpu is None:\n        x.cuda(gpu)\n", False, id="surely None"),
        pytest.param("    if gpu is not None or x is y:\n        x.cuda(gpu)\n", False, id="one of two"),
        pytest.param("    if y is not None:\n        x.cuda(gpu)\n", False, id="another value"),
        pytest.param("    x.cuda(gpu)\n", False, id="not asked"),
    ],
)
def test_a_device_that_a_test_says_is_given(before: str, given: bool) -> None:
    head = "import torch\n\n\ndef f(x, y, gpu=None):\n    d = torch.device('cuda') if gpu is None else gpu\n"
    after = "x.to(gpu)" if given else "x.to('neuron' if gpu is None else gpu)"
    text = migrate(f"{head}    torch.ones(1, device=gpu)\n{before}").text
    assert after in text.replace('"', "'")
