"""The table of names (`names.tsv`), and a module type that answers by it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from . import records

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.tsv")


def status_of(module: str) -> dict[str, str]:
    """The status of each name of `module`: `granted`, `refused` or `unknown`."""
    found = {}
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            owner, name, status, _source = line.rstrip("\n").split("\t")
            if owner == module:
                found[name] = status
    return found


class DeviceModule(ModuleType):
    """A module whose granted names are attributes; the others are looked up in the table.

    A refused or unheard-of name raises the AttributeError that the real module would raise; an unknown name
    works and is listed in the report, each with the place in user code that asked.
    """

    def __init__(self, name: str, granted: Mapping[str, Any], unknown: Mapping[str, Any]) -> None:
        super().__init__(name)
        self._status = status_of(name)
        self._unknown = dict(unknown)
        self.__dict__.update(granted)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__name__}.{name}"
        place = records.direct_place(1)
        if name in self._unknown:
            if place:
                records.write({"kind": "unverified", "name": path, "path": place[0], "line": place[1]})
            return self._unknown[name]
        if place and self._status.get(name) == "refused":
            records.add("TN107", "warning", f"{path} does not exist on TorchNeuron 2.33", place)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def register(module: ModuleType) -> None:
    """Put `module` into sys.modules so that `find_spec` and `import` accept it."""
    from importlib.machinery import ModuleSpec

    module.__spec__ = ModuleSpec(module.__name__, None, is_package=True)
    module.__path__ = []
    sys.modules[module.__name__] = module
