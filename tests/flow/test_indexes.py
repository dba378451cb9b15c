"""What an argument that names a device is."""

from __future__ import annotations

import libcst as cst
import pytest

from transforms.engine.context import Context
from transforms.engine.parse import parse
from transforms.engine.source import Source
from transforms.flow.indexes import DEVICE, NONE, NUMBER, TEXT, UNKNOWN, kinds


def kinds_of(code: str) -> frozenset[str]:
    """Kinds of the argument of the call `probe(...)` in some code."""
    source = Source.read(("import torch\nimport torch.distributed as dist\n" + code + "\n").encode())
    cx = Context(source, parse(source))
    call = next(c for c in cx.index.nodes(cst.Call) if isinstance(c.func, cst.Name) and c.func.value == "probe")
    return kinds(cx, call.args[0].value)


@pytest.mark.parametrize(
    "code, expected",
    [
        pytest.param("probe(0)", {NUMBER}, id="literal-index"),
        pytest.param("probe('cuda')", {TEXT}, id="literal-text"),
        pytest.param("probe(None)", {NONE}, id="none"),
        pytest.param("def f(r):\n    probe(f'cuda:{r}')", {TEXT}, id="formatted-text"),
        pytest.param("def f(r):\n    probe('cuda:%d' % r)", {TEXT}, id="percent-of-a-text"),
        pytest.param("def f(r):\n    probe(r % 8)", {NUMBER}, id="percent-of-a-number"),
        pytest.param("def f(r):\n    probe('cuda:' + str(r))", {TEXT}, id="sum-with-a-text"),
        pytest.param("def f(r):\n    probe('cuda:{}'.format(r))", {TEXT}, id="format-method"),
        pytest.param("probe(dist.get_rank())", {NUMBER}, id="rank"),
        pytest.param("probe(torch.device('cuda', 1))", {DEVICE}, id="device-object"),
        pytest.param("def f(x):\n    probe(x.device)", {DEVICE}, id="device-of-a-tensor"),
        pytest.param("def f(x):\n    probe(x.device.index)", {NUMBER}, id="index-of-a-device"),
        pytest.param("def f(cfg):\n    probe(cfg.device)", {UNKNOWN}, id="a-configuration-may-hold-a-text"),
        pytest.param("def f(a: int):\n    probe(a)", {NUMBER}, id="annotated-int"),
        pytest.param("def f(a: 'str | None'):\n    probe(a)", {TEXT, NONE}, id="annotated-optional-text"),
        pytest.param("def f(a=0):\n    probe(a)", {NUMBER}, id="default-number"),
        pytest.param("def f(a=None):\n    probe(a)", {NONE, UNKNOWN}, id="default-none-says-nothing"),
        pytest.param("def f(a):\n    probe(a)", {UNKNOWN}, id="bare-parameter"),
        pytest.param("def f():\n    for i in range(3):\n        probe(i)", {NUMBER}, id="loop-over-range"),
        pytest.param("def f(xs):\n    for i in xs:\n        probe(i)", {UNKNOWN}, id="loop-over-anything"),
        pytest.param("def f(r):\n    d = f'cuda:{r}'\n    probe(d)", {TEXT}, id="through-a-variable"),
        pytest.param("def f(c):\n    d = 0 if c else 'cuda'\n    probe(d)", {NUMBER, TEXT}, id="both-arms"),
        pytest.param("def f():\n    d = d\n    probe(d)", {UNKNOWN}, id="assigned-from-itself"),
        pytest.param(
            "class A:\n    def __init__(self):\n        self.device = torch.device('cuda')\n    def f(self):\n"
            "        probe(self.device)",
            {DEVICE},
            id="attribute-of-self",
        ),
        pytest.param(
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--gpu', type=int, default=0)\n"
            "args = p.parse_args()\nprobe(args.gpu)",
            {NUMBER},
            id="option-of-type-int",
        ),
        pytest.param(
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--device', default='cuda')\n"
            "args = p.parse_args()\nprobe(args.device)",
            {TEXT},
            id="option-with-a-text",
        ),
        pytest.param(
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--gpu', type=int)\n"
            "args = p.parse_args()\nprobe(args.gpu)",
            {NUMBER, NONE},
            id="option-without-default-may-be-none",
        ),
        pytest.param("def f(x):\n    probe(open(x))", {UNKNOWN}, id="any-other-call"),
    ],
)
def test_kinds(code: str, expected: set[str]) -> None:
    assert kinds_of(code) == expected
