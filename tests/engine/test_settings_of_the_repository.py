"""Settings that other files of the repository hold: `if hparams.use_cuda:` needs no counterpart on neuron."""

from __future__ import annotations

import pytest

from harness import run_tree

HPARAMS = b"class HParams:\n    use_gpu = True\n\n\nhparams = HParams()\n"


def told(text: str) -> list[str]:
    """What the catch-all says about a file beside a module with settings: the message, or why it is kept."""
    result, _ = run_tree({"hparams.py": HPARAMS, "train.py": text.encode()})
    items = [i for f in result.files if str(f.path) == "train.py" for i in f.items if i.rule == "TN003"]
    return [i.reason or i.message for i in items]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("if hp.use_cuda:\n    run()", id="a-test"),
        pytest.param("x = 1 if hp.use_cuda else 2", id="a-conditional"),
        pytest.param("go = hp.use_cuda and fast", id="a-part-of-a-test"),
        pytest.param("assert not hp.use_cuda", id="a-negation"),
    ],
)
def test_asked_for_its_truth(line: str) -> None:
    assert told(f"from hparams import hparams as hp\n\n{line}\n") == ["setting of the repository"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("from elsewhere import config as hp\n\nif hp.use_cuda:\n    run()\n", id="another-package"),
        pytest.param("from hparams import ext as hp\n\nhp.cuda_op(1)\n", id="called"),
        pytest.param("from hparams import ext as hp\n\nrun(hp.cuda_op)\n", id="passed-on"),
        pytest.param("from hparams import ext as hp\n\nif hp.cuda_ext.fast:\n    run()\n", id="a-part-of-a-part"),
    ],
)
def test_still_reported(text: str) -> None:
    found = told(text)
    assert len(found) == 1 and "no known counterpart" in found[0]
