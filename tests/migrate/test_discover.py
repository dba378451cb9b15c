from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from migrate.discover import Entry, UsageError, discover, find_root

GIT_ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": os.devnull}


def make(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def git(root: Path, *arguments: str) -> bytes:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments]
    return subprocess.run(command, cwd=root, check=True, env=GIT_ENV, capture_output=True).stdout


def found(root: Path, *names: str, exclude: tuple[str, ...] = ()) -> dict[str, Entry]:
    entries = discover(root, [root / name for name in names or (".",)], exclude)
    assert [entry.path for entry in entries] == sorted({entry.path for entry in entries})
    return {entry.path: entry for entry in entries}


def reasons(entries: Mapping[str, Entry]) -> dict[str, str | None]:
    return {path: entry.reason for path, entry in entries.items() if entry.status == "skipped"}


# The root -------------------------------------------------------------------------------------------------------------

SETTINGS = "[tool.neuron-migrate]\n"


@pytest.mark.parametrize(
    ("files", "path", "root"),
    [
        ({"p/neuron-migrate.toml": "", "p/a/b/x.py": ""}, "p/a/b/x.py", "p"),
        ({"p/pyproject.toml": SETTINGS, "p/a/x.py": ""}, "p/a", "p"),
        ({"p/pyproject.toml": SETTINGS, "p/a/neuron-migrate.toml": "", "p/a/x.py": ""}, "p/a/x.py", "p/a"),
        ({"p/pyproject.toml": "[project]\n", "p/a/x.py": ""}, "p/a", "p/a"),
        ({"p/.git/HEAD": "", "p/a/b/x.py": ""}, "p/a/b", "p"),
        ({"p/.git": "gitdir: ../elsewhere", "p/a/x.py": ""}, "p/a/x.py", "p"),
        ({"p/.git/HEAD": "", "p/a/neuron-migrate.toml": "", "p/a/x.py": ""}, "p/a", "p/a"),
        ({"p/neuron-migrate.toml": "", "p/a/.git/HEAD": "", "p/a/x.py": ""}, "p/a", "p"),
        ({"p/x.py": ""}, "p", "p"),
        ({"p/x.py": ""}, "p/x.py", "p"),
    ],
    ids=[
        "own file",
        "pyproject with our table",
        "the nearest settings",
        "pyproject without our table",
        "git top",
        "git file of a worktree",
        "settings below the git top",
        "settings above the git top",
        "a folder alone",
        "a file alone",
    ],
)
def test_find_root(tmp_path: Path, files: dict[str, str], path: str, root: str) -> None:
    make(tmp_path, files)
    assert find_root([tmp_path / path]) == tmp_path / root


def test_find_root_of_relative_paths_and_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"p/.git/HEAD": "", "p/a/x.py": "", "out/y.py": ""})
    (tmp_path / "link").symlink_to("p/a")
    (tmp_path / "p/y.py").symlink_to("../out/y.py")
    monkeypatch.chdir(tmp_path / "p/a")
    assert find_root([Path("."), Path("x.py"), Path("../y.py"), tmp_path / "link/x.py"]) == tmp_path / "p"


def test_paths_of_different_roots(tmp_path: Path) -> None:
    make(tmp_path, {"one/.git/HEAD": "", "one/x.py": "", "two/.git/HEAD": "", "two/x.py": ""})
    with pytest.raises(UsageError) as caught:
        find_root([tmp_path / "one/x.py", tmp_path / "one", tmp_path / "two/x.py"])
    message = str(caught.value)
    assert str(tmp_path / "one/x.py") in message
    assert f"{tmp_path / 'two/x.py'} to {tmp_path / 'two'}" in message
    assert "neuron-migrate.toml" in message


def test_paths_that_cannot_be_used(tmp_path: Path) -> None:
    make(tmp_path, {"one/x.py": "", "two/x.py": ""})
    with pytest.raises(UsageError, match=r"nix\.py: there is no such file"):
        find_root([tmp_path / "one/nix.py"])
    with pytest.raises(UsageError, match="outside of the root"):
        discover(tmp_path / "one", [tmp_path / "two"])
    with pytest.raises(UsageError, match="no such file"):
        discover(tmp_path / "one", [tmp_path / "one/nix"])


