"""Where the command is started: closed streams, a full disk, a folder that is gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="closes and redirects by a POSIX shell")

COMMAND = f'"{sys.executable}" -c "from migrate.cli import main; main()"'
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def shell(root: Path, command: str) -> subprocess.CompletedProcess[bytes]:
    (root / "a.py").write_text("import torch\nx = torch.ones(1).cuda()\n")
    return subprocess.run(["sh", "-c", command], cwd=root, capture_output=True, env=ENVIRONMENT, check=False)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "arguments, code",
    [
        ("check . --no-cache", 1),
        ("check . --diff", 1),
        ("diff .", 0),
        ("run . --format json --output report.json", 0),
        ("explain TN101", 0),
        ("undo", 1),
    ],
    ids=lambda word: str(word).partition(" ")[0],
)
def test_closed_streams(tmp_path: Path, closed: str, arguments: str, code: int) -> None:
    found = shell(tmp_path, f"{COMMAND} {arguments} {closed}")
    assert found.returncode == code
    assert b"Traceback" not in found.stdout + found.stderr
    if "--output" in arguments:
        assert json.loads((tmp_path / "report.json").read_text())["files"]
        assert "neuron" in (tmp_path / "a.py").read_text()


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    found = shell(tmp_path, f"mkdir gone; cd gone; rmdir ../gone; {COMMAND} check .")
    assert found.returncode == 2
    assert found.stderr == b"neuron-migrate: the current folder does not exist any more: change to another\n"
