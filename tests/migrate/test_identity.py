"""Ids of findings: what they survive."""

from __future__ import annotations

import pytest

from harness import migrate

BODY = 'import torch\n\n\ndef f(a, b):\n    return [a.cuda(), b.to("cuda"), torch.ones(1, device="cuda")]  # three\n'


def ids(text: str, *rules: str) -> dict[str, str]:
    found = [f for f in migrate(text, select=rules).findings if f["status"] == "open"]
    assert len({f["id"] for f in found}) == len(found)
    return {f["message"] + f["rule"] + str(n): f["id"] for n, f in enumerate(found)}


CHANGES = [
    pytest.param(lambda s: "# a word\n" + s, id="lines above"),
    pytest.param(lambda s: s.replace("  # three", ""), id="a comment"),
    pytest.param(lambda s: s.replace("[a.cuda(), ", "[\n        a.cuda(),\n        "), id="white space"),
    pytest.param(lambda s: s + "\n\ndef g(x):\n    return x.cuda()\n", id="another function"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_id_survives(change) -> None:  # type: ignore[no-untyped-def]
    assert set(ids(BODY).values()) <= set(ids(change(BODY)).values())


def test_id_survives_the_fix_of_a_neighbour_in_the_same_statement() -> None:
    before = ids(BODY)
    partly = BODY.replace("a.cuda()", 'a.to("neuron")')
    assert set(ids(partly).values()) < set(before.values())
    assert len(before) - len(ids(partly)) == 1


def test_equal_statements_of_one_function_have_different_ids() -> None:
    text = "import torch\n\n\ndef f(x):\n    x = x.cuda()\n    x = x.cuda()\n    return x\n"
    assert len(set(ids(text).values())) == 2


def test_fullgraph_is_offered_beside_the_backend_of_an_empty_call() -> None:
    outcome = migrate("import torch\n\n\n@torch.compile()\ndef f(x):\n    return x\n", "offer")
    assert '@torch.compile(backend="neuron", dynamic=False, fullgraph=True)' in outcome.text
