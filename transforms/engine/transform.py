"""The base class of transforms, and what they may know about the rest of the repository."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from transforms.engine.model import Rule

if TYPE_CHECKING:
    from transforms.engine.context import Context


@dataclass(frozen=True)
class RepositoryFacts:
    """What a cheap look at all files of the root found out.

    `methods` maps a method name that torch objects also have (`cuda`, `to`, `compile`) to the files whose classes
    define their own. `importers` maps a module-level name of the file at hand to the files that import it; the key
    `*` holds those that import everything. `without_to` are the names of classes with a `cuda()` of their own and
    surely no `to()`. `distributed` says whether any file starts a process group. `modules` are names by which the
    repository's own files can be imported. `classes` maps a name that a class of torch also has (`GradScaler`) to
    the files that define their own.
    """

    methods: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    importers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    distributed: bool = False
    modules: AbstractSet[str] = frozenset()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    without_to: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Options:
    """Settings that change what is written. `probe`: the form an availability test takes."""

    probe: str = "guarded"
    path: str = ""


class Transform(ABC):
    """One codemod. It looks at nodes and emits findings; it never changes a tree and never sees an offset.

    `triggers` are byte literals, one of which must occur in a file for the transform to run there. `nodes` are the
    LibCST classes it is shown, in source order. `needs` says what it rests on: the file alone (`none`), values followed
    inside the file (`values`) or the repository (`graph`).
    """

    rules: ClassVar[tuple[Rule, ...]]
    triggers: ClassVar[tuple[bytes, ...]]
    nodes: ClassVar[tuple[type[cst.CSTNode], ...]]
    needs: ClassVar[str] = "none"

    @property
    def rule(self) -> Rule:
        """The rule that findings belong to unless they name another."""
        return self.rules[0]

    @property
    def family(self) -> str:
        """Package that the transform lives in, such as `device`."""
        return type(self).__module__.split(".")[1]

    @abstractmethod
    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one node and report what there is to say about it."""
