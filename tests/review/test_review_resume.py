"""Nothing is lost: kills at many points, changed files, other branches, resized windows, missing terminals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pty_terminal import CHECKOUT, LEFT, Session
from small_repo import MODEL, TRAIN, make, text

from migrate.lockfile import NAME

LOG = Path(".neuron-migrate") / "decisions.jsonl"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make(tmp_path / "repo")


def tool(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command without a terminal."""
    command = [sys.executable, "-m", "migrate.cli", *arguments]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(
        command, check=False, cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def statuses(folder: Path) -> dict[str, int]:
    """The ledger of `check` without its open part."""
    done = tool(folder, "check", "--format", "json", ".")
    sites = json.loads(done.stdout)["summary"]["sites"]
    return {k: v for k, v in sites.items() if k != "open" and v}


def findings(folder: Path) -> list[dict[str, object]]:
    """All findings of `check`."""
    files = json.loads(tool(folder, "check", "--format", "json", ".").stdout)["files"]
    return [{**f, "path": file["path"]} for file in files for f in file["findings"]]


# kills --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 6))
def test_kill_after_each_decision_loses_none(repo: Path, count: int) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        for n, key in enumerate("ynyny"[:count]):
            review.press(key, f"{6 - n} left")
        review.kill()
    with Session(repo, "review", ".") as again:
        plural = "decision waiting, w writes it." if count == 1 else "decisions waiting, w writes them."
        again.expect(f"{count} {plural}", f"{7 - count} findings left to decide")
        again.press(" ", f"{7 - count} left")


def test_kill_in_a_question_in_a_page_and_in_the_editor(repo: Path, tmp_path: Path) -> None:
    """Whatever is on the screen, what was decided before is there again."""
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/neuron/other/" "$1"\nkill -9 $PPID\n')
    editor.chmod(0o755)
    for keys in ("oa reaso", "v", "/sear", "e"):
        with Session(repo, "review", ".", EDITOR=str(editor)) as review:
            review.expect("left")
            if "waiting" in review.screen.text:
                review.press("j", "fix")
            else:
                review.press("y", "6 left")
            review.send(keys)
            if keys == "e":
                review.process.wait()
            review.kill()
    with Session(repo, "review", ".", EDITOR="true") as again:
        again.expect("1 decision waiting, w writes it.", "6 findings left")
        again.press("j", "fix 2/3")
        again.press("e", "your text is taken")
        again.press(LEFT, '+     y = x.to("other")')


@pytest.mark.parametrize("size", [1, 40, -2, -1])
def test_a_torn_last_line_was_never_decided(repo: Path, size: int) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.press("n", "5 left")
        review.kill()
    log = repo / LOG
    first, second = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + second[:size])
    whole = size == -1  # only the line end is missing
    with Session(repo, "review", ".") as again:
        again.expect("2 decisions waiting" if whole else "1 decision waiting")
        again.press(" ", "fix 3/3" if whole else "fix 2/3")
        again.press("n", "4 left" if whole else "5 left")
        again.kill()
    with Session(repo, "review", ".") as last:
        last.expect("3 decisions waiting" if whole else "2 decisions waiting")


def test_kill_in_the_middle_of_a_write_counts_no_fix_twice(tmp_path: Path) -> None:
    """Of two equal statements the first is written; the second was never accepted, and must not become so."""
    repo = make(tmp_path / "repo", train="import torch\n\n\ndef main(x):\n    x = x.cuda()\n    x = x.cuda()\n")
    with Session(repo, "review", "train.py") as review:
        review.expect("fix 1/2  2 left")
        review.press("y", "1 left")
        review.kill()
    _write_as_if_killed(repo, text(repo, "train").replace("x.cuda()", 'x.to("neuron")', 1))
    with Session(repo, "review", "train.py") as again:
        again.expect("The last write was interrupted: train.py had been written")
        again.press(" ", "fix 1/1  1 left", "undecided")
        again.press("n", "Everything is decided")


