"""Several processes: the same answers as one, whatever happens to one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

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
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_their_parent(tmp_path: Path, sign: signal.Signals) -> None:
    script = tmp_path / "parent.py"
    script.write_text(WAITING)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.DEVNULL)
    while not (workers := children(parent.pid)):
        assert parent.poll() is None
        time.sleep(0.05)
    os.kill(parent.pid, sign)
    parent.wait()
    while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
        time.sleep(0.05)


WAITING = """
import time
from migrate.workers import Workers

def wait(items):
    time.sleep(600)

if __name__ == "__main__":
    with Workers(2, wait, time.time) as workers:
        list(workers.answers([1, 2], [1, 1]))
"""


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(word) for word in task.read_text().split()]
    return [child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
