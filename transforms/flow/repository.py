"""What all files of the root say together, found by a cheap look at their bytes.

Patterns, not parses: the answers only ever make a finding less certain, so reading too much is harmless, and a file
that Python can't parse still counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from transforms.engine.transform import RepositoryFacts

METHODS = ("cuda", "to", "compile", "half", "type")
"""Methods of torch objects whose meaning changes where a class defines its own."""

_METHOD = re.compile(rb"^[ \t]+(?:async[ \t]+)?def[ \t]+(" + "|".join(METHODS).encode() + rb")[ \t]*\(", re.M)
_FROM = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n;#]*)", re.M)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n;#(]+)", re.M)
_NAME = re.compile(r"(\w+)(?:\s+as\s+(\w+))?|\*")
_GROUP = b"init_process_group"


@dataclass
class Repository:
    """Facts about the files of one root. Paths are relative, with `/`."""

    methods: dict[str, list[str]] = field(default_factory=dict)
    importers: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    distributed: bool = False
    modules: frozenset[str] = frozenset()

    def facts(self, path: str) -> RepositoryFacts:
        """What a transform may know about the rest of the repository when it looks at one file."""
        return RepositoryFacts(
            {name: tuple(files) for name, files in self.methods.items()},
            {name: tuple(files) for name, files in self.importers.get(path, {}).items()},
            self.distributed,
            self.modules,
        )


def scan(files: Mapping[str, bytes]) -> Repository:
    """Look at every Python file of the root once."""
    found = Repository(modules=_modules(files))
    targets = _suffixes(files)
    for path in sorted(files):
        data = files[path]
        if _GROUP in data:
            found.distributed = True
        for match in _METHOD.finditer(data):
            owners = found.methods.setdefault(match[1].decode(), [])
            if path not in owners:
                owners.append(path)
        _imports(path, data, targets, found)
    return found


def _modules(files: Mapping[str, bytes]) -> frozenset[str]:
    names: set[str] = set()
    for path in files:
        parts = path.removesuffix(".py").split("/")
        names.update(p for p in parts if p.isidentifier())
    return frozenset(names - {"torch", "torch_xla"})


def _suffixes(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Files by every dotted name that could import them."""
    found: dict[str, list[str]] = {}
    for path in files:
        parts = path.removesuffix(".py").split("/")
        if parts[-1] == "__init__":
            parts.pop()
        for first in range(len(parts)):
            found.setdefault(".".join(parts[first:]), []).append(path)
    return found


def _imports(path: str, data: bytes, targets: Mapping[str, list[str]], found: Repository) -> None:
    for match in _FROM.finditer(data):
        module = _absolute(match[1].decode("ascii", "replace"), path)
        names = [m[1] or "*" for m in _NAME.finditer(re.sub(r"#[^\n]*", "", match[2].decode("utf-8", "replace")))]
        for target in targets.get(module, ()):
            for name in names:
                _note(found, target, name, path)
        for name in names:
            for target in targets.get(f"{module}.{name}" if module else name, ()):
                _whole(found, target, name, path, data)
    for match in _IMPORT.finditer(data):
        for part in match[1].decode("utf-8", "replace").split(","):
            words = part.split()
            if not words or words[0] not in targets:
                continue
            alias = words[2] if len(words) > 2 else words[0]
            for target in targets[words[0]]:
                _whole(found, target, alias, path, data)


def _whole(found: Repository, target: str, alias: str, path: str, data: bytes) -> None:
    """A module imported as a whole: the names read from it."""
    for name in set(re.findall(re.escape(alias).encode() + rb"\.(\w+)", data)):
        _note(found, target, name.decode("ascii", "replace"), path)


def _note(found: Repository, target: str, name: str, path: str) -> None:
    if target == path:
        return
    files = found.importers.setdefault(target, {}).setdefault(name, [])
    if path not in files:
        files.append(path)


def _absolute(module: str, path: str) -> str:
    dots = len(module) - len(module.lstrip("."))
    if not dots:
        return module
    package = path.split("/")[:-1]
    package = package[: len(package) - (dots - 1)]
    return ".".join([*package, *filter(None, [module[dots:]])])