# Kinds ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("train.py", "", "python"),
        ("stub.pyi", "", "python"),
        ("UPPER.PY", "", "python"),
        ("bin/train", "#!/usr/bin/env python3\n", "python"),
        ("bin/launch", "#! /opt/conda/bin/python3.11 -u\n", "python"),
        ("bin/run", "#!/bin/bash\npython train.py\n", "shell"),
        ("bin/other", "python\n", "other"),
        ("LICENSE", "", "other"),
        (".hidden", "", "other"),
        ("a.ipynb", "{}", "notebook"),
        ("conf/a.yml", "", "yaml"),
        ("run.sh", "", "shell"),
        ("Dockerfile", "", "dockerfile"),
        ("Dockerfile.gpu", "", "dockerfile"),
        ("train.dockerfile", "", "dockerfile"),
        ("requirements-gpu.txt", "", "requirements"),
        ("requirements/dev.txt", "", "requirements"),
        ("requirements.py", "", "python"),
        ("notes.txt", "", "other"),
        ("pyproject.toml", "", "toml"),
        ("a.json", "", "json"),
        ("README.md", "", "markdown"),
        ("csrc/k.cu", "", "cuda"),
        ("model.pt", "", "binary"),
        ("{{cookiecutter.slug}}/train.py", "", "template"),
        ("src/{% if a %}x{% endif %}.py", "", "template"),
        ("train.py.j2", "", "template"),
        ("{{slug}}/logo.png", "", "binary"),
    ],
)
def test_kinds(tmp_path: Path, path: str, text: str, kind: str) -> None:
    make(tmp_path, {path: text})
    entry = found(tmp_path)[path]
    assert entry.kind == kind
    assert entry.status == ("read" if kind == "python" else "not_read")
    assert (entry.reason is None) == (kind == "python")


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("test_a.py", True),
        ("pkg/a_test.py", True),
        ("conftest.py", True),
        ("tests/helper.py", True),
        ("pkg/test/data/x.yaml", True),
        ("testing/a.py", False),
        ("latest.py", False),
        ("contest.py", False),
        ("test_data.yaml", False),
        ("pkg/tests.py", False),
    ],
)
def test_tests(tmp_path: Path, path: str, test: bool) -> None:
    make(tmp_path, {path: ""})
    assert found(tmp_path)[path].test is test


# What is left out -----------------------------------------------------------------------------------------------------


def test_folders_that_are_never_read(tmp_path: Path) -> None:
    left_out = [".git", ".neuron-migrate", "node_modules", "pkg/__pycache__", ".tox", "x.egg-info", "lib/site-packages"]
    make(tmp_path, {f"{folder}/x.py": "" for folder in left_out})
    make(tmp_path, {"env/pyvenv.cfg": "", "env/x.py": "", "conda/conda-meta/history": "", "conda/x.py": "", "a.py": ""})
    assert set(found(tmp_path)) == {"a.py"}
    named = found(tmp_path, "env/x.py", "node_modules", ".git/x.py")
    assert {path: entry.status for path, entry in named.items()} == dict.fromkeys(
        ["env/x.py", "node_modules", ".git/x.py"], "skipped"
    )


def test_a_root_that_is_an_environment_itself(tmp_path: Path) -> None:
    make(tmp_path, {"pyvenv.cfg": "", "train.py": "", "lib/python3.11/site-packages/torch/x.py": ""})
    assert [path for path, entry in found(tmp_path).items() if entry.kind == "python"] == ["train.py"]


def test_build_outputs(tmp_path: Path) -> None:
    files = {"setup.py": "", "build/lib/x.py": "", "dist/x.py": "", "pkg/dist/x.py": "", "pkg/build/x.py": ""}
    make(tmp_path, files)
    entries = found(tmp_path)
    assert set(entries) == {"setup.py", "build", "dist", "pkg/dist/x.py", "pkg/build/x.py"}
    assert {path: entry.kind for path, entry in entries.items() if entry.status == "skipped"} == {
        "build": "folder",
        "dist": "folder",
    }
    assert found(tmp_path, "build")["build/lib/x.py"].status == "read"


def test_a_package_called_dist_is_no_build(tmp_path: Path) -> None:
    make(tmp_path, {"setup.py": "", "dist/__init__.py": "", "dist/x.py": ""})
    assert reasons(found(tmp_path)) == {}


