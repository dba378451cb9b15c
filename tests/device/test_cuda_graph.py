"""TN120: graph capture."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_streams import GRAPH_MISSING


@pytest.mark.parametrize("row", GRAPH_MISSING, ids=lambda r: r.name)
def test_every_name_is_an_error(row) -> None:
    source = f"import torch\n\n\ndef f(x):\n    return {row.name}(x)\n"
    outcome = migrate(source)
    assert outcome.text == source
    assert outcome.one("TN120")["severity"] == "error"


@pytest.mark.parametrize(
    "source, severity",
    [
        pytest.param("import torch\n\n\ndef f(g: torch.cuda.CUDAGraph): ...\n", "warning", id="annotation"),
        pytest.param(
            "import torch\n\n\ndef f(g):\n    return isinstance(g, torch.cuda.CUDAGraph)\n", "warning", id="isinstance"
        ),
        pytest.param("import torch\n\n\nclass G(torch.cuda.CUDAGraph): ...\n", "warning", id="base-class"),
        pytest.param(
            "import torch\n\n\ndef f():\n    return torch.cuda.graphs.graph_pool_handle()\n", "error", id="submodule"
        ),
    ],
)
def test_severity(source: str, severity: str) -> None:
    assert migrate(source).one("TN120")["severity"] == severity


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def graph(x):\n    return x\n\n\ngraph(1)\n", id="own-function"),
        pytest.param("import torch\n\n\ndef f(g):\n    g.replay()\n", id="methods-of-anything"),
        pytest.param("from torch_geometric import graph\n\ngraph()\n", id="another-package"),
        pytest.param("class CUDAGraph: ...\n\n\nCUDAGraph()\n", id="own-class"),
    ],
)
def test_silent(source: str) -> None:
    outcome = migrate(source)
    assert outcome.text == source
    assert outcome.lines("TN120") == []
