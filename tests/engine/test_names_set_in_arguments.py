"""Arguments that are taken out although their value sets a name: nothing else may read it."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel\n\n\n"

LOST = {
    "mode": 'torch.compile(m, mode=(name := "max-autotune"))',
    "options": 'torch.compile(m, options={"triton.cudagraphs": (name := True)})',
    "dynamic": "torch.compile(m, dynamic=(name := True))",
    "a dict that is unpacked": 'torch.compile(m, **{"mode": (name := "max-autotune")})',
    "device_ids of the wrapper": "DistributedDataParallel(m, device_ids=[(name := r)])",
    "device_ids of a barrier": "dist.barrier(device_ids=[(name := r)])",
}


@pytest.mark.parametrize("case", LOST)
def test_a_name_that_is_read_elsewhere_is_kept_and_said(case: str) -> None:
    before = f"{HEAD}def f(m, r):\n    x = {LOST[case]}\n    return x, name\n"
    outcome = migrate(before)
    assert outcome.text == before
    found = [f for f in outcome.findings if f["safety"] == "manual"]
    assert found and all("sets a name that is read elsewhere" in f["message"] for f in found)


@pytest.mark.parametrize("case", LOST)
def test_a_name_that_nothing_else_reads_goes(case: str) -> None:
    after = migrate(f"{HEAD}def f(m, r):\n    return {LOST[case]}\n\n\ndef g(name):\n    return name\n").text
    assert "name :=" not in after


def test_a_name_of_a_comprehension_belongs_to_the_function() -> None:
    before = f"{HEAD}def f(m, r):\n    dist.barrier(device_ids=[(name := i) for i in r])\n    return name\n"
    assert migrate(before).text == before
