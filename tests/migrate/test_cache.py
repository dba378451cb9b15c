"""The cache: warm equals cold, always; whatever happens to its file costs time alone."""

from __future__ import annotations

import os
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness import FIXTURES, fixture_cases
from migrate import cache, looks
from migrate.cache import FILE, Cache
from migrate.looks import Looks
from migrate.pipeline import run_pipeline
from migrate.report.json import document
from migrate.result import Result
from migrate.settings import Settings
from transforms.engine import parse
from transforms.flow.repository import Repository

TRAIN = b"""import torch
from models import Net, DEVICE

net = Net()
net.cuda()
x = torch.zeros(2, device=DEVICE)
"""
MODELS = b"""import torch

DEVICE = "cuda"


class Net(torch.nn.Module):
    def forward(self, x):
        return x.to(DEVICE)
"""


def tree(folder: Path, **files: bytes) -> Path:
    for name, data in {"train": TRAIN, "models": MODELS, **files}.items():
        (folder / f"{name}.py").write_bytes(data)
    return folder


def told(result: Result) -> dict[str, Any]:
    """All that a result says, but for the time it took, with the new texts."""
    report = document(result)
    report["summary"]["seconds"] = 0
    return {"report": report, "changes": result.changes, "errors": result.errors}


def run(root: Path, place: Path, **settings: Any) -> Result:
    with closing(Cache(place)) as warm:
        return run_pipeline(root, [root], Settings(**settings), cache=warm)