def test_vendored_files_are_listed_but_skipped(tmp_path: Path) -> None:
    submodule = '[submodule "apex"]\n\tpath = ext/apex\n\turl = https://example.invalid/apex\n'
    paths = ["third_party/a/x.py", "pkg/_vendor/x.py", "vendor/conf.yaml", "ext/apex/apex/x.py"]
    make(
        tmp_path,
        dict.fromkeys(paths, "") | {"ext/own.py": "", "vendors.py": "", ".gitmodules": submodule, ".git/HEAD": ""},
    )
    entries = found(tmp_path)
    assert reasons(entries) == {
        "ext/apex/apex/x.py": "vendored: ext/apex/ is a git submodule",
        "pkg/_vendor/x.py": "vendored: lies in pkg/_vendor/",
        "third_party/a/x.py": "vendored: lies in third_party/",
        "vendor/conf.yaml": "vendored: lies in vendor/",
    }
    assert (entries["ext/own.py"].status, entries["vendors.py"].status) == ("read", "read")
    assert found(tmp_path, "third_party/a/x.py")["third_party/a/x.py"].status == "skipped"


@pytest.mark.parametrize(
    ("text", "generated"),
    [
        ("# @generated by tool\n", True),
        ("# Generated by the protocol buffer compiler.  DO NOT EDIT!\n", True),
        ("#!/usr/bin/env python\n\n# auto-generated\n# do not edit\n", True),
        ("a\nb\nc\nd\n# @generated\n", True),
        ("a\nb\nc\nd\ne\n# @generated\n", False),
        ("# DO NOT EDIT this without asking\n", False),
        ("# text is generated here\n", False),
        ("", False),
    ],
    ids=["mark", "protobuf", "two lines", "fifth line", "sixth line", "only one of two", "only the other", "empty"],
)
def test_generated_files(tmp_path: Path, text: str, generated: bool) -> None:
    make(tmp_path, {"x.py": text})
    assert (found(tmp_path, "x.py")["x.py"].status == "skipped") is generated


def test_exclude_holds_for_what_is_named_too(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": "", "old/b.py": "", "old/keep.py": "", "pkg/old.py": ""})
    assert set(found(tmp_path, exclude=("old/", "pkg/*.py"))) == {"a.py"}
    assert set(found(tmp_path, exclude=("old/*", "!old/keep.py"))) == {"a.py", "old/keep.py", "pkg/old.py"}
    named = found(tmp_path, "old", "old/b.py", "pkg/old.py", "a.py", exclude=("old/", "pkg/*.py"))
    assert reasons(named) == dict.fromkeys(["old", "old/b.py", "pkg/old.py"], "is excluded by the settings")
    assert named["a.py"].status == "read"


# git's patterns -------------------------------------------------------------------------------------------------------


def test_named_files_and_folders_are_read_although_ignored(tmp_path: Path) -> None:
    make(
        tmp_path,
        {".gitignore": "gen/\n*.tmp.py\n", "gen/a.py": "", "gen/sub/b.py": "", "gen/sub/c.tmp.py": "", "d.tmp.py": ""},
    )
    make(tmp_path, {"gen/sub/.gitignore": "secret.py\n", "gen/sub/secret.py": ""})
    assert set(found(tmp_path)) == {".gitignore"}
    assert set(found(tmp_path, "d.tmp.py", "gen/a.py")) == {"d.tmp.py", "gen/a.py"}
    in_gen = {"gen/a.py", "gen/sub/.gitignore", "gen/sub/b.py", "gen/sub/c.tmp.py"}
    assert set(found(tmp_path, "gen")) == in_gen
    assert set(found(tmp_path, "gen/a.py", "gen", "gen/sub")) == in_gen
    assert set(found(tmp_path, "gen/sub")) == in_gen - {"gen/a.py"}


def test_committed_files_are_read_although_ignored(tmp_path: Path) -> None:
    make(tmp_path, {"lib/net.py": "", "lib/deep/er/x.py": "", "lib/new.py": "", "a.log.py": "", ".gitignore": ""})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "lib/net.py", "lib/deep", "a.log.py")
    make(tmp_path, {".gitignore": "lib/\n*.log.py\n", "b.log.py": ""})
    assert set(found(tmp_path)) == {".gitignore", "lib/net.py", "lib/deep/er/x.py", "a.log.py"}


