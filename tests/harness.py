"""One way to run the whole tool on small inputs, and everything that must hold for each of them.

A fixture is `fixtures/<family>/<rule>/<case>.in.py` with `<case>.out.py` (missing when nothing may change) and
`<case>.findings.json`. `python tests/harness.py --record PATH...` writes the last two from what the tool does now: read
them before they are committed.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migrate.ledger import sums
from migrate.pipeline import run_pipeline
from migrate.report.json import document
from migrate.result import Result
from migrate.settings import Settings
from token_check import specific_tokens, uncovered

FIXTURES = Path(__file__).parent.parent / "fixtures"


@dataclass(frozen=True)
class Outcome:
    """What the tool made of a text: the new text, its findings in JSON form, and the whole result."""

    text: str
    findings: list[dict[str, Any]]
    result: Result

    def rules(self, *statuses: str) -> list[str]:
        """Codes of owner findings with these statuses (default: open), in source order."""
        wanted = statuses or ("open",)
        return [f["rule"] for f in self.findings if f["owner"] and f["status"] in wanted]

    def lines(self, rule: str) -> list[int]:
        """Lines on which a rule speaks."""
        return [f["line"] for f in self.findings if f["rule"] == rule]

    def one(self, rule: str) -> dict[str, Any]:
        """The only finding of a rule."""
        found = [f for f in self.findings if f["rule"] == rule]
        assert len(found) == 1, found
        return found[0]


def run_tree(files: dict[str, bytes], level: str = "review", **settings: Any) -> tuple[Result, dict[str, bytes]]:
    """Run the pipeline on a temporary tree; gives the result and the bytes that each file would have."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, data in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        result = run_pipeline(root, [root], Settings(level=level, **settings))
    return result, {**files, **{path: new for path, (_, new) in result.changes.items()}}


def migrate(text: str, level: str = "review", name: str = "case.py", **settings: Any) -> Outcome:
    """Run the tool on one file and check everything that must hold for any input (see `check_invariants`)."""
    data = text.encode()
    result, after = run_tree({name: data}, level, **settings)
    report = document(result)
    findings = [f for file in report["files"] if file["path"] == name for f in file["findings"]]
    check_invariants(result, report, {name: data}, after, level, settings)
    return Outcome(after[name].decode(), findings, result)


def check_invariants(
    result: Result,
    report: dict[str, Any],
    before: dict[str, bytes],
    after: dict[str, bytes],
    level: str,
    settings: dict[str, Any],
) -> None:
    """No internal error; the ledger adds up; each token is covered; new text compiles; edits explain every byte; a
    second run changes nothing."""
    assert not result.errors, result.errors
    owners = [i for i in result.counted if i.owner and not (i.safety and i.safety.value == "note")]
    assert sums(result.counted).total == len(owners)
    twice = [site for site, n in Counter((i.path, i.start, i.end) for i in owners).items() if n > 1]
    assert not twice, f"sites with two owners: {twice}"
    for file in report["files"]:
        path = file["path"]
        if not path.endswith(".py") or file["status"] in ("unreadable", "skipped"):
            continue
        if not settings.get("select") and not settings.get("ignore"):
            left = uncovered(specific_tokens(before[path]), file["findings"])
            assert not left, f"{path}: not in the ledger: {left}"
        if compiles(before[path]):
            assert compiles(after[path]), after[path].decode()
        check_bytes(result, path, before[path], after[path])
    again, twice = run_tree(after, level, **settings)
    assert twice == after, {p: twice[p].decode() for p in after if twice[p] != after[p]}
    assert not again.errors, again.errors


def check_bytes(result: Result, path: str, before: bytes, after: bytes) -> None:
    """The edits of the applied fixes, and those of the imports, give exactly the new bytes (for one-round results)."""
    from transforms.engine.compose import apply, keep_blocks

    file = next(f for f in result.files if f.path == path)
    if file.source is None or any(i.after for i in file.items):
        return
    fixes = {id(i.fix): i.fix for i in file.items if i.fix is not None and i.fix.applied}
    edits = keep_blocks([e for fix in fixes.values() for e in fix.edits])
    assert file.source.encode(apply(file.source.text, edits + file.import_edits)) == after


def compiles(data: bytes) -> bool:
    """Whether the running Python takes the bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, "case", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def fixture_cases() -> list[Path]:
    """All `.in.py` files."""
    return sorted(FIXTURES.glob("*/*/*.in.py"))


def fixture_paths(case: Path) -> tuple[Path, Path]:
    """The expected text and the expected findings of a case."""
    stem = case.name.removesuffix(".in.py")
    return case.with_name(stem + ".out.py"), case.with_name(stem + ".findings.json")


def brief(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a fixture says about its findings: place, rule, level, and the reason of kept ones."""
    short = []
    for f in findings:
        row = {"at": f"{f['line']}:{f['column']}", "rule": f["rule"], "level": f["safety"] or "kept"}
        if f["severity"]:
            row["severity"] = f["severity"]
        if f["reason"]:
            row["reason"] = f["reason"]
        if not f["owner"]:
            row["related"] = True
        short.append(row)
    return short


def record(case: Path) -> None:
    """Write the expectations of a case from what the tool does now."""
    expected, findings = fixture_paths(case)
    level = json.loads(findings.read_text())["level"] if findings.exists() else "review"
    outcome = migrate(case.read_text(), level)
    if outcome.text != case.read_text():
        expected.write_text(outcome.text)
    else:
        expected.unlink(missing_ok=True)
    rows = ",\n  ".join(json.dumps(row) for row in brief(outcome.findings))
    findings.write_text(f'{{"level": "{level}", "findings": [\n  {rows}\n]}}\n')


if __name__ == "__main__":
    assert sys.argv[1:2] == ["--record"], __doc__
    for argument in sys.argv[2:] or [str(FIXTURES)]:
        place = Path(argument)
        for found in sorted(place.glob("**/*.in.py")) if place.is_dir() else [place]:
            record(found)
            print(found)
