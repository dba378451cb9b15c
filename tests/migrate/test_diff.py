"""The patches are judged by git itself: what `git apply` makes of them, and what `git diff` would have written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrate.diff import unified

GIT_ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": "/"}


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["git", "-c", "core.autocrlf=false", *arguments]
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, env=GIT_ENV, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def apply(folder: Path, path: str, old: bytes | None, new: bytes, mode: int | None = None) -> bytes:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if old is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(old)
    patch = unified(path, old, new, mode)
    git(folder, "apply", "--whitespace=nowarn", "-", stdin=patch)
    return file.read_bytes()


BODIES = {
    "one line of many": (
        b"".join(b"line %d\n" % i for i in range(40)),
        b"".join(b"line %d\n" % i for i in range(40) if i != 20),
    ),
    "two hunks": (
        b"".join(b"%d\n" % i for i in range(60)),
        b"".join(b"%d\n" % i if i not in (5, 50) else b"changed\n" for i in range(60)),
    ),
    "lines in front of others that look like them": (b"\n\n\n\na\n", b"a\n\n\n\na\n"),
    "first and last line": (b"a\nb\nc\n", b"A\nb\nC\n"),
    "newline at the end goes": (b"a\nb\n", b"a\nb"),
    "newline at the end comes": (b"a\nb", b"a\nb\n"),
    "no newline on either side": (b"a\nb\nc", b"a\nX\nc"),
    "last line without newline changes": (b"a\nb", b"a\nc"),
    "to nothing": (b"a\nb\n", b""),
    "from nothing": (b"", b"a\n"),
    "a lone newline": (b"\n", b"\n\n"),
    "crlf": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "crlf to lf in one line": (b"a\r\nb\r\n", b"a\r\nb\n"),
    "lone carriage returns": (b"a\rb\rc\nd\n", b"a\rB\rc\nd\n"),
    "carriage return at the very end": (b"a\nb\r", b"a\nc\r"),
    "form feed and vertical tab": (b"a\n\x0cb\n\x0b\nc\n", b"a\n\x0cB\n\x0b\nc\n"),
    "unicode line separators are no line ends": ("a\u2028b\x85c\nd\n".encode(), "a\u2028B\x85c\nd\n".encode()),
    "latin-1": (b"# caf\xe9\nx = 1\n", b"# caf\xe9\nx = 2\n"),
    "utf-16": ("x = 1\ny\n".encode("utf-16"), "x = 2\ny\n".encode("utf-16")),
    "null bytes": (b"a\0b\nc\n", b"a\0B\nc\n"),
    "lines that look like a patch": (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n", b"--- a/x\n-- b/x\n@@ -1 +1 @@\n"),
    "bom": (b"\xef\xbb\xbfimport a\n", b"\xef\xbb\xbfimport b\n"),
}


@pytest.mark.parametrize(("old", "new"), list(BODIES.values()), ids=list(BODIES))
def test_git_apply_makes_the_new_bytes(tmp_path: Path, old: bytes, new: bytes) -> None:
    assert apply(tmp_path, "x.py", old, new) == new


NAMES = {
    "plain": "pkg/x.py",
    "space": "my folder/a file.py",
    "space at the end": "x.py ",
    "double quote": 'say "hi".py',
    "single quote": "it's.py",
    "backslash": "back\\slash.py",
    "tab": "tab\there.py",
    "newline": "line\nend.py",
    "other control byte": "bell\x07\x01\x7f.py",
    "unicode": "modèle/変換.py",
    "quote and space": 'a "b" c.py',
    "name that is no utf-8": os.fsdecode(b"caf\xe9.py"),
    "braces": "{{cookiecutter.slug}}/train.py",
    "looks like a prefix": "b/a/b.py",
}


@pytest.mark.parametrize("old", [b"a = 1\nb = 2\n", None], ids=["changed", "created"])
@pytest.mark.parametrize("path", list(NAMES.values()), ids=list(NAMES))
def test_file_names(tmp_path: Path, path: str, old: bytes | None) -> None:
    assert apply(tmp_path, path, old, b"a = 1\nb = 3\n") == b"a = 1\nb = 3\n"


@pytest.mark.parametrize("path", list(NAMES.values()), ids=list(NAMES))
def test_the_patch_is_what_git_diff_writes(tmp_path: Path, path: str) -> None:
    old, new = b"".join(b"%d\n" % i for i in range(20)), b"".join(b"%d\n" % i for i in range(1, 20))
    git(tmp_path, "init", "-q")
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(old)
    git(tmp_path, "add", "-A")
    file.write_bytes(new)
    expected = git(tmp_path, "diff", "--full-index", "--no-color")
    assert unified(path, old, new, 0o644) == expected


def test_created_file_is_what_git_diff_writes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "new.py").write_bytes(b"x = 1\n")
    (tmp_path / "empty.py").write_bytes(b"")
    git(tmp_path, "add", "-N", ".")
    expected = git(tmp_path, "diff", "--full-index", "--no-color")
    assert unified("empty.py", None, b"") + unified("new.py", None, b"x = 1\n") == expected


def test_several_files_in_one_patch(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"1")
    (tmp_path / "b.py").write_bytes(b"1\n")
    patch = unified("a.py", b"1", b"2") + unified("b.py", b"1\n", b"2\n") + unified("pkg/c.py", None, b"3\n")
    git(tmp_path, "apply", "-", stdin=patch)
    assert [(tmp_path / name).read_bytes() for name in ("a.py", "b.py", "pkg/c.py")] == [b"2", b"2\n", b"3\n"]


def test_equal_bytes_make_no_patch() -> None:
    assert unified("x.py", b"a\n", b"a\n") == b""


def test_mode_survives_and_created_scripts_get_theirs(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_bytes(b"1\n")
    script.chmod(0o755)
    git(tmp_path, "apply", "-", stdin=unified("run", b"1\n", b"2\n", 0o755) + unified("made", None, b"3\n", 0o755))
    assert [path.stat().st_mode & 0o100 for path in (script, tmp_path / "made")] == [0o100, 0o100]


def test_three_way_apply_finds_the_blob(tmp_path: Path) -> None:
    """The `index` line holds git's own names, so a patch still applies to a file that has moved on elsewhere."""
    git(tmp_path, "init", "-q")
    base = b"".join(b"%d\n" % i for i in range(30))
    (tmp_path / "x.py").write_bytes(base)
    git(tmp_path, "add", "x.py")
    git(tmp_path, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "base")
    moved = base.replace(b"11\n", b"eleven\n")
    (tmp_path / "x.py").write_bytes(moved)
    git(tmp_path, "add", "x.py")
    git(tmp_path, "apply", "--3way", "-", stdin=unified("x.py", base, base.replace(b"13\n", b"thirteen\n"), 0o644))
    assert (tmp_path / "x.py").read_bytes() == moved.replace(b"13\n", b"thirteen\n")


LINE = st.sampled_from(
    [b"", b"a", b"b", b" ", b"\r", b"a\r", b"\x0c", b"\xff", b"-- x", b"++ x", b"@@", b"\\ No", b"\0"]
)
BYTES = st.builds(
    lambda lines, end: b"\n".join(lines) + end, st.lists(LINE, max_size=25), st.sampled_from([b"", b"\n"])
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=BYTES, new=BYTES)
def test_any_bytes(tmp_path: Path, old: bytes, new: bytes) -> None:
    if old != new:
        assert apply(tmp_path, "x.py", old, new) == new
