"""The JSON report, schema 1."""

from __future__ import annotations

import json
from typing import Any

from migrate.ledger import OPEN, FixState, Item, sums
from migrate.pipeline import FileState, Result
from migrate.version import VERSION
from transforms.engine.model import Edit
from transforms.engine.source import Source


def document(result: Result) -> dict[str, Any]:
    """The report as plain data; positions count from 1 and are those of the files as they were read."""
    counted = result.counted
    tests = sums(result.items(tests=True))
    rules: dict[str, int] = {}
    for item in counted:
        if item.status == OPEN:
            rules[item.rule] = rules.get(item.rule, 0) + 1
    summary = {
        "files": len(result.files),
        "changed": sum(f.changed for f in result.files),
        "errors": sum(f.status in ("unreadable", "failed") for f in result.files),
        "sites": sums(counted).as_dict(),
        "tests": tests.as_dict(),
        "rules": dict(sorted(rules.items())),
        "runnable": result.runnable,
        "seconds": round(result.seconds, 3),
    }
    return {
        "schema": 1,
        "tool": {"name": "neuron-migrate", "version": VERSION},
        "target": {"sdk": "2.33.0", "style": "neuron"},
        "root": ".",
        "summary": summary,
        "files": [_file(f) for f in result.files if f.items or f.status != "unchanged"],
        "fixes": _fixes(result),
    }


def render(result: Result) -> str:
    """The report as text; it is ASCII, so that no output encoding can break it."""
    return json.dumps(document(result), indent=1, ensure_ascii=True) + "\n"


def _file(file: FileState) -> dict[str, Any]:
    return {
        "path": file.path,
        "kind": file.kind,
        "test": file.test,
        "status": file.status,
        "reason": file.reason,
        "hits": file.hits,
        "import_edits": [_edit(file.path, e, file.source) for e in file.import_edits if file.source is not None],
        "findings": [finding(i, file.source) for i in file.items if file.source is not None],
    }


def finding(item: Item, source: Source) -> dict[str, Any]:
    """One finding in the shape of the schema."""
    line, column = source.position(item.start)
    end_line, end_column = source.position(item.end)
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
        "evidence": [
            {"path": e.path or item.path, "line": source.position(min(e.start, len(source.text)))[0], "text": e.text}
            for e in item.evidence
        ],
        "reason": item.reason,
        "after": item.after,
        "related": item.related,
        "doc": f"docs/rules/{item.rule}.md",
        "fix": item.fix.id if item.fix is not None else None,
    }


def _fixes(result: Result) -> list[dict[str, Any]]:
    seen: dict[int, tuple[FixState, FileState]] = {}
    for file in result.files:
        for item in file.items:
            if item.fix is not None:
                seen.setdefault(id(item.fix), (item.fix, file))
    owners = {(i.path, i.start, i.end): i for i in result.items() if i.owner}
    found = []
    for state, file in seen.values():
        required = [owners.get((state.path, *span)) for span in state.fix.requires]
        found.append(
            {
                "id": state.id,
                "description": state.fix.description,
                "numerics": state.fix.numerics,
                "requires": sorted({i.fix.id for i in required if i is not None and i.fix is not None}),
                "requests": [
                    *state.fix.requests,
                    *(f"from {m.new.rpartition('.')[0]} import {m.local}" for m in state.fix.moves),
                ],
                "create": [],
                "edits": [_edit(file.path, e, file.source) for e in state.edits if file.source is not None],
            }
        )
    return found


def _edit(path: str, edit: Edit, source: Source) -> dict[str, Any]:
    line, column = source.position(edit.start)
    end_line, end_column = source.position(edit.end)
    return {
        "path": path,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "replacement": edit.text,
    }
