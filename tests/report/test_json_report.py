"""The JSON report: it matches the shipped schema in every case, and says what DESIGN of the format promises."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from report_support import (
    DEVICE,
    REPOSITORY,
    TREES,
    command,
    edited,
    fixture_tree,
    repositories,
    result_of,
    write,
)

from migrate.ledger import OPEN, FixState
from migrate.report.json import document, schema
from migrate.result import mark_applied
from transforms.engine.model import Edit, Evidence, Fix

VALIDATOR = Draft202012Validator(schema())


def check(report: dict[str, Any]) -> dict[str, Any]:
    """Raises for what the schema forbids, and for what it can't express."""
    errors = [f"{e.json_path}: {e.message[:300]}" for e in VALIDATOR.iter_errors(report)]
    assert not errors, errors[:5]
    findings = [f for file in report["files"] for f in file["findings"]]
    fixes = {fix["id"]: fix for fix in report["fixes"]}
    assert len(fixes) == len(report["fixes"]), "two fixes with one id"
    assert {f["fix"] for f in findings if f["fix"]} == set(fixes), "fixes and findings name each other"
    ids = {f["id"] for f in findings}
    for f in findings:
        assert (f["line"], f["column"]) <= (f["end_line"], f["end_column"]), f
        assert set(f["related"]) <= ids and set(f["after"]) <= ids, f
    for part, aside in (("sites", False), ("tests", True)):
        sums = report["summary"][part]
        total = sum(sums["open"].values()) + sum(v for k, v in sums.items() if k != "open")
        sites = [
            f
            for file in report["files"]
            for f in file["findings"]
            if f["owner"] and f["safety"] != "note" and (file["test"] and not report_edits_tests(report)) is aside
        ]
        assert total == len(sites), part
    return report


def report_edits_tests(report: dict[str, Any]) -> bool:
    """Whether the report was made with --tests: then nothing stands beside the sites."""
    sums = report["summary"]["tests"]
    return not any(sums["open"].values()) and not any(v for k, v in sums.items() if k != "open")


def test_schema_is_sound_and_closed() -> None:
    Draft202012Validator.check_schema(schema())
    open_ones = []

    def walk(node: Any, place: str) -> None:
        if isinstance(node, dict):
            if "properties" in node and node.get("type") == "object" and node.get("additionalProperties") is not False:
                open_ones.append(place)
            for key, value in node.items():
                walk(value, f"{place}/{key}")

    walk(schema(), "#")
    assert not open_ones


@pytest.mark.parametrize("name", TREES)
def test_command_matches_schema(name: str, tmp_path: Path) -> None:
    done = command(write(tmp_path, TREES[name]), "check", "--format", "json", ".")
    report = check(done.json)
    assert done.code == (0 if report["summary"]["runnable"] else 1)
    assert done.out.isascii()


@pytest.mark.parametrize("options", [("--tests",), ("--level", "offer"), ("--select", "TN1"), ("--ignore", "TN0")])
def test_options_keep_the_schema(options: tuple[str, ...], tmp_path: Path) -> None:
    check(command(write(tmp_path, REPOSITORY), "check", "--format", "json", *options).json)


@pytest.mark.parametrize("repository", repositories(), ids=lambda p: p.name)
def test_fixture_repository(repository: Path, tmp_path: Path) -> None:
    shutil.copytree(repository, tmp_path / "repo")
    before = check(command(tmp_path / "repo", "check", "--format", "json").json)
    after = check(command(tmp_path / "repo", "run", "--allow-dirty", "--format", "json").json)
    assert after["summary"]["sites"]["applied"] > 0
    assert not after["summary"]["sites"]["open"]["safe"]
    assert before["summary"]["changed"] == after["summary"]["changed"]


@pytest.mark.parametrize("level", ["safe", "review", "offer"])
def test_all_fixtures(level: str) -> None:
    check(document(result_of(fixture_tree(), level=level)))


def test_everything_is_said() -> None:
    report = check(document(result_of(REPOSITORY)))
    status = {f["path"]: f["status"] for f in report["files"]}
    assert status["bad.py"] == status["nul.py"] == status["latin.py"] == "unreadable"
    assert status["{{cookiecutter.name}}/train.py"] == "unreadable"
    assert status["third_party/other.py"] == "skipped"
    assert status["Dockerfile"] == "not_read"
    assert status["my pkg/gr\u00f6\u00dfe.py"] == "changed"
    assert status["kept.py"] == "unchanged"
    assert "clean.py" not in status and "empty.py" not in status and "run.sh" not in status
    assert report["summary"]["errors"] == 4
    files = {f["path"]: f for f in report["files"]}
    assert files["Dockerfile"]["hits"] == 3
    assert [f["status"] for f in files["held.py"]["findings"]] == ["suppressed", "open"]
    assert files["held.py"]["findings"][0]["reason"] == "the reference run"
    assert files["held.py"]["findings"][1]["safety"] == "note"
    (kept,) = files["kept.py"]["findings"]
    assert (kept["safety"], kept["reason"]) == (None, "help text")
    assert report["summary"]["sites"]["suppressed"] == 1
    assert report["summary"]["tests"]["open"]["safe"] == 1


