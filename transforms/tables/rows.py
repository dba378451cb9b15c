"""The shape of a row of the API tables."""

from __future__ import annotations

from dataclasses import dataclass

SDK = "2.33.0"

HIGH, MIDDLE, LOW = "hi", "mid", "lo"
"""Confidence: documented for the target, or in the package's sources and used by frameworks; one of those; inferred."""


@dataclass(frozen=True)
class Row:
    """What is known about one name.

    `new` is the qualified name that takes its place, empty when there is none; `note` then says what to do instead.
    `severity` holds for a name without counterpart. `starts`: a call starts the device runtime. `device`: position of
    an argument that names a device (or index), -1 when there is none.
    """

    name: str
    new: str
    confidence: str
    source: str
    note: str = ""
    severity: str = "error"
    starts: bool = True
    device: int = -1
    sdk: str = SDK


def by_name(*tables: tuple[Row, ...]) -> dict[str, Row]:
    """Rows of several tables by qualified name."""
    return {row.name: row for table in tables for row in table}
