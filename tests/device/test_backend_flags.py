"""TN116: switches of CUDA's libraries."""

from __future__ import annotations

import pytest

from harness import migrate
from transforms.tables.cuda_backends import CONTEXTS, FLAGS, READS, SETTERS

HEAD = "import torch\n\n\n"


def inside(*lines: str) -> str:
    """A function with some lines."""
    return HEAD + "def f(x, args):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("name", sorted(FLAGS))
def test_every_flag_goes(name: str) -> None:
    outcome = migrate(inside(f"{name} = True", "return x"))
    assert outcome.text == inside("return x")
    assert outcome.one("TN116")["safety"] == "safe"


@pytest.mark.parametrize("name", sorted(SETTERS))
def test_every_setter_goes(name: str) -> None:
    assert migrate(inside(f"{name}(True)", "return x")).text == inside("return x")


@pytest.mark.parametrize("name", sorted(CONTEXTS))
def test_every_context_becomes_empty(name: str) -> None:
    before = inside(f"with {name}(enabled=True):", "    x()")
    assert migrate(before).text == "import contextlib\n" + inside("with contextlib.nullcontext():", "    x()")


@pytest.mark.parametrize("name", sorted(READS))
def test_every_question_is_a_warning(name: str) -> None:
    outcome = migrate(inside(f"return {name}()"))
    assert outcome.text == inside(f"return {name}()")
    assert outcome.one("TN116")["severity"] == "warning"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(
            ("torch.backends.cudnn.benchmark = True  # fast", "return x"), ("# fast", "return x"), id="comment-stays"
        ),
        pytest.param(("if x:", "    torch.backends.cudnn.benchmark = True"), ("if x:", "    pass"), id="block-stays"),
        pytest.param(
            ("if x:", "    torch.backends.cudnn.benchmark = True", "    torch.backends.cudnn.enabled = x"),
            ("if x:", "    pass"),
            id="all-of-a-block",
        ),
        pytest.param(("x(); torch.backends.cudnn.benchmark = True",), ("x()",), id="second-on-a-line"),
        pytest.param(("torch.backends.cudnn.benchmark = True; x()",), ("x()",), id="first-on-a-line"),
        pytest.param(
            ("torch.backends.cudnn.benchmark = True; torch.backends.cudnn.enabled = x", "return x"),
            ("return x",),
            id="whole-line",
        ),
        pytest.param(
            ("torch.backends.cudnn.benchmark = not args.slow", "return x"), ("return x",), id="pure-expression"
        ),
        pytest.param(
            ("torch.backends.cudnn.benchmark = torch.backends.cudnn.enabled", "return x"),
            ("return x",),
            id="read-goes-along",
        ),
        pytest.param(
            ("torch.backends.cudnn.benchmark = torch.cuda.is_available()", "return x"),
            ("return x",),
            id="probe-goes-along",
        ),
        pytest.param(('setattr(torch.backends.cudnn, "benchmark", x)', "return x"), ("return x",), id="setattr"),
    ],
)
def test_statements(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    outcome = migrate(inside(*before))
    assert outcome.text == inside(*after)
    assert not [f for f in outcome.findings if f["after"]]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("torch.backends.cudnn.benchmark = x.pop()",), id="value-with-an-effect"),
        pytest.param(("y = torch.backends.cudnn.benchmark = True",), id="two-targets"),
        pytest.param(("torch.backends.cudnn.benchmark, y = True, 1",), id="unpacked"),
        pytest.param(("return torch.backends.cudnn.benchmark",), id="read"),
        pytest.param(("y = torch.backends.cuda.enable_flash_sdp(True)",), id="value-of-a-setter"),
        pytest.param(("with torch.backends.cuda.sdp_kernel(x()): pass",), id="context-with-an-effect"),
        pytest.param(("x(torch.backends.cudnn.flags(enabled=False))",), id="context-passed-on"),
        pytest.param(("args.backends.cudnn.benchmark = True",), id="own-object"),
        pytest.param(("torch.use_deterministic_algorithms(True)",), id="for-every-device"),
        pytest.param(("setattr(torch.backends.cudnn, x, True)",), id="setattr-of-anything"),
        pytest.param(("print('torch.backends.cudnn.benchmark = True')",), id="text"),
    ],
)
def test_left_alone(lines: tuple[str, ...]) -> None:
    assert migrate(inside(*lines)).text == inside(*lines)


def test_decorator_is_reported() -> None:
    source = HEAD + "@torch.backends.cudnn.flags(enabled=False)\ndef f(): ...\n"
    outcome = migrate(source)
    assert outcome.text == source
    assert outcome.one("TN116")["severity"] == "warning"


def test_an_import_without_uses_goes_along() -> None:
    source = "import torch\nimport torch.backends.cudnn as cudnn\n\ncudnn.benchmark = True\nx = torch.ones(1)\n"
    assert migrate(source).text == "import torch\n\nx = torch.ones(1)\n"


def test_imported_nullcontext_is_used() -> None:
    source = "from contextlib import nullcontext\n\n" + inside(
        "with torch.backends.cudnn.flags(enabled=False): x()", "return nullcontext"
    )
    assert "with nullcontext(): x()" in migrate(source).text


def test_attention_kernels_are_kept() -> None:
    outcome = migrate("from torch.nn.attention import SDPBackend\n\nk = [SDPBackend.CUDNN_ATTENTION]\n")
    assert outcome.rules("kept") == ["TN116"]
