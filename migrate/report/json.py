"""The JSON report, schema 1 (`migrate/schema/report.schema.json`)."""

from __future__ import annotations

import json
from typing import Any

from migrate.ledger import OPEN, FixState, Item, sums
from migrate.report.places import Places
from migrate.result import FileState, Result
from migrate.version import VERSION
from transforms.engine.model import Edit

SDK, STYLE = "2.33.0", "neuron"


def document(result: Result) -> dict[str, Any]:
    """The report as plain data; positions count from 1 and are those of the files as they were read."""
    places = Places(result)
    counted = result.counted
    aside = [i for i in result.items(tests=True) if not result.settings.tests]
    rules: dict[str, int] = {}
    for item in counted:
        if item.status == OPEN:
            rules[item.rule] = rules.get(item.rule, 0) + 1
    summary = {
        "files": len(result.files),
        "changed": sum(f.changed for f in result.files),
        "errors": sum(f.status in ("unreadable", "failed") for f in result.files),
        "sites": sums(counted).as_dict(),
        "tests": sums(aside).as_dict(),
        "rules": dict(sorted(rules.items())),
        "runnable": result.runnable,
        "seconds": round(result.seconds, 3),
    }
    return {
        "schema": 1,
        "tool": {"name": "neuron-migrate", "version": VERSION},
        "target": {"sdk": SDK, "style": STYLE},
        "root": ".",
        "summary": summary,
        "files": [_file(f, places) for f in result.files if f.items or f.status != "unchanged"],
        "fixes": _fixes(result, places),
    }


def render(result: Result) -> str:
    """The report as text; it is ASCII, so that no output encoding can break it."""
    return json.dumps(document(result), indent=1, ensure_ascii=True) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of the report, as the package ships it."""
    from importlib.resources import files

    loaded: dict[str, Any] = json.loads(files("migrate").joinpath("schema/report.schema.json").read_bytes())
    return loaded


def _file(file: FileState, places: Places) -> dict[str, Any]:
    return {
        "path": file.path,
        "kind": file.kind,
        "test": file.test,
        "status": file.status,
        "reason": file.reason,
        "hits": file.hits,
        "import_edits": [_edit(file.path, e, places) for e in file.import_edits],
        "findings": [_finding(i, places) for i in file.items],
    }


def _finding(item: Item, places: Places) -> dict[str, Any]:
    line, column, end_line, end_column = places.of(item)
    steps = [(*places.evidence(item, step), step.text) for step in item.evidence]
    state = places.fix(item)
    return {
        "id": item.id,
        "rule": item.rule,
        "name": item.name,
        "safety": item.safety.value if item.safety is not None else None,
        "severity": item.severity,
        "status": item.status,
        "owner": item.owner,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "message": item.message,
        "evidence": [{"path": path, "line": place[0], "text": text} for path, place, text in steps],
        "reason": item.reason,
        "after": item.after,
        "related": item.related,
        "doc": f"docs/rules/{item.rule}.md",
        "fix": state.id if state is not None else None,
    }


def _fixes(result: Result, places: Places) -> list[dict[str, Any]]:
    states: dict[int, FixState] = {}
    for item in result.items():
        if (state := places.fix(item)) is not None:
            states.setdefault(id(state), state)
    owners = {(i.path, i.start, i.end): i for i in result.items() if i.owner}
    return [_fix(state, owners, places) for state in states.values()]


def _fix(state: FixState, owners: dict[tuple[str, int, int], Item], places: Places) -> dict[str, Any]:
    required = [places.fix(owners[key]) for span in state.fix.requires if (key := (state.path, *span)) in owners]
    moves = [f"from {m.new.rpartition('.')[0]} import {m.local}" for m in state.fix.moves]
    return {
        "id": state.id,
        "description": state.fix.description,
        "numerics": state.fix.numerics,
        "requires": sorted({r.id for r in required if r is not None}),
        "requests": [*state.fix.requests, *moves],
        "create": [],
        "edits": [_edit(state.path, e, places) for e in places.edits(state)],
    }


def _edit(path: str, edit: Edit, places: Places) -> dict[str, Any]:
    line, column, end_line, end_column = places.span(path, edit.start, edit.end)
    return {
        "path": path,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "replacement": edit.text,
    }
