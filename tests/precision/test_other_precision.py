"""TN205, TN206, TN207, TN209, TN210: what is reported, and the silence around it."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.engine.model import Safety
from transforms.registry import by_code

HEAD = (
    "import time\nimport torch\nimport torch.distributed as dist\nfrom torch.distributed.fsdp import fully_shard\n\n\n"
)
FUNCTION = HEAD + "def f(x, device, net):\n    "


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        pytest.param("TN205", "torch.tensor(hash(x), device=device)", id="a hash"),
        pytest.param("TN205", "torch.tensor([time.time_ns()]).to(device)", id="nanoseconds"),
        pytest.param("TN205", "torch.full((2,), 2**40, device=device)", id="a power of two"),
        pytest.param("TN205", "torch.full((2,), 9_000_000_000_0000000, device=device) << 1", id="a long number"),
        pytest.param("TN205", "torch.full((2,), torch.iinfo(torch.int64).max, device=device)", id="the limit"),
        pytest.param("TN206", "x.to(torch.float8_e4m3fn)", id="fp8"),
        pytest.param("TN206", "torch._scaled_mm(x, x, x, x)", id="the product of fp8"),
        pytest.param("TN207", "net.half()", id="half"),
        pytest.param("TN207", "x.to(device, torch.float16)", id="a cast to float16"),
        pytest.param("TN207", "torch.set_default_dtype(torch.half)", id="float16 by default"),
        pytest.param("TN209", "dist.all_gather([x], torch.view_as_complex(x))", id="complex parts are gathered"),
        pytest.param("TN210", "fully_shard(net.bfloat16())", id="cast in the call"),
        pytest.param("TN210", "net = net.to(torch.bfloat16); fully_shard(net)", id="cast before"),
        pytest.param("TN210", "net.half(); fully_shard(net)", id="cast in place before"),
    ],
)
def test_reported_without_an_edit(rule: str, code: str) -> None:
    """The rule speaks and the text stays."""
    text = FUNCTION + code + "\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.lines(rule) == [8]


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        pytest.param("TN205", "torch.tensor(hash(x) % 97, device=device)", id="a remainder is small"),
        pytest.param("TN205", "torch.tensor(hash(x))", id="a hash on the host"),
        pytest.param("TN205", "torch.full((2,), 2**20, device=device)", id="a small power"),
        pytest.param("TN205", "torch.full((2,), 2**40, dtype=torch.float32, device=device)", id="no integer"),
        pytest.param("TN205", "torch.manual_seed(time.time_ns())", id="a seed is no tensor"),
        pytest.param("TN206", "x.dtype == torch.float8_e5m2", id="a comparison"),
        pytest.param("TN206", "x.dtype in (torch.float8_e5m2, torch.float16)", id="a test of several types"),
        pytest.param("TN206", "{torch.float8_e5m2: 1}[x.dtype]", id="a table"),
        pytest.param("TN206", "net.float8_e5m2", id="an attribute of an own object"),
        pytest.param("TN207", "x.half", id="half is not called"),
        pytest.param("TN207", "x.to(torch.bfloat16)", id="bfloat16"),
        pytest.param("TN207", "torch.half", id="the type alone"),
        pytest.param("TN209", "dist.all_reduce(x)", id="nothing says that x is complex"),
        pytest.param("TN209", "dist.all_reduce(torch.fft.fft(x).abs())", id="an absolute value is real"),
        pytest.param("TN209", "net.all_reduce(torch.fft.fft(x))", id="a method of an own object"),
        pytest.param("TN210", "fully_shard(net); net.half()", id="cast after the sharding"),
        pytest.param("TN210", "other = net.layer.half(); fully_shard(net)", id="only a part is cast"),
        pytest.param("TN210", "x = x.bfloat16(); fully_shard(net)", id="a tensor is cast"),
        pytest.param("TN210", "fully_shard(net.to(device))", id="moved, not cast"),
    ],
)
def test_silent(rule: str, code: str) -> None:
    """Nothing is said where nothing shows the hazard."""
    assert not migrate(FUNCTION + code + "\n").lines(rule)


def test_own_half_is_no_cast() -> None:
    """A class of the repository defines half() itself."""
    text = "class Pair:\n    def half(self):\n        return 1\n\n\ndef f(pair):\n    return pair.half()\n"
    assert not migrate(text).findings


def test_complex_sum_takes_the_real_view() -> None:
    """A sum acts on the parts alone; a maximum does not."""
    text = FUNCTION + "z = torch.fft.fft(x)\n    dist.all_reduce(z)\n    dist.all_reduce(z, dist.ReduceOp.MAX)\n"
    outcome = migrate(text)
    assert outcome.text == text.replace("dist.all_reduce(z)\n", "dist.all_reduce(torch.view_as_real(z))\n")
    assert outcome.lines("TN209") == [9, 10]


def test_variable_that_is_also_real_is_left_alone() -> None:
    """All assignments have to agree."""
    text = FUNCTION + "z = torch.fft.fft(x)\n    z = x\n    dist.all_reduce(z)\n"
    assert migrate(text).text == text and not migrate(text).lines("TN209")


PRECISION = sorted(code for code in by_code() if code.startswith("TN2") and by_code()[code].examples)


@pytest.mark.parametrize(
    ("code", "number"),
    [pytest.param(c, n, id=f"{c} {n}") for c in PRECISION for n in range(len(by_code()[c].examples))],
)
def test_examples_are_what_the_tool_does(code: str, number: int) -> None:
    """The pairs on the rule's page."""
    before, after = by_code()[code].examples[number]
    level = "offer" if by_code()[code].best is Safety.OFFER else "review"
    assert migrate(before, level).text == after
