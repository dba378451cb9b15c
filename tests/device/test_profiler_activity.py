"""TN118: profilers."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\nfrom torch.profiler import ProfilerActivity\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, p):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "before, after, level",
    [
        pytest.param("return ProfilerActivity.CUDA", "return ProfilerActivity.PrivateUse1", "safe", id="activity"),
        pytest.param(
            "return torch.profiler.ProfilerActivity.CUDA",
            "return torch.profiler.ProfilerActivity.PrivateUse1",
            "safe",
            id="whole-name",
        ),
        pytest.param("p.table(sort_by='cuda_time')", "p.table(sort_by='device_time')", "safe", id="column"),
        pytest.param(
            "p.export_stacks(x, 'self_cuda_time_total')",
            "p.export_stacks(x, 'self_privateuse1_time_total')",
            "safe",
            id="metric",
        ),
        pytest.param("return p.self_cuda_time_total", "return p.self_device_time_total", "review", id="figure"),
        pytest.param(
            "with torch.autograd.profiler.profile(use_cuda=True): x()",
            'with torch.autograd.profiler.profile(use_device="neuron"): x()',
            "review",
            id="older-profiler",
        ),
        pytest.param(
            "with torch.autograd.profiler.profile(use_cuda=False): x()",
            "with torch.autograd.profiler.profile(): x()",
            "safe",
            id="default",
        ),
        pytest.param("torch.cuda.profiler.start(); x()", "x()", "review", id="window"),
        pytest.param("torch.cuda.cudart().cudaProfilerStop(); x()", "x()", "review", id="window-of-the-runtime"),
    ],
)
def test_rewritten(before: str, after: str, level: str) -> None:
    outcome = migrate(inside(before))
    assert outcome.text == inside(after)
    assert outcome.one("TN118")["safety"] == level


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("return ProfilerActivity.CPU", id="another-activity"),
        pytest.param("return ProfilerActivity.PrivateUse1", id="already-migrated"),
        pytest.param("return x.ProfilerActivity.CUDA", id="own-object"),
        pytest.param("return 'cuda_time_total'", id="text-for-anything"),
        pytest.param("with torch.profiler.profile(use_cuda=True): x()", id="needs-activities"),
        pytest.param("with torch.autograd.profiler.profile(use_cuda=p): x()", id="not-known"),
        pytest.param("return torch.cuda.cudart().cudaMemGetInfo(0)", id="another-runtime-call"),
        pytest.param("y = torch.cuda.profiler.start()", id="value-used"),
        pytest.param("x(use_cuda=True)", id="own-function"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)


def test_columns_of_other_tables_stay() -> None:
    source = "def f(df):\n    return df.sort(sort_by='cuda_time_total'), df.cuda_time_total\n"
    assert migrate(source).text == source
