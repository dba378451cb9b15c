"""Numbers in printed lines: which of them two runs of the same computation must share."""

from __future__ import annotations

import re

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
# A number with one of these after it, or such a word before it, tells of time, speed or memory.
UNIT_AFTER = re.compile(
    r"\s*(?:m?s|[µun]s|secs?|seconds?|min(?:utes)?|h(?:ours)?|[kKMGT]i?B|bytes|(?:it|sample|img|image|tok|token|ex|example"
    r"|step|batch|frame)(?:e?s)?\s*/\s*(?:s|sec|second)|[GT]FLOPS|s/it|fps)(?![A-Za-z])"
)
WORD_BEFORE = re.compile(
    r"(?:time|elapsed|eta|took|duration|seconds|secs|speed|throughput|latency|memory|mem|vram|mfu|fps"
    r"|per[ _]sec(?:ond)?|/s(?:ec)?|(?<![a-z])[mµun]?s(?:ecs?)?/|date|pid|port|dt)"
    r"\w*\s*(?:\([^)]*\))?\s*[:=]?\s*[<>~]?\s*(?:[\d.]+\s*\(\s*)?$",  # the last: an average behind, `time 0.2 (0.3)`
    re.IGNORECASE,
)
PADDING = re.compile(r"(?<=[^\w\s#]) (?=#)")
CLOCK = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?|0x[0-9a-fA-F]+")
LINE = re.compile(r"(?<=\.py)(?::|\s|[\"']?,\s)(?:line\s)?\d+")  # the edits move lines: `train.py:12`, `(train.py 12)`
DEVICE = re.compile(r"\b(?:cuda|neuron)(?::\d+)?\b|NVIDIA stand-in", re.IGNORECASE)


def split(line: str) -> tuple[str, list[str]]:
    """The line without its numbers, and the numbers that a comparison looks at.

    Times, speeds, memory figures, dates, addresses, places in code and device names do not count. The text has no
    padding: a time that is padded to a width would else give the line another text in each run.
    """
    line = CLOCK.sub("<clock>", DEVICE.sub("<device>", LINE.sub(":<line>", line)))
    numbers = []
    for match in NUMBER.finditer(line):
        measured = UNIT_AFTER.match(line, match.end()) or WORD_BEFORE.search(line[: match.start()])
        if not measured:
            numbers.append(match.group())
    return PADDING.sub("", " ".join(NUMBER.sub("#", line).split())), numbers
