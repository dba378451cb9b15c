"""Comments in an import: they stay where names go, move, or lose their last use."""

from __future__ import annotations

import pytest

from harness import migrate

USES = "\n\ndef f():\n    synchronize()\n    empty_cache()\n"
NEW_USES = "\n\ndef f():\n    torch.neuron.synchronize()\n    torch.neuron.empty_cache()\n"

WHOLE = {
    "names on lines of their own": (
        "from torch.cuda import (  # head\n    # above\n    synchronize,  # why\n    empty_cache,\n    # below\n)\n",
        "# head\n# above\n# why\n# below\n",
    ),
    "names behind the bracket": (
        "from torch.cuda import (synchronize,  # why\n    empty_cache)\n",
        "# why\n",
    ),
    "a comment behind the bracket, too": (
        "from torch.cuda import (synchronize,  # why\n    empty_cache)  # tail\n",
        "# why\n# tail\n",
    ),
    "a semicolon behind the bracket": (
        "from torch.cuda import (synchronize,  # why\n    empty_cache);\n",
        "# why\n",
    ),
    "only a comment behind it": ("from torch.cuda import synchronize, empty_cache  # tail\n", "# tail\n"),
    "no comment": ("from torch.cuda import (\n    synchronize,\n    empty_cache,\n)\n", ""),
    "a number sign in no comment": ("from torch.cuda import synchronize, empty_cache\n", ""),
}


@pytest.mark.parametrize("case", WHOLE)
def test_an_import_that_goes_leaves_its_comments(case: str) -> None:
    before, after = WHOLE[case]
    assert migrate("import torch\n" + before + USES).text == "import torch\n" + after + NEW_USES


@pytest.mark.parametrize("case", WHOLE)
def test_line_ends_stay(case: str) -> None:
    before, after = (("import torch\n" + text + uses) for text, uses in zip(WHOLE[case], (USES, NEW_USES)))
    assert migrate(before.replace("\n", "\r\n")).text == after.replace("\n", "\r\n")


def test_a_new_import_stands_ahead_of_the_comments() -> None:
    before = "from torch.cuda import (\n    # why\n    synchronize,\n)\n\n\ndef f():\n    synchronize()\n"
    assert migrate(before).text == "import torch\n# why\n\n\ndef f():\n    torch.neuron.synchronize()\n"


def test_an_import_that_was_all_of_its_block() -> None:
    before = (
        "import torch\n\nif torch:\n    from torch.cuda import (\n        synchronize,  # one\n"
        "        empty_cache,  # two\n    )\n" + USES
    )
    assert "if torch:\n    pass  # one\n    # two\n" in migrate(before).text


def test_an_import_in_a_function() -> None:
    before = (
        "import torch\n\n\ndef f():\n    from torch.cuda import (\n        synchronize,  # why\n    )\n"
        "    synchronize()\n"
    )
    assert migrate(before).text == "import torch\n\n\ndef f():\n    # why\n    torch.neuron.synchronize()\n"


def test_a_name_of_several_that_goes() -> None:
    before = (
        "import torch\nfrom torch.backends import (\n    cudnn,  # flags\n    mps,  # apple\n)\n\n"
        "cudnn.benchmark = True\nmps.is_available()\n"
    )
    after = "import torch\nfrom torch.backends import (\n    # flags\n    mps,  # apple\n)\n\nmps.is_available()\n"
    assert migrate(before).text == after


def test_the_last_name_that_goes() -> None:
    before = (
        "import torch\nfrom torch.backends import (\n    mps,  # apple\n    cudnn,  # flags\n)\n\n"
        "cudnn.benchmark = True\nmps.is_available()\n"
    )
    after = "import torch\nfrom torch.backends import (\n    mps,  # apple\n    # flags\n)\n\nmps.is_available()\n"
    assert migrate(before).text == after


def test_a_name_that_moves_away_from_others() -> None:
    before = (
        "import torch\nfrom torch.cuda.amp import (\n    autocast,  # why\n    GradScaler,\n)\n\n"
        "with autocast():\n    pass\n"
    )
    after = (
        "import torch\nfrom torch.amp import autocast\nfrom torch.cuda.amp import (\n    # why\n    GradScaler,\n)\n\n"
        'with autocast("neuron", dtype=torch.bfloat16):\n    pass\n'
    )
    assert migrate(before).text == after


def test_all_names_move() -> None:
    before = (
        "import torch\nfrom torch.cuda.amp import (  # head\n    autocast,  # why\n    GradScaler,\n)  # tail\n\n"
        "GradScaler()\nwith autocast():\n    pass\n"
    )
    assert "from torch.amp import (  # head\n    autocast,  # why\n    GradScaler,\n)  # tail\n" in migrate(before).text


def test_an_import_that_shares_its_line_stays_for_its_comments() -> None:
    before = "import torch\nfrom torch.cuda import (synchronize,  # why\n    ); x = 1\n\n\ndef f():\n"
    before += "    synchronize()\n"
    after = before.replace("    synchronize()\n", "    torch.neuron.synchronize()\n")
    assert migrate(before).text == after
