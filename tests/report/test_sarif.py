"""SARIF: valid for code scanning as a whole, places that exist, fixes that can be applied."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from report_support import COMPILED, DEVICE, REPOSITORY, TREES, command, edited, fixture_tree, result_of, write
from sarif_checks import problems

from migrate.ledger import BASELINE, REJECTED
from migrate.report import sarif
from migrate.report.sarif import FINGERPRINT, document


def results(log: dict[str, Any], path: str | None = None) -> list[dict[str, Any]]:
    """Results of a log, or of one file in it."""
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return [r for r in found if path is None or where(r)[0] == path]


def where(result: dict[str, Any]) -> tuple[str, int]:
    """Path and line of a result."""
    physical = result["locations"][0]["physicalLocation"]
    return unquote(physical["artifactLocation"]["uri"]), physical["region"]["startLine"]


@pytest.mark.parametrize("name", TREES)
def test_command_writes_a_valid_log(name: str, tmp_path: Path) -> None:
    done = command(write(tmp_path, TREES[name]), "check", "--format", "sarif", ".")
    assert done.out.isascii()
    assert not problems(done.json, tmp_path)


def test_all_fixtures(tmp_path: Path) -> None:
    write(tmp_path, fixture_tree())
    assert not problems(command(tmp_path, "check", "--format", "sarif", ".").json, tmp_path)


def test_every_file_with_something_to_say_is_there() -> None:
    log = document(result_of(REPOSITORY))
    wanted = {
        "bad.py",
        "nul.py",
        "my pkg/gr\u00f6\u00dfe.py",
        "held.py",
        "people.py",
        "offers.py",
        "crlf.py",
        "wide.py",
    }
    wanted |= {"lines.py", "tests/test_it.py", "Dockerfile", "{{cookiecutter.name}}/train.py", "latin.py"}
    assert {where(r)[0] for r in results(log)} == wanted


@pytest.mark.parametrize(
    ("path", "levels"),
    [
        ("crlf.py", {"error"}),
        ("people.py", {"error", "warning"}),
        ("bad.py", {"warning"}),
        ("offers.py", {"error", "note"}),
        ("tests/test_it.py", {"note"}),
        ("Dockerfile", {"note"}),
    ],
    ids=["needed", "manual of both kinds", "unreadable", "with an offer", "tests left alone", "not read"],
)
def test_levels(path: str, levels: set[str]) -> None:
    log = document(result_of(REPOSITORY))
    assert {r["level"] for r in results(log, path)} == levels


def test_unread_file_points_at_its_first_mention() -> None:
    (result,) = results(document(result_of({"Dockerfile": REPOSITORY["Dockerfile"]})))
    assert where(result) == ("Dockerfile", 2)
    assert result["message"]["text"].startswith("3 mentions of CUDA or XLA")


def test_suppressed_ones_say_so() -> None:
    log = document(result_of({"held.py": REPOSITORY["held.py"]}))
    held, unused = results(log)
    assert held["suppressions"] == [{"kind": "inSource", "status": "accepted", "justification": "the reference run"}]
    assert "fixes" not in held
    assert "suppressions" not in unused


@pytest.mark.parametrize("status", [REJECTED, BASELINE])
def test_decisions_outside_of_the_source(status: str) -> None:
    result = result_of({"a.py": DEVICE})
    next(iter(result.items())).status = status
    (found,) = results(document(result))
    assert [s["kind"] for s in found["suppressions"]] == ["external"]


def test_fingerprints_survive_inserted_lines() -> None:
    moved = {"a.py": b"# one\n\n" + DEVICE.replace(b"\n\n", b"\n\n\n\n")}
    first, second = document(result_of({"a.py": DEVICE})), document(result_of(moved))
    assert [r["partialFingerprints"] for r in results(first)] == [r["partialFingerprints"] for r in results(second)]
    assert where(results(first)[0]) != where(results(second)[0])


def test_equal_findings_have_their_own_fingerprints() -> None:
    twice = b'import torch\n\nx = torch.ones(2, device="cuda")\nx = torch.ones(2, device="cuda")\n'
    prints = [r["partialFingerprints"][FINGERPRINT] for r in results(document(result_of({"a.py": twice})))]
    assert len(prints) == len(set(prints)) == 2


@pytest.mark.parametrize(
    "name", ["wide.py", "crlf.py", "lines.py", "my pkg/gr\u00f6\u00dfe.py"], ids=["wide", "crlf", "lines", "path"]
)
def test_fixes_give_what_run_writes(name: str) -> None:
    result = result_of({name: REPOSITORY[name]})
    replacements = {
        (tuple(x["deletedRegion"].items()), x["insertedContent"]["text"])
        for r in results(document(result))
        for fix in r.get("fixes", [])
        for change in fix["artifactChanges"]
        for x in change["replacements"]
    }
    assert replacements
    text = edited(REPOSITORY[name].decode(), [(dict(region), new) for region, new in replacements])
    assert text.encode() == result.changes[name][1]


def test_a_fix_is_whole() -> None:
    """One fix takes the whole group along, and what the imports need."""
    old = (
        b"import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n\n\n"
        b"def f(x):\n    x = x.to(device)\n    return x if x.device.type == 'cuda' else None\n"
    )
    result = result_of({"a.py": old})
    found = results(document(result))
    fix = next(r for r in found if where(r)[1] == 3)["fixes"][0]
    regions = [(x["deletedRegion"], x["insertedContent"]["text"]) for x in fix["artifactChanges"][0]["replacements"]]
    text = edited(old.decode(), regions)
    compile(text, "a.py", "exec")
    assert "'neuron' if hasattr(torch, 'neuron')" in text.replace('"', "'")


def test_large_shared_fixes_stand_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_EDITS", 1)
    old = b"import torch\n\nd = 'cuda'\nx = torch.ones(2, device=d)\nok = d == 'cuda'\n"
    found = results(document(result_of({"a.py": old})))
    assert len(found) == 2
    assert [("fixes" in r) for r in found].count(True) == 1


def test_too_many_results_leave_out_the_least_important(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 1)
    log = document(result_of({"people.py": REPOSITORY["people.py"], "offers.py": COMPILED}))
    (kept,) = results(log)
    assert kept["level"] == "error" and where(kept)[0] == "people.py"
    (told,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert "left out" in told["message"]["text"]


def test_paths_are_those_of_the_checkout(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    root = write(tmp_path / "part of it", {"a.py": DEVICE, "neuron-migrate.toml": b""})
    log = command(root, "check", "--format", "sarif", ".").json
    assert not problems(log, tmp_path)
    assert [where(r)[0] for r in results(log)] == ["part of it/a.py"]


def test_file_names_that_urls_can_not_hold() -> None:
    log = document(result_of({"a:b#c?d%20.py": DEVICE}))
    assert not problems(log)
    assert where(results(log)[0])[0] == "a:b#c?d%20.py"


def test_internal_errors_are_notifications() -> None:
    result = result_of({"a.py": DEVICE})
    result.errors.append("a.py: internal error: no settling")
    (invocation,) = document(result)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["level"] == "error"
