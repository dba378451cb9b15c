"""TN203: decorators of autograd functions."""

from __future__ import annotations

import pytest

from harness import migrate


def decorated(decorator: str, head: str = "import torch\n") -> str:
    """A method under a decorator."""
    method = f"    @staticmethod\n    @{decorator}\n    def forward(ctx, x):\n        return x\n"
    return f"{head}\n\nclass F(torch.autograd.Function):\n{method}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("torch.cuda.amp.custom_fwd", 'torch.amp.custom_fwd(device_type="neuron")', id="bare gets a call"),
        pytest.param(
            "torch.cuda.amp.custom_fwd(cast_inputs=torch.half)",
            'torch.amp.custom_fwd(device_type="neuron", cast_inputs=torch.half)',
            id="cast_inputs stays",
        ),
        pytest.param("torch.cuda.amp.custom_bwd", 'torch.amp.custom_bwd(device_type="neuron")', id="backward"),
        pytest.param(
            'torch.amp.custom_fwd(device_type="cuda")',
            'torch.amp.custom_fwd(device_type="neuron")',
            id="only a string",
        ),
        pytest.param(
            'torch.amp.custom_fwd(device_type="cpu")', 'torch.amp.custom_fwd(device_type="cpu")', id="for the CPU"
        ),
        pytest.param("own.custom_fwd", "own.custom_fwd", id="a decorator of another module"),
    ],
)
def test_decorator(before: str, after: str) -> None:
    """What the decorator becomes."""
    assert migrate(decorated(before)).text == decorated(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "from torch.cuda.amp import custom_fwd as fwd\n",
            "from torch.amp import custom_fwd as fwd\n",
            id="an imported name keeps its alias",
        ),
        pytest.param(
            "fwd = torch.cuda.amp.custom_fwd\n",
            'import functools\nfwd = functools.partial(torch.amp.custom_fwd, device_type="neuron")\n',
            id="a variable holds the decorator with its device bound",
        ),
    ],
)
def test_names(before: str, after: str) -> None:
    """A use follows its import, and leaves alone what a variable has bound already."""
    text = migrate(decorated("fwd", "import torch\n" + before)).text
    call = 'fwd(device_type="neuron")' if "partial" not in after else "fwd"
    head = "import torch\n" + after if "functools" not in after else after.replace("fwd =", "import torch\nfwd =", 1)
    assert text == decorated(call, head)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def custom_fwd(f):\n    return f\n\n\n@custom_fwd\ndef g():\n    pass\n", id="an own decorator"),
        pytest.param("custom_fwd = print\ncustom_fwd(1)\n", id="a variable"),
        pytest.param('"""Decorate with torch.cuda.amp.custom_fwd."""\n', id="a docstring"),
        pytest.param("from triton_kernels import custom_fwd\n\n\n@custom_fwd\ndef g():\n    pass\n", id="foreign"),
        pytest.param(
            "import torch\nfrom functools import partial\nf = partial(torch.cuda.amp.custom_fwd, cast_inputs=None)\n",
            id="partial that lacks the device is reported",
        ),
        pytest.param(
            "try:\n    from torch.amp import custom_fwd\nexcept ImportError:\n"
            "    def custom_fwd(f):\n        return f\n\n\nwrap = custom_fwd\n",
            id="a value that may be an own function",
        ),
    ],
)
def test_stays(text: str) -> None:
    """What must not be edited."""
    assert migrate(text).text == text


def test_a_value_that_may_be_an_own_function_is_reported() -> None:
    text = (
        "if new:\n    from torch.cuda.amp import custom_fwd\nelse:\n    def custom_fwd(f):\n        return f\n\n"
        "    custom_bwd = custom_fwd\n"
    )
    outcome = migrate(text)
    assert "custom_bwd = custom_fwd\n" in outcome.text
    assert any(f["line"] == 7 and f["severity"] == "error" for f in outcome.findings)
