"""Where an import that a fix asks for is put: ahead of the first code that needs it, and never under a condition."""

from __future__ import annotations

import pytest

from harness import migrate

USE = "fn = torch.compile\n"
NEW = 'fn = functools.partial(torch.compile, backend="neuron", dynamic=False)\n'
TAIL = "from functools import wraps\n"

PLACED = {
    "plain block": ("import torch\n" + USE, "import functools\nimport torch\n" + NEW),
    "later import of the module's names": (
        "import torch\n" + USE + TAIL,
        "import functools\nimport torch\n" + NEW + TAIL,
    ),
    "later plain import does not count": (
        "import torch\n" + USE + "import functools\n",
        "import functools\nimport torch\n" + NEW + "import functools\n",
    ),
    "earlier import of the module's names": (
        "import os\n" + TAIL + "import torch\n" + USE,
        "import os\nimport functools\n" + TAIL + "import torch\n" + NEW,
    ),
    "already there": ("import functools\nimport torch\n" + USE, "import functools\nimport torch\n" + NEW),
    "there after other code, before the use": (
        "import torch\ntorch.manual_seed(0)\nimport functools\n" + USE,
        "import torch\ntorch.manual_seed(0)\nimport functools\n" + NEW,
    ),
    "code between two imports does not matter": (
        "import os\nos.environ['A'] = '1'\nimport torch\n" + USE,
        "import functools\nimport os\nos.environ['A'] = '1'\nimport torch\n" + NEW,
    ),
    "docstring": ('"""Text."""\nimport torch\n' + USE, '"""Text."""\nimport functools\nimport torch\n' + NEW),
    "docstring over lines": (
        '"""Text.\n\nimport that\n"""\n\nimport torch\n' + USE,
        '"""Text.\n\nimport that\n"""\n\nimport functools\nimport torch\n' + NEW,
    ),
    "__future__": (
        "from __future__ import annotations\nimport torch\n" + USE,
        "from __future__ import annotations\nimport functools\nimport torch\n" + NEW,
    ),
    "docstring and __future__": (
        '"""Text."""\nfrom __future__ import annotations\n\nimport torch\n' + USE,
        '"""Text."""\nfrom __future__ import annotations\n\nimport functools\nimport torch\n' + NEW,
    ),
    "__future__ over lines": (
        "from __future__ import (\n    annotations,\n)\nimport torch\n" + USE,
        "from __future__ import (\n    annotations,\n)\nimport functools\nimport torch\n" + NEW,
    ),
    "__future__ and all the rest on one line": (
        "from __future__ import annotations; import torch; fn = torch.compile\n",
        "from __future__ import annotations; import functools; import torch; " + NEW,
    ),
    "docstring and all the rest on one line": (
        '"""Text."""; import torch; fn = torch.compile\n',
        '"""Text."""; import functools; import torch; ' + NEW,
    ),
    "imports and use on one line": (
        "import os; import torch; fn = torch.compile\n",
        "import functools\n\nimport os; import torch; " + NEW,
    ),
    "import with a neighbour after it": (
        "import torch; x = 1\n" + USE,
        "import functools\n\nimport torch; x = 1\n" + NEW,
    ),
    "shebang and licence": (
        "#!/usr/bin/env python\n# Licence: own words.\n\nimport torch\n" + USE,
        "#!/usr/bin/env python\n# Licence: own words.\n\nimport functools\nimport torch\n" + NEW,
    ),
    "script with code first": (
        "print('start')\nimport torch\n" + USE,
        "print('start')\nimport functools\nimport torch\n" + NEW,
    ),
    "star import of torch": (
        "from torch import *\nimport torch\n" + USE,
        "import functools\nfrom torch import *\nimport torch\n" + NEW,
    ),
    "star import of functools binds nothing that is known": (
        "from functools import *\nimport torch\n" + USE,
        "import functools\nfrom functools import *\nimport torch\n" + NEW,
    ),
    "import under a type check": (
        "from typing import TYPE_CHECKING\nimport torch\nif TYPE_CHECKING:\n    import functools\n" + USE,
        "import functools\nfrom typing import TYPE_CHECKING\nimport torch\n"
        "if TYPE_CHECKING:\n    import functools\n" + NEW,
    ),
    "import inside try": (
        "try:\n    from functools import wraps\nexcept ImportError:\n    wraps = None\nimport torch\n" + USE,
        "try:\n    from functools import wraps\nexcept ImportError:\n    wraps = None\n"
        "import functools\nimport torch\n" + NEW,
    ),
    "only a function-local import of functools": (
        "import torch\n\n\ndef f():\n    import functools\n    return functools\n\n\n" + USE,
        "import functools\nimport torch\n\n\ndef f():\n    import functools\n    return functools\n\n\n" + NEW,
    ),
    "use in a function before a later import": (
        "import torch\n\n\ndef f():\n    return [torch.compile]\n\n\n" + TAIL,
        "import functools\nimport torch\n\n\ndef f():\n"
        '    return [functools.partial(torch.compile, backend="neuron", dynamic=False)]\n\n\n' + TAIL,
    ),
    "local import after the use: the name is not bound yet": (
        "import torch\n\n\ndef f():\n    g = [torch.compile]\n    import functools\n    return g, functools\n",
        None,
    ),
    "functools is another thing": ("import torch\nfunctools = 1\n" + USE, None),
}


