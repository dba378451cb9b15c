"""TN204: float64 where a device tensor gets it."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import numpy as np\nimport torch\n\n\ndef f(x, device, g):\n    "


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("torch.zeros(3, dtype=torch.float64, device=device)", id="made on the device"),
        pytest.param("torch.zeros(3, dtype=torch.double, device=device)", id="the other spelling"),
        pytest.param("torch.zeros(3, device=device).double()", id="cast on the device"),
        pytest.param("x.double().to(device)", id="cast and moved"),
        pytest.param('x.double().contiguous().to("neuron")', id="cast and moved later in the chain"),
        pytest.param("x.to(device, torch.float64)", id="moved and cast at once"),
        pytest.param("x.to(dtype=torch.float64, device=device)", id="by keyword"),
        pytest.param("torch.zeros(3, dtype=torch.complex128, device=device)", id="complex numbers of two float64"),
        pytest.param("torch.set_default_dtype(torch.float64)", id="the default type"),
        pytest.param("(y := torch.zeros(3, device=device)) is g or y.to(torch.float64)", id="through a variable"),
    ],
)
def test_reported(code: str) -> None:
    """A warning, never an edit."""
    text = HEAD + code + "\n"
    outcome = migrate(text)
    assert outcome.text == text
    assert outcome.one("TN204")["severity"] == "warning"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("torch.zeros(3, dtype=torch.float64)", id="on the host"),
        pytest.param('torch.zeros(3, dtype=torch.float64, device="cpu")', id="on the host by name"),
        pytest.param('torch.zeros(3, dtype=torch.float64, device=torch.device("cpu"))', id="on the host by device"),
        pytest.param("np.zeros(3, dtype=np.float64)", id="numpy"),
        pytest.param("x.double()", id="nothing says where x lies"),
        pytest.param("torch.zeros(3, device=device).cpu().double()", id="back on the host"),
        pytest.param("x.double().float().to(device)", id="float32 again before it moves"),
        pytest.param("torch.zeros(3, dtype=torch.float32, device=device)", id="float32"),
        pytest.param("x.dtype == torch.float64 and device", id="a comparison"),
        pytest.param("torch.finfo(torch.float64).eps", id="its limits"),
        pytest.param("g.double(x)", id="a method with arguments is another one"),
        pytest.param("x.to(device).astype(np.float64)", id="numpy's cast"),
    ],
)
def test_silent(code: str) -> None:
    """Nothing is said where nothing shows a device tensor."""
    assert not migrate(HEAD + code + "\n").lines("TN204")
