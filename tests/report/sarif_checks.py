"""What SARIF 2.1.0 and GitHub's code scanning ask of a log, as far as the tool writes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

REGION = ("startLine", "startColumn", "endLine", "endColumn")
LEVELS = {"none", "note", "warning", "error"}
RESULT_KEYS = {
    "ruleId",
    "ruleIndex",
    "level",
    "message",
    "locations",
    "relatedLocations",
    "partialFingerprints",
    "suppressions",
    "fixes",
    "properties",
}


def problems(log: dict[str, Any], checkout: Path | None = None) -> list[str]:
    """All that is wrong with a log; with a checkout, also paths that lead nowhere and places that are not there."""
    found: list[str] = []
    if log.get("version") != "2.1.0" or not log.get("$schema", "").startswith("https://"):
        found.append("version or $schema")
    if len(log["runs"]) != 1:
        found.append("not one run")
    run = log["runs"][0]
    if run.get("columnKind") != "unicodeCodePoints":
        found.append("columnKind")
    rules = run["tool"]["driver"]["rules"]
    ids = [rule["id"] for rule in rules]
    if len(set(ids)) != len(ids):
        found.append("a rule stands twice")
    for rule in rules:
        found += _rule(rule)
    for n, result in enumerate(run["results"]):
        found += [f"result {n}: {text}" for text in _result(result, ids, checkout)]
    return found


def _rule(rule: dict[str, Any]) -> list[str]:
    found = [
        f"rule {rule['id']}: no {key}" for key in ("shortDescription", "fullDescription", "help") if key not in rule
    ]
    if not rule["help"]["text"].strip() or not rule["help"]["markdown"].startswith("# "):
        found.append(f"rule {rule['id']}: help")
    if not re.match(r"https://[\w./-]+$", rule["helpUri"]):
        found.append(f"rule {rule['id']}: helpUri")
    if rule["defaultConfiguration"]["level"] not in LEVELS:
        found.append(f"rule {rule['id']}: level")
    return found


def _result(result: dict[str, Any], ids: list[str], checkout: Path | None) -> list[str]:
    found = [f"unknown key {key}" for key in result.keys() - RESULT_KEYS]
    if ids[result["ruleIndex"]] != result["ruleId"]:
        found.append("ruleIndex")
    if result["level"] not in LEVELS or not result["message"]["text"].strip():
        found.append("level or message")
    if len(result["locations"]) != 1:
        found.append("not one location")
    if any(not value for value in result["partialFingerprints"].values()) or not result["partialFingerprints"]:
        found.append("no fingerprint")
    for location in result["locations"] + result.get("relatedLocations", []):
        physical = location["physicalLocation"]
        found += _artifact(physical["artifactLocation"], checkout)
        found += _region(physical["region"], physical["artifactLocation"], checkout)
    for suppression in result.get("suppressions", []):
        if suppression["kind"] not in ("inSource", "external"):
            found.append("kind of suppression")
    for fix in result.get("fixes", []):
        for change in fix["artifactChanges"]:
            found += _artifact(change["artifactLocation"], checkout)
            found += _replacements(change, checkout)
    return found


def _artifact(artifact: dict[str, str], checkout: Path | None) -> list[str]:
    uri = artifact["uri"]
    if not uri or uri.startswith(("/", "./", "../", "file:")) or not re.fullmatch(r"[\w.~%!$&'()*+,;=@/-]+", uri, re.A):
        return [f"uri {uri!r}"]
    if checkout is not None and not (checkout / unquote(uri)).is_file():
        return [f"{uri} leads nowhere"]
    return []


def _region(region: dict[str, int], artifact: dict[str, str], checkout: Path | None) -> list[str]:
    line, column, end_line, end_column = (region[key] for key in REGION)
    if min(line, column, end_line, end_column) < 1 or (end_line, end_column) < (line, column):
        return [f"region {region}"]
    if checkout is None:
        return []
    text = (checkout / unquote(artifact["uri"])).read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
    lines = re.split(r"\r\n|\r|\n", text)
    if end_line > len(lines) or column > len(lines[line - 1]) + 1 or end_column > len(lines[end_line - 1]) + 1:
        return [f"region {region} is outside of {artifact['uri']}"]
    return []


def _replacements(change: dict[str, Any], checkout: Path | None) -> list[str]:
    found: list[str] = [] if change["replacements"] else ["a change without replacements"]
    last = (1, 1)
    for replacement in change["replacements"]:
        region = replacement["deletedRegion"]
        found += _region(region, change["artifactLocation"], checkout)
        if (region["startLine"], region["startColumn"]) < last:
            found.append("replacements overlap")
        last = (region["endLine"], region["endColumn"])
        if not isinstance(replacement["insertedContent"]["text"], str):
            found.append("insertedContent")
    return found
