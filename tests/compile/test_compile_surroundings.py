"""TN307 to TN314: what stands around torch.compile."""

from __future__ import annotations

from typing import Any

import pytest

from harness import migrate
from transforms.engine.model import Rule
from transforms.registry import rules

CONFIG = "import torch._dynamo.config as c\n"
CODES = [r for r in rules() if r.code.startswith("TN30") or r.code.startswith("TN31")]


@pytest.mark.parametrize("rule", CODES, ids=lambda r: r.code)
def test_examples_of_the_rule_pages(rule: Rule) -> None:
    for before, after in rule.examples:
        level = "offer" if rule.best.value == "offer" else "review"
        assert migrate(before, level).text == after


def findings(code: str, rule: str) -> list[dict[str, Any]]:
    return [f for f in migrate(code).findings if f["rule"] == rule and f["status"] in ("open", "applied")]


@pytest.mark.parametrize(
    "code, rule, levels",
    [
        pytest.param("import torch\ntorch._inductor.config.a = 1\n", "TN307", ["safe"], id="inductor"),
        pytest.param("import torch as t\nt._inductor.config.a = 1\n", "TN307", ["safe"], id="alias"),
        pytest.param("import torch\ntorch._inductor.config.a = f()\n", "TN307", ["manual"], id="value has effects"),
        pytest.param("import torch\ntorch._inductor.config.a += 1\n", "TN307", ["manual"], id="augmented"),
        pytest.param("import torch\nprint(torch._inductor.config.a)\n", "TN307", ["manual"], id="read"),
        pytest.param("import torch\ntorch._dynamo.config.cache_size_limit = 9\n", "TN308", [], id="limit stays"),
        pytest.param(
            "import torch\ntorch._dynamo.config.suppress_errors = True\n", "TN308", ["manual"], id="suppressed"
        ),
        pytest.param("import torch\ntorch._dynamo.config.suppress_errors = False\n", "TN308", [], id="not suppressed"),
        pytest.param("import torch\ntorch._dynamo.config.automatic_dynamic_shapes = False\n", "TN308", [], id="static"),
        pytest.param("import torch\ntorch._dynamo.mark_static(x, 0)\n", "TN308", [], id="mark_static"),
        pytest.param(
            "import torch\nmarks = [torch._dynamo.mark_dynamic(x, 0)]\n", "TN308", ["manual"], id="mark in a list"
        ),
        pytest.param("import torch\ntorch._dynamo.reset()\n", "TN308", [], id="reset"),
        pytest.param(
            CONFIG + "with c.patch({'dynamic_shapes': True}): ...\n", "TN308", ["review"], id="dict of settings"
        ),
        pytest.param(CONFIG + "with c.patch('suppress_errors', True): ...\n", "TN308", ["manual"], id="name and value"),
        pytest.param(CONFIG + "with c.patch('cache_size_limit', 9): ...\n", "TN308", [], id="name of a limit"),
        pytest.param(CONFIG + "setattr(c, 'suppress_errors', True)\n", "TN308", ["manual"], id="set by name"),
        pytest.param(CONFIG + "c.suppress_errors = d.device == 'cpu'\n", "TN308", [], id="on for the CPU alone"),
        pytest.param(CONFIG + "c.suppress_errors = d.device != 'cpu'\n", "TN308", ["manual"], id="not on for the CPU"),
        pytest.param(CONFIG + "setattr(d, 'suppress_errors', True)\n", "TN308", [], id="set by name elsewhere"),
        pytest.param(
            CONFIG + "old = c.dynamic_shapes\nc.dynamic_shapes = False\nc.dynamic_shapes = old\n",
            "TN308",
            [],
            id="put back",
        ),
        pytest.param(
            CONFIG + "if device.type == 'cpu':\n    c.dynamic_shapes = True\n", "TN308", [], id="branch of the CPU"
        ),
        pytest.param(
            "import torch\nif device.type == 'cpu':\n    torch._inductor.config.a = 1\n",
            "TN307",
            [],
            id="CPU's Inductor",
        ),
        pytest.param(
            "import torch\nif device.type == 'cpu':\n    m = torch.jit.script(m)\n", "TN310", [], id="script on the CPU"
        ),
        pytest.param("import torch\ntorch.optim.Adam(p, fused=d.device == 'mps')\n", "TN311", [], id="on elsewhere"),
        pytest.param("import torch\ntorch.optim.Adam(p, fused='cpu' == d.device)\n", "TN311", [], id="turned around"),
        pytest.param(
            "import torch\ntorch.optim.Adam(p, fused=d.device in ('cpu', 'cuda'))\n",
            "TN311",
            ["manual"],
            id="or neuron",
        ),
        pytest.param(
            "import torch\ntorch.optim.Adam(p, fused=d.device != 'cpu')\n", "TN311", ["manual"], id="not on the CPU"
        ),
        pytest.param(
            "import transformers as t\nt.TrainingArguments('o', torch_compile_backend=None)\n",
            "TN312",
            [],
            id="None turns nothing on",
        ),
        pytest.param(
            "import accelerate as a\na.Accelerator(dynamo_backend=a.utils.DynamoBackend.NO)\n",
            "TN312",
            [],
            id="member NO",
        ),
        pytest.param(
            "import accelerate as a\na.Accelerator(dynamo_backend=a.utils.DynamoBackend.INDUCTOR)\n",
            "TN312",
            ["review"],
            id="member INDUCTOR",
        ),
        pytest.param("class c: cudagraph_mark_step_begin = 1\n", "TN309", [], id="own name"),
        pytest.param(
            "import torch\nf = torch.compiler.cudagraph_mark_step_begin\n", "TN309", ["manual"], id="as a value"
        ),
        pytest.param("import torch\n@torch.jit.ignore\ndef f(): ...\n", "TN310", [], id="a mark"),
        pytest.param("import torch\nif torch.jit.is_scripting(): ...\n", "TN310", [], id="a question"),
        pytest.param("import torch\nm = torch.jit.script(m)\n", "TN310", ["manual"], id="script"),
        pytest.param("from numba import jit\n@jit\ndef f(): ...\n", "TN310", [], id="another jit"),
        pytest.param("import torch\ntorch.optim.SGD(p, lr=1, fused=False)\n", "TN311", [], id="fused is off"),
        pytest.param("import torch\ntorch.optim.SGD(p, lr=1, fused=None)\n", "TN311", [], id="fused is unset"),
        pytest.param("import apex\napex.optimizers.FusedAdam(p, fused=True)\n", "TN311", [], id="another optimizer"),
        pytest.param("import torch\ntorch.optim.Adam(p, capturable=c)\n", "TN311", [], id="capturable unknown"),
        pytest.param("import torch\ntorch.optim.Adam(p, fused=c)\n", "TN311", ["manual"], id="fused unknown"),
        pytest.param("import torch\ntorch.optim.Adam(p, **dict(fused=True))\n", "TN311", ["manual"], id="in a dict"),
        pytest.param("import torch\ntorch.optim.Adam(p, **{'fused': False})\n", "TN311", [], id="off in a dict"),
        pytest.param("T(torch_compile_backend='inductor')\n", "TN312", [], id="unknown class"),
        pytest.param(
            "import transformers\ntransformers.TrainingArguments('o', torch_compile_mode=None)\n",
            "TN312",
            [],
            id="no mode",
        ),
        pytest.param(
            "from torch.nn.parallel import DistributedDataParallel as D\nD(m)\n", "TN314", [], id="no compile"
        ),
    ],
)
def test_levels(code: str, rule: str, levels: list[str]) -> None:
    assert [f["safety"] for f in findings(code, rule)] == levels


