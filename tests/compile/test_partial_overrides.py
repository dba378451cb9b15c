"""TN301 to TN306: what a call gives over the arguments of a partial, and torch.compile under a name for other files."""

from __future__ import annotations

import pytest

from harness import migrate, run_tree
from migrate.report.json import document

PARTIAL = 'functools.partial(torch.compile, backend="neuron", dynamic=False)'
HEAD = f"import functools\nimport torch\n\nbase = {PARTIAL}\n\n\n"


def said(code: str, head: str = HEAD) -> list[tuple[str, str | None]]:
    """Rules and severities of the manual findings for one more line, which stays as it is."""
    outcome = migrate(f"{head}{code}\n")
    assert outcome.text.endswith(f"{code}\n")
    return [(f["rule"], f["severity"]) for f in outcome.findings if f["safety"] == "manual"]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        pytest.param("m = base(m, dynamic=True)", [("TN304", "error")], id="dynamic shapes"),
        pytest.param("m = base(m, dynamic=None)", [("TN304", "error")], id="shapes as torch pleases"),
        pytest.param("m = base(m, backend='inductor')", [("TN301", "error")], id="another backend"),
        pytest.param("m = base(m, backend=name)", [("TN301", "error")], id="a backend that nothing is known of"),
        pytest.param("m = base(m, mode='max-autotune')", [("TN302", "warning")], id="a mode"),
        pytest.param("m = base(m, options=o)", [("TN303", "warning")], id="options"),
        pytest.param("m = base(m, **kwargs)", [("TN301", "warning")], id="what is unpacked"),
        pytest.param("ms = [base(x, dynamic=True) for x in m]", [("TN304", "error")], id="in a comprehension"),
        pytest.param("@base(dynamic=True)\ndef f():\n    pass", [("TN304", "error")], id="as a decorator"),
        pytest.param(f"m = {PARTIAL}(m, dynamic=True)", [("TN304", "error")], id="called at once"),
        pytest.param("m = base(m)", [], id="nothing more"),
        pytest.param("m = base(m, fullgraph=True, name='m')", [], id="what the backend takes"),
        pytest.param("m = base(m, dynamic=False, backend='neuron')", [], id="the same once more"),
        pytest.param("m = base(m, backend='eager')", [], id="a backend for debugging"),
        pytest.param("m = base(m, mode=None, options=None)", [], id="no mode"),
        pytest.param("def g(base, m):\n    return base(m, dynamic=True)", [], id="a parameter of the same name"),
        pytest.param("m = other.base(m, dynamic=True)", [], id="an attribute of the same name"),
    ],
)
def test_what_a_call_gives_over_the_partial(code: str, found: list[tuple[str, str | None]]) -> None:
    assert said(code) == found


def test_a_variable_that_may_be_something_else() -> None:
    head = HEAD + "if torch:\n    base = print\n\n\n"
    assert said("m = base(m, dynamic=True)", head) == []


def test_another_partial() -> None:
    assert said("m = base(m, dynamic=True)", HEAD.replace("torch.compile", "torch.export")) == []


def test_a_partial_and_its_calls_are_seen_together() -> None:
    before = (
        "import torch\nfrom functools import partial\n\n"
        'base = partial(torch.compile, mode="max-autotune")\nm = base(m, dynamic=True)\n'
    )
    outcome = migrate(before)
    assert 'base = partial(torch.compile, backend="neuron", dynamic=False)\nm = base(m, dynamic=True)\n' in outcome.text
    assert [(f["rule"], f["line"]) for f in outcome.findings if f["safety"] == "manual"] == [("TN304", 5)]


OTHER = {"pkg/use.py": b"from pkg.tools import fast\n\nm = fast(m)\n", "pkg/__init__.py": b""}


def for_others(tools: str) -> list[tuple[str, int, str]]:
    result, _ = run_tree({**OTHER, "pkg/tools.py": tools.encode()})
    found = [f for file in document(result)["files"] if file["path"] == "pkg/tools.py" for f in file["findings"]]
    return [(f["rule"], f["line"], f["message"]) for f in found if f["safety"] == "manual"]


def test_the_function_under_a_name_that_others_import() -> None:
    (found,) = for_others("import os\nfrom torch import compile as fast\n")
    assert found[:2] == ("TN301", 2) and "pkg/use.py imports torch.compile from here" in found[2]


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param("from torch import compile\n", id="another name"),
        pytest.param("def f():\n    from torch import compile as fast\n    return fast\n", id="a local name"),
        pytest.param("from re import compile as fast\n", id="another function"),
    ],
)
def test_what_others_do_not_import(tools: str) -> None:
    assert not [m for _, _, m in for_others(tools) if "from here" in m]
