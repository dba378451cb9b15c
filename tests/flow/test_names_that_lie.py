"""Code whose names only look like a device: none of it is edited."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import textwrap

import pytest

from harness import migrate

LIES = {
    "a device that is a telephone": 'device = "phone"\nprint(device)',
    "a number called cuda": "cuda = 3\nfor i in range(cuda):\n    print(i)",
    "a distribution called dist": "from torch.distributions import Normal\ndist = Normal(0.0, 1.0)\nx = dist.sample()",
    "a device that somebody returns": "device = get_phone()\nring(device)",
    "a class with its own cuda()": "class Box:\n    def cuda(self):\n        return 1\n\nBox().cuda()",
    "an object of a class with its own cuda()": "class Box:\n    def cuda(self):\n        return 1\n\nbox = Box()\nbox.cuda()",
    "self of a class with its own cuda()": (
        "class Box:\n    def cuda(self):\n        return 1\n\n    def run(self):\n        return self.cuda()"
    ),
    "an own cuda() that is inherited": (
        "class Base:\n    def cuda(self):\n        return 1\n\n\nclass Box(Base):\n    pass\n\n\nBox().cuda()"
    ),
    "a class with its own to()": 'class Mail:\n    def to(self, who):\n        self.who = who\n\n\nMail().to("cuda")',
    "an object of a class with its own to()": (
        'class Mail:\n    def to(self, who):\n        self.who = who\n\n\nmail = Mail()\nmail.to("cuda")'
    ),
    "an own function with a parameter called device": (
        'def order(device):\n    return CATALOGUE[device] if device in CATALOGUE else 0\n\n\norder(device="cuda")'
    ),
    "a dict of prices": 'PRICES = {"cuda": 3, "barra": 4}\nprint(PRICES["cuda"])',
    "a dict of fish that a name looks into": 'FISH = {"cuda": 3, "barra": 4}\n\n\ndef price(fish):\n    return FISH[fish]',
    "a match on a word": 'match word:\n    case "cuda":\n        print("a fish")',
    "a comparison with a word": 'def f(word):\n    return word == "cuda"',
    "a membership test of words": 'def f(word):\n    return word in ("cuda", "barra")',
    "an attribute called type of an own class": (
        'class Fish:\n    def __init__(self):\n        self.type = "barra"\n\n    def is_it(self):\n        return self.type == "cuda"'
    ),
    "an attribute called device of an own class with other values": (
        'class Shop:\n    def __init__(self):\n        self.device = "phone"\n\n'
        '    def is_it(self):\n        return self.device == "cuda"'
    ),
    "a parameter called is_cuda": "def f(x, is_cuda=True):\n    return x if is_cuda else None",
    "an own attribute called is_cuda": (
        "class Build:\n    def __init__(self):\n        self.is_cuda = False\n\n    def run(self):\n        return self.is_cuda"
    ),
    "an own property called is_cuda": (
        "class Build:\n    @property\n    def is_cuda(self):\n        return False\n\n\nBuild().is_cuda"
    ),
    "an own field called is_cuda": "class Build:\n    is_cuda = True\n\n\nprint(Build.is_cuda)",
    "a flag on the command line": "if args.cuda:\n    print(1)",
    "an option whose name is an interface": 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--no-cuda", action="store_true")',
    "help text": 'import argparse\np = argparse.ArgumentParser()\np.add_argument("--device", help="cuda or cpu")',
    "a log text": 'print("cuda")',
    "a log text made of a device": 'import logging\nlogging.info("running on %s", "cuda")',
    "an error text": 'def f():\n    raise ValueError("cuda")',
    "an assert message": 'def f(x):\n    assert x, "cuda"',
    "a file name": 'path = "cuda" + ".txt"\nopen(path)',
    "a name with cuda in the middle": 'path = "lib" + "cuda"\nload_library(path)',
    "a module that is not torch's": "from cuda import cuda\ncuda.cuInit(0)",
    "a shadowed torch": 'class torch:\n    @staticmethod\n    def device(name):\n        return name\n\n\nd = torch.device("cuda")',
    "a function of an own class called device": 'class Maker:\n    def device(self, name):\n        return name\n\n\nMaker().device("cuda")',
    "an own autocast": 'def autocast(name):\n    return name\n\n\nautocast("cuda")',
    "a column of a table": 'frame["cuda"].mean()',
    "a tag": 'tags = ["cuda", "linux", "wheel"]\nupload(tags)',
    "an environment name in a text": 'print("set CUDA_VISIBLE_DEVICES")',
    "an own type() method that is given a word": 'class Keyboard:\n    def type(self, word):\n        return word\n\n\nKeyboard().type("cuda")',
    "an own enumeration of vendors": 'from enum import Enum\n\n\nclass Toolkit(Enum):\n    NVIDIA = "cuda"\n    AMD = "rocm"',
    "a Literal of fish": 'from typing import Literal\n\n\ndef cook(fish: Literal["cuda", "barra"]):\n    return fish',
    "a keyword of an own function": "def build(cuda):\n    return cuda\n\n\nbuild(cuda=True)",
    "a conditional on something else": 'fish = "cuda" if warm else "cod"\ncook(fish)',
    "a list of words in a loop": 'for word in ["cuda", "barra"]:\n    say(word)',
    "a default value of an own parameter": 'def say(word="cuda"):\n    return len(word)',
    "words joined": 'name = "-".join(["cuda", "12"])\nfetch(name)',
    "two attributes of one name in two classes": (
        'import torch\n\n\nclass Reader:\n    def __init__(self):\n        self.mode = "cuda"\n\n    def read(self):\n'
        "        return open_index(self.mode)\n\n\nclass Mover:\n    def __init__(self, mode):\n        self.mode = mode\n\n"
        "    def move(self, x):\n        return x.to(self.mode)"
    ),
    "a variable that also holds other words": (
        'import torch\n\n\ndef f(x, fast):\n    kind = "cuda" if fast else "slow"\n    log(kind)\n    return x.to(kind)'
    ),
    "a tensor type of the CPU": 'import torch\ntorch.set_default_tensor_type("torch.FloatTensor")',
    "a storage lambda that means the CPU": 'import torch\nx = torch.load("m", map_location=lambda storage, loc: storage)',
    "a Trainer of somebody else": 'from mylib import Trainer\nTrainer(accelerator="gpu")',
    "a getattr of an own object": 'getattr(settings, "cuda", None)',
    "code that runs on neuron already": 'import torch\nx = torch.ones(2, device="neuron")\nok = x.device.type == "neuron"',
    "code on torch.accelerator": "import torch\ndevice = torch.accelerator.current_accelerator()\nx = torch.ones(2, device=device)",
    "a table of accelerators": 'BACKENDS = {"cuda": "nccl", "xpu": "ccl", "cpu": "gloo"}\nname = BACKENDS[device.type]',
    "a chain of accelerators": 'def f(x):\n    if x.device.type == "cuda":\n        return 1\n    elif x.device.type == "mps":\n        return 2\n    return 3',
    "a conditional chain of accelerators": (
        'import torch\nd = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"\n'
        "x = torch.ones(2, device=d)"
    ),
    "a tuple of accelerators": 'def f(x):\n    return x.device.type in ("cuda", "xpu")',
    "an accelerator of Lightning in a variable": (
        'import torch\nfrom lightning.pytorch import Trainer\nname = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "Trainer(accelerator=name)"
    ),
    "a device of XGBoost": 'import xgboost\nxgboost.XGBClassifier(device="cuda")',
}


@pytest.mark.parametrize("code", LIES.values(), ids=LIES)
def test_not_edited(code: str) -> None:
    text = textwrap.dedent(code) + "\n"
    assert migrate(text).text == text


def test_there_are_at_least_forty() -> None:
    assert len(LIES) >= 40
