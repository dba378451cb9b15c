"""TN204-TN211: values that look like a site and are none, and sites in a less usual form."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import time\nimport torch\nimport torch.distributed as dist\n\n\n"


def lines_of(rule: str, *lines: str) -> list[int]:
    """Lines of a function on which a rule speaks, counted from 1."""
    source = HEAD + "def f(x, device, n):\n" + "".join(f"    {line}\n" for line in lines)
    return [line - 6 for line in migrate(source).lines(rule)]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("torch.tensor(-(2**31), device=device)", id="the smallest int32"),
        pytest.param("torch.tensor(2**31 - 100, device=device)", id="a difference that fits"),
        pytest.param("torch.zeros(2**33, device=device)", id="a size"),
        pytest.param("torch.full((2**33,), 1, device=device)", id="the size of full"),
        pytest.param("torch.tensor(2**40 * 1.0, device=device)", id="a float"),
        pytest.param("torch.tensor(hash(n) % 2**20, device=device)", id="cut to its range"),
        pytest.param("torch.rand(2**32, device=device)", id="a size of random numbers"),
    ],
)
def test_integers_that_fit(value: str) -> None:
    assert lines_of("TN205", f"return {value}") == []


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("torch.tensor(-(2**31) - 1, device=device)", id="below the smallest"),
        pytest.param("torch.tensor([hash(k) for k in n], device=device)", id="comprehension"),
        pytest.param("torch.tensor(int(time.time() * 1000), device=device)", id="milliseconds"),
        pytest.param("torch.tensor(hash(n) & (2**63 - 1), device=device)", id="a wide mask"),
        pytest.param("torch.full((3,), fill_value=2**40, device=device)", id="keyword"),
        pytest.param("torch.randint(0, 2**48, (3,), device=device)", id="bound of random integers"),
    ],
)
def test_integers_that_do_not_fit(value: str) -> None:
    assert lines_of("TN205", f"return {value}") == [1]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["d = torch.device('cpu')", "return torch.ones(3, device=d, dtype=torch.float64)"], id="the CPU"),
        pytest.param(["if n:", "    x = x.to(device)", "return x.double()"], id="moved in one branch alone"),
        pytest.param(["x = x.to(device)", "x = n(x)", "return x.double()"], id="made anew since"),
        pytest.param(["x = x.cpu()", "return x.sum(dtype=torch.float64)"], id="on the host"),
        pytest.param(["return n.sum(dtype=torch.float64)"], id="nothing shows where it is"),
    ],
)
def test_float64_on_the_host(lines: list[str]) -> None:
    assert lines_of("TN204", *lines) == []


@pytest.mark.parametrize(
    "last",
    [
        pytest.param("return x.double()", id="method"),
        pytest.param("return x.sum(dtype=torch.float64)", id="reduction"),
        pytest.param("return torch.softmax(x, -1, dtype=torch.double)", id="function"),
        pytest.param("return x.new_zeros(3, dtype=torch.float64)", id="a new tensor beside it"),
        pytest.param("return torch.nn.Linear(3, 3, device=device, dtype=torch.float64)", id="module"),
    ],
)
def test_float64_of_a_parameter_that_was_moved(last: str) -> None:
    assert lines_of("TN204", "x = x.to(device)", last) == [2]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["y = torch.stft(x, 4, return_complex=False)", "dist.all_reduce(y)"], id="pairs of stft"),
        pytest.param(["y = torch.fft.fft(x).abs() * 2", "dist.all_reduce(y)"], id="magnitudes"),
        pytest.param(["y = torch.fft.fft(x)", "y = y.real", "dist.all_reduce(y)"], id="sometimes real"),
    ],
)
def test_real_tensors(lines: list[str]) -> None:
    assert lines_of("TN209", *lines) == []


@pytest.mark.parametrize(
    "lines, safety",
    [
        pytest.param(["z = torch.fft.fft(x)", "z += 1", "dist.all_reduce(z)"], "review", id="added to in place"),
        pytest.param(["z = 2 * torch.fft.fft(x)", "dist.all_reduce(z)"], "review", id="arithmetic"),
        pytest.param(["z = torch.fft.fft(x)[0]", "dist.all_reduce(z)"], "review", id="a part"),
        pytest.param(["z = torch.fft.fft(x).conj()", "dist.all_reduce(z)"], "manual", id="a lazy conjugate"),
        pytest.param(["z = torch.fft.fft(x)", "dist.all_to_all_single(x, z)"], "manual", id="two tensors"),
    ],
)
def test_complex_tensors(lines: list[str], safety: str) -> None:
    source = HEAD + "def f(x):\n" + "".join(f"    {line}\n" for line in lines)
    assert migrate(source).one("TN209")["safety"] == safety


@pytest.mark.parametrize(
    "use",
    [
        pytest.param("torch.finfo(torch.float8_e5m2).max", id="limits"),
        pytest.param("{'a': 1}.get(torch.float8_e5m2)", id="looked up"),
        pytest.param("dict(fp8=torch.float8_e5m2)", id="table of types"),
        pytest.param("x.dtype in frozenset((torch.float8_e5m2,))", id="set in a test"),
    ],
)
def test_types_that_are_only_asked_about(use: str) -> None:
    assert lines_of("TN206", f"return {use}") == []


def test_types_listed_for_tests() -> None:
    listed = "import torch\nTYPES = [torch.float8_e5m2]\n\n\ndef f(x):\n    return x.dtype in TYPES\n"
    assert migrate(listed).lines("TN206") == []
    assert migrate(listed + "\n\ng = TYPES[0]\n").lines("TN206") == [2]
    assert migrate(listed.replace("in TYPES", "== 1").replace("f(x)", "f(x, d=torch.float8_e5m2)")).lines("TN206") != []


FSDP = "import torch\nfrom torch.distributed.fsdp import fully_shard\n\n\n"


@pytest.mark.parametrize(
    "body, spoken",
    [
        pytest.param("    m = m.half().float()\n    fully_shard(m)\n", False, id="taken back in the chain"),
        pytest.param("    m.half()\n    m.float()\n    fully_shard(m)\n", False, id="taken back later"),
        pytest.param("    if t:\n        m.half()\n        return m\n    fully_shard(m)\n", False, id="left before"),
        pytest.param("    if t:\n        m.half()\n    fully_shard(m)\n", True, id="branch that goes on"),
        pytest.param("    m = m.half() if t else m\n    fully_shard(m)\n", True, id="conditional"),
        pytest.param("    t.m = t.m.to(torch.bfloat16)\n    fully_shard(t.m)\n", True, id="attribute"),
        pytest.param("    t.n = t.n.to(torch.bfloat16)\n    fully_shard(t.m)\n", False, id="another attribute"),
    ],
)
def test_casts_before_sharding(body: str, spoken: bool) -> None:
    assert bool(migrate(FSDP + "def f(m, t):\n" + body).lines("TN210")) == spoken


OFF = 'torch.amp.GradScaler("neuron", enabled=False)'


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(f"__all__ = ['s']\ns = {OFF}\n", id="exported"),
        pytest.param(f"def f(loss):\n    global s\n    s = {OFF}\n    s.scale(loss).backward()\n", id="global"),
        pytest.param(f"def f(loss):\n    s = t = {OFF}\n    s.scale(loss).backward()\n", id="two names"),
        pytest.param(f"def f(o):\n    s = {OFF}\n    s.step(o, closure=None)\n", id="keyword that is passed on"),
    ],
)
def test_scalers_that_something_else_needs(code: str) -> None:
    assert migrate("import torch\n\n" + code, "offer").lines("TN211") == []


def test_names_of_several_star_imports_are_written_out() -> None:
    stars = "from torch import *\nfrom torch.cuda.amp import *\n\n\n"
    source = stars + "def f(net, x):\n    with autocast():\n        return net(x)\n"
    after = migrate(source).text
    assert 'with torch.autocast("neuron", dtype=torch.bfloat16):' in after
