"""Runs the installed tool on copies of whole source trees and checks what must hold for any repository.

    python tests/corpus_check.py TREE...

For each tree: `check` writes nothing, and every specific token (see token_check) has a finding; `run` breaks no file
and writes the reported edits alone; a second `run` changes nothing. Ends with a table, and with exit code 1 if a tree
has a problem; problems are named on stderr.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from token_check import specific_tokens, uncovered

STATE = ".neuron-migrate"
LEVELS = ("safe", "review", "offer", "manual")
APPLIED = ("safe", "review")
"""The levels that `run` applies by default."""

Report = dict[str, Any]


@dataclass
class Tool:
    """The command under test."""

    command: Sequence[str]
    timeout: float

    def call(self, folder: Path, *arguments: str) -> tuple[str, str | None]:
        """Standard output, and what went wrong (None if nothing did; open findings are no fault)."""
        try:
            done = subprocess.run(
                [*self.command, *arguments],
                cwd=folder,
                capture_output=True,
                check=False,
                encoding="utf-8",
                timeout=self.timeout,
            )
        except subprocess.TimeoutExpired:
            return "", f"{arguments[0]}: no end after {self.timeout:.0f} s"
        if done.returncode not in (0, 1) or "Traceback (most recent call last)" in done.stderr:
            tail = "\n    ".join(done.stderr.strip().splitlines()[-4:])
            return done.stdout, f"{arguments[0]}: exit code {done.returncode}\n    {tail}"
        return done.stdout, None


@dataclass
class Outcome:
    """What was counted in one tree, and its problems by kind."""

    name: str
    files: int = 0
    skipped: int = 0
    sites: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    seconds: float = 0.0
    problems: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


PROBLEMS = {
    "crash": "the tool failed, or a file has the status failed",
    "ledger": "the sum of the sites differs from the number of owner findings",
    "uncovered": "a specific token has no finding",
    "wrote": "check wrote below the tree",
    "broken": "a file that compiled no longer does",
    "outside": "a file differs from the source with the reported edits applied",
    "second": "the second run changed a file",
}


def examine(tree: Path, copy: Path, tool: Tool) -> Outcome:
    """Takes a copy of `tree` through check, run and a second run."""
    outcome = Outcome(tree.name)
    shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", STATE))
    before = snapshot(copy)
    started = time.perf_counter()
    output, fault = tool.call(copy, "check", "--format", "json", ".")
    outcome.seconds = time.perf_counter() - started
    report = read_report(output)
    if fault or report is None:
        outcome.problems["crash"].append(fault or "check: its output is no report")
    outcome.problems["wrote"] += changes(before, snapshot(copy))
    if report is not None:
        count_sites(report, outcome)
        check_tokens(report, before, outcome)

    _, fault = tool.call(copy, "run", "--allow-dirty", ".")
    if fault:
        outcome.problems["crash"].append(fault)
    after = snapshot(copy)
    outcome.problems["broken"] += [
        path
        for path in changes(before, after)
        if path.endswith(".py") and compiles(before.get(path, b"")) and not compiles(after.get(path, b""))
    ]
    if report is not None:
        check_edits(report, before, after, outcome)

    _, fault = tool.call(copy, "run", "--allow-dirty", ".")
    if fault:
        outcome.problems["crash"].append("second " + fault)
    outcome.problems["second"] += changes(after, snapshot(copy))
    return outcome


def snapshot(folder: Path) -> dict[str, bytes]:
    """The bytes of each file below a folder, by its relative path; links and the tool's state are left out."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files_below(folder))}


def files_below(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != STATE]
        for name in names:
            path = Path(here, name)
            if path.is_file() and not path.is_symlink():
                yield path