@pytest.mark.parametrize("case", PLACED)
def test_requested_import_stands_before_its_use(case: str) -> None:
    before, after = PLACED[case]
    assert migrate(before).text == (before if after is None else after)


TORCH = {
    "moved names join an import that stands before the use": (
        "from torch.amp import custom_fwd\nfrom torch.cuda.amp import GradScaler, autocast\n\n\n"
        "def f(x):\n    with autocast():\n        return x\n",
        "from torch.amp import custom_fwd, autocast",
    ),
    "moved names do not join an import that stands behind the use": (
        "from torch.cuda.amp import autocast, GradScaler\ncast = autocast(enabled=True)\n"
        "from torch.amp import custom_fwd\n",
        "from torch.amp import custom_fwd\n",
    ),
    "moved names join a list in parentheses with a comma at its end and comments": (
        "from torch.amp import (\n    custom_bwd,  # backward\n    custom_fwd,  # forward\n)\n"
        "from torch.cuda.amp import GradScaler, autocast\n\n\ndef f(x):\n    with autocast():\n        return x\n",
        "from torch.amp import (\n    custom_bwd,  # backward\n    custom_fwd, autocast,  # forward\n)\n",
    ),
    "the import under a type check takes nothing": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.amp import custom_fwd\n"
        "from torch.cuda.amp import autocast, GradScaler\n\n\ndef f(x):\n    with autocast():\n        return x\n",
        "    from torch.amp import custom_fwd\n",
    ),
    "the import inside try takes nothing": (
        "try:\n    from torch.amp import custom_fwd\nexcept ImportError:\n    custom_fwd = None\n"
        "from torch.cuda.amp import autocast, GradScaler\n\n\ndef f(x):\n    with autocast():\n        return x\n",
        "    from torch.amp import custom_fwd\n",
    ),
    "torch is imported behind the use": (
        "from torch.cuda import synchronize\nsynchronize()\nimport torch\n",
        "import torch\ntorch.neuron.synchronize()\nimport torch\n",
    ),
    "torch has a name under a type check alone": (
        "from typing import TYPE_CHECKING\nfrom torch.cuda import synchronize\nif TYPE_CHECKING:\n    import torch\n"
        "synchronize()\n",
        "import torch\nif TYPE_CHECKING",
    ),
    "torch is imported inside functions alone": (
        "def f():\n    import torch\n    return torch.zeros(2)\n\n\n"
        "def g():\n    from torch.cuda import synchronize\n    synchronize()\n",
        "import torch\n\ndef f():\n",
    ),
    "a function uses the module's later import": (
        "def g():\n    torch.cuda.synchronize()\n\n\nimport torch\n",
        "def g():\n    torch.neuron.synchronize()\n\n\nimport torch\n",
    ),
    "a decorated function with a comment comes first": (
        "# about g\n@staticmethod\ndef g():\n    from torch.cuda import synchronize\n    synchronize()\n",
        "# about g\nimport torch\n\n@staticmethod\n",
    ),
    "a function's own import takes only its own names": (
        "def f(x):\n    from torch.cuda.amp import autocast\n    with autocast():\n        return x\n\n\n"
        "def g(x):\n    from torch.cuda.amp import autocast; y = x\n    with autocast():\n        return y\n",
        "def f(x):\n    from torch.amp import autocast\n    with autocast(",
    ),
}


@pytest.mark.parametrize("case", TORCH)
def test_torch_imports(case: str) -> None:
    before, piece = TORCH[case]
    outcome = migrate(before)
    assert piece in outcome.text


@pytest.mark.parametrize("use", ['e: "Event" = None', 'e: "list[Event]" = []', 'e = cast("Event", 1)'])
def test_import_that_a_type_written_as_text_needs_stays(use: str) -> None:
    head = "from typing import cast\n\nimport torch\nfrom torch.cuda import Event\n"
    text = f"{head}\n{use}\n\n\ndef f():\n    return Event()\n"
    outcome = migrate(text)
    assert "from torch.cuda import Event" in outcome.text
    assert "return torch.neuron.Event()" in outcome.text
