"""A run in a working copy must import the copy, also where an editable install or PYTHONPATH names the real tree."""

from __future__ import annotations

import os
import sys
from typing import Any

from . import records


def enter(real: str, copy: str) -> None:
    """Lead sys.path, and the finders of editable installs, from the tree `real` to `copy`."""
    sys.path[:] = [_moved(entry, real, copy) for entry in sys.path]
    for finder in sys.meta_path:
        module = sys.modules.get(getattr(finder, "__module__", ""))
        if module is not None and module.__name__.startswith("__editable__"):
            mapping: Any = getattr(module, "MAPPING", {})
            mapping.update({name: _moved(path, real, copy) for name, path in mapping.items()})


def report_strayed(real: str) -> None:
    """Record the modules that came from the real tree all the same."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and _below(path, real) and records.is_user_file(path):
            records.write({"kind": "strayed", "module": name})


def _below(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)


def _moved(path: str, real: str, copy: str) -> str:
    if not isinstance(path, str) or not path or not _below(path + os.sep + "x", real):
        return path
    return os.path.normpath(os.path.join(copy, os.path.relpath(os.path.realpath(path), os.path.realpath(real))))
