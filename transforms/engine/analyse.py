"""One look at one file: parse, walk, show the nodes to the transforms, and say the findings in offsets."""

from __future__ import annotations

from collections.abc import Sequence

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
    cx = Context(source, parse(source), facts, options)
    for transform in wanted:
        cx.run(transform)
    return lower(cx)