def cold(root: Path, **settings: Any) -> Result:
    return run_pipeline(root, [root], Settings(jobs=1, **settings))


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the files that the engine looks at."""
    paths: list[str] = []
    look = looks.look

    def counted(text: looks.Text, repository: Repository, probe: str) -> looks.Answer:
        paths.append(text.path)
        return look(text, repository, probe)

    monkeypatch.setattr(looks, "look", counted)
    return paths


@pytest.mark.parametrize("level", ["safe", "offer"])
def test_warm_equals_cold_for_all_fixtures(tmp_path: Path, looked: list[str], level: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number, case in enumerate(fixture_cases()):
        (root / f"m{number}.py").write_bytes(case.read_bytes())
    expected = told(cold(root, level=level))
    assert told(run(root, tmp_path / "cache", level=level)) == expected
    looked.clear()
    assert told(run(root, tmp_path / "cache", level=level)) == expected
    assert looked == []


@pytest.mark.parametrize("repository", sorted((FIXTURES / "repos").iterdir()), ids=lambda p: p.name)
def test_warm_equals_cold_for_repositories(tmp_path: Path, repository: Path) -> None:
    expected = told(cold(repository))
    for _ in range(2):
        assert told(run(repository, tmp_path)) == expected


@pytest.mark.parametrize(
    "change, again",
    [
        pytest.param({"models": MODELS + b"\n"}, {"models.py"}, id="a-file-changes-alone"),
        pytest.param({"other": b"x = 1\n"}, {"other.py"}, id="a-new-file-that-nobody-asked-about"),
        pytest.param(
            {"other": b"class A:\n    def cuda(self):\n        return self\n"},
            {"other.py", "train.py"},
            id="an-own-method-cuda-makes-calls-uncertain",
        ),
        pytest.param(
            {"other": b"from models import DEVICE\n"}, {"other.py", "models.py"}, id="a-new-importer-of-a-device"
        ),
        pytest.param(
            {"train": TRAIN + b"import torch.distributed as d\nd.init_process_group('nccl')\n"},
            {"train.py"},
            id="the-first-process-group",
        ),
    ],
)
def test_an_answer_that_changes_is_a_new_look(
    tmp_path: Path, looked: list[str], change: dict[str, bytes], again: set[str]
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    run(tree(root), tmp_path / "cache")
    looked.clear()
    found = run(tree(root, **change), tmp_path / "cache")
    assert set(looked) >= again
    assert set(looked) - again <= {p for p in looked if looked.count(p) > 1}
    assert told(found) == told(cold(root))


def test_settings_that_change_the_text_are_part_of_the_key(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    tree(root, probe=b"import torch\nok = torch.cuda.is_available()\n")
    for probe in ("guarded", "plain", "accelerator"):
        assert told(run(root, tmp_path / "cache", probe=probe)) == told(cold(root, probe=probe))


def test_another_version_of_the_tool_begins_anew(
    tmp_path: Path, looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    run(tree(root), tmp_path / "cache")
    looked.clear()
    monkeypatch.setattr(cache, "fingerprint", lambda: b"another")
    run(root, tmp_path / "cache")
    assert set(looked) == {"train.py", "models.py"}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda f: f.write_bytes(b"not a database at all" * 500), id="another-file"),
        pytest.param(lambda f: f.write_bytes(f.read_bytes()[: f.stat().st_size // 2]), id="torn"),
        pytest.param(lambda f: f.write_bytes(b""), id="empty"),
        pytest.param(lambda f: (f.unlink(), f.mkdir()), id="a-folder"),
    ],
)
def test_a_damaged_file_costs_time_alone(tmp_path: Path, damage: Any) -> None:
    root = tmp_path / "root"
    root.mkdir()
    expected = told(run(tree(root), tmp_path / "cache"))
    damage(tmp_path / "cache" / FILE)
    for _ in range(2):
        assert told(run(root, tmp_path / "cache")) == expected


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    root = tmp_path / "root"
    root.mkdir()
    assert told(run(tree(root), tmp_path / "file" / "cache")) == told(cold(root))


def test_a_value_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    place = cache.key(b"look")
    with closing(Cache(tmp_path / "cache")) as first:
        first.put(place, 1)
    harm = pickle.dumps(Harm())
    change(tmp_path / "cache", "UPDATE entries SET value = ?", cache._hash(place, harm) + harm)
    with closing(Cache(tmp_path / "cache")) as second:
        assert second.get(place) is None
    assert not (tmp_path / "harm").exists()


def change(place: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place / FILE)) as database:
        database.execute(statement, values)
        database.commit()


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE entries SET value = substr(value, 1, 20)", id="cut-off"),
        pytest.param("UPDATE entries SET value = x''", id="empty"),
        pytest.param("UPDATE entries SET value = NULL", id="null"),
        pytest.param("UPDATE entries SET value = 'text'", id="text"),
        pytest.param("UPDATE entries SET value = (SELECT max(value) FROM entries)", id="that-of-another"),
        pytest.param("UPDATE entries SET day = day + 1000", id="from-the-future"),
        pytest.param("UPDATE entries SET day = 'never'", id="no-day"),
        pytest.param("ALTER TABLE entries RENAME COLUMN day TO time", id="another-column"),
        pytest.param("DROP TABLE entries", id="no-table"),
    ],
)
def test_changed_entries_cost_time_once(tmp_path: Path, looked: list[str], statement: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    expected = told(run(tree(root), tmp_path / "cache"))
    change(tmp_path / "cache", statement)
    assert told(run(root, tmp_path / "cache")) == expected
    looked.clear()
    assert told(run(root, tmp_path / "cache")) == expected
    assert looked == []


def test_a_torn_page_costs_time_once(tmp_path: Path, looked: list[str]) -> None:
    root = tmp_path / "root"
    root.mkdir()
    expected = told(run(tree(root), tmp_path / "cache"))
    file = tmp_path / "cache" / FILE
    data = file.read_bytes()
    file.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    for _ in range(2):
        assert told(run(root, tmp_path / "cache")) == expected
    looked.clear()
    assert told(run(root, tmp_path / "cache")) == expected
    assert looked == []


def test_that_a_text_is_refused_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    root.mkdir()
    expected = told(cold(tree(root)))
    with monkeypatch.context() as short:
        short.setattr(parse, "compile", no_memory, raising=False)
        assert not run(root, tmp_path / "cache").errors
    assert told(run(root, tmp_path / "cache")) == expected
    with closing(Cache(tmp_path / "cache")) as found:
        assert not Looks(Repository(), cache=found).compiles("def f(:")
        assert found.get(cache.key(b"compiles", b"def f(:")) is None


def no_memory(*arguments: object, **how: object) -> None:
    raise MemoryError


def test_two_runs_at_once_keep_what_both_found(tmp_path: Path) -> None:
    first, second = Cache(tmp_path), Cache(tmp_path)
    first.put(cache.key(b"1"), 1)
    second.put(cache.key(b"2"), 2)
    first.close()
    second.close()
    with closing(Cache(tmp_path)) as third:
        assert [third.get(cache.key(b"1")), third.get(cache.key(b"2"))] == [1, 2]


def test_what_nobody_uses_for_a_month_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000.0 * 86400]
    monkeypatch.setattr(cache.time, "time", lambda: now[0])
    used, unused = cache.key(b"used"), cache.key(b"unused")
    with closing(Cache(tmp_path)) as found:
        found.put(used, 1)
        found.put(unused, 2)
    now[0] += 20 * 86400
    with closing(Cache(tmp_path)) as found:
        assert found.get(used) == 1
    now[0] += 20 * 86400
    with closing(Cache(tmp_path)) as found:
        found.put(cache.key(b"new"), 3)
    with closing(Cache(tmp_path)) as found:
        assert [found.get(used), found.get(unused)] == [1, None]