def test_tests_count_once() -> None:
    files = {"a.py": DEVICE, "tests/test_it.py": DEVICE}
    apart, together = document(result_of(files)), document(result_of(files, tests=True))
    assert apart["summary"]["sites"]["open"]["safe"] == apart["summary"]["tests"]["open"]["safe"] == 1
    assert together["summary"]["sites"]["open"]["safe"] == 2
    assert together["summary"]["tests"]["open"]["safe"] == 0


@pytest.mark.parametrize("name", ["wide.py", "crlf.py", "lines.py"])
def test_columns_are_characters_of_the_text_as_read(name: str) -> None:
    report = document(result_of({name: REPOSITORY[name]}))
    text = REPOSITORY[name].decode().replace("\r\n", "\n").split("\n")
    for f in report["files"][0]["findings"]:
        if f["rule"] == "TN101":
            assert f["line"] == f["end_line"]
            assert text[f["line"] - 1][f["column"] - 1 : f["end_column"] - 1] == '"cuda"'


def test_edits_and_import_edits_give_the_new_text() -> None:
    old = b"import torch\nfrom torch.cuda import is_available\n\nx = torch.ones(2).cuda()\nok = is_available()\n"
    result = result_of({"a.py": old})
    report = check(document(result))
    open_fixes = {f["fix"] for f in report["files"][0]["findings"] if f["safety"] in ("safe", "review")}
    edits = [e for fix in report["fixes"] if fix["id"] in open_fixes for e in fix["edits"]]
    edits += report["files"][0]["import_edits"]
    regions = [(region(e), e["replacement"]) for e in edits]
    assert edited(old.decode(), regions) == result.changes["a.py"][1].decode()


def region(edit: dict[str, Any]) -> dict[str, int]:
    """A place of the report as SARIF names it."""
    names = {"startLine": "line", "startColumn": "column", "endLine": "end_line", "endColumn": "end_column"}
    return {theirs: edit[ours] for theirs, ours in names.items()}


def test_finding_of_a_later_round() -> None:
    """Its fix has no form in the text as it was read, so it has no edits there; `after` says what brought it up."""
    result = result_of({"a.py": DEVICE})
    (first,) = result.items()
    later = copy.copy(first)
    later.id, later.after = "later", [first.id]
    later.fix = FixState("a.py", Fix("a nested change", (Edit(9000, 9001, "x"),)), [later])
    result.files[0].items.append(later)
    report = check(document(result))
    assert report["files"][0]["findings"][1]["after"] == [first.id]
    assert [len(fix["edits"]) for fix in report["fixes"]] == [1, 0]


def test_an_unchosen_fix_keeps_its_places_when_the_file_changes() -> None:
    """Offers are looked at again in the new text; the report still speaks of the text as it was read."""
    old = b"import torch\n\n\ndef f(x):\n    return x.cuda()\n\n\ng = torch.compile(f)\n"
    report = check(document(result_of({"a.py": old})))
    findings = report["files"][0]["findings"]
    (offer,) = [f for f in findings if f["safety"] == "offer"]
    (fix,) = [x for x in report["fixes"] if x["id"] == offer["fix"]]
    assert [e["line"] for e in fix["edits"]] == [8]
    text = edited(old.decode(), [(region(e), e["replacement"]) for e in fix["edits"]])
    assert text.endswith("g = torch.compile(f, fullgraph=True)\n")


def test_evidence_in_another_file_has_the_line_of_that_file() -> None:
    result = result_of({"a.py": DEVICE, "b.py": b"\n\n\nD = 1\n"})
    (item,) = result.items()
    item.evidence = (Evidence(3, "read there", "b.py"),)
    (f,) = document(result)["files"][0]["findings"]
    assert f["evidence"] == [{"path": "b.py", "line": 4, "text": "read there"}]


def test_applied_findings_stay_in_the_report() -> None:
    result = result_of({"a.py": DEVICE})
    mark_applied(result, {"a.py"})
    report = check(document(result))
    assert report["summary"]["sites"]["applied"] == 1
    assert [f["status"] for f in report["files"][0]["findings"]] == ["applied"]
    assert report["summary"]["runnable"]
    assert not any(i.status == OPEN for i in result.items())


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("files", 0, "findings", 0, "column"), 0),
        (("files", 0, "findings", 0, "status"), "done"),
        (("files", 0, "findings", 0, "safety"), None),
        (("files", 0, "path"), "/absolute.py"),
        (("files", 0, "extra"), 1),
        (("summary", "sites", "open", "note"), 1),
        (("fixes", 0, "edits", 0, "end_line"), "1"),
    ],
    ids=["column 0", "unknown status", "open without safety", "absolute path", "unknown key", "note as site", "text"],
)
def test_schema_refuses(place: tuple[Any, ...], value: Any) -> None:
    report = document(result_of({"a.py": DEVICE}))
    node = report
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    assert not VALIDATOR.is_valid(report)
