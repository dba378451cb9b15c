"""What the tests of the stand-in share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from migrate.standin import results

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
TIME_LIMIT = 240.0


@dataclass(frozen=True)
class Run:
    """How one program ended, and what it said."""

    code: int
    stdout: str
    stderr: str
    seen: results.Seen
    taps: dict[int, results.Taps]

    def codes(self, severity: str | None = None) -> set[str]:
        return {h.code for h in self.seen.hazards if severity in (None, h.severity)}


RunProgram = Callable[..., Run]
