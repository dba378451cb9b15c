"""TN208: TF32."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_backends import TF32

MATMUL = "torch.backends.cuda.matmul.allow_tf32"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return "import torch\n\n\ndef f(x):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("name", sorted(TF32))
def test_every_switch_goes(name: str) -> None:
    outcome = migrate(inside(f"{name} = x", "return x"))
    assert outcome.text == inside("return x")
    assert outcome.one("TN208")["safety"] == "safe"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param((f"{MATMUL} = True  # fast",), ("pass  # fast",), id="comment"),
        pytest.param(("if x:", f"    {MATMUL} = True"), ("if x:", "    pass"), id="block"),
        pytest.param((f"{MATMUL} = torch.backends.cudnn.allow_tf32", "return x"), ("return x",), id="read-goes-along"),
    ],
)
def test_statements(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    assert migrate(inside(*before)).text == inside(*after)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('torch.set_float32_matmul_precision("high")', id="for-every-device"),
        pytest.param(f"{MATMUL} = x.pop()", id="value-with-an-effect"),
        pytest.param(f"return {MATMUL}", id="read"),
        pytest.param(f"y = {MATMUL} = True", id="two-targets"),
        pytest.param("x.backends.cuda.matmul.allow_tf32 = True", id="own-object"),
        pytest.param("torch.backends.fp32_precision = 'tf32'", id="for-every-backend"),
        pytest.param(f"print('{MATMUL}')", id="text"),
    ],
)
def test_left_alone(line: str) -> None:
    assert migrate(inside(line)).text == inside(line)


def test_a_read_is_a_warning() -> None:
    assert migrate(inside(f"return {MATMUL}")).one("TN208")["severity"] == "warning"
