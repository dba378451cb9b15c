"""Edits to the entries of a dict display: drop, set, add. Layout, trailing commas and comments are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from transforms.engine.changes import Layout
from transforms.engine.items import Items
from transforms.engine.model import Edit


@dataclass
class Entries:
    """A change to one dict display. Build it step by step, then hand it to a fix."""

    node: cst.Dict
    _dropped: list[cst.BaseDictElement] = field(default_factory=list)
    _values: list[tuple[cst.DictElement, str]] = field(default_factory=list)
    _last: list[str] = field(default_factory=list)

    def drop(self, entry: cst.BaseDictElement) -> Entries:
        """Take an entry out."""
        self._dropped.append(entry)
        return self

    def value(self, entry: cst.DictElement, text: str) -> Entries:
        """Give an entry another value."""
        self._values.append((entry, text))
        return self

    def append(self, text: str) -> Entries:
        """Add a last entry, such as `"dynamic": False`."""
        self._last.append(text)
        return self

    @property
    def lost(self) -> list[cst.BaseExpression]:
        """The values that are no longer written."""
        return [e.value for e in self._dropped] + [e.value for e, text in self._values if ":=" not in text]

    def wants(self) -> Iterator[cst.CSTNode]:
        """The dict, its entries and their values."""
        yield self.node
        for entry in self.node.elements:
            yield entry
            yield entry.value

    def edits(self, layout: Layout) -> list[Edit]:
        """Edits that touch nothing but the named entries."""
        start, end = layout.spans.of(self.node)
        gone = [i for i, e in enumerate(self.node.elements) if any(e is d for d in self._dropped)]
        items = Items(layout.source, start + 1, end - 1, [layout.spans.of(e) for e in self.node.elements])
        found = [
            Edit(*layout.spans.of(entry.value), text)
            for entry, text in self._values
            if not any(entry is d for d in self._dropped)
        ]
        found = [e for e in found if layout.text[e.start : e.end] != e.text]
        return sorted(found + items.edits(gone, (), self._last), key=lambda e: (e.start, e.end))