def test_patterns_above_the_root_hold(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "/sub/root/a.py\nb.py\n/c.py\n", "sub/.gitignore": "root/d.py\n!b.py\n"})
    make(tmp_path, {f"sub/root/{name}.py": "" for name in "abcde"})
    git(tmp_path, "init", "-q")
    (tmp_path / ".git/info").mkdir(exist_ok=True)
    (tmp_path / ".git/info/exclude").write_text("e.py\n")
    assert set(found(tmp_path / "sub/root")) == {"b.py", "c.py"}


def test_a_root_that_is_ignored_itself(tmp_path: Path) -> None:
    make(tmp_path, {".gitignore": "scratch/\n", "scratch/neuron-migrate.toml": "", "scratch/x.py": ""})
    git(tmp_path, "init", "-q")
    assert "x.py" in found(tmp_path / "scratch")


def test_exclude_file_of_a_worktree(tmp_path: Path) -> None:
    make(tmp_path, {"main/a.py": "", "main/b.py": ""})
    git(tmp_path / "main", "init", "-q")
    git(tmp_path / "main", "add", "a.py")
    git(tmp_path / "main", "commit", "-q", "-m", "x")
    (tmp_path / "main/.git/info").mkdir(exist_ok=True)
    (tmp_path / "main/.git/info/exclude").write_text("local.py\n")
    git(tmp_path / "main", "worktree", "add", "-q", "../tree")
    make(tmp_path / "tree", {"local.py": "", "other.py": ""})
    assert set(found(tmp_path / "tree")) == {"a.py", "other.py"}


def test_broken_ignore_files_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbffirst.py\r\n# c\xe9\n\n!\n/\n[\nb\xe9.py\nlast.py")
    make(tmp_path, {"first.py": "", "last.py": "", "a.py": "", "sub/.gitignore/x.py": ""})
    (tmp_path / os.fsdecode(b"b\xe9.py")).write_bytes(b"")
    assert {path for path, entry in found(tmp_path).items() if entry.kind == "python"} == {
        "a.py",
        "sub/.gitignore/x.py",
    }


