from __future__ import annotations

import io
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from migrate.journal import Journal, JournalError, LockHeld, dirty_paths
from migrate.journal_restore import restore_run

GIT_ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def make(root: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def tree(root: Path) -> dict[str, bytes]:
    """All files but the journal's."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {".neuron-migrate", ".git"} & set(path.parts)
    }


def migrated(files: dict[str, bytes]) -> dict[str, tuple[bytes, bytes]]:
    return {path: (data, data.replace(b"cuda", b"neuron")) for path, data in files.items()}


FILES = {
    "train.py": b'device = "cuda"\r\n',
    "pkg/model.py": b"\xef\xbb\xbfx.cuda()\n\x0c\n",
    "pkg/latin.py": b"# caf\xe9 cuda",
    "a name with spaces.py": b"cuda\0",
}
CREATED = {"pkg/deep/er/neuron_support.py": b"import torch\n"}


def test_making_a_journal_and_asking_it_writes_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert (journal.runs(), journal.last_run_hashes()) == ((), {})
    with pytest.raises(JournalError, match="nothing to undo"):
        journal.undo()
    assert list(tmp_path.iterdir()) == []


def test_write_and_undo_byte_for_byte(tmp_path: Path) -> None:
    make(tmp_path, FILES)
    journal = Journal(tmp_path)
    run = journal.write_run(migrated(FILES), CREATED, {"command": "run", "path": tmp_path})
    assert (run.id, run.state, run.failed) == ("1", "done", ())
    assert tree(tmp_path) == {path: data.replace(b"cuda", b"neuron") for path, data in FILES.items()} | CREATED
    assert [(r.id, r.state, r.files) for r in Journal(tmp_path).runs()] == [("1", "done", run.files)]
    report = Journal(tmp_path).undo()
    assert (set(report.restored), report.removed, report.complete) == (set(FILES), tuple(CREATED), True)
    assert tree(tmp_path) == FILES
    assert not (tmp_path / "pkg/deep").exists()
    assert [r.state for r in journal.runs()] == ["undone"]
    with pytest.raises(JournalError, match="no run left"):
        journal.undo()


def test_the_journal_is_ignored_by_git(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": b"cuda"})
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, env=GIT_ENV)
    Journal(tmp_path).write_run(migrated({"a.py": b"cuda"}), {}, {})
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=tmp_path, check=True, stdout=subprocess.PIPE, env=GIT_ENV
    )
    assert status.stdout == b"?? a.py\n"


def test_nothing_to_write_is_no_run(tmp_path: Path) -> None:
    run = Journal(tmp_path).write_run({"a.py": (b"same", b"same")}, {}, {})
    assert (run.id, run.files) == ("", ())
    assert list(tmp_path.iterdir()) == []


def test_mode_bits_and_links_stay(tmp_path: Path) -> None:
    make(tmp_path, {"real/run.py": b"cuda", "plain.py": b"cuda"})
    (tmp_path / "real/run.py").chmod(0o750)
    (tmp_path / "plain.py").chmod(0o444)
    (tmp_path / "link.py").symlink_to("real/run.py")
    run = Journal(tmp_path).write_run(migrated({"link.py": b"cuda", "plain.py": b"cuda"}), {}, {})
    assert [record.path for record in run.written] == ["real/run.py", "plain.py"]
    assert (tmp_path / "link.py").is_symlink()
    for path, mode in (("real/run.py", 0o750), ("plain.py", 0o444)):
        assert stat.S_IMODE((tmp_path / path).stat().st_mode) == mode
        assert (tmp_path / path).read_bytes() == b"neuron"
    Journal(tmp_path).undo()
    assert stat.S_IMODE((tmp_path / "real/run.py").stat().st_mode) == 0o750
    assert (tmp_path / "link.py").read_bytes() == b"cuda"


def test_created_files_obey_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        Journal(tmp_path).write_run({}, {"new.py": b"x"}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.py").stat().st_mode) == 0o640


def change(root: Path) -> None:
    (root / "b.py").write_bytes(b"somebody's")


def delete(root: Path) -> None:
    (root / "b.py").unlink()


def make_a_folder(root: Path) -> None:
    (root / "b.py").unlink()
    (root / "b.py").mkdir()


def lead_out(root: Path) -> None:
    (root / "b.py").unlink()
    make(root.parent, {"outside.py": b"cuda"})
    (root / "b.py").symlink_to("../outside.py")


def break_link(root: Path) -> None:
    (root / "b.py").unlink()
    (root / "b.py").symlink_to("nowhere.py")


@pytest.mark.parametrize(
    ("happening", "reason"),
    [
        (change, "has changed since it was read"),
        (delete, "is gone since it was read"),
        (make_a_folder, "Is a directory"),
        (lead_out, "leads out of"),
        (break_link, "is gone since it was read"),
    ],
    ids=["changed", "deleted", "a folder now", "a link out of the root now", "a broken link now"],
)
def test_a_file_that_cannot_be_written_is_named_and_the_others_go_on(
    tmp_path: Path, happening: Callable[[Path], None], reason: str
) -> None:
    root = tmp_path / "root"
    files = {"a.py": b"cuda 1", "b.py": b"cuda", "c.py": b"cuda 3"}
    make(root, files)
    happening(root)
    before = tree(root)
    run = Journal(root).write_run(migrated(files), {}, {})
    assert [record.path for record in run.written] == ["a.py", "c.py"]
    ((path, why),) = [(record.path, record.reason) for record in run.failed]
    assert path == "b.py"
    assert why is not None
    assert reason in why
    assert tree(root) == before | {"a.py": b"neuron 1", "c.py": b"neuron 3"}
    assert not list(root.rglob("*.tmp"))
    if happening is lead_out:
        assert (tmp_path / "outside.py").read_bytes() == b"cuda"
    assert Journal(root).undo().complete
    assert tree(root) == before


@pytest.mark.parametrize("path", ["../out.py", "/tmp/neuron-migrate-out.py", "."], ids=["parent", "absolute", "root"])
def test_nothing_is_created_outside_the_root(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    run = Journal(root).write_run({}, {path: b"x"}, {})
    assert [record.status for record in run.files] == ["failed"]
    assert not (tmp_path / "out.py").exists()
    assert not Path("/tmp/neuron-migrate-out.py").exists()


def test_created_files_replace_nothing(tmp_path: Path) -> None:
    make(tmp_path, {"new.py": b"somebody's", "folder": b"a file"})
    run = Journal(tmp_path).write_run({}, {"new.py": b"x", "folder/new.py": b"x"}, {})
    assert [record.path for record in run.failed] == ["new.py", "folder/new.py"]
    assert tree(tmp_path) == {"new.py": b"somebody's", "folder": b"a file"}
    with pytest.raises(JournalError, match="no run left"):
        Journal(tmp_path).undo()


def test_a_file_under_two_names_is_written_once(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": b"cuda"})
    (tmp_path / "b.py").symlink_to("a.py")
    run = Journal(tmp_path).write_run(migrated({"a.py": b"cuda", "b.py": b"cuda"}), {}, {})
    assert [(record.status, record.reason) for record in run.files] == [
        ("written", None),
        ("failed", "is the same file as a.py, which this run writes already"),
    ]


def unwritable_file(root: Path) -> None:
    (root / ".neuron-migrate").write_bytes(b"")


def unwritable_runs(root: Path) -> None:
    (root / ".neuron-migrate").mkdir()
    (root / ".neuron-migrate/runs").write_bytes(b"")


def unwritable_lock(root: Path) -> None:
    (root / ".neuron-migrate/lock").mkdir(parents=True)


def link_away(root: Path) -> None:
    (root.parent / "away").mkdir()
    (root / ".neuron-migrate").symlink_to("../away")


@pytest.mark.parametrize(
    "obstacle",
    [unwritable_file, unwritable_runs, unwritable_lock, link_away],
    ids=[
        "a file in its place",
        "a file in place of the runs",
        "a folder in place of the lock",
        "a link out of the root",
    ],
)
def test_without_a_journal_nothing_is_written(tmp_path: Path, obstacle: Callable[[Path], None]) -> None:
    root = tmp_path / "root"
    make(root, FILES)
    obstacle(root)
    with pytest.raises(JournalError, match=r"\.neuron-migrate"):
        Journal(root).write_run(migrated(FILES), CREATED, {})
    assert tree(root) == FILES


def test_undo_is_all_or_nothing_unless_partial(tmp_path: Path) -> None:
    files = {"a.py": b"cuda 1", "b.py": b"cuda 2", "c.py": b"cuda 3"}
    make(tmp_path, files)
    journal = Journal(tmp_path)
    journal.write_run(migrated(files), {"new.py": b"n", "new2.py": b"n"}, {})
    (tmp_path / "a.py").write_bytes(b"edited")
    (tmp_path / "b.py").unlink()
    (tmp_path / "new.py").write_bytes(b"edited too")
    before = tree(tmp_path)
    refused = (("new.py", "was changed since"), ("a.py", "was changed since"), ("b.py", "was deleted since"))
    report = journal.undo()
    assert (report.refused, report.restored, report.removed, report.complete) == (refused, (), (), False)
    assert tree(tmp_path) == before
    report = journal.undo(partial=True)
    assert (report.refused, report.restored, report.removed) == (refused, ("c.py",), ("new2.py",))
    assert tree(tmp_path) == {"a.py": b"edited", "c.py": b"cuda 3", "new.py": b"edited too"}
    make(tmp_path, {"a.py": b"neuron 1", "b.py": b"cuda 2"})
    (tmp_path / "new.py").unlink()
    assert journal.undo().restored == ("a.py",)
    assert tree(tmp_path) == files


def test_runs_are_undone_newest_first_and_by_name(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": b"1", "b.py": b"1"})
    journal = Journal(tmp_path)
    journal.write_run({"a.py": (b"1", b"2"), "b.py": (b"1", b"2")}, {}, {})
    journal.write_run({"a.py": (b"2", b"3")}, {}, {})
    assert journal.undo("1").refused == (("a.py", "was changed since"),)
    assert journal.undo().run_id == "2"
    with pytest.raises(JournalError, match="run 2 is undone already"):
        journal.undo("2")
    with pytest.raises(JournalError, match="no run 9; the runs here are: 1, 2"):
        journal.undo("9")
    assert journal.undo().run_id == "1"
    assert tree(tmp_path) == {"a.py": b"1", "b.py": b"1"}
    assert journal.write_run({"a.py": (b"1", b"4")}, {}, {}).id == "3"


def test_damaged_journals_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": b"cuda"})
    journal = Journal(tmp_path)
    journal.write_run(migrated({"a.py": b"cuda"}), {}, {})
    archive = tmp_path / ".neuron-migrate/runs/1/old.zip"
    whole = archive.read_bytes()
    name = zipfile.ZipFile(archive).namelist()[0]
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as writer:
        writer.writestr(name, b"other bytes")
    flipped = bytearray(whole)
    flipped[30 + len(name)] ^= 0xFF
    for broken in (b"", whole[:40], bytes(flipped), other.getvalue(), None):
        archive.unlink()
        if broken is not None:
            archive.write_bytes(broken)
        with pytest.raises(JournalError, match=r"old\.zip"):
            journal.undo()
        assert tree(tmp_path) == {"a.py": b"neuron"}
        archive.write_bytes(whole)
    manifest = tmp_path / ".neuron-migrate/runs/1/manifest.json"
    content = json.loads(manifest.read_bytes())
    for text in ("", "[]", "{}", json.dumps({**content, "version": 99}), json.dumps({**content, "files": [1]})):
        manifest.write_text(text)
        with pytest.raises(JournalError, match=r"manifest\.json"):
            journal.runs()


# Killed at every point ------------------------------------------------------------------------------------------------


@pytest.fixture
def lazy_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill takes nothing from the system's caches, so these tests need not wait for the disk, which may be busy."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def in_child(work: Callable[[], object]) -> int:
    """Runs `work` in a forked process; its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# Between two of these calls the disk stays as it is, so a kill elsewhere is a kill at the next of them.
CHANGING = {
    "open",
    "write",
    "flush",
    "close",
    "replace",
    "unlink",
    "mkdir",
    "rmdir",
    "chmod",
    "ftruncate",
    "flock",
}


def killed_at(point: int, work: Callable[[], object]) -> Callable[[], object]:
    """`work`, killed before its n-th call that can change the disk."""

    def run() -> None:
        left = point

        def watch(frame: FrameType, event: str, function: object) -> None:
            nonlocal left
            if event == "c_call" and getattr(function, "__name__", "") in CHANGING:
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(watch)
        work()

    return run


KILL_FILES = {"a.py": b"cuda 1" * 50, "pkg/b.py": b"cuda 2", "pkg/c.py": b"cuda 3"}
KILL_CREATED = {"pkg/new/support.py": b"support"}


def assert_each_file_is_old_or_new(root: Path) -> None:
    found = tree(root)
    temporary = [path for path in found if ".neuron-migrate-" in path]
    assert len(temporary) <= 1
    assert set(KILL_FILES) <= set(found) <= {*KILL_FILES, *KILL_CREATED, *temporary}
    for path, (old, new) in migrated(KILL_FILES).items():
        assert found[path] in (old, new)
    for path, new in KILL_CREATED.items():
        assert found.get(path, new) == new


@pytest.mark.usefixtures("lazy_disk")
def test_a_run_killed_at_any_call_leaves_whole_files_and_can_be_undone(tmp_path: Path) -> None:
    outcomes: set[object] = set()
    for point in range(10_000):
        root = tmp_path / str(point)
        make(root, KILL_FILES)

        def write(root: Path = root) -> None:
            Journal(root).write_run(migrated(KILL_FILES), KILL_CREATED, {})

        code = in_child(killed_at(point, write))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        assert_each_file_is_old_or_new(root)
        try:
            report = Journal(root).undo()
        except JournalError:  # it had no plan yet
            outcomes.add("nothing")
        else:
            assert report.complete
            outcomes.add(len(report.restored) + len(report.removed))
        assert tree(root) == KILL_FILES
        assert not (root / "pkg/new").exists()
        # The next run works as if nothing had been.
        assert Journal(root).write_run(migrated(KILL_FILES), KILL_CREATED, {}).failed == ()
    assert outcomes == {"nothing", 0, 1, 2, 3, 4}
    assert set(tree(root)) == {*KILL_FILES, *KILL_CREATED}


@pytest.mark.usefixtures("lazy_disk")
def test_an_undo_killed_at_any_call_can_be_repeated(tmp_path: Path) -> None:
    outcomes: set[object] = set()
    for point in range(10_000):
        root = tmp_path / str(point)
        make(root, KILL_FILES)
        Journal(root).write_run(migrated(KILL_FILES), KILL_CREATED, {})

        def undo(root: Path = root) -> None:
            Journal(root).undo()

        code = in_child(killed_at(point, undo))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        assert_each_file_is_old_or_new(root)
        try:
            report = Journal(root).undo()
        except JournalError:  # it was done but for freeing the lock
            outcomes.add("done")
        else:
            assert report.complete
            outcomes.add(len(report.restored) + len(report.removed))
        assert tree(root) == KILL_FILES
        assert not (root / "pkg/new").exists()
    assert outcomes == {0, 1, 2, 3, 4, "done"}


@pytest.mark.usefixtures("lazy_disk")
def test_a_run_killed_at_any_time(tmp_path: Path) -> None:
    """The same by the clock, with many files, so that a kill also falls between two calls."""
    files = {f"f{i}.py": b"cuda %d" % i for i in range(40)}
    dice = random.Random(7)
    for attempt in range(12):
        root = tmp_path / str(attempt)
        make(root, files)
        pid = os.fork()
        if pid == 0:
            try:
                Journal(root).write_run(migrated(files), {}, {})
            finally:
                os._exit(0)
        time.sleep(dice.uniform(0.001, 0.06))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        found = {path: data for path, data in tree(root).items() if not path.startswith(".neuron-migrate-")}
        assert set(found) == set(files)
        assert [path for path, pair in migrated(files).items() if found[path] not in pair] == []
        if Journal(root).runs():
            assert Journal(root).undo().complete
        else:
            assert Journal(root).write_run(migrated(files), {}, {}).failed == ()
            Journal(root).undo()
        assert tree(root) == files


def test_a_killed_run_is_shown_as_interrupted_by_the_next_one(tmp_path: Path) -> None:
    make(tmp_path, KILL_FILES)

    def write() -> None:
        real = os.replace

        def replace_or_die(source: Path, target: Path) -> None:
            if target.name == "b.py":
                os._exit(9)
            real(source, target)

        os.replace = replace_or_die  # type: ignore[assignment]
        Journal(tmp_path).write_run(migrated(KILL_FILES), {}, {})

    assert in_child(write) == 9
    assert [run.state for run in Journal(tmp_path).runs()] == ["writing"]
    assert len([path for path in tree(tmp_path) if path.endswith(".tmp")]) == 1
    run = Journal(tmp_path).write_run({"pkg/c.py": (b"cuda 3", b"other")}, {}, {})
    assert [run.state for run in Journal(tmp_path).runs()] == ["interrupted", "done"]
    assert not [path for path in tree(tmp_path) if path.endswith(".tmp")]
    assert Journal(tmp_path).undo(run.id).complete
    assert Journal(tmp_path).undo().restored == ("a.py",)
    assert tree(tmp_path) == KILL_FILES


# The lock -------------------------------------------------------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from migrate.journal import Journal
with Journal(Path(sys.argv[1])).lock():
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_locked_out_until_the_first_one_dies(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": b"cuda"})
    folder = Path(__file__).parents[2]
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(LockHeld) as caught:
            Journal(tmp_path).write_run(migrated({"a.py": b"cuda"}), {}, {})
        assert caught.value.pid == holder.pid
        assert f"process {holder.pid}, since 20" in str(caught.value)
        assert str(tmp_path) in str(caught.value)
        with pytest.raises(LockHeld):
            Journal(tmp_path).undo()
        assert tree(tmp_path) == {"a.py": b"cuda"}
    finally:
        holder.kill()
        holder.communicate()
    assert Journal(tmp_path).write_run(migrated({"a.py": b"cuda"}), {}, {}).failed == ()


def test_the_lock_nests_in_one_journal_and_ends_with_it(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": b"cuda"})
    journal = Journal(tmp_path)
    with journal.lock():
        with journal.lock():
            pass
        journal.write_run(migrated({"a.py": b"cuda"}), {}, {})
        with pytest.raises(LockHeld), Journal(tmp_path).lock():
            pass
    with Journal(tmp_path).lock():
        pass


# What was before ------------------------------------------------------------------------------------------------------


def test_state_before_looks_through_later_runs(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": b"1", "b.py": b"1", "c.py": b"1"})
    journal = Journal(tmp_path)
    journal.write_run({"a.py": (b"1", b"2")}, {"new.py": b"n"}, {})
    journal.write_run({"a.py": (b"2", b"3"), "b.py": (b"1", b"2"), "c.py": (b"wrong", b"2")}, {}, {})
    journal.write_run({"a.py": (b"3", b"4")}, {}, {})
    journal.undo("3")
    assert journal.state_before("1") == {"a.py": b"1", "b.py": b"1", "new.py": None}
    assert journal.state_before("2") == {"a.py": b"2", "b.py": b"1"}
    with pytest.raises(JournalError, match="no run 7"):
        journal.state_before("7")


def test_restore_run_copies_the_tree_as_it_was(tmp_path: Path) -> None:
    root = tmp_path / "root"
    rest = {"data/x.bin": b"\0\1", "pkg/other.py": b"other"}
    make(root, FILES | rest | {".venv/pyvenv.cfg": b"", ".venv/lib/x.py": b"", "pkg/__pycache__/x.pyc": b""})
    (root / "link.py").symlink_to("train.py")
    journal = Journal(root)
    run = journal.write_run(migrated(FILES), CREATED, {})
    after = tree(root)
    into = root / "before"
    restore_run(root, run.id, into)
    assert tree(into) == FILES | rest | {"link.py": FILES["train.py"]}
    assert (into / "link.py").is_symlink()
    assert {path: data for path, data in tree(root).items() if not path.startswith("before/")} == after
    with pytest.raises(JournalError, match="new or empty folder"):
        restore_run(root, run.id, into)


# git ------------------------------------------------------------------------------------------------------------------


def git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments]
    subprocess.run(command, cwd=root, check=True, env=GIT_ENV, capture_output=True)


@pytest.mark.parametrize("below", ["", "projects/one"], ids=["root is the top", "root is below the top"])
def test_dirty_paths(tmp_path: Path, below: str) -> None:
    root = tmp_path / below
    odd = 'sp ace "q" \u00e9.py'
    files = {
        "clean.py": b"1",
        "edited.py": b"1",
        "staged.py": b"1",
        "moved.py": b"123456789",
        "pkg/deep.py": b"1",
        odd: b"1",
    }
    make(root, files)
    make(tmp_path, {".gitignore": b"ignored.py\n", "elsewhere.py": b"1"})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    for path in ("edited.py", "staged.py", "pkg/deep.py", odd):
        (root / path).write_bytes(b"2")
    git(root, "add", "staged.py")
    git(root, "mv", "moved.py", "renamed.py")
    make(root, {"untracked/new.py": b"1", "ignored.py": b"1"})
    make(tmp_path, {"elsewhere.py": b"2"})
    asked = [*files, "renamed.py", "untracked/new.py", "ignored.py", "elsewhere.py", "missing.py"]
    expected = {"edited.py", "staged.py", "moved.py", "renamed.py", "pkg/deep.py", odd, "untracked/new.py"}
    assert set(dirty_paths(root, asked) or []) == expected | ({"elsewhere.py"} if not below else set())
    assert dirty_paths(root, ["clean.py"]) == []


def test_what_our_runs_wrote_is_not_dirty(tmp_path: Path) -> None:
    files = {"a.py": b"cuda", "b.py": b"cuda", "c.py": b"cuda"}
    make(tmp_path, files)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    journal = Journal(tmp_path)
    journal.write_run(migrated({"a.py": b"cuda", "b.py": b"cuda"}), {"new.py": b"n"}, {})
    journal.write_run(migrated({"c.py": b"cuda"}), {}, {})
    asked = [*files, "new.py"]
    assert dirty_paths(tmp_path, asked) == []
    (tmp_path / "b.py").write_bytes(b"neuron, edited")
    assert dirty_paths(tmp_path, asked) == ["b.py"]
    journal.undo()
    assert dirty_paths(tmp_path, asked) == ["b.py"]


def test_dirty_paths_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"a.py": b"1"})
    assert dirty_paths(tmp_path, ["a.py"]) is None
    git(tmp_path, "init", "-q")
    assert dirty_paths(tmp_path, ["a.py"]) == ["a.py"]
    monkeypatch.setenv("PATH", "")
    assert dirty_paths(tmp_path, ["a.py"]) is None


def test_git_of_an_enclosing_hook_does_not_mislead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        make(tmp_path / name, {"a.py": b"1"})
        git(tmp_path / name, "init", "-q")
    git(tmp_path / "one", "add", "-A")
    git(tmp_path / "one", "commit", "-q", "-m", "x")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "two/.git"))
    assert dirty_paths(tmp_path / "one", ["a.py"]) == []
