"""Load the compiled stand-in; it was built before the process started."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from typing import Any

NAME = "neuron_standin_native"


def load(path: str) -> Any:
    """Load the extension module at `path`."""
    loader = importlib.machinery.ExtensionFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
