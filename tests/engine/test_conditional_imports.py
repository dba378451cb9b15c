"""Imports under conditions and in functions: what runs without them, and what stays of their blocks."""

from __future__ import annotations

import pytest

from harness import migrate

LOCAL = "def f(x):\n    from torch.cuda.amp import autocast\n\n    with autocast():\n        return x\n"
NEW = (
    "def f(x):\n    from torch.amp import autocast\n\n"
    '    with autocast("neuron", dtype={}.bfloat16):\n        return x\n'
)

CONDITIONS = {
    "if": "if len(sys.argv) > 1:\n    import torch\n",
    "else": "if len(sys.argv) > 1:\n    pass\nelse:\n    import torch\n",
    "elif": "if len(sys.argv) > 1:\n    pass\nelif sys:\n    import torch\n",
    "loop": "for _ in sys.argv:\n    import torch\n",
    "while": "while sys.argv:\n    import torch\n",
    "handler": "try:\n    pass\nexcept ValueError:\n    import torch\n",
    "type check": "if typing.TYPE_CHECKING:\n    import torch\n",
    "class": "class A:\n    import torch\n",
    "case": "match sys.argv:\n    case []:\n        import torch\n",
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_package_that_is_imported_under_a_condition_is_imported_for_the_new_name(case: str) -> None:
    before = "import sys\nimport typing\n\n" + CONDITIONS[case] + "\n\n" + LOCAL
    after = migrate(before).text
    assert after.endswith(NEW.format("torch"))
    assert after.startswith(("import torch\n", "import sys\nimport torch\n")), after


SURE = {
    "plain": "import torch\n",
    "try": "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
    "with": "with sys.argv:\n    import torch\n",
    "try with else": "try:\n    x = 1\nexcept ImportError:\n    pass\nelse:\n    import torch\n",
    "finally": "try:\n    x = 1\nfinally:\n    import torch\n",
}


@pytest.mark.parametrize("case", SURE)
def test_a_package_that_is_surely_there(case: str) -> None:
    before = "import sys\n\n" + SURE[case] + "\n\n" + LOCAL
    assert migrate(before).text == "import sys\n\n" + SURE[case] + "\n\n" + NEW.format("torch")


def test_what_is_used_under_the_same_condition_needs_no_further_import() -> None:
    before = (
        "import sys\n\nif sys.argv:\n    import torch\n    from torch.cuda import synchronize\n\n\n"
        "def f():\n    synchronize()\n"
    )
    after = "import sys\n\nif sys.argv:\n    import torch\n\n\ndef f():\n    torch.neuron.synchronize()\n"
    assert migrate(before).text == after


def test_code_within_the_condition() -> None:
    before = "import sys\n\nif sys.argv:\n    import torch\n\n    def f():\n        torch.cuda.synchronize()\n"
    assert migrate(before).text == before.replace("cuda", "neuron")


def test_a_local_package_that_another_branch_imports() -> None:
    before = (
        "def f(x):\n    if x:\n        import torch\n    else:\n        from torch.cuda import empty_cache\n\n"
        "        empty_cache()\n    return torch\n"
    )
    assert '        __import__("torch").neuron.empty_cache()\n' in migrate(before).text


BLOCKS = {
    "an import that stays": (
        "    from torch.cuda import Stream\n    from torch.cuda.amp import GradScaler\n",
        "    from torch.amp import GradScaler\n",
    ),
    "two that go": (
        "    from torch.cuda import Event\n    from torch.cuda import Stream\n",
        "    pass\n",
    ),
    "code that stays": ("    from torch.cuda import Stream\n    x = 1\n", "    x = 1\n"),
    "code that goes": ("    from torch.cuda import Stream\n    torch.backends.cudnn.benchmark = True\n", "    pass\n"),
}


@pytest.mark.parametrize("case", BLOCKS)
def test_a_block_holds_pass_only_where_nothing_else_is_left(case: str) -> None:
    old, new = BLOCKS[case]
    names = [n for n in ("GradScaler", "Event", "Stream") if n in old]
    uses = "\n\ndef f():\n" + "".join(f"    a{i}: {n}\n" for i, n in enumerate(names))
    after = migrate("from __future__ import annotations\nimport torch\n\nif torch:\n" + old + uses).text
    assert after.partition("if torch:\n")[2].partition("\n\n")[0] + "\n" == new


def test_an_import_goes_although_its_use_moves_to_another_line() -> None:
    before = (
        "import torch\nimport torch.distributed as dist\nfrom torch.cuda import set_device\n\n\n"
        'def setup(rank):\n    set_device(rank)\n    dist.init_process_group("nccl")\n'
    )
    after = (
        "import torch\nimport torch.distributed as dist\n\n\n"
        'def setup(rank):\n    dist.init_process_group("neuron")\n    torch.neuron.set_device(rank)\n'
    )
    assert migrate(before).text == after


def test_an_import_stays_for_a_use_that_only_moves() -> None:
    before = (
        "import torch.distributed as dist\nfrom torch.cuda import set_device\n\n\n"
        'def setup(rank):\n    set_device(rank)  # neuron: keep\n    dist.init_process_group("nccl")\n'
    )
    assert "from torch.cuda import set_device\n" in migrate(before).text


def test_an_import_moves_with_the_uses_of_its_own_scope_alone() -> None:
    held = LOCAL.replace("f(x)", "g(x)").replace("():\n", "():  # neuron: keep\n")
    outcome = migrate("import torch\n\n\n" + LOCAL + "\n\n" + held)
    assert outcome.text == "import torch\n\n\n" + NEW.format("torch") + "\n\n" + held


def test_an_import_that_is_left_stays_although_a_function_has_its_own() -> None:
    text = (
        "import torch\nfrom torch.cuda.amp import GradScaler\n\n\nclass Scaler(GradScaler):\n    pass\n\n\n"
        "def make():\n    from torch.cuda.amp import GradScaler\n\n    return GradScaler()\n"
    )
    after = migrate(text).text
    assert after.startswith("import torch\nfrom torch.cuda.amp import GradScaler\n")
    assert '    from torch.amp import GradScaler\n\n    return GradScaler("neuron")\n' in after


USE = "    from torch.cuda import synchronize\n\n    synchronize()\n"

TRIED = {
    "tried": ("try:\n" + USE + "except ImportError:\n    pass\n", True),
    "made where another import failed": ("try:\n    import one\nexcept ImportError:\n" + USE, True),
    "made where another import went well": (
        "try:\n    import one\nexcept ImportError:\n    pass\nelse:\n" + USE,
        True,
    ),
    "made in any case": ("try:\n    import one\nexcept ImportError:\n    pass\nfinally:\n" + USE, False),
    "tried, and nothing catches an error": ("try:\n" + USE + "finally:\n    pass\n", False),
    "of a function that is tried": (
        "try:\n    def f():\n" + USE.replace("    ", "        ") + "except ImportError:\n    pass\n",
        False,
    ),
}


@pytest.mark.parametrize("case", TRIED)
def test_an_import_that_may_fail_stays(case: str) -> None:
    text, stays = TRIED[case]
    after = migrate("import torch\n\n" + text).text
    assert ("from torch.cuda import synchronize" in after) is stays
    assert "torch.neuron.synchronize()" in after


def test_a_name_that_is_imported_into_a_class_is_said_to_be_its_attribute() -> None:
    outcome = migrate("class A:\n    from torch.cuda import synchronize\n")
    assert outcome.one("TN003")["message"].endswith("it is an attribute of a class")


def test_a_name_in_types_that_are_text_is_said_to_be_used() -> None:
    before = (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from torch.cuda import Event\n\n\n"
        "def f(e: 'Event | None') -> None: ...\n"
    )
    outcome = migrate(before)
    assert outcome.text == before
    assert outcome.one("TN003")["message"] == "torch.cuda.Event is used here in types that are written as text"
