"""What all files of the root say together, found by a cheap look at their bytes.

Patterns, not parses: the answers only ever make a finding less certain, so reading too much is harmless, and a file
that Python can't parse still counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from transforms.engine.transform import RepositoryFacts

METHODS = ("cuda", "to", "compile", "half", "type", "is_cuda")
"""Methods, and the attribute `is_cuda`, of torch objects whose meaning changes where a class defines its own."""

CLASSES = ("GradScaler", "ShardedGradScaler")
"""Classes of torch that a repository may define for itself, or hand on from a module of its own."""

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(" + "|".join(CLASSES).encode() + rb")\b", re.M)
_METHOD = re.compile(rb"^[ \t]+(?:async[ \t]+)?def[ \t]+(" + "|".join(METHODS).encode() + rb")[ \t]*\(", re.M)
_STORED = re.compile(rb"^[ \t]+(?:self\.)?(is_cuda)[ \t]*(?::[^=\n]*)?=(?!=)", re.M)
_BLOCK = re.compile(rb"^([ \t]*)class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[ \t]*:", re.M)
_PLAIN = frozenset(b"object ABC dict list tuple UserDict UserList OrderedDict NamedTuple Mapping Sequence".split())
"""Base classes without a `to()`."""
_FROM = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n;#]*)", re.M)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n;#(]+)", re.M)
_NAME = re.compile(r"(\w+)(?:\s+as\s+(\w+))?|\*")
_GROUP = b"init_process_group"


@dataclass
class Repository:
    """Facts about the files of one root. Paths are relative, with `/`."""

    methods: dict[str, tuple[str, ...]] = field(default_factory=dict)
    importers: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    distributed: bool = False
    modules: frozenset[str] = frozenset()
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    without_to: frozenset[str] = frozenset()

    def facts(self, path: str) -> RepositoryFacts:
        """What a transform may know about the rest of the repository when it looks at one file."""
        importers = self.importers.get(path, {})
        return RepositoryFacts(self.methods, importers, self.distributed, self.modules, self.classes, self.without_to)


def scan(files: Mapping[str, bytes]) -> Repository:
    """Look at every Python file of the root once."""
    found = Repository(modules=_modules(files))
    targets = _suffixes(files)
    for path in sorted(files):
        data = files[path]
        if _GROUP in data:
            found.distributed = True
        for pattern, names in ((_METHOD, found.methods), (_STORED, found.methods), (_CLASS, found.classes)):
            for match in pattern.finditer(data):
                _add(names, match[1].decode(), path)
        _imports(path, data, targets, found)
    found.without_to = _without_to(files[path] for path in found.methods.get("cuda", ()))
    return found


def _without_to(texts: Iterable[bytes]) -> frozenset[str]:
    """Classes that define `cuda()` and have no `to()`, neither their own nor one of a base that may be torch's."""
    names: set[str] = set()
    for data in texts:
        for match in _BLOCK.finditer(data):
            body = data[match.end() :]
            ends = re.search(rb"^" + match[1] + rb"[^\s#)\]}]", body, re.M)
            body = body[: ends.start()] if ends is not None else body
            own = {m[1] for m in _METHOD.finditer(body)}
            bases = {b.strip().rpartition(b".")[2] for b in (match[3] or b"").split(b",") if b.strip()}
            if b"cuda" in own and b"to" not in own and b"__getattr__" not in body and bases <= _PLAIN:
                names.add(match[2].decode("utf-8", "replace"))
    return frozenset(names)


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
    _add(found.importers.setdefault(target, {}), name, path)


def _add(names: dict[str, tuple[str, ...]], name: str, path: str) -> None:
    """Add a file to those of a name. Files come one after the other, so a file that is there already is the last."""
    if not (files := names.get(name, ())) or files[-1] != path:
        names[name] = (*files, path)


def _absolute(module: str, path: str) -> str:
    dots = len(module) - len(module.lstrip("."))
    if not dots:
        return module
    package = path.split("/")[:-1]
    package = package[: len(package) - (dots - 1)]
    return ".".join([*package, *filter(None, [module[dots:]])])
