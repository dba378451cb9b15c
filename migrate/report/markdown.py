"""The report as Markdown, fit for the summary of a CI job."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from html import escape
from urllib.parse import quote

from migrate.ledger import KEPT, OPEN, Item, sums
from migrate.report.places import Places, below_checkout, shown
from migrate.report.text import level_word
from migrate.report.wording import CUDA_GIVEN_UP, State, count, next_command, verdict, visible
from migrate.result import Result
from transforms.engine.model import ERROR, Safety

MOST_ROWS = 500
MOST_BYTES = 900_000
"""GitHub refuses job summaries of more than 1 MiB for a step."""

_SPECIAL = re.compile(r"([\\`*_{}\[\]|#~!])")


def render(result: Result) -> str:
    """The verdict, the counts, what needs a person, and what can be applied by rule."""
    return _Summary(result).text()


class _Summary:
    def __init__(self, result: Result) -> None:
        self.result = result
        self.places = Places(result)
        self.link = linker(below_checkout(result.root))
        self.found = sums(result.counted)

    def text(self) -> str:
        state = State.of(self.result)
        parts = [f"## neuron-migrate: {'runnable' if self.result.runnable else 'not runnable yet'}"]
        parts.append(safe(verdict(state, "check")) + (f" {CUDA_GIVEN_UP}" if state.changed else ""))
        if command := next_command(self.result, state, "check"):
            parts.append(f"Next: {code(command)}")
        parts += [self._counts(), *self._people(), *self._fixable(), *self._aside()]
        return _limited(parts)

    def _counts(self) -> str:
        rows = [f"| open: {level} | {n:,} |" for level, n in self.found.open.items()]
        rows += [f"| {status} | {n:,} |" for status, n in self.found.closed.items() if n or status == KEPT]
        return "\n".join(["| sites | number |", "|:--|--:|", *rows, f"| **all** | **{self.found.total:,}** |"])

    def _people(self) -> list[str]:
        items = self._open(Safety.MANUAL)
        items.sort(key=lambda i: (i.severity != ERROR, i.path, i.start))
        if not items:
            return []
        rows = [f"| {level_word(i)} | {self._place(i)} | {i.rule} | {self._sentence(i)} |" for i in items[:MOST_ROWS]]
        table = ["| level | place | rule | what to do |", "|:--|:--|:--|:--|", *rows]
        more = (
            [f"{count(len(items) - MOST_ROWS, 'more finding')} in the full report."] if len(items) > MOST_ROWS else []
        )
        return [f"### Needs you ({len(items):,})", "\n".join(table), *more]

    def _fixable(self) -> list[str]:
        parts = []
        needed = (Safety.SAFE, Safety.REVIEW)
        for title, levels in (("Can be applied", needed), ("On offer, not needed to run", (Safety.OFFER,))):
            items = self._open(*levels)
            if not items:
                continue
            groups = Counter((i.rule, i.name, level_word(i)) for i in items)
            files = {key: {i.path for i in items if (i.rule, i.name, level_word(i)) == key} for key in groups}
            rows = [
                f"| {rule} {safe(name)} | {level} | {n:,} | {len(files[rule, name, level]):,} |"
                for (rule, name, level), n in sorted(groups.items())
            ]
            table = ["| rule | level | findings | files |", "|:--|:--|--:|--:|", *rows]
            parts += [f"### {title} ({len(items):,})", "\n".join(table)]
        return parts

    def _aside(self) -> list[str]:
        """What stands beside the findings: kept sites, tests, files that no rule reads or that can't be read."""
        lines = []
        if self.found.closed[KEPT]:
            reasons = Counter(i.reason or "" for i in self.result.counted if i.status == KEPT and i.owner)
            named = ", ".join(f"{safe(reason)} {n:,}" for reason, n in reasons.most_common(8))
            lines.append(f"- {self.found.closed[KEPT]:,} kept: {named}")
        if not self.result.settings.tests:
            tests = sum(sums(self.result.items(tests=True)).open.values())
            if tests:
                lines.append(f"- tests, left alone: {tests:,} open")
        for status, title in (("not_read", "not read yet"), ("unreadable", "unreadable"), ("failed", "failed")):
            files = [f for f in self.result.files if f.status == status]
            if files:
                named = ", ".join(f"{self.link(f.path, None)} ({f.hits:,})" for f in files[:20])
                more = f" and {count(len(files) - 20, 'more file')}" if len(files) > 20 else ""
                lines.append(f"- {title}, with their mentions of CUDA or XLA: {named}{more}")
        return ["### Besides", "\n".join(lines)] if lines else []

    def _open(self, *levels: Safety) -> list[Item]:
        files = [f for f in self.result.files if not f.test or self.result.settings.tests]
        return [i for f in files for i in shown(f.items) if i.status == OPEN and i.safety in levels]

    def _place(self, item: Item) -> str:
        return self.link(item.path, self.places.of(item)[0])

    def _sentence(self, item: Item) -> str:
        reason = f" ({item.reason})" if item.reason and item.reason != item.message else ""
        return safe(item.message + reason)


def linker(prefix: str) -> Callable[[str, int | None], str]:
    """Gives links to lines: to the commit that GitHub Actions works on, else relative to the repository's top."""
    server, repository, commit = (os.environ.get(f"GITHUB_{n}", "") for n in ("SERVER_URL", "REPOSITORY", "SHA"))
    base = f"{server}/{repository}/blob/{commit}/" if server and repository and commit else ""

    def link(path: str, line: int | None) -> str:
        url = base + quote(os.fsencode(prefix + path)) + (f"#L{line}" if line is not None else "")
        return f"[{safe(path)}{f':{line}' if line is not None else ''}]({url})"

    return link


def safe(text: str) -> str:
    """Text that Markdown and HTML take literally, on one line."""
    flat = visible(re.sub(r"\s+", " ", text).strip())
    return _SPECIAL.sub(r"\\\1", escape(flat, quote=False)).replace("@", "&#64;")


def code(text: str) -> str:
    """A code span, whatever backticks the text holds."""
    text = visible(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _limited(parts: list[str]) -> str:
    """As many whole parts as fit; the last one says what is missing. A table that is too long loses its end."""
    text = ""
    for part in parts:
        rows = part.split("\n")
        while (
            rows and len(text.encode("utf-8", "replace")) + len("\n".join(rows).encode("utf-8", "replace")) > MOST_BYTES
        ):
            rows = rows[: len(rows) // 2]
        text += "\n".join(rows) + "\n\n"
        if rows != part.split("\n"):
            return text + "The report is longer than a job summary may be; the rest is in the log.\n"
    return text.rstrip("\n") + "\n"
