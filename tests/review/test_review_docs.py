"""The guide and its pictures come from the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pty_terminal import CHECKOUT

from migrate.review.keys import TABLE, shown

GUIDE = CHECKOUT / "docs" / "guides" / "review.md"


def test_the_guide_lists_the_keys_as_they_are() -> None:
    table = GUIDE.read_text().partition("<!-- keys -->\n")[2].partition("<!-- end of keys -->")[0]
    rows = [f"| {', '.join(f'`{k}`' for k in shown(b).split(', '))} | {b.says} |" for b in TABLE]
    assert table.splitlines() == ["| key | does |", "|---|---|", *rows]


def test_the_pictures_can_be_made_and_are_there(tmp_path: Path) -> None:
    script = CHECKOUT / "docs" / "pictures" / "make.py"
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, env=env)
    made = {f.name for f in tmp_path.iterdir()}
    for name in sorted(made):
        picture = (tmp_path / name).read_text()
        assert picture.startswith("<svg")
        assert "@font-face" not in picture
        assert (script.parent / name).exists()
    shown_there = {line.rpartition("/")[2].rstrip(")") for line in GUIDE.read_text().splitlines() if line[:2] == "!["}
    assert shown_there <= made
