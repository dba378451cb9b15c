"""One look at one file: parse, walk, show the nodes to the transforms, and say the findings in offsets."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from transforms.engine.context import Context
from transforms.engine.lower import lower
from transforms.engine.model import Analysis
from transforms.engine.parse import parse
from transforms.engine.source import Source
from transforms.engine.transform import Options, RepositoryFacts, Transform
from transforms.engine.words import may_hold


def concerned(data: bytes, transforms: Sequence[Transform]) -> list[Transform]:
    """The transforms that have a trigger in these bytes."""
    return [t for t in transforms if any(literal in data for literal in t.triggers)]


def analyse(
    source: Source,
    transforms: Sequence[Transform],
    facts: RepositoryFacts | None = None,
    options: Options | None = None,
) -> Analysis:
    """Findings, fixes and imports of a file. Raises `Unreadable`. Run it inside `parse.on_big_stack`."""
    wanted = concerned(source.data, transforms)
    if not wanted and not may_hold(source.data):
        return Analysis()
    with _uncollected():
        cx = Context(source, parse(source), facts, options)
        for transform in wanted:
            cx.run(transform)
        return lower(cx)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage while a tree grows: all of it is in use, and each search would look through all of it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
