"""The words of the engine as data: safety levels, edits, fixes and findings. Plain values that can cross processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


class Safety(str, Enum):
    """How sure a change is, measured against a host with TorchNeuron and one device per process."""

    SAFE = "safe"
    REVIEW = "review"
    OFFER = "offer"
    MANUAL = "manual"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Order from the most to the least certain."""
        return _RANK[self]

    def at_most(self, other: Safety) -> Safety:
        """The less certain of the two."""
        return self if self.rank >= other.rank else other


_RANK = {s: i for i, s in enumerate(Safety)}

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True)
class Rule:
    """One rule code and everything its page says.

    `argument` is the reason why the best level may be claimed; `source` names where the claim about the target comes
    from; `silent` says when the rule does not speak although a reader might expect it to.
    """

    code: str
    name: str
    summary: str
    best: Safety
    argument: str
    source: str
    why: str = ""
    silent: str = ""
    sdk: tuple[str, ...] = ("2.33.0",)
    examples: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Row:
    """Simple statements that share a line: their ranges, and the edit that removes all of them."""

    statements: tuple[tuple[int, int], ...]
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edit:
    """Replace the half-open range of the decoded source by `text`.

    `block` is set for the removal of a statement: offset of its block, number of statements in the block, and the range
    of the statement alone, so that a block that would become empty receives `pass`. `row` and `place` are set where the
    statement has neighbours on its line, so that several of them can go together.

    `moved` is set for the two halves of a move, one that takes text out and one that puts it in elsewhere: the range of
    the text that moves, and where it begins within `text` of the second half. Edits within that range travel with it.
    Each half is also right by itself, as a removal or an insertion of the text as it was read.
    """

    start: int
    end: int
    text: str
    block: tuple[int, int, int, int] | None = None
    moved: tuple[int, int, int] | None = None
    row: Row | None = None
    place: int = 0

    @property
    def takes_out(self) -> bool:
        """Whether this is the half of a move that removes the text from its old place."""
        return self.moved is not None and self.start < self.end


@dataclass(frozen=True)
class Evidence:
    """One step of the reasoning behind a finding: a place in the same file and what it shows."""

    start: int
    text: str
    path: str = ""


@dataclass(frozen=True)
class Move:
    """A fix keeps the local name of an import but needs it to come from elsewhere (`old` to `new`, qualified).

    `binding` says which import: the rank of the identifier that it binds (see `Index.order`), as in `ImportItem`.
    """

    local: str
    old: str
    new: str
    binding: int


@dataclass(frozen=True)
class Fix:
    """Edits that stand or fall together; `requires` are sites (start, end) whose fixes must be in force too."""

    description: str
    edits: tuple[Edit, ...] = ()
    requires: tuple[tuple[int, int], ...] = ()
    requests: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    numerics: dict[str, str] | None = None
    group: str = ""


@dataclass
class Finding:
    """What a transform says about one site. `fix` is an index into the fixes of the file's analysis."""

    rule: str
    start: int
    end: int
    message: str
    safety: Safety | None
    severity: str | None = None
    evidence: tuple[Evidence, ...] = ()
    fix: int | None = None
    reason: str | None = None
    statement: tuple[int, int] = (0, 0)
    scope: str = ""
    owner: bool = True
    related: list[int] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether the site is left alone on purpose."""
        return self.safety is None


@dataclass(frozen=True)
class ImportItem:
    """One imported name: its ranges, the ranges of every use in the file, and the rank of the identifier it binds.

    `exported`: others may import it from here; `bound_again`: the name gets another meaning later on.
    """

    start: int
    end: int
    local: str
    qualified: str
    uses: tuple[tuple[int, int], ...]
    exported: bool
    binding: int
    bound_again: bool


@dataclass(frozen=True)
class ImportStatement:
    """An import statement with what is needed to edit it."""

    start: int
    end: int
    line_start: int
    line_end: int
    module: str | None
    module_span: tuple[int, int] | None
    items: tuple[ImportItem, ...]
    top_level: bool
    alone: bool
    guarded: bool
    block: tuple[int, int] = (0, 0)


@dataclass
class ImportTable:
    """All imports of a file, and where a new one may go: lines at `insert_at`, or a statement right at `behind`."""

    statements: Sequence[ImportStatement] = ()
    insert_at: int = 0
    behind: int = 0
    blank_before: bool = False
    blank_after: bool = False


@dataclass
class Analysis:
    """Everything that one look at a file gave."""

    findings: list[Finding] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    imports: ImportTable = field(default_factory=ImportTable)
