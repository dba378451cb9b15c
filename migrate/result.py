"""What a run found and what it would write: the state of each file, and all files together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from migrate.ledger import APPLIED, OPEN, FixState, Item
from migrate.settings import Settings
from transforms.engine.model import Analysis, Edit
from transforms.engine.source import Source
from transforms.flow.repository import Repository


@dataclass(eq=False)
class FileState:
    """One file of the run."""

    path: str
    kind: str
    test: bool
    status: str = "unchanged"
    reason: str | None = None
    hits: int = 0
    data: bytes = b""
    source: Source | None = None
    new_source: Source | None = None
    items: list[Item] = field(default_factory=list)
    fixes: list[FixState] = field(default_factory=list)
    import_edits: list[Edit] = field(default_factory=list)
    analysis: Analysis = field(default_factory=Analysis)

    @property
    def changed(self) -> bool:
        """Whether the run would write, or wrote, other bytes."""
        return self.new_source is not None and self.new_source.data != self.data


@dataclass
class Result:
    """What a run found, and what it would write."""

    root: Path
    settings: Settings
    files: list[FileState] = field(default_factory=list)
    seconds: float = 0.0
    errors: list[str] = field(default_factory=list)
    repository: Repository | None = None

    def items(self, tests: bool | None = None) -> Iterable[Item]:
        """Findings of all files, of the tests, or of the others."""
        for file in self.files:
            if tests is None or file.test is tests:
                yield from file.items

    @property
    def changes(self) -> dict[str, tuple[bytes, bytes]]:
        """Old and new bytes of the files that change."""
        return {f.path: (f.data, f.new_source.data) for f in self.files if f.new_source is not None and f.changed}

    @property
    def counted(self) -> list[Item]:
        """Findings that decide the exit code: those of tests only when tests are edited."""
        return [i for f in self.files if not f.test or self.settings.tests for i in f.items]

    @property
    def runnable(self) -> bool:
        """Whether no required finding is open, and no file failed through a fault of the tool."""
        return not any(item.needed for item in self.counted) and not any(f.status == "failed" for f in self.files)


def mark_applied(result: Result, written: set[str]) -> None:
    """After the files were written: the findings of the applied fixes are closed."""
    for file in result.files:
        if file.path not in written:
            continue
        for item in file.items:
            if item.fix is not None and item.fix.applied and item.status == OPEN:
                item.status = APPLIED
