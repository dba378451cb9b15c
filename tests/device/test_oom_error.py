"""TN114: out of memory."""

from __future__ import annotations

import pytest

from harness import migrate


def handler(error: str, body: str = "pass") -> str:
    """A function that handles an error."""
    return f"import torch\n\n\ndef f(g):\n    try:\n        g()\n    except {error}:\n        {body}\n"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param("torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError", id="class"),
        pytest.param("torch.cuda.OutOfMemoryError as e", "torch.OutOfMemoryError as e", id="named"),
        pytest.param("(ValueError, torch.cuda.OutOfMemoryError)", "(ValueError, torch.OutOfMemoryError)", id="tuple"),
    ],
)
def test_class(before: str, after: str) -> None:
    outcome = migrate(handler(before))
    assert outcome.text == handler(after)
    assert outcome.one("TN114")["safety"] == "review"


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param('"CUDA out of memory" in str(e)', '"out of memory" in str(e)', id="message"),
        pytest.param('"CUDA out of memory." not in e.args[0]', '"out of memory" not in e.args[0]', id="sentence"),
        pytest.param('"cuda out of memory" in str(e).lower()', '"out of memory" in str(e).lower()', id="lower"),
        pytest.param('"CUDA error: out of memory" in str(e)', '"out of memory" in str(e)', id="runtime-error"),
    ],
)
def test_message(before: str, after: str) -> None:
    def whole(test: str) -> str:
        return handler("RuntimeError as e", f"if {test}: pass")

    outcome = migrate(whole(before))
    assert outcome.text == whole(after)
    assert not [f for f in outcome.findings if f["after"]]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param('print("CUDA out of memory")', id="log"),
        pytest.param('raise SystemExit("CUDA out of memory")', id="raised"),
        pytest.param('if "out of memory" in str(e): pass', id="already-without-cuda"),
        pytest.param('if str(e) == "CUDA out of memory": pass', id="whole-message"),
        pytest.param('if "CUDA error: assert, out of memory" in str(e): pass', id="another-message"),
        pytest.param('if "CUDA out of " "memory" in str(e): pass', id="in-two-pieces"),
    ],
)
def test_left_alone(body: str) -> None:
    source = handler("RuntimeError as e", body)
    assert migrate(source).text == source


def test_own_class_of_that_name() -> None:
    source = (
        "class OutOfMemoryError(Exception):\n    pass\n\n\ndef f(g):\n    try:\n        g()\n"
        "    except OutOfMemoryError:\n        pass\n"
    )
    assert migrate(source).findings == []


def test_messages_that_still_ask_for_cuda_are_errors() -> None:
    outcome = migrate(handler("RuntimeError as e", 'if "CUDA error: assert, out of memory" in str(e): pass'))
    assert outcome.one("TN114")["severity"] == "error"
