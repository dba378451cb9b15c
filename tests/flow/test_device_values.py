"""Every way to spell, keep and test a device that is followed, with what becomes of it."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import re
import textwrap

import pytest

from harness import migrate

HEAD = "import torch\n"

SPELLINGS = {
    "plain": ('x = torch.ones(2, device="cuda")', 'x = torch.ones(2, device="neuron")'),
    "single quotes stay": ("x = torch.ones(2, device='cuda')", "x = torch.ones(2, device='neuron')"),
    "a prefix stays": ('x = torch.ones(2, device=r"cuda")', 'x = torch.ones(2, device=r"neuron")'),
    "index 0 is the current device": ('x = torch.ones(2, device="cuda:0")', 'x = torch.ones(2, device="neuron")'),
    "another index stays": ('x = torch.ones(2, device="cuda:3")', 'x = torch.ones(2, device="neuron:3")'),
    "f-string": (
        'def f(i):\n    return torch.device(f"cuda:{i}")',
        'def f(i):\n    return torch.device(f"neuron:{i}")',
    ),
    "percent": (
        'def f(i):\n    return torch.device("cuda:%d" % i)',
        'def f(i):\n    return torch.device("neuron:%d" % i)',
    ),
    "percent of both parts": (
        'def f(i):\n    return torch.device("%s:%d" % ("cuda", i))',
        'def f(i):\n    return torch.device("%s:%d" % ("neuron", i))',
    ),
    "format": (
        'def f(i):\n    return torch.device("cuda:{}".format(i))',
        'def f(i):\n    return torch.device("neuron:{}".format(i))',
    ),
    "format by name": (
        'def f(i):\n    return torch.device("cuda:{rank}".format(rank=i))',
        'def f(i):\n    return torch.device("neuron:{rank}".format(rank=i))',
    ),
    "format of both parts": (
        'def f(i):\n    return torch.device("{}:{}".format("cuda", i))',
        'def f(i):\n    return torch.device("{}:{}".format("neuron", i))',
    ),
    "concatenation": (
        'def f(i):\n    return torch.device("cuda:" + str(i))',
        'def f(i):\n    return torch.device("neuron:" + str(i))',
    ),
    "concatenation in three parts": (
        'def f(i):\n    return torch.device("cuda" + ":" + str(i))',
        'def f(i):\n    return torch.device("neuron" + ":" + str(i))',
    ),
    "type and index": (
        'def f(i):\n    return torch.device("cuda", i)',
        'def f(i):\n    return torch.device("neuron", i)',
    ),
    "type and index 0": ('d = torch.device("cuda", 0)', 'd = torch.device("neuron")'),
    "type and index 0 by keyword": ('d = torch.device(type="cuda", index=0)', 'd = torch.device(type="neuron")'),
    "type and another index": ('d = torch.device("cuda", 1)', 'd = torch.device("neuron", 1)'),
    "to": (
        'def f(x):\n    return x.to("cuda", non_blocking=True)',
        'def f(x):\n    return x.to("neuron", non_blocking=True)',
    ),
    "to by keyword": ('def f(x):\n    return x.to(device="cuda")', 'def f(x):\n    return x.to(device="neuron")'),
    "a context manager": ('with torch.device("cuda"):\n    pass', 'with torch.device("neuron"):\n    pass'),
    "a partial": (
        'from functools import partial\nctx = partial(torch.autocast, device_type="cuda", dtype=torch.bfloat16)',
        'from functools import partial\nctx = partial(torch.autocast, device_type="neuron", dtype=torch.bfloat16)',
    ),
    "an alias of torch": ('import torch as t\nd = t.device("cuda")', 'import torch as t\nd = t.device("neuron")'),
    "a name of torch": (
        'from torch import device\nd = device("cuda")',
        'from torch import device\nd = device("neuron")',
    ),
    "a device module by name": ('m = getattr(torch, "cuda")', 'm = getattr(torch, "neuron")'),
    "a conditional": (
        'def f(x, cpu):\n    return x.to("cpu" if cpu else "cuda")',
        'def f(x, cpu):\n    return x.to("cpu" if cpu else "neuron")',
    ),
    "an or": ('def f(x, d=None):\n    return x.to(d or "cuda")', 'def f(x, d=None):\n    return x.to(d or "neuron")'),
    "map_location": ('s = torch.load("m", map_location="cuda:0")', 's = torch.load("m", map_location="neuron")'),
    "map_location by position": ('s = torch.load("m", "cuda")', 's = torch.load("m", "neuron")'),
    "map_location as a dict of one entry": (
        'def f(r):\n    return torch.load("m", map_location={"cuda:0": f"cuda:{r}"})',
        'def f(r):\n    return torch.load("m", map_location=f"neuron:{r}")',
    ),
}

PLACES = {
    "a variable": ('d = "cuda"\nx = torch.ones(2, device=d)', 'd = "neuron"\nx = torch.ones(2, device=d)'),
    "a chain of variables": (
        'a = "cuda"\nb = a\nc = torch.device(b)\nx = torch.ones(2).to(c)',
        'a = "neuron"\nb = a\nc = torch.device(b)\nx = torch.ones(2).to(c)',
    ),
    "two targets": ('a = b = "cuda"\nx = torch.ones(2, device=b)', 'a = b = "neuron"\nx = torch.ones(2, device=b)'),
    "a tuple assignment": (
        'd, n = "cuda", 3\nx = torch.ones(n, device=d)',
        'd, n = "neuron", 3\nx = torch.ones(n, device=d)',
    ),
    "a walrus": (
        'def f(x):\n    if d := "cuda":\n        return x.to(d)',
        'def f(x):\n    if d := "neuron":\n        return x.to(d)',
    ),
    "an if and else": (
        'def f(x, cpu):\n    if cpu:\n        d = "cpu"\n    else:\n        d = "cuda"\n    return x.to(d)',
        'def f(x, cpu):\n    if cpu:\n        d = "cpu"\n    else:\n        d = "neuron"\n    return x.to(d)',
    ),
    "a parameter default": (
        'def f(x, where="cuda"):\n    return x.to(where)',
        'def f(x, where="neuron"):\n    return x.to(where)',
    ),
    "an argument of an own function": (
        'def f(x, where):\n    return x.to(where)\n\n\ndef g(x):\n    return f(x, "cuda")',
        'def f(x, where):\n    return x.to(where)\n\n\ndef g(x):\n    return f(x, "neuron")',
    ),
    "a keyword argument of an own function": (
        'def f(x, *, where):\n    return x.to(where)\n\n\ndef g(x):\n    return f(x, where="cuda")',
        'def f(x, *, where):\n    return x.to(where)\n\n\ndef g(x):\n    return f(x, where="neuron")',
    ),
    "a closure": (
        'def f():\n    where = "cuda"\n\n    def g(x):\n        return x.to(where)\n\n    return g',
        'def f():\n    where = "neuron"\n\n    def g(x):\n        return x.to(where)\n\n    return g',
    ),
    "a result": (
        'def where():\n    return "cuda"\n\n\ndef f(x):\n    return x.to(where())',
        'def where():\n    return "neuron"\n\n\ndef f(x):\n    return x.to(where())',
    ),
    "a part of a result": (
        'def setup():\n    return "cuda", 3\n\n\ndef f(x):\n    where, n = setup()\n    return x.to(where)',
        'def setup():\n    return "neuron", 3\n\n\ndef f(x):\n    where, n = setup()\n    return x.to(where)',
    ),
    "an attribute": (
        'class T:\n    def __init__(self):\n        self.where = "cuda"\n\n    def f(self, x):\n        return x.to(self.where)',
        'class T:\n    def __init__(self):\n        self.where = "neuron"\n\n    def f(self, x):\n        return x.to(self.where)',
    ),
    "an argument of a constructor": (
        "class T:\n    def __init__(self, where):\n        self.where = where\n\n    def f(self, x):\n        return x.to(self.where)\n\n\n"
        't = T("cuda")',
        "class T:\n    def __init__(self, where):\n        self.where = where\n\n    def f(self, x):\n        return x.to(self.where)\n\n\n"
        't = T("neuron")',
    ),
    "a class field": (
        'class T:\n    where = "cuda"\n\n    def f(self, x):\n        return x.to(self.where)',
        'class T:\n    where = "neuron"\n\n    def f(self, x):\n        return x.to(self.where)',
    ),
    "a property": (
        'class T:\n    @property\n    def where(self):\n        return "cuda"\n\n    def f(self, x):\n        return x.to(self.where)',
        'class T:\n    @property\n    def where(self):\n        return "neuron"\n\n    def f(self, x):\n        return x.to(self.where)',
    ),
    "a dataclass field": (
        'from dataclasses import dataclass\n\n\n@dataclass\nclass C:\n    where: str = "cuda"\n\n\ndef f(c, x):\n    return x.to(c.where)',
        'from dataclasses import dataclass\n\n\n@dataclass\nclass C:\n    where: str = "neuron"\n\n\ndef f(c, x):\n    return x.to(c.where)',
    ),
    "a field() of a dataclass": (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass C:\n"
        '    where: str = field(default="cuda", metadata={"help": "cuda or cpu"})\n\n\ndef f(c, x):\n    return x.to(c.where)',
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass C:\n"
        '    where: str = field(default="neuron", metadata={"help": "cuda or cpu"})\n\n\ndef f(c, x):\n    return x.to(c.where)',
    ),
    "a default_factory": (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass C:\n"
        '    where: str = field(default_factory=lambda: "cuda")\n\n\ndef f(c, x):\n    return x.to(c.where)',
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass C:\n"
        '    where: str = field(default_factory=lambda: "neuron")\n\n\ndef f(c, x):\n    return x.to(c.where)',
    ),
    "a field where the dataclass is made": (
        'from dataclasses import dataclass\n\n\n@dataclass\nclass C:\n    where: str\n\n\nc = C(where="cuda")\nx = torch.ones(2).to(c.where)',
        'from dataclasses import dataclass\n\n\n@dataclass\nclass C:\n    where: str\n\n\nc = C(where="neuron")\nx = torch.ones(2).to(c.where)',
    ),
    "argparse default": (
        'import argparse\np = argparse.ArgumentParser()\np.add_argument("--where", default="cuda")\nx = torch.ones(2).to(p.parse_args().where)',
        'import argparse\np = argparse.ArgumentParser()\np.add_argument("--where", default="neuron")\nx = torch.ones(2).to(p.parse_args().where)',
    ),
    "argparse choices": (
        "import argparse\np = argparse.ArgumentParser()\n"
        'p.add_argument("--run-on", default="cuda", choices=["cuda", "cpu"])\na = p.parse_args()\nx = torch.ones(2).to(a.run_on)',
        "import argparse\np = argparse.ArgumentParser()\n"
        'p.add_argument("--run-on", default="neuron", choices=["neuron", "cpu"])\na = p.parse_args()\nx = torch.ones(2).to(a.run_on)',
    ),
    "argparse choices in a constant": (
        'import argparse\nWHERE = ("cuda", "cpu")\np = argparse.ArgumentParser()\n'
        'p.add_argument("--where", default=WHERE[0], choices=WHERE)\na = p.parse_args()\nx = torch.ones(2).to(a.where)',
        'import argparse\nWHERE = ("neuron", "cpu")\np = argparse.ArgumentParser()\n'
        'p.add_argument("--where", default=WHERE[0], choices=WHERE)\na = p.parse_args()\nx = torch.ones(2).to(a.where)',
    ),
    "set_defaults": (
        'def f(p, x):\n    p.set_defaults(where="cuda")\n    return x.to(p.parse_args().where)',
        'def f(p, x):\n    p.set_defaults(where="neuron")\n    return x.to(p.parse_args().where)',
    ),
    "click": (
        'import click\n\n\n@click.command()\n@click.option("--where", default="cuda", help="cuda or cpu")\ndef main(where):\n    torch.ones(2).to(where)',
        'import click\n\n\n@click.command()\n@click.option("--where", default="neuron", help="cuda or cpu")\ndef main(where):\n    torch.ones(2).to(where)',
    ),
    "click choices": (
        'import click\n\n\n@click.command()\n@click.option("--where", type=click.Choice(["cuda", "cpu"]), default="cuda")\n'
        "def main(where):\n    torch.ones(2).to(where)",
        'import click\n\n\n@click.command()\n@click.option("--where", type=click.Choice(["neuron", "cpu"]), default="neuron")\n'
        "def main(where):\n    torch.ones(2).to(where)",
    ),
    "typer": (
        'import typer\n\n\ndef main(where: str = typer.Option("cuda")):\n    torch.ones(2).to(where)',
        'import typer\n\n\ndef main(where: str = typer.Option("neuron")):\n    torch.ones(2).to(where)',
    ),
    "absl flags": (
        'from absl import flags\nflags.DEFINE_string("where", "cuda", "cuda or cpu")\nx = torch.ones(2).to(flags.FLAGS.where)',
        'from absl import flags\nflags.DEFINE_string("where", "neuron", "cuda or cpu")\nx = torch.ones(2).to(flags.FLAGS.where)',
    ),
    "a dict of settings": (
        'cfg = {"where": "cuda", "n": 3}\nx = torch.ones(2).to(cfg["where"])',
        'cfg = {"where": "neuron", "n": 3}\nx = torch.ones(2).to(cfg["where"])',
    ),
    "dict()": (
        'cfg = dict(where="cuda", n=3)\nx = torch.ones(2).to(cfg["where"])',
        'cfg = dict(where="neuron", n=3)\nx = torch.ones(2).to(cfg["where"])',
    ),
    "a default of get()": (
        'def f(cfg, x):\n    return x.to(cfg.get("where", "cuda"))',
        'def f(cfg, x):\n    return x.to(cfg.get("where", "neuron"))',
    ),
    "the environment": (
        'import os\nx = torch.ones(2).to(os.environ.get("WHERE", "cuda"))',
        'import os\nx = torch.ones(2).to(os.environ.get("WHERE", "neuron"))',
    ),
    "a default of getattr()": (
        'def f(cfg, x):\n    return x.to(getattr(cfg, "where", "cuda"))',
        'def f(cfg, x):\n    return x.to(getattr(cfg, "where", "neuron"))',
    ),
    "a translation table": (
        'NAMES = {"gpu": "cuda", "host": "cpu"}\n\n\ndef f(x, name):\n    return x.to(NAMES[name])',
        'NAMES = {"gpu": "neuron", "host": "cpu"}\n\n\ndef f(x, name):\n    return x.to(NAMES[name])',
    ),
    "a loop": (
        'def f(x):\n    for where in ("cpu", "cuda"):\n        x.to(where)',
        'def f(x):\n    for where in ("cpu", "neuron"):\n        x.to(where)',
    ),
    "a list that is built": (
        'def f(x):\n    places = []\n    places.append("cuda")\n    return [x.to(p) for p in places]',
        'def f(x):\n    places = []\n    places.append("neuron")\n    return [x.to(p) for p in places]',
    ),
    "getattr(torch, v)": (
        'def f(where="cuda"):\n    getattr(torch, where).synchronize()',
        'def f(where="neuron"):\n    getattr(torch, where).synchronize()',
    ),
    "an Enum value": (
        'from enum import Enum\n\n\nclass Lane(str, Enum):\n    HOST = "cpu"\n    CARD = "cuda"\n\n\nx = torch.ones(2, device=Lane.CARD.value)',
        'from enum import Enum\n\n\nclass Lane(str, Enum):\n    HOST = "cpu"\n    CARD = "neuron"\n\n\nx = torch.ones(2, device=Lane.CARD.value)',
    ),
    "an Enum member, and one made from its text": (
        'from enum import Enum\n\n\nclass Lane(str, Enum):\n    HOST = "cpu"\n    CARD = "cuda"\n\n\n'
        'x = torch.ones(2).to(Lane.CARD)\ny = Lane("cuda")',
        'from enum import Enum\n\n\nclass Lane(str, Enum):\n    HOST = "cpu"\n    CARD = "neuron"\n\n\n'
        'x = torch.ones(2).to(Lane.CARD)\ny = Lane("neuron")',
    ),
    "a Literal of a parameter": (
        'from typing import Literal\n\n\ndef f(x, where: Literal["cpu", "cuda"] = "cuda"):\n    return x.to(where)',
        'from typing import Literal\n\n\ndef f(x, where: Literal["cpu", "neuron"] = "neuron"):\n    return x.to(where)',
    ),
    "get_args of a Literal": (
        'from typing import Literal, get_args\nWhere = Literal["cpu", "cuda"]\n\n\ndef f(x, where: Where = "cuda"):\n'
        "    assert where in get_args(Where)\n    return x.to(where)",
        'from typing import Literal, get_args\nWhere = Literal["cpu", "neuron"]\n\n\ndef f(x, where: Where = "neuron"):\n'
        "    assert where in get_args(Where)\n    return x.to(where)",
    ),
    "a name alone, in a file of settings": ('device = "cuda"', 'device = "neuron"'),
    "a probe": (
        'd = "cuda" if torch.cuda.is_available() else "cpu"\nx = torch.ones(2).to(d)',
        'd = "neuron" if hasattr(torch, "neuron") and torch.neuron.is_available() else "cpu"\nx = torch.ones(2).to(d)',
    ),
    "a negated probe": (
        'd = "cpu" if not torch.cuda.is_available() else "cuda"\nx = torch.ones(2).to(d)',
        'd = "cpu" if not (hasattr(torch, "neuron") and torch.neuron.is_available()) else "neuron"\nx = torch.ones(2).to(d)',
    ),
    "a probe in a variable": (
        'ok = torch.cuda.is_available()\nd = torch.device("cuda:0" if ok else "cpu")',
        'ok = hasattr(torch, "neuron") and torch.neuron.is_available()\nd = torch.device("neuron" if ok else "cpu")',
    ),
    "two values on a probe": (
        'd, n = ("cuda", 8) if torch.cuda.is_available() else ("cpu", 1)\nx = torch.ones(n).to(d)',
        'd, n = ("neuron", 8) if hasattr(torch, "neuron") and torch.neuron.is_available() else ("cpu", 1)\nx = torch.ones(n).to(d)',
    ),
    "a probe that asks for the module": (
        'ok = hasattr(torch, "cuda") and torch.cuda.is_available()',
        'ok = hasattr(torch, "neuron") and torch.neuron.is_available()',
    ),
}

TESTS = {
    "equal": ('def f(x):\n    return x.device.type == "cuda"', 'def f(x):\n    return x.device.type == "neuron"'),
    "not equal, the other way round": (
        'def f(x):\n    return "cuda" != x.device.type',
        'def f(x):\n    return "neuron" != x.device.type',
    ),
    "minus": ("def f(x):\n    return -x.is_cuda", 'def f(x):\n    return -(x.device.type == "neuron")'),
    "in": ('def f(x):\n    return "cuda" in str(x.device)', 'def f(x):\n    return "neuron" in str(x.device)'),
    "not in": (
        'def f(x):\n    return "cuda" not in str(x.device)',
        'def f(x):\n    return "neuron" not in str(x.device)',
    ),
    "a tuple": (
        'def f(x):\n    return x.device.type in ("cpu", "cuda")',
        'def f(x):\n    return x.device.type in ("cpu", "neuron")',
    ),
    "a set in a constant": (
        'KNOWN = {"cpu", "cuda"}\n\n\ndef f(x):\n    return x.device.type in KNOWN',
        'KNOWN = {"cpu", "neuron"}\n\n\ndef f(x):\n    return x.device.type in KNOWN',
    ),
    "startswith": (
        'def f(x):\n    return str(x.device).startswith("cuda")',
        'def f(x):\n    return str(x.device).startswith("neuron")',
    ),
    "an index in a test stays": (
        'def f(x):\n    return str(x.device) == "cuda:0"',
        'def f(x):\n    return str(x.device) == "neuron:0"',
    ),
    "a device object in a test keeps its index": (
        'def f(x):\n    return x.device == torch.device("cuda:0")',
        'def f(x):\n    return x.device == torch.device("neuron:0")',
    ),
    "a value and its test": (
        'def f(x, where="cuda"):\n    if where == "cuda":\n        return x.to(where)',
        'def f(x, where="neuron"):\n    if where == "neuron":\n        return x.to(where)',
    ),
    "a value whose index is compared": (
        'def f(x, where="cuda:0"):\n    if where == "cuda:0":\n        return x.to(where)',
        'def f(x, where="neuron:0"):\n    if where == "neuron:0":\n        return x.to(where)',
    ),
    "a value whose index is read": (
        'def f(x, where="cuda:0"):\n    n = int(where.split(":")[1])\n    return x.to(where), n',
        'def f(x, where="neuron:0"):\n    n = int(where.split(":")[1])\n    return x.to(where), n',
    ),
    "a value whose index is cut out": (
        'def f(x, where="cuda:0"):\n    n = int(where[5:])\n    return x.to(where), n',
        'def f(x, where="neuron:0"):\n    n = int(where[7:])\n    return x.to(where), n',
    ),
    "a value whose .index is read": (
        'd = torch.device("cuda:0")\nn = d.index',
        'd = torch.device("neuron:0")\nn = d.index',
    ),
    "only the type is tested": (
        'd = torch.device("cuda:0")\nok = d.type == "cuda"',
        'd = torch.device("neuron")\nok = d.type == "neuron"',
    ),
    "the part before the colon": (
        'def f(x, where="cuda:0"):\n    if where.split(":")[0] == "cuda":\n        return x.to(where)',
        'def f(x, where="neuron"):\n    if where.split(":")[0] == "neuron":\n        return x.to(where)',
    ),
    "a slice": (
        'def f(x, where="cuda:1"):\n    if where[:4] == "cuda":\n        return x.to(where)',
        'def f(x, where="neuron:1"):\n    if where[:6] == "neuron":\n        return x.to(where)',
    ),
    "a slice with the colon": (
        'def f(x, where="cuda:1"):\n    if where[:5] == "cuda:":\n        return x.to(where)',
        'def f(x, where="neuron:1"):\n    if where[:7] == "neuron:":\n        return x.to(where)',
    ),
    "a slice in a variable": (
        'def f(x, where="cuda:1"):\n    kind = where[:4]\n    if kind == "cuda":\n        return x.to(where)',
        'def f(x, where="neuron:1"):\n    kind = where[:6]\n    if kind == "neuron":\n        return x.to(where)',
    ),
    "removeprefix": (
        'def f(x, where="cuda:1"):\n    n = where.removeprefix("cuda:")\n    return x.to(where), n',
        'def f(x, where="neuron:1"):\n    n = where.removeprefix("neuron:")\n    return x.to(where), n',
    ),
    "replace": (
        'def f(x, where="cuda:1"):\n    n = where.replace("cuda:", "")\n    return x.to(where), n',
        'def f(x, where="neuron:1"):\n    n = where.replace("neuron:", "")\n    return x.to(where), n',
    ),
    "the length of the name": (
        'def f(x, where="cuda:1"):\n    n = where[len("cuda:"):]\n    return x.to(where), n',
        'def f(x, where="neuron:1"):\n    n = where[len("neuron:"):]\n    return x.to(where), n',
    ),
    "match": (
        'def f(x):\n    match x.device.type:\n        case "cuda":\n            return 1',
        'def f(x):\n    match x.device.type:\n        case "neuron":\n            return 1',
    ),
    "match with alternatives": (
        'def f(x):\n    match x.device.type:\n        case "cuda" | "cpu":\n            return 1',
        'def f(x):\n    match x.device.type:\n        case "neuron" | "cpu":\n            return 1',
    ),
    "a dict indexed by a device": (
        'PEAK = {"cuda": 312, "cpu": 1}\n\n\ndef f(x):\n    return PEAK[x.device.type]',
        'PEAK = {"neuron": 312, "cpu": 1}\n\n\ndef f(x):\n    return PEAK[x.device.type]',
    ),
    "a dict indexed by a device, and by name": (
        'PEAK = {"cuda": 312, "cpu": 1}\n\n\ndef f(x):\n    return PEAK.get(x.device.type, 0) / PEAK["cuda"]',
        'PEAK = {"neuron": 312, "cpu": 1}\n\n\ndef f(x):\n    return PEAK.get(x.device.type, 0) / PEAK["neuron"]',
    ),
    "a dict indexed where it stands": (
        'def f(x):\n    return {"cuda": 1, "cpu": 2}[x.device.type]',
        'def f(x):\n    return {"neuron": 1, "cpu": 2}[x.device.type]',
    ),
    "a test decides about a name": (
        'def f(x, where="cuda"):\n    kind = "cuda" if "cuda" in where else "cpu"\n    with torch.autocast(kind, dtype=torch.bfloat16):\n        return x.to(where)',
        'def f(x, where="neuron"):\n    kind = "neuron" if "neuron" in where else "cpu"\n    with torch.autocast(kind, dtype=torch.bfloat16):\n        return x.to(where)',
    ),
    "is_cuda": ("def f(x):\n    return x.is_cuda", 'def f(x):\n    return x.device.type == "neuron"'),
    "not is_cuda": (
        "def f(x):\n    if not x.is_cuda:\n        return 1",
        'def f(x):\n    if x.device.type != "neuron":\n        return 1',
    ),
    "is_cuda compared": (
        "def f(x, y):\n    return x.is_cuda == y.is_cuda",
        'def f(x, y):\n    return (x.device.type == "neuron") == (y.device.type == "neuron")',
    ),
    "is_cuda of a call": (
        "def f(m):\n    return next(m.parameters()).is_cuda and True",
        'def f(m):\n    return next(m.parameters()).device.type == "neuron" and True',
    ),
    "is_cuda in a comprehension": (
        "def f(xs):\n    return all(x.is_cuda for x in xs)",
        'def f(xs):\n    return all(x.device.type == "neuron" for x in xs)',
    ),
    "is_cuda in an f-string": (
        'def f(x):\n    return f"{x.is_cuda}"',
        "def f(x):\n    return f\"{x.device.type == 'neuron'}\"",
    ),
    "get_device() needs no change": ("def f(x):\n    return x.get_device()", "def f(x):\n    return x.get_device()"),
}


@pytest.mark.parametrize(("before", "after"), SPELLINGS.values(), ids=SPELLINGS)
def test_spelling(before: str, after: str) -> None:
    assert _migrated(before) == _source(after)


@pytest.mark.parametrize(("before", "after"), PLACES.values(), ids=PLACES)
def test_place(before: str, after: str) -> None:
    assert _migrated(before) == _source(after)


@pytest.mark.parametrize(("before", "after"), TESTS.values(), ids=TESTS)
def test_test(before: str, after: str) -> None:
    assert _migrated(before) == _source(after)


def _source(code: str) -> str:
    return HEAD + textwrap.dedent(code) + "\n"


def _migrated(code: str) -> str:
    text = migrate(_source(code)).text
    if "cuda" not in code:
        assert text == _source(code)
    return re.sub(r"^import torch\nimport torch as t\n", "import torch\nimport torch as t\n", text)


@pytest.mark.parametrize(
    ("receiver", "safety"),
    [
        pytest.param("fabric", "review", id="Fabric decides which device it is"),
        pytest.param("self.trainer", "review", id="so does a trainer"),
        pytest.param("x", "safe", id="a tensor"),
    ],
)
def test_device_of_a_loop_of_a_library(receiver: str, safety: str) -> None:
    found = migrate(f'import torch\ndef f(self, fabric, x):\n    return {receiver}.device.type == "cuda"\n')
    assert found.one("TN104")["safety"] == safety