@pytest.mark.parametrize(
    "rule, code",
    [
        pytest.param("TN311", "import torch\no = torch.optim.Adam(p, fused=True)\n", id="fused"),
        pytest.param(
            "TN314",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
            'm = torch.compile(m, backend="neuron", dynamic=False)\nm = DDP(m)\n',
            id="wrapper",
        ),
        pytest.param("TN310", "import torch\nm = torch.jit.script(m)\n", id="script"),
        pytest.param("TN308", "import torch\ntorch._dynamo.config.suppress_errors = True\n", id="suppressed errors"),
    ],
)
def test_does_not_stand_in_the_way(rule: str, code: str) -> None:
    """The program runs, so it counts as runnable although something is to be said."""
    outcome = migrate(code)
    assert rule in outcome.rules()
    assert outcome.result.runnable


def test_statement_of_a_row() -> None:
    code = "import torch\na = 1; torch._inductor.config.b = True; c = 2\n"
    assert migrate(code).text == "import torch\na = 1; c = 2\n"


def test_all_statements_of_a_block_from_two_rules() -> None:
    code = (
        "import torch\n\n\ndef f():\n"
        "    torch._inductor.config.b = True\n    torch.compiler.cudagraph_mark_step_begin()\n"
    )
    assert migrate(code).text == "import torch\n\n\ndef f():\n    pass\n"


def test_two_statements_of_one_row_from_two_rules() -> None:
    code = "import torch\n\nif a: torch._inductor.config.b = True; torch.compiler.cudagraph_mark_step_begin()\n"
    assert migrate(code).text == "import torch\n\nif a: pass\n"


@pytest.mark.parametrize(
    "body, after",
    [
        pytest.param("    return x\n", "    return x\n", id="line goes"),
        pytest.param("", "    pass\n", id="block would be empty"),
    ],
)
def test_import_inside_a_function_goes_with_its_use(body: str, after: str) -> None:
    mark = "    from torch.compiler import cudagraph_mark_step_begin\n    cudagraph_mark_step_begin()\n"
    assert migrate(f"import torch\n\n\ndef f(x):\n{mark}{body}").text == f"import torch\n\n\ndef f(x):\n{after}"


def test_comment_behind_an_import_stays_in_its_column() -> None:
    code = "def f(x):\n    from torch._inductor import config  # why\n    config.a = 1\n    return x\n"
    assert migrate(code).text == "def f(x):\n    # why\n    return x\n"


@pytest.mark.parametrize(
    "made, blocks",
    [
        pytest.param("self.blocks = nn.ModuleList([nn.Linear(1, 1)])", "in model.blocks:", id="a-list"),
        pytest.param("self.t = nn.ModuleDict(dict(w=b[0], h=nn.ModuleList(b)))", "in model.t.h:", id="in-a-dict"),
        pytest.param("self.t = nn.ModuleDict({'h': nn.ModuleList(b)})", "in model.t.h:", id="in-a-display"),
        pytest.param("self.x = nn.Linear(1, 1)", "compile its blocks", id="no-list"),
        pytest.param("self.a = nn.ModuleList(b); self.c = nn.ModuleList(b)", "compile its blocks", id="two-lists"),
    ],
)
def test_the_container_of_the_blocks_is_named_where_it_can_be_seen(made: str, blocks: str) -> None:
    text = (
        "import torch\nfrom torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\n\n"
        f"class M(nn.Module):\n    def __init__(self, b):\n        super().__init__()\n        {made}\n\n\n"
        "def f(b, d):\n    model = M(b)\n    model = model.to(d)\n    model = torch.compile(model)\n"
        "    return DDP(model)\n"
    )
    assert blocks in migrate(text).one("TN314")["message"]