def test_kill_before_the_first_file_leaves_everything_waiting(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.kill()
    _write_as_if_killed(repo, None)
    with Session(repo, "review", ".") as again:
        again.expect("1 decision waiting, w writes it.")
        again.press("w", "1 file written")
    assert 'x = x.to("neuron")' in text(repo, "model")


def test_kill_in_a_write_and_a_change_since_asks_again(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.kill()
    _write_as_if_killed(repo, None)
    (repo / "model.py").write_text(MODEL + "\n# changed\n")
    with Session(repo, "review", ".") as again:
        again.expect("model.py changed since: decide about it again")
        again.press(" ", "fix 1/3  7 left", "undecided")


def _write_as_if_killed(repo: Path, new: str | None) -> None:
    """Note a write of the accepted change in train.py or model.py in the log; `new` is what it made of train.py."""
    import hashlib

    log = repo / LOG
    name = "model.py" if new is None else "train.py"
    old = (repo / name).read_bytes()
    record = json.loads(log.read_text().splitlines()[0])
    ids = [site[4] for unit in record["units"] for site in unit["sites"]]
    target = b"never written" if new is None else new.encode()
    hashes = {"old": hashlib.sha256(old).hexdigest(), "new": hashlib.sha256(target).hexdigest(), "ids": ids}
    with log.open("a") as stream:
        stream.write(json.dumps({"n": record["n"] + 1, "do": "write", "files": {name: hashes}}) + "\n")
    if new is not None:
        (repo / name).write_bytes(target)


# changed files ------------------------------------------------------------------------------------------------------


def test_decisions_survive_other_edits_in_the_file(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.press("n", "5 left")
        review.send("q")
        review.end()
    (repo / "model.py").write_text('"""Moved down."""\n\nimport os\n' + MODEL)
    with Session(repo, "review", ".") as again:
        again.expect("2 decisions waiting", "5 findings left")
        again.press("w", "1 file written", "5 left")
    assert text(repo, "model") == '"""Moved down."""\n\nimport os\n' + MODEL.replace("x.cuda()", 'x.to("neuron")')


def test_decisions_follow_a_renamed_file(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("n", "6 left")
        review.press("y", "5 left")
        review.send("q")
        review.end()
    (repo / "model.py").rename(repo / "network.py")
    with Session(repo, "review", ".") as again:
        again.expect("2 decisions waiting", "5 findings left")
        again.press("w", "1 file written")
    assert 'y = x.to("neuron")' in text(repo, "network")
    assert json.loads((repo / NAME).read_text())["decisions"][0]["path"] == "network.py"


def test_stale_decisions_are_shown_as_such(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.press("n", "5 left")
        review.send("q")
        review.end()
    (repo / "model.py").write_text(MODEL.replace("    x = x.cuda()\n", "").replace("x.cuda(0)", "x"))
    with Session(repo, "review", ".") as again:
        again.expect("Stale: decided before, but the code is gone", "accepted TN102 model.py place: x = x.cuda()")
        again.expect("rejected TN102 model.py place: y = x.cuda(0)", "5 findings left")
        again.press("x", "2 stale decisions dropped", "5 left")
        again.send("q")
        again.end()
    assert not (repo / LOG).exists()


def test_a_file_that_changes_during_the_session_is_read_again(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        (repo / "model.py").write_text("# changed by somebody\n" + MODEL)
        review.press("w", "model.py changed meanwhile and was read again: w again writes")
        assert text(repo, "model") == "# changed by somebody\n" + MODEL
        review.press("w", "1 file written")
    assert text(repo, "model") == "# changed by somebody\n" + MODEL.replace("x.cuda()", 'x.to("neuron")', 1)


def test_text_by_hand_whose_lines_changed_is_asked_about_again(repo: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/\"neuron\"/\"neuron\", copy=True/' \"$1\"\n")
    editor.chmod(0o755)
    with Session(repo, "review", ".", EDITOR=str(editor)) as review:
        review.expect("7 left")
        review.press("e", "your text is taken")
        review.send("q")
        review.end()
    (repo / "model.py").write_text(MODEL.replace("x = x.cuda()", "x  =  x.cuda()"))
    with Session(repo, "review", ".") as again:
        again.expect("1 decision needs a second look", "7 findings left")
        again.press(" ", "the lines that your own text replaces have changed", "fix 1/3  7 left")
        again.press("w", "7 left")
    assert text(repo, "model") == MODEL.replace("x = x.cuda()", "x  =  x.cuda()")


# writing ------------------------------------------------------------------------------------------------------------


def test_undo_gives_the_files_back_and_keeps_the_lock_file(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.press("n", "5 left")
        review.press("w", "1 file written")
    assert tool(repo, "undo").returncode == 0
    assert text(repo, "model") == MODEL
    assert statuses(repo) == {"rejected": 1}


def test_a_decided_repository_ends_the_session_after_the_write(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("r", "4 undecided")
        review.press("y", "3 left")
        review.press("a", "1 left")
        review.press("x", "Done how?")
        review.press("\r", "Everything is decided")
        review.send("w")
        assert review.end() == 0
        assert "2 files written" in review.farewell
        assert "everything is decided" in review.farewell
    assert tool(repo, "check", ".").returncode == 0
    with Session(repo, "review", ".") as again:
        again.expect("TN003", "done", "0 left")


def test_uncommitted_changes_are_asked_about(repo: Path) -> None:
    _git(repo, "init", "-q")
    _git(repo, "add", ".")
    _git(repo, "commit", "-qm", "start")
    (repo / "model.py").write_text(MODEL + "\n# mine\n")
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.press("w", "Uncommitted changes in model.py")
        review.press("n", "nothing written")
        assert text(repo, "model") == MODEL + "\n# mine\n"
        review.press("w", "Uncommitted changes in model.py")
        review.press("y", "1 file written")
        review.press("y", "5 left")
        review.press("w", "1 file written")  # what our own run wrote is no reason to ask


def test_a_file_that_cannot_be_written_keeps_its_decision(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.press("r", "3 undecided in 2 files")
        review.press("y", "3 left")
        blocker = repo / ".neuron-migrate-1-0.tmp"  # the name of the temporary file of the first write
        blocker.mkdir()
        review.press("w", "model.py: not written", "1 file written")
        review.send("q")
        assert review.end() == 1
    assert text(repo, "model") == MODEL
    blocker.rmdir()
    with Session(repo, "review", ".") as again:
        again.expect("3 decisions waiting")
        again.press("w", "1 file written")
        again.send("q")
        assert again.end() == 0
    assert text(repo, "model").count('.to("neuron")') == 3
    assert text(repo, "train") == TRAIN.replace("batch.cuda()", 'batch.to("neuron")')


def test_the_lock_file_is_seen_by_check_in_a_fresh_clone(repo: Path, tmp_path: Path) -> None:
    _git(repo, "init", "-q")
    _git(repo, "add", ".")
    _git(repo, "commit", "-qm", "start")
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("n", "6 left")
        review.press("/unknown\r", "TN003")
        review.press("o", "Why")
        review.press("a stub\r", "5 left")
        review.press("w", f"{NAME} written: commit it")
    _git(repo, "add", ".")
    assert ".neuron-migrate" not in _git(repo, "ls-files").split("\n")
    _git(repo, "commit", "-qm", "decisions")
    clone = tmp_path / "clone"
    _git(tmp_path, "clone", "-q", str(repo), str(clone))
    held = [(f["path"], f["line"], f["status"], f["reason"]) for f in findings(clone) if f["status"] != "open"]
    assert held == [("model.py", 5, "rejected", None), ("train.py", 8, "kept", "a stub")]
    assert tool(clone, "run", ".").returncode == 0
    lines = text(clone, "model").splitlines()[4:]
    assert lines == ["    x = x.cuda()", '    y = x.to("neuron")', '    return model.to("neuron"), y']
    assert "rejected" in tool(clone, "explain", "model.py:5").stdout


def test_run_heeds_decisions_that_wait(repo: Path) -> None:
    """A fix that was rejected a moment ago is not applied because the review was left without w."""
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("n", "6 left")
        review.send("q")
        review.end()
    done = tool(repo, "run", ".")
    assert "1 decision of a review waits" in done.stderr
    assert "    x = x.cuda()\n" in text(repo, "model")
    assert 'y = x.to("neuron")' in text(repo, "model")


# options, terminals -------------------------------------------------------------------------------------------------


def test_only_undecided_leaves_out_what_is_decided(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.send("q")
        review.end()
    with Session(repo, "review", "--only-undecided", ".") as again:
        again.expect("1 decision waiting")
        again.press(" ", "file 1/2  fix 1/2  6 left", "y = x.cuda(0)")
        again.press("y", "5 left")
        again.press(LEFT, "fix 1/2", "accepted")


def test_select_and_paths(repo: Path) -> None:
    with Session(repo, "review", "--select", "TN102", "train.py") as review:
        review.expect("train.py", "file 1/1  fix 1/1  1 left", "TN102")
    with Session(repo, "review", "--ignore", "TN102", ".") as review:
        review.expect("train.py", "file 1/1  fix 1/3  3 left")


def test_level_leaves_offers_out(tmp_path: Path) -> None:
    code = 'import torch\n\n\ndef main(m):\n    return torch.compile(m, backend="neuron", dynamic=False)\n'
    repo = make(tmp_path / "repo", model="", train=code)
    with Session(repo, "review", ".") as review:
        review.expect("TN305", "offer", "1 left")
    with Session(repo, "review", "--level", "review", ".") as review:
        assert review.end() == 0
        assert "Nothing is left to review." in review.transcript


def test_decisions_about_other_files_wait_untouched(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        review.press("y", "6 left")
        review.send("q")
        review.end()
    with Session(repo, "review", "train.py") as other:
        other.expect("1 decision waiting")
        other.press(" ", "fix 1/4  4 left")
        other.press("y", "3 left")
        other.press("w", "1 file written")
    with Session(repo, "review", ".") as again:
        again.expect("1 decision waiting, w writes it.")
    assert text(repo, "model") == MODEL


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 20), (40, 10), (30, 8)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_a_resized_window_is_drawn_anew(repo: Path, size: tuple[int, int]) -> None:
    with Session(repo, "review", ".", columns=90, lines=40) as review:
        review.expect("7 left")
        review.resize(*size)
        review.expect("model.py", "TN102 cuda-method")
        review.press("y", "y = x.cuda(0)" if size[1] > 12 else "TN102")
        review.press("v", "Evidence")
        review.resize(90, 40)
        review.expect("Evidence", "no class of the repository defines cuda()")
        review.press("q", "6 left")
        review.press("o", "Why is it right")
        review.resize(*size)
        review.expect("Why is it right")


def test_wide_characters_tabs_and_controls_keep_their_columns(tmp_path: Path) -> None:
    wide = '\t名 = "幅の広い文字" * 9; x = x.cuda()\n\te = "\x07\x1b[31m\u200b"; return x, 名, e\n'
    code = f"import torch\n\n\ndef main(x):\n{wide}"
    repo = make(tmp_path / "repo", model="", train=code)
    with Session(repo, "review", ".", columns=60) as review:
        screen = review.expect('    名 = "幅の広い文字" * 9; x = x.to("neuron")', "1 left")
        assert "^G^[[31m<U+200B>" in screen
    assert "\x07" not in review.transcript


@pytest.mark.parametrize(
    "environment",
    [{"NO_COLOR": "1"}, {"TERM": "vt100"}, {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}],
    ids=["no colour", "a terminal without colour", "ASCII"],
)
def test_plain_terminals(repo: Path, environment: dict[str, str]) -> None:
    with Session(repo, "review", ".", **environment) as review:
        review.expect("7 left", "x = x.cuda()")
        if "NO_COLOR" in environment:
            assert "\x1b[31m" not in review.transcript
            assert "\x1b[1;7m" in review.transcript  # words still stand out
        if "PYTHONIOENCODING" in environment:
            assert review.transcript.isascii()


def test_without_a_terminal(repo: Path) -> None:
    done = tool(repo, "review", ".")
    assert done.returncode == 2
    assert "review needs a terminal" in done.stderr
    assert "neuron-migrate diff" in done.stderr
    assert not (repo / ".neuron-migrate").exists()


def test_on_a_dumb_terminal(repo: Path) -> None:
    with Session(repo, "review", ".", TERM="dumb") as review:
        assert review.end() == 2
        assert "TERM='dumb'" in review.transcript


def test_two_reviews_at_once_are_refused(repo: Path) -> None:
    with Session(repo, "review", ".") as review:
        review.expect("7 left")
        with Session(repo, "review", ".") as second:
            assert second.end() == 2
            assert "another neuron-migrate" in second.transcript
        review.press("y", "6 left")


def test_a_broken_lock_file_is_named(repo: Path) -> None:
    (repo / NAME).write_text("{\n<<<<<<< HEAD\n")
    with Session(repo, "review", ".") as review:
        assert review.end() == 2
        assert f"{NAME}:2: a git conflict is not resolved" in review.transcript.replace("\r\n", "")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
