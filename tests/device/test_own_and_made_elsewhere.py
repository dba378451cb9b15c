"""Objects that need not be torch's: made by other packages, or with an `is_cuda` of their own."""

# Snippets stand on one line each, so that a case can be read as a pair.
# ruff: noqa: E501

from __future__ import annotations

import pytest

from harness import check_invariants, migrate, run_tree
from migrate.report.json import document

HEAD = "import dgl\nimport torch\nfrom lib import Net\n\n\n"
MADE = [
    pytest.param("return dgl.graph(x).to('cuda')", "review", id="a call of another package"),
    pytest.param("g = dgl.graph(x)\n    return g.to('cuda')", "review", id="in a variable"),
    pytest.param(
        "g = dgl.graph(x)\n    if y:\n        g = dgl.batch(x)\n    return g.to('cuda')", "review", id="by two calls"
    ),
    pytest.param("return dgl.graph(x).reverse().to(device='cuda')", "review", id="a chain"),
    pytest.param("return torch.ones(2).to('cuda')", "safe", id="torch"),
    pytest.param("return x.to('cuda')", "safe", id="a parameter"),
    pytest.param("g = dgl.sizes(x)\n    g = torch.ones(g)\n    return g.to('cuda')", "safe", id="torch's in the end"),
]


@pytest.mark.parametrize(("body", "safety"), MADE)
def test_moved(body: str, safety: str) -> None:
    finding = migrate(f"{HEAD}def f(x, y):\n    {body}\n").one("TN101")
    assert finding["safety"] == safety


def levels(files: dict[str, str]) -> tuple[dict[str, str], dict[tuple[str, int], tuple[str, str]]]:
    """New texts, and the level and message of TN104 by place."""
    before = {name: text.encode() for name, text in files.items()}
    result, after = run_tree(before)
    report = document(result)
    check_invariants(result, report, before, after, "review", {})
    found = {
        (file["path"], f["line"]): (f["safety"] or "kept", f["message"])
        for file in report["files"]
        for f in file["findings"]
        if f["rule"] == "TN104"
    }
    return {name: data.decode() for name, data in after.items()}, found


OWN = "class Batch:\n    @property\n    def is_cuda(self):\n        return self.on\n"


def test_a_repository_of_its_own_classes_is_no_other_package() -> None:
    files = {"lib.py": "class Net:\n    pass\n", "a.py": "from lib import Net\n\nNet().to('cuda')\n"}
    result, _ = run_tree({name: text.encode() for name, text in files.items()})
    found = [f for file in document(result)["files"] for f in file["findings"] if f["rule"] == "TN101"]
    assert [(f["safety"], "object comes from" in str(f["evidence"])) for f in found] == [("review", False)]


def test_is_cuda_of_another_file() -> None:
    use = "from lib import Batch, make\n\n\ndef f(x):\n    b = make(x)\n    if b.is_cuda:\n        return 1\n    return x.is_cuda\n"
    texts, found = levels({"lib.py": OWN, "a.py": use})
    assert texts["a.py"] == use.replace("return x.is_cuda", 'return x.device.type == "neuron"')
    assert found["a.py", 6][0] == "kept" and found["a.py", 8][0] == "review"


def test_is_cuda_that_another_file_stores() -> None:
    stored = "class Batch:\n    def __init__(self, x):\n        self.is_cuda = True\n"
    _, found = levels({"lib.py": stored, "a.py": "def f(x):\n    return x.is_cuda\n"})
    assert found["a.py", 2][0] == "review"


def test_an_inherited_is_cuda_stays() -> None:
    use = "from lib import Batch\n\n\nclass Big(Batch):\n    def f(self):\n        return self.is_cuda\n"
    texts, found = levels({"lib.py": OWN, "a.py": use})
    assert texts["a.py"] == use and found["a.py", 6][0] == "kept"


def test_the_tensors_beside_an_own_is_cuda() -> None:
    text = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    @property\n    def is_cuda(self):\n"
        "        return next(self.parameters()).is_cuda\n\n    def forward(self, x):\n        assert x.is_cuda\n"
        "        return x if self.is_cuda else x.cpu()\n"
    )
    outcome = migrate(text)
    assert outcome.text == text.replace(
        "next(self.parameters()).is_cuda", 'next(self.parameters()).device.type == "neuron"'
    )
    assert [(f["line"], f["safety"], f["severity"]) for f in outcome.findings if f["rule"] == "TN104"] == [
        (7, "review", None),
        (10, "manual", "error"),
        (11, None, None),
    ]


NONE = [
    pytest.param("def f(x, device=None):\n    if device:\n        torch.ones(2, device=device)\n    return x.cuda(device)",
                 'x.to("neuron" if device is None else device)', id="None is the current device"),
    pytest.param("def f(x, device):\n    torch.ones(2, device=device)\n    return x.cuda(device)", "x.to(device)", id="never None"),
    pytest.param("def f(x, y):\n    return x.cuda(y.device.index)", 'x.to("neuron")', id="an index"),
]


@pytest.mark.parametrize(("code", "new"), NONE)
def test_the_device_of_cuda(code: str, new: str) -> None:
    outcome = migrate(f"import torch\n\n\n{code}\n")
    assert new in outcome.text and outcome.one("TN102")["safety"] == "review"


def test_an_own_cuda_hands_on_what_may_be_none() -> None:
    text = "import torch\n\n\nclass Net(torch.nn.Module):\n    def cuda(self, device=None):\n        self.b = torch.ones(2, device=device)\n        return super().cuda(device)\n"
    assert 'super().to("neuron" if device is None else device)' in migrate(text).text


def test_an_index_of_several_devices_says_so() -> None:
    finding = migrate("import torch\n\n\ndef f(xs):\n    return [x.cuda(i) for i, x in enumerate(xs)]\n").one("TN102")
    assert finding["safety"] == "review" and "the index named several" in finding["message"]


def test_an_own_constant_is_no_unknown_name() -> None:
    use = "import consts\nfrom consts import CUDA, Kind\n\nprint(CUDA, consts.CUDA, Kind.CUDA)\n"
    own = "import enum\n\nCUDA = 3\n\n\nclass Kind(enum.Enum):\n    CUDA = 1\n"
    result, _ = run_tree({"consts.py": own.encode(), "use.py": use.encode()})
    assert {f["status"] for file in document(result)["files"] for f in file["findings"]} == {"kept"}


def test_a_name_of_an_extension_is_reported() -> None:
    files = {"pkg/__init__.py": b"", "pkg/ops.py": b"from pkg import _C\n\n_C.cuda_add(1)\n"}
    found = [f for file in document(run_tree(files)[0])["files"] for f in file["findings"]]
    assert [(f["rule"], f["safety"]) for f in found] == [("TN003", "manual")]


def test_an_extension_that_is_passed_on_is_reported() -> None:
    files = {"pkg/__init__.py": b"", "pkg/ops.py": b"from pkg import libnat_cuda\n\nprint(libnat_cuda)\n"}
    found = [f for file in document(run_tree(files)[0])["files"] for f in file["findings"] if f["line"] == 3]
    assert [(f["rule"], f["safety"]) for f in found] == [("TN003", "manual")]
