"""Imported names that get another meaning, or lose theirs: nothing is changed that rests on them."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import torch\nfrom torch.cuda import synchronize\n\n\ndef f():\n    synchronize()\n\n\n"

AGAIN = {
    "another value": HEAD + "synchronize = print\n",
    "a function": HEAD + "def synchronize():\n    pass\n",
    "a class": HEAD + "class synchronize:\n    pass\n",
    "another import": HEAD + "from other import synchronize\n",
    "deleted": HEAD + "del synchronize\n",
    "deleted in a loop over itself": HEAD + "for synchronize in [synchronize]:\n    pass\n",
    "a context": HEAD + "with open('x') as synchronize:\n    pass\n",
    "by a function, said to be global": HEAD + "def g():\n    global synchronize\n    synchronize = print\n",
    "by a function ahead of the import": (
        "import torch\n\n\ndef g():\n    global synchronize\n    del synchronize\n\n\n"
        "from torch.cuda import synchronize\n\nsynchronize()\n"
    ),
    "under a condition of its own": HEAD + "if torch.rand(1) > 0:\n    synchronize = print\n",
    "in both parts of a try": (
        "import torch\n\ntry:\n    from torch.cuda import synchronize\nfinally:\n    synchronize = print\n"
        "synchronize()\n"
    ),
    "of a function": (
        "import torch\n\n\ndef f():\n    from torch.cuda import synchronize\n\n    try:\n        synchronize()\n"
        "    finally:\n        del synchronize\n"
    ),
    "a name whose import would move": (
        "import torch\nfrom torch.cuda.amp import autocast\n\n\ndef f():\n    with autocast():\n        pass\n\n\n"
        "del autocast\n"
    ),
    "made of itself": (
        "import functools\nimport torch\nfrom torch.cuda.amp import autocast\n\n"
        "autocast = functools.partial(autocast, enabled=True)\nwith autocast():\n    pass\n"
    ),
}


@pytest.mark.parametrize("case", AGAIN)
def test_a_name_with_another_meaning_is_left_and_said(case: str) -> None:
    outcome = migrate(AGAIN[case])
    assert outcome.text == AGAIN[case]
    found = [f for f in outcome.findings if f["rule"] in ("TN106", "TN201")]
    assert len(found) > 1 and all(f["safety"] == "manual" for f in found)


@pytest.mark.parametrize(("code", "said"), [("del synchronize", "deleted"), ("class synchronize: ...", "bound again")])
def test_the_message_names_the_place(code: str, said: str) -> None:
    use = next(f for f in migrate(HEAD + code + "\n").findings if f["line"] == 6)
    assert use["message"].endswith(f"; synchronize is {said} in this file") and use["severity"] == "error"
    assert use["evidence"][-1]["line"] == 9


FINE = {
    "another scope": HEAD + "def g():\n    synchronize = print\n    synchronize()\n",
    "the same import once more": HEAD + "from torch.cuda import synchronize\n",
    "another meaning before": "synchronize = None\n" + HEAD,
    "an annotation": HEAD + "synchronize: object\n",
    "an attribute": HEAD + "f.synchronize = print\n",
}


@pytest.mark.parametrize("case", FINE)
def test_what_gives_no_other_meaning(case: str) -> None:
    outcome = migrate(FINE[case])
    assert "def f():\n    torch.neuron.synchronize()\n" in outcome.text
    assert "from torch.cuda import" not in outcome.text


CHOICES = {
    "except": "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    autocast = None\n",
    "except, a function": (
        "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    def autocast(*a, **k):\n        ...\n"
    ),
    "else": (
        "if torch.__version__ > '1.6':\n    from torch.cuda.amp import autocast\nelse:\n"
        "    def autocast(*a, **k):\n        ...\n"
    ),
    "elif": (
        "if torch.__version__ > '1.6':\n    from torch.cuda.amp import autocast\nelif torch:\n    autocast = None\n"
    ),
}


@pytest.mark.parametrize("case", CHOICES)
def test_the_other_arm_of_a_choice_is_no_second_meaning(case: str) -> None:
    use = "\n\ndef f():\n    with autocast():\n        pass\n"
    outcome = migrate("import torch\n\n" + CHOICES[case] + use)
    assert "from torch.amp import autocast\n" in outcome.text
    assert 'with autocast("neuron", dtype=torch.bfloat16):\n' in outcome.text


def test_a_class_body_reads_the_name_around_it() -> None:
    before = (
        "import torch\nfrom torch.cuda import empty_cache, synchronize\n\n\nclass Device:\n"
        "    synchronize = synchronize\n    empty_cache = staticmethod(empty_cache)\n\n\nsynchronize()\n"
    )
    after = (
        "import torch\n\n\nclass Device:\n    synchronize = torch.neuron.synchronize\n"
        "    empty_cache = staticmethod(torch.neuron.empty_cache)\n\n\ntorch.neuron.synchronize()\n"
    )
    assert migrate(before).text == after


def test_a_class_body_reads_its_own_name_once_it_has_one() -> None:
    before = (
        "import torch\nfrom torch.cuda import synchronize\n\n\nclass Device:\n    synchronize = print\n"
        "    other = synchronize\n\n\nsynchronize()\n"
    )
    after = before.replace("from torch.cuda import synchronize\n", "").replace("\n\nsync", "\n\ntorch.neuron.sync")
    assert migrate(before).text == after


def test_methods_do_not_see_the_names_of_their_class() -> None:
    before = (
        "import torch\nfrom torch.cuda import synchronize\n\n\nclass Device:\n    synchronize = None\n\n"
        "    def wait(self):\n        synchronize()\n"
    )
    after = before.replace("from torch.cuda import synchronize\n", "").replace("  sync", "  torch.neuron.sync")
    after = after.replace("    torch.neuron.synchronize =", "    synchronize =")
    assert migrate(before).text == after


@pytest.mark.parametrize(("name", "spelled"), [("torch", '__import__("torch")'), ("T", "torch")])
def test_no_name_is_written_ahead_of_its_global_statement(name: str, spelled: str) -> None:
    as_name = "" if name == "torch" else f" as {name}"
    before = (
        f"import torch{as_name}\nfrom torch.cuda import synchronize\n\n\ndef f():\n    synchronize()\n"
        f"    global {name}\n    {name} = None\n"
    )
    assert f"    {spelled}.neuron.synchronize()\n" in migrate(before).text
