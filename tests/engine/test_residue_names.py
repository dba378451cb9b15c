"""Names that hold something of CUDA are no sites where they get their value."""

from __future__ import annotations

import pytest

from harness import migrate


@pytest.mark.parametrize(
    "source, line",
    [
        pytest.param("import torch.cuda.nvtx as nvtx\n\nnvtx.mark('a')\n", 1, id="name-of-an-import"),
        pytest.param("try:\n    from torch.cuda import nvtx\nexcept ImportError:\n    nvtx = None\n", 4, id="stand-in"),
        pytest.param("import torch\n\n\nclass A:\n    cuda = torch.cuda\n", 5, id="attribute-of-a-class"),
        pytest.param("import torch\n\ncuda: object = torch.cuda\n", 3, id="annotated"),
        pytest.param("import torch\n\nif (cuda := torch.cuda):\n    pass\n", 3, id="walrus"),
    ],
)
def test_a_name_is_kept_where_it_is_bound(source: str, line: int) -> None:
    found = [f for f in migrate(source).findings if f["rule"] == "TN003" and f["line"] == line]
    assert [(f["status"], f["reason"]) for f in found] == [("kept", "local name")]


def test_its_uses_are_still_sites() -> None:
    outcome = migrate("from torch.cuda import unheard_of as cuda_thing\n\ncuda_thing()\n")
    assert [(f["line"], f["severity"]) for f in outcome.findings if f["status"] == "open"] == [
        (1, "error"),
        (3, "error"),
    ]
