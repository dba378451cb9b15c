"""Several processes: the same answers as one, whatever happens to one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import fixture_cases
from migrate import looks
from migrate.pipeline import run_pipeline
from migrate.report.json import document
from migrate.settings import Settings
from migrate.workers import Died, Workers, share_out

DEADLY = -1


def square(items: Sequence[int]) -> list[int]:
    if DEADLY in items:
        os._exit(9)
    return [item * item for item in items]


def nothing() -> None: ...


def squares(items: list[int], count: int) -> list[int | None]:
    with Workers(count, square, nothing) as workers:
        found = dict(workers.answers(items, [1] * len(items)))
    assert sorted(found) == list(range(len(items)))
    return [None if isinstance(found[n], Died) else found[n] for n in range(len(items))]  # type: ignore[misc]


def test_each_item_has_its_answer() -> None:
    assert squares(list(range(50)), 2) == [n * n for n in range(50)]


@pytest.mark.parametrize("place", [0, 7, 19])
def test_a_process_that_dies_costs_the_item_that_killed_it(place: int) -> None:
    items = list(range(20))
    items[place] = DEADLY
    assert squares(items, 2) == [None if n == DEADLY else n * n for n in items]


def test_no_items() -> None:
    assert squares([], 2) == []


@pytest.mark.parametrize(
    "sizes, shares, expected",
    [
        pytest.param([], 4, [], id="none"),
        pytest.param([5, 1, 1, 1], 2, [[0], [1, 2, 3]], id="largest-first"),
        pytest.param([1, 1], 8, [[0], [1]], id="fewer-items-than-shares"),
        pytest.param([0, 0], 2, [[0], [1]], id="empty-files"),
    ],
)
def test_shares(sizes: list[int], shares: int, expected: list[list[int]]) -> None:
    found = share_out(sizes, shares)
    assert sorted(n for batch in found for n in batch) == list(range(len(sizes)))
    if expected != [[0], [1]]:
        assert found == expected


def test_several_processes_say_what_one_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, case in enumerate(fixture_cases()):
        (tmp_path / f"m{number}.py").write_bytes(case.read_bytes())
    (tmp_path / "broken.py").write_bytes(b"def f(:\n    x.cuda()\n")
    found = []
    monkeypatch.setattr(looks, "WORTH", 0)
    for jobs in (1, 2):
        result = run_pipeline(tmp_path, [tmp_path], Settings(jobs=jobs))
        report = document(result)
        report["summary"]["seconds"] = 0
        found.append((report, result.changes, result.errors))
    assert found[0] == found[1]


def test_a_file_that_ends_its_process_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_bytes(b"import torch\nx = torch.ones(1).cuda()\n")
    (tmp_path / "b.py").write_bytes(b"x.cuda()  # deadly\n")
    monkeypatch.setattr(looks, "WORTH", 0)
    monkeypatch.setattr(looks, "_look_at", look_unless_deadly)
    result = run_pipeline(tmp_path, [tmp_path], Settings(jobs=2))
    assert {f.path: f.status for f in result.files} == {"a.py": "changed", "b.py": "failed", "c.py": "changed"}
    assert result.errors == ["b.py: internal error: the analysis ended its process; the file stays as it is"]
    assert not result.runnable


LOOK_AT = looks._look_at


def look_unless_deadly(texts: Sequence[looks.Text]) -> list[looks.Answer]:
    if any(b"deadly" in text.data for text in texts):
        os._exit(9)
    return LOOK_AT(texts)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
@pytest.mark.parametrize("everyone", [False, True], ids=["parent", "group"])
def test_processes_end_with_their_parent(tmp_path: Path, sign: signal.Signals, everyone: bool) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while len(workers := children(parent.pid)) < 2:
        assert parent.poll() is None
        time.sleep(0.05)
    (os.killpg if everyone else os.kill)(parent.pid, sign)
    assert b"semaphore" not in parent.communicate()[1]
    while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
        time.sleep(0.05)


ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(Path(__file__).parent)]),
}
WAITING = """
import time
from migrate.workers import Workers
from slow import wait

with Workers(2, wait, time.time) as workers:
    list(workers.answers([1, 2], [1, 1]))
"""


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(word) for word in task.read_text().split()]
    return found


def check(root: Path, *before: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    command = [*before, "check", str(root), "--no-cache", "--jobs", "2", "--format", "json", "--fail-on", "none"]
    return subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=False, **how)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that is worth the start of other processes."""
    root = tmp_path_factory.mktemp("large")
    for number in range(2):
        (root / f"m{number}.py").write_bytes(b"import torch\nx = torch.ones(1).cuda()\n" + b"#\n" * (looks.WORTH // 3))
    return root


COMMAND = (sys.executable, "-c", "from migrate.cli import main; main()")


@pytest.mark.parametrize("name", ["struct", "pickle", "queue", "signal", "multiprocessing", "subprocess", "migrate"])
def test_modules_of_the_current_folder_are_not_run(tmp_path: Path, large: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("open('harm', 'w')")
    wrapper = [sys.executable, "-c", f"import sys; sys.path.remove(''); {COMMAND[2]}"]
    found = check(large, *wrapper, cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"internal error" not in found.stdout
    assert not (tmp_path / "harm").exists()


def test_a_script_that_is_read_from_stdin(large: Path) -> None:
    found = check(large, sys.executable, "-", input=COMMAND[2].encode())
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"internal error" not in found.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="sets limits of processes")
@pytest.mark.parametrize(
    "limit",
    [
        pytest.param("resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))", id="open-files"),
        pytest.param("sys.executable = '/nowhere/python'", id="no-interpreter"),
        pytest.param("sys.executable = '/bin/false'", id="an-interpreter-that-ends-at-once"),
    ],
)
def test_where_no_process_can_be_had_the_work_is_done_here(large: Path, limit: str) -> None:
    found = check(large, sys.executable, "-c", f"import resource, sys; {limit}; {COMMAND[2]}")
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"internal error" not in found.stdout


def test_a_fault_of_the_parser_is_not_laid_on_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x.cuda()\n")
    broken = "import libcst; libcst.parse_module = __import__('operator').methodcaller('missing')"
    found = check(tmp_path, sys.executable, "-c", f"{broken}; {COMMAND[2]}")
    assert found.returncode == 3
    assert b"missing" in found.stderr


def test_too_little_memory_is_no_property_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    monkeypatch.setattr(looks, "finding_keys", no_memory)
    result = run_pipeline(tmp_path, [tmp_path], Settings(jobs=1))
    assert result.errors == ["a.py: internal error: not enough memory to analyse it; the file stays as it is"]
    assert not result.runnable


def no_memory(*arguments: object) -> None:
    raise MemoryError
