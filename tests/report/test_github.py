"""Annotations for GitHub Actions, read back as the runner reads them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from report_support import DEVICE, REPOSITORY, TREES, WITHOUT_COUNTERPART, command, fixture_tree, result_of, write

from migrate.report.github import data, escaped, render

ENTRY = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")


def unescaped(text: str) -> str:
    """What the runner makes of an escaped text."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def read(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The commands of an output: level, properties, message. Fails for a line that is none."""
    found = []
    for line in text.splitlines():
        match = ENTRY.fullmatch(line)
        assert match is not None, line
        properties = dict(pair.split("=", 1) for pair in match[2].split(","))
        found.append((match[1], {k: unescaped(v) for k, v in properties.items()}, unescaped(match[3])))
    return found


@pytest.mark.parametrize(
    ("raw", "as_data", "as_property"),
    [
        ("100%", "100%25", "100%25"),
        ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"),
        ("x: y, z", "x: y, z", "x%3A y%2C z"),
        ("%0A", "%250A", "%250A"),
    ],
    ids=["percent first", "newlines", "separators in properties alone", "what looks escaped already"],
)
def test_escapes(raw: str, as_data: str, as_property: str) -> None:
    assert (data(raw), escaped(raw)) == (as_data, as_property)
    assert unescaped(as_property) == raw


@pytest.mark.parametrize("name", TREES)
def test_command(name: str, tmp_path: Path) -> None:
    done = command(write(tmp_path, TREES[name]), "check", "--format", "github", ".")
    found = read(done.text)
    assert found[0][0] == "notice" and found[0][1] == {"title": "neuron-migrate"}
    assert any(level == "error" for level, _, _ in found) == (done.code == 1)
    for _, properties, _ in found[1:]:
        assert (tmp_path / properties["file"]).is_file()
        assert int(properties["line"]) >= 1


def test_all_fixtures() -> None:
    assert len(read(render(result_of(fixture_tree())))) > 10


def test_what_only_a_person_can_do_comes_first() -> None:
    many = DEVICE + b'    x = torch.ones(2, device="cuda")\n' * 14
    found = read(render(result_of({"a.py": many, "z.py": WITHOUT_COUNTERPART})))
    assert found[1][0] == "error" and found[1][1]["file"] == "z.py"
    assert "6 more findings can be read in the log" in found[0][2]


def test_nothing_is_said_about_limits_that_are_kept() -> None:
    assert "GitHub shows" not in render(result_of({"a.py": DEVICE}))


def test_order_of_levels() -> None:
    levels = [level for level, _, _ in read(render(result_of(REPOSITORY)))[1:]]
    assert levels == sorted(levels, key=["error", "warning", "notice"].index)
    assert {"error", "warning", "notice"} == set(levels)


def test_columns_go_where_a_range_has_several_lines() -> None:
    source = b"import torch\n\nok = (torch.cuda\n      .no_such_call())\n"
    ((_, properties, _),) = read(render(result_of({"a.py": source})))[1:]
    assert (properties["line"], properties["endLine"]) == ("3", "4")
    assert "col" not in properties and "endColumn" not in properties


def test_columns_of_one_line() -> None:
    ((_, properties, _),) = read(render(result_of({"wide.py": REPOSITORY["wide.py"]})))[1:]
    assert (properties["col"], properties["endColumn"]) == ("31", "37")


def test_paths_with_separators_and_from_a_folder_of_the_checkout(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    root = write(tmp_path / "part", {"a, b: 100%.py": DEVICE, "neuron-migrate.toml": b""})
    found = read(command(root, "check", "--format", "github").text)
    assert found[1][1]["file"] == "part/a, b: 100%.py"


def test_held_back_and_kept_ones_are_no_annotations() -> None:
    files = {"held.py": REPOSITORY["held.py"].split(b"y = 1")[0], "kept.py": REPOSITORY["kept.py"]}
    assert len(read(render(result_of(files)))) == 1