def changes(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def compiles(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, "file", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def read_report(output: str) -> Report | None:
    try:
        report = json.loads(output)
    except ValueError:
        return None
    return report if isinstance(report, dict) and "files" in report else None


def count_sites(report: Report, outcome: Outcome) -> None:
    """Counts the findings by level and status, those of tests too, and holds them against the report's own sums."""
    for file in report["files"]:
        outcome.files += 1
        outcome.skipped += file["status"] in ("skipped", "not_read", "unreadable")
        if file["status"] == "failed":
            outcome.problems["crash"].append(f"{file['path']}: {file.get('reason')}")
        for finding in file["findings"]:
            if finding["owner"] and finding["safety"] != "note":
                outcome.sites[finding["safety"] if finding["status"] == "open" else finding["status"]] += 1
    summary = report["summary"]
    total = sum(ledger_sum(ledger) for ledger in (summary["sites"], summary.get("tests") or {}))
    if total != sum(outcome.sites.values()):
        outcome.problems["ledger"].append(f"{total} in the summary, {sum(outcome.sites.values())} owner findings")


def ledger_sum(ledger: dict[str, Any]) -> int:
    return sum(ledger_sum(entry) if isinstance(entry, dict) else int(entry) for entry in ledger.values())


def check_tokens(report: Report, before: dict[str, bytes], outcome: Outcome) -> None:
    """Every Python file with a specific token is in the report, and each such token has a finding."""
    listed = {file["path"]: file for file in report["files"]}
    for path, data in before.items():
        file = listed.get(path)
        if file["status"] in ("skipped", "not_read", "unreadable") if file else not path.endswith(".py"):
            continue
        if file and file["kind"] != "python":
            continue
        try:
            tokens = specific_tokens(data)
        except SyntaxError:
            continue  # the running Python can't say what is code in this file
        for token in uncovered(tokens, file["findings"] if file else []):
            where = f"{path}:{token.line}:{token.col}"
            outcome.problems["uncovered"].append(f"{where}: {token.text.splitlines()[0]} ({token.kind})")


def check_edits(report: Report, before: dict[str, bytes], after: dict[str, bytes], outcome: Outcome) -> None:
    """The bytes that `run` wrote are the source with the edits of the report, and nothing else changed."""
    edits, created = edits_in_force(report)
    later = {f["path"] for f in report["files"] if any(finding.get("after") for finding in f["findings"])}
    # A statement that moves takes the edits of other fixes along, which a list of edits can't say.
    later |= {f["path"] for f in report["files"] if any(x["rule"] == "TN402" and x["fix"] for x in f["findings"])}
    for path in sorted({*changes(before, after), *edits}):
        if path in later or path in created:
            continue
        outcome.compared += 1
        if path not in before or path not in after:
            outcome.problems["outside"].append(f"{path}: created or removed without a word")
        elif (wanted := applied(before[path], edits.get(path, []))) != after[path]:
            outcome.problems["outside"].append(f"{path}: {first_difference(wanted, after[path])}")


def edits_in_force(report: Report) -> tuple[dict[str, list[Report]], set[str]]:
    """The edits that a default `run` applies, by path, and the files that it creates.

    A fix is as uncertain as its least certain finding; tests are not edited by default.
    """
    levels: dict[str, set[str]] = defaultdict(set)
    for file in report["files"]:
        for finding in file["findings"]:
            if finding["fix"] is not None:
                open_ = finding["status"] == "open" and not file["test"]
                levels[finding["fix"]].add(finding["safety"] if open_ else finding["status"])
    edits: dict[str, list[Report]] = defaultdict(list)
    created: set[str] = set()
    for fix in report["fixes"]:
        if levels[fix["id"]] and levels[fix["id"]] <= set(APPLIED):
            created |= {entry["path"] if isinstance(entry, dict) else str(entry) for entry in fix["create"]}
            for edit in fix["edits"]:
                edits[edit["path"]].append(edit)
    for file in report["files"]:
        if not file["test"] and file["import_edits"]:
            edits[file["path"]] += file["import_edits"]
    return edits, created


def applied(data: bytes, edits: Sequence[Report]) -> bytes | None:
    """The bytes with the edits applied; None where that is impossible: two edits overlap, one lies outside of the text,
    or the bytes are no text."""
    if not edits:
        return data
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        return None
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
    ranges: list[tuple[int, int, str]] = []
    for edit in edits:
        if max(edit["line"], edit["end_line"]) > len(starts):
            return None
        start = starts[edit["line"] - 1] + edit["column"] - 1
        end = starts[edit["end_line"] - 1] + edit["end_column"] - 1
        ranges.append((start, end, edit["replacement"]))
    done: list[str] = []
    position = 0
    previous = None
    for item in sorted(ranges, key=lambda item: item[:2]):  # insertions at one place keep their order
        start, end, replacement = item
        if start < end and item == previous:
            continue  # two fixes may name one and the same edit
        previous = item
        if start < position or end < start or end > len(text):
            return None
        done += [text[position:start], replacement]
        position = end
    # `utf-8-sig` writes the byte order mark back that it took off.
    return ("".join(done) + text[position:]).encode(encoding)


def first_difference(wanted: bytes | None, got: bytes) -> str:
    if wanted is None:
        return "the reported edits overlap, leave the text, or the file is no text"
    pairs = zip([*wanted.splitlines(True), b""], [*got.splitlines(True), b""])
    line, (left, right) = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return f"line {line}: {left!r} by the report, {right!r} in the file"


def table(outcomes: Sequence[Outcome]) -> str:
    head = ["tree", "files", "skipped", *LEVELS, "kept", "compared", *PROBLEMS, "seconds"]
    rows = [head]
    for o in outcomes:
        counts = [o.files, o.skipped, *(o.sites[level] for level in LEVELS), o.sites["kept"], o.compared]
        counts += [len(o.problems[kind]) for kind in PROBLEMS]
        rows.append([o.name, *map(str, counts), f"{o.seconds:.1f}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths)))
        for row in rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="problems: " + "; ".join(f"{kind}: {meaning}" for kind, meaning in PROBLEMS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE", help="a folder; it is copied, never written to")
    parser.add_argument("--tool", default="neuron-migrate", help="the command to test (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the migrated copies in this folder")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="problems named per kind (default: 10)")
    parser.add_argument("--timeout", type=float, default=1800, metavar="S", help="seconds for one call of the tool")
    options = parser.parse_args()
    name, *arguments = shlex.split(options.tool) or [""]
    command = shutil.which(name)
    if command is None:
        parser.error(f"no command {name!r}: install the project, or name the command with --tool")
    tool = Tool([os.path.abspath(command), *arguments], options.timeout)
    for tree in options.trees:
        if not tree.is_dir():
            parser.error(f"{tree} is no folder")

    outcomes = []
    with tempfile.TemporaryDirectory(prefix="corpus-check-") as scratch:
        folder = options.keep or Path(scratch)
        for tree in options.trees:
            copy = folder / tree.resolve().name
            if copy.exists():
                parser.error(f"{copy} is there already: name another folder with --keep")
            outcome = examine(tree.resolve(), copy, tool)
            outcomes.append(outcome)
            for kind, found in outcome.problems.items():
                for text in found[: options.show]:
                    print(f"{outcome.name}: {kind}: {text}", file=sys.stderr)
                if len(found) > options.show:
                    print(f"{outcome.name}: {kind}: and {len(found) - options.show} more", file=sys.stderr)
    print(table(outcomes))
    return 1 if any(any(o.problems.values()) for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