NAMES = ["a", "b", "ab", "a.py", "b.py", "x[1]", "sp ace", "a-", "]"]
PATTERN = st.builds(
    lambda sign, lead, parts, tail: sign + lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/", "**/"]),
    st.lists(
        st.sampled_from(
            [
                *NAMES,
                "*",
                "**",
                "*.py",
                "a*",
                "?",
                "[ab]",
                "[!a]",
                "x\\[1\\]",
                "[",
                "[a-b]",
                "[]-]",
                "[[:alpha:]]",
                "\\a",
            ]
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["", "/", "/*", "/**", "/**/", " "]),
)
FOLDER = st.lists(st.sampled_from(["a", "b", "ab", "x[1]", "sp ace"]), max_size=3).map("/".join)
FILE = st.builds(lambda folder, name: f"{folder}/{name}".strip("/"), FOLDER, st.sampled_from(NAMES))
IGNORES = st.dictionaries(FOLDER, st.lists(PATTERN, min_size=1, max_size=4), max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(FILE, min_size=1, max_size=8), ignores=IGNORES)
def test_git_lists_the_same_files(tmp_path: Path, files: list[str], ignores: dict[str, list[str]]) -> None:
    root = tmp_path / "root"
    shutil.rmtree(root, ignore_errors=True)
    (root / ".git/objects").mkdir(parents=True)
    (root / ".git/refs").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    texts = {f"{folder}/.gitignore".strip("/"): "\n".join(lines) for folder, lines in ignores.items()}
    for path, text in {**dict.fromkeys(files, "x"), **texts}.items():
        with contextlib.suppress(OSError):  # a file may stand where the other one needs a folder
            make(root, {path: text})
    listed = git(root, "ls-files", "-z", "--others", "--exclude-standard").decode().split("\0")
    assert set(found(root)) == {path for path in listed if path}


# Links ----------------------------------------------------------------------------------------------------------------


def test_linked_files_are_edited_once_in_their_own_place(tmp_path: Path) -> None:
    make(tmp_path, {"src/real.py": "", "z/keep.py": ""})
    for link in ("a_link.py", "tests/test_link.py"):
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(os.path.relpath(tmp_path / "src/real.py", (tmp_path / link).parent))
    entries = found(tmp_path)
    assert set(entries) == {"src/real.py", "z/keep.py"}
    assert entries["src/real.py"] == Entry(
        "src/real.py", "python", False, "read", None, ("a_link.py", "tests/test_link.py")
    )
    assert set(found(tmp_path, "a_link.py", "tests", "src")) == {"src/real.py"}


def test_links_that_lead_nowhere_good(tmp_path: Path) -> None:
    root = tmp_path / "root"
    make(tmp_path, {"out/x.py": "", "root/.gitignore": "gen/\n", "root/gen/g.py": "", "root/old/o.py": ""})
    make(root, {".venv/pyvenv.cfg": "", ".venv/v.py": ""})
    links = {
        "out.py": "../out/x.py",
        "outdir": "../out",
        "broken.py": "nowhere.py",
        "loop.py": "loop.py",
        "ignored.py": "gen/g.py",
        "ignoreddir": "gen",
        "excluded.py": "old/o.py",
        "installed.py": ".venv/v.py",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    entries = found(root, exclude=("old/",))
    assert {path for path, entry in entries.items() if entry.status != "skipped"} == {".gitignore"}
    assert reasons(entries) == {
        "out.py": "is a link that leads out of the root",
        "outdir": "is a link that leads out of the root",
        "broken.py": "is a broken link",
        "loop.py": "is a broken link",
        "ignored.py": "is a link to gen/g.py, which git ignores",
        "ignoreddir": "is a link to gen, which git ignores",
        "excluded.py": "is a link to old/o.py, which is excluded by the settings",
        "installed.py": "is a link to .venv/v.py, which is an environment with installed packages",
    }
    assert reasons(found(root, "out.py", "broken.py")) == {
        "out.py": "is a link that leads out of the root",
        "broken.py": "is a broken link",
    }
    assert found(root, "ignored.py")["gen/g.py"].status == "read"


def test_linked_folders_are_walked_once_in_their_own_place(tmp_path: Path) -> None:
    make(tmp_path, {"a/x.py": "", "a/sub/y.py": "", "b/z.py": ""})
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/self").symlink_to(".")
    (tmp_path / "b/a").symlink_to("../a")
    (tmp_path / "a/b").symlink_to("../b")
    everything = {"a/x.py", "a/sub/y.py", "b/z.py"}
    assert set(found(tmp_path)) == everything
    assert set(found(tmp_path, "b")) == everything
    assert set(found(tmp_path, "a/sub")) == {"a/sub/y.py"}
    assert set(found(tmp_path, "b/a/x.py")) == {"a/x.py"}


# What is odd ----------------------------------------------------------------------------------------------------------


def test_odd_names_and_files(tmp_path: Path) -> None:
    names = ["sp ace.py", 'q"uote.py', "new\nline.py", "mod\u00e8le.py", os.fsdecode(b"caf\xe9.py"), "-dash.py"]
    make(tmp_path, dict.fromkeys(names, ""))
    os.mkfifo(tmp_path / "pipe.py")
    assert set(found(tmp_path)) == set(names)
    assert reasons(found(tmp_path, "pipe.py")) == {"pipe.py": "is no regular file"}


def test_folders_and_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system's answers are given by hand, as the superuser may read everything."""
    make(tmp_path, {"a/x.py": "", "locked/x.py": "", "gone/x.py": "", "secret.py": "", "vanished.py": ""})
    scandir, real_open = os.scandir, open

    def scan(path: str) -> object:
        errors = {"locked": PermissionError(13, "Permission denied"), "gone": FileNotFoundError(2, "No such file")}
        if error := errors.get(os.path.basename(path)):
            raise error
        return scandir(path)

    def open_file(path: str, *arguments: object, **options: object) -> object:
        errors = {
            "secret.py": PermissionError(13, "Permission denied"),
            "vanished.py": FileNotFoundError(2, "No such file"),
        }
        if error := errors.get(os.path.basename(path)):
            raise error
        return real_open(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", scan)
    monkeypatch.setattr("builtins.open", open_file)
    entries = found(tmp_path)
    assert {path: (entry.status, entry.reason) for path, entry in entries.items()} == {
        "a/x.py": ("read", None),
        "locked": ("skipped", "can't be read: Permission denied"),
        "secret.py": ("read", None),  # who reads it will name the error
    }


def test_nothing_to_find(tmp_path: Path) -> None:
    assert discover(tmp_path, [tmp_path]) == []
