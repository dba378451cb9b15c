"""SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from migrate.identity import digest
from migrate.ledger import BASELINE, OPEN, SUPPRESSED, FixState, Item
from migrate.pages import page
from migrate.report.alerts import Alert, alerts
from migrate.report.places import Places, Span, below_checkout, plain
from migrate.result import Result
from migrate.version import VERSION
from transforms.engine.model import Edit, Rule, Safety
from transforms.registry import by_code

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
TORCHNEURON = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html"
FINGERPRINT = "neuronMigrateId/v1"
MOST_RESULTS = 25_000
"""Code scanning refuses files with more results; the least important ones are left out and counted."""
MOST_EDITS = 30
"""A larger fix, which many findings share, is written once, at the first of them."""

_PROBLEM = {Safety.OFFER: "recommendation", Safety.NOTE: "recommendation", Safety.MANUAL: "warning"}


def render(result: Result) -> str:
    """The report as text; it is ASCII, so that no output encoding can break it."""
    return json.dumps(document(result), indent=1, ensure_ascii=True) + "\n"


def document(result: Result) -> dict[str, Any]:
    """The log as plain data, with one run."""
    return _Log(result).document()


class _Log:
    def __init__(self, result: Result) -> None:
        self.result = result
        self.places = Places(result)
        self.prefix = below_checkout(result.root)
        every = alerts(result, self.places)
        self.left_out = max(0, len(every) - MOST_RESULTS)
        self.alerts = every[:MOST_RESULTS]
        self.codes = sorted({a.rule for a in self.alerts})
        self.files = {f.path: f for f in result.files}
        self.changes: dict[int, list[dict[str, Any]]] = {}

    def document(self) -> dict[str, Any]:
        driver = {
            "name": "neuron-migrate",
            "version": VERSION,
            "semanticVersion": VERSION,
            "informationUri": TORCHNEURON,
            "rules": [_descriptor(by_code()[code]) for code in self.codes],
        }
        run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "invocations": [self._invocation()],
            "results": [self._result(alert) for alert in self.alerts],
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def _invocation(self) -> dict[str, Any]:
        told = [("error", message) for message in self.result.errors]
        if self.left_out:
            told.append(
                ("warning", f"{self.left_out} results of little weight are left out: the file would be too long")
            )
        found: dict[str, Any] = {"executionSuccessful": not self.result.errors}
        if told:
            found["toolExecutionNotifications"] = [{"level": lv, "message": {"text": text}} for lv, text in told]
        return found

    def _result(self, alert: Alert) -> dict[str, Any]:
        found: dict[str, Any] = {
            "ruleId": alert.rule,
            "ruleIndex": self.codes.index(alert.rule),
            "level": alert.level,
            "message": {"text": alert.text},
            "locations": [{"physicalLocation": _location(alert.path, alert.place)}],
        }
        item = alert.item
        found["partialFingerprints"] = {FINGERPRINT: item.id if item is not None else digest(alert.rule, alert.path)}
        if item is None:
            return found
        if item.evidence:
            found["relatedLocations"] = [
                {
                    "id": n,
                    "physicalLocation": self._physical(*self.places.evidence(item, step)),
                    "message": {"text": step.text},
                }
                for n, step in enumerate(item.evidence, 1)
            ]
        if item.status != OPEN:
            found["suppressions"] = [_suppression(item)]
        elif (fix := self._fix(item)) is not None:
            found["fixes"] = [fix]
        found["properties"] = {"safety": item.safety.value if item.safety is not None else None, "status": item.status}
        return found

    def _physical(self, path: str, place: Span) -> dict[str, Any]:
        return _location(self.prefix + path, place)

    def _fix(self, item: Item) -> dict[str, Any] | None:
        """The whole group that goes with a finding, imports included, in all its files; None where there is none."""
        state = self.places.fix(item)
        if state is None or not self.places.is_first_round(state):
            return None
        states = state.group.fixes if state.group is not None else [state]
        key = id(states[0])
        known = key in self.changes
        if not known:
            edits = {path: self._edits(path, states) for path in dict.fromkeys(s.path for s in states)}
            self.changes[key] = [self._change(path, found) for path, found in edits.items() if found]
        changes = self.changes[key]
        if not changes or (known and sum(len(c["replacements"]) for c in changes) > MOST_EDITS):
            return None
        return {"description": {"text": state.fix.description}, "artifactChanges": changes}

    def _edits(self, path: str, states: Sequence[FixState]) -> list[Edit]:
        from transforms.engine.imports import resolve

        file = self.files[path]
        if file.source is None:
            return []
        fixes = [s.fix for s in states if s.path == path]
        imports = resolve(file.analysis.imports, fixes, file.source.text, file.source.newline)
        return plain(file.source.text, [e for fix in fixes for e in fix.edits] + imports)

    def _change(self, path: str, edits: list[Edit]) -> dict[str, Any]:
        replacements = [
            {"deletedRegion": _region(self.places.span(path, e.start, e.end)), "insertedContent": {"text": e.text}}
            for e in edits
        ]
        return {"artifactLocation": _artifact(self.prefix + path), "replacements": replacements}


def _descriptor(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why or rule.summary},
        "help": {
            "text": f"{rule.summary}. {rule.why} Fix safety: {rule.best.value}. {rule.argument}",
            "markdown": page(rule),
        },
        "helpUri": TORCHNEURON,
        "defaultConfiguration": {"level": "warning" if rule.best is Safety.MANUAL else _level(rule)},
        "properties": {"tags": ["pytorch", "neuron"], "problem.severity": _PROBLEM.get(rule.best, "error")},
    }


def _level(rule: Rule) -> str:
    return "note" if rule.best in (Safety.OFFER, Safety.NOTE) else "error"


def _suppression(item: Item) -> dict[str, Any]:
    """In the source by a comment, or outside of it by the baseline or a person's decision."""
    outside = {BASELINE: "in the baseline", SUPPRESSED: ""}.get(item.status, item.status)
    found = {"kind": "inSource" if item.status == SUPPRESSED else "external", "status": "accepted"}
    if justification := item.reason or outside:
        found["justification"] = justification
    return found


def _location(path: str, place: Span) -> dict[str, Any]:
    return {"artifactLocation": _artifact(path), "region": _region(place)}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(os.fsencode(path)), "uriBaseId": "%SRCROOT%"}


def _region(place: Span) -> dict[str, int]:
    line, column, end_line, end_column = place
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
