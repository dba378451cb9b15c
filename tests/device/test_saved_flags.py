"""TN116, TN208: a variable that saves a switch goes only when nothing but the restoring of the switch reads it."""

from __future__ import annotations

import pytest

from harness import migrate, run_tree

FLAG = "torch.backends.cudnn.benchmark"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            f"def f():\n    old = {FLAG}\n    {FLAG} = False\n    yield\n    {FLAG} = old\n",
            "def f():\n    yield\n",
            id="saved and restored: all go",
        ),
        pytest.param(
            f"def f():\n    old = {FLAG}\n    {FLAG} = False\n    print(old)\n",
            f"def f():\n    old = {FLAG}\n    print(old)\n",
            id="printed later",
        ),
        pytest.param(
            f"def f():\n    old = {FLAG}\n    {FLAG} = False\n    yield\n    {FLAG} = old\n    return old\n",
            f"def f():\n    old = {FLAG}\n    yield\n    return old\n",
            id="restored and returned",
        ),
        pytest.param(
            f"def f():\n    old = {FLAG}\n    {FLAG} = False\n    def g():\n        return old\n    return g\n",
            f"def f():\n    old = {FLAG}\n    def g():\n        return old\n    return g\n",
            id="read in a closure",
        ),
        pytest.param(
            f"def f():\n    old = {FLAG}\n    def g():\n        {FLAG} = old\n    return g\n",
            "def f():\n    def g():\n        pass\n    return g\n",
            id="restored in a closure",
        ),
        pytest.param(
            f"old = {FLAG}\n{FLAG} = True\ndef use():\n    return old\n",
            f"old = {FLAG}\ndef use():\n    return old\n",
            id="global that a function reads",
        ),
        pytest.param(
            f"class A:\n    was = {FLAG}\n{FLAG} = A.was\n",
            f"class A:\n    was = {FLAG}\n",
            id="class attribute: who reads it is not known",
        ),
        pytest.param(
            f"def f(x):\n    old = {FLAG}\n    {FLAG} = old if x() else True\n",
            f"def f(x):\n    old = {FLAG}\n    {FLAG} = old if x() else True\n",
            id="restored by a statement that stays",
        ),
        pytest.param(
            f"def f(x):\n    old = {FLAG}\n    old = x\n    return old\n",
            f"def f(x):\n    old = {FLAG}\n    old = x\n    return old\n",
            id="a name that holds something else too",
        ),
        pytest.param(
            f"def f():\n    global old\n    old = {FLAG}\ndef g():\n    {FLAG} = old\n",
            f"def f():\n    global old\n    old = {FLAG}\ndef g():\n    pass\n",
            id="declared global",
        ),
        pytest.param(
            f"def f():\n    old = {FLAG}\n    {FLAG} = old  # neuron: keep[TN116] wanted\n",
            f"def f():\n    old = {FLAG}\n    {FLAG} = old  # neuron: keep[TN116] wanted\n",
            id="the restoring is kept by a comment, so the saving stays",
        ),
        pytest.param(
            "def f():\n    old = torch.backends.cuda.matmul.allow_tf32\n"
            "    torch.backends.cuda.matmul.allow_tf32 = False\n    print('was', old)\n",
            "def f():\n    old = torch.backends.cuda.matmul.allow_tf32\n    print('was', old)\n",
            id="a switch of TF32",
        ),
    ],
)
def test_saved(before: str, after: str) -> None:
    assert migrate("import torch\n" + before).text == "import torch\n" + after


def test_imported_elsewhere() -> None:
    """Another file reads what the module saves."""
    files = {"a.py": f"import torch\nold = {FLAG}\n{FLAG} = True\n".encode(), "b.py": b"from a import old\n"}
    assert run_tree(files)[1]["a.py"] == f"import torch\nold = {FLAG}\n".encode()
