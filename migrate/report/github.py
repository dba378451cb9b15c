"""Workflow commands for GitHub Actions: each finding becomes an annotation of a pull request."""

from __future__ import annotations

from collections import Counter

from migrate.report.alerts import NOTE, Alert, alerts
from migrate.report.places import Places
from migrate.report.wording import State, count, verdict, visible
from migrate.result import Result
from transforms.engine.model import ERROR, WARNING
from transforms.registry import by_code

SHOWN_PER_LEVEL = 10
"""Annotations of one level that GitHub shows for a step; the others stand in the log alone."""

_COMMANDS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}


def render(result: Result) -> str:
    """One workflow command a line, a summary among the notices first, then the most important findings."""
    found = [a for a in alerts(result, Places(result)) if a.open]
    levels = Counter([NOTE, *(a.level for a in found)])  # the summary is a notice itself
    hidden = sum(max(0, n - SHOWN_PER_LEVEL) for n in levels.values())
    summary = verdict(State.of(result), "check")
    if hidden:
        summary += (
            f" GitHub shows {SHOWN_PER_LEVEL} annotations of a level for a step;"
            f" {count(hidden, 'more finding')} can be read in the log of this step."
        )
    lines = [f"::notice title=neuron-migrate::{data(summary)}", *map(_command, found)]
    return "\n".join(lines) + "\n"


def _command(alert: Alert) -> str:
    line, column, end_line, end_column = alert.place
    named = {"file": alert.path, "line": str(line), "endLine": str(end_line)}
    # GitHub refuses columns for a range of several lines.
    if line == end_line:
        named |= {"col": str(column), "endColumn": str(end_column)}
    named["title"] = f"{alert.rule} {by_code()[alert.rule].name}"
    properties = ",".join(f"{key}={escaped(value)}" for key, value in named.items())
    return f"::{_COMMANDS[alert.level]} {properties}::{data(alert.text)}"


def data(text: str) -> str:
    """The message of a command, escaped as the runner reads it."""
    return "%0A".join("%0D".join(map(visible, line.split("\r"))) for line in text.replace("%", "%25").split("\n"))


def escaped(text: str) -> str:
    """A property of a command, escaped as the runner reads it."""
    return data(text).replace(":", "%3A").replace(",", "%2C")
