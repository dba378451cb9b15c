"""Every key of the review, in a real terminal session on a small repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pty_terminal import DOWN, ENTER, ESCAPE, LEFT, PAGE_DOWN, PAGE_UP, RIGHT, UP, Session
from small_repo import MODEL, TRAIN, make, text

from migrate.lockfile import NAME
from migrate.review.keys import TABLE

FIRST = "    x = x.cuda()"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make(tmp_path / "repo")


@pytest.fixture
def review(repo: Path) -> Iterator[Session]:
    with Session(repo, "review", ".") as session:
        session.expect("model.py", "file 1/2  fix 1/3  7 left", "undecided")
        yield session


def decisions(repo: Path) -> list[tuple[str, str, str | None]]:
    """Rule, verdict and reason of all entries of the lock file."""
    entries = json.loads((repo / NAME).read_text())["decisions"]
    return [(e["rule"], e["decision"], e["reason"]) for e in entries if e]


def test_first_screen_says_what_why_and_where(review: Session) -> None:
    screen = review.screen.text
    assert "TN102 cuda-method  safe" in screen
    assert 'tensors and modules move with .to("neuron")' in screen
    assert "line 5: no class of the repository defines cuda()" in screen
    assert "    5 -     x = x.cuda()" in screen
    assert '      +     x = x.to("neuron")' in screen
    assert "    4   def place(model, x):" in screen
    assert "    7       return model.cuda(), y" in screen


def test_accept_writes_only_at_w(repo: Path, review: Session) -> None:
    review.press("y", "fix 2/3  6 left", "accepted", "w write 1")
    assert text(repo, "model") == MODEL
    review.press("w", "1 file written", "6 left")
    assert text(repo, "model") == MODEL.replace("x = x.cuda()", 'x = x.to("neuron")')
    assert text(repo, "train") == TRAIN
    review.send("q")
    assert review.end() == 0
    assert "6 findings left" in review.farewell


def test_reject_goes_to_the_lock_file(repo: Path, review: Session) -> None:
    review.press("n", "rejected", "6 left")
    review.press("w", f"{NAME} written: commit it", "6 left")
    assert decisions(repo) == [("TN102", "rejected", None)]
    assert text(repo, "model") == MODEL


def test_rest_of_file_leaves_findings_without_a_change(repo: Path, review: Session) -> None:
    review.press("a", "3 accepted in model.py", "train.py", "4 left")
    review.press("d", "3 rejected in train.py; 1 finding without a change left for you", "TN003", "1 left")
    review.press("w", "1 file written")
    assert text(repo, "model").count('.to("neuron")') == 3
    assert [d[:2] for d in decisions(repo)] == [
        ("TN101", "rejected"),
        ("TN103", "rejected"),
        ("TN101", "rejected"),
        ("TN102", "rejected"),
    ]


def test_whole_rule_in_all_files(review: Session) -> None:
    review.press("r", "TN102 cuda-method: 4 undecided in 2 files")
    review.press("y", "4 accepted: TN102 cuda-method", "train.py", "3 left")


def test_whole_rule_can_be_given_up(review: Session) -> None:
    review.press("r", "TN102 cuda-method: 4 undecided")
    review.press("j", "7 left", "fix 1/3")


def test_whole_level(review: Session) -> None:
    review.press("l", "level safe: 6 undecided in 2 files")
    review.press("n", "6 rejected: level safe", "TN003", "1 left")


def test_whole_rule_without_changes_can_be_kept(repo: Path, review: Session) -> None:
    review.press("/unknown\r", "TN003")
    review.press("r", "TN003 unknown-site: 1 undecided in 1 file", "o keeps all", "x says that all are done")
    review.press("o", "Why is it right as it is?")
    review.press("a stub of ours\r", "kept")
    review.press("w", NAME)
    assert decisions(repo) == [("TN003", "kept", "a stub of ours")]


def test_editing_the_text(repo: Path, tmp_path: Path) -> None:
    editor = _editor(tmp_path, 's/"neuron"/"neuron", non_blocking=True/')
    with Session(repo, "review", ".", EDITOR=editor) as review:
        review.expect("7 left")
        review.press("e", "your text is taken", "6 left")
        review.press(LEFT, '+     x = x.to("neuron", non_blocking=True)', "your own text")
        review.press("w", "1 file written")
    assert text(repo, "model") == MODEL.replace("x = x.cuda()", 'x = x.to("neuron", non_blocking=True)')


def test_editing_leaves_other_fixes_of_the_line_in_force(tmp_path: Path) -> None:
    """The text by hand and a fix that shares its line are both written."""
    line = "    return [model.cuda(), batch.cuda()]\n"
    repo = make(tmp_path / "repo", train="import torch\n\n\ndef main(model, batch):\n" + line)
    editor = _editor(tmp_path, 's/\\[model.to("neuron")/[model.to(torch.device("neuron"))/')
    with Session(repo, "review", "train.py", EDITOR=editor) as review:
        review.expect("fix 1/2  2 left")
        review.press("e", "your text is taken", "1 left")
        review.press("y", "Everything is decided")
        review.send("w")
        assert review.end() == 0
    assert '    return [model.to(torch.device("neuron")), batch.to("neuron")]\n' in text(repo, "train")


def test_text_that_does_not_parse_is_refused_and_kept_for_the_next_try(repo: Path, tmp_path: Path) -> None:
    editor = _editor(tmp_path, 's/"neuron")/"neuron"/; s/y = x/y == x/')
    with Session(repo, "review", ".", EDITOR=editor) as review:
        review.expect("7 left")
        review.press("e", "model.py would not compile: line 5")
        review.press("q", "nothing changed, nothing decided", "7 left")
    assert text(repo, "model") == MODEL
    assert list((repo / ".neuron-migrate" / "drafts").iterdir()) == []


def test_leaving_the_editor_without_a_change_decides_nothing(repo: Path) -> None:
    with Session(repo, "review", ".", EDITOR="true") as review:
        review.expect("7 left")
        review.press("e", "nothing changed, nothing decided", "7 left")


def test_an_editor_that_fails_loses_no_text(repo: Path) -> None:
    with Session(repo, "review", ".", EDITOR="false") as review:
        review.expect("7 left")
        review.press("e", "false ended with 1; your text is in")
    assert len(list((repo / ".neuron-migrate" / "drafts").iterdir())) == 1


def test_comment_instead_of_the_change(repo: Path, review: Session) -> None:
    review.press("c", "Reason for the comment")
    review.press("runs on the host\r", "a comment will hold it back", "6 left")
    review.press(LEFT, "+     x = x.cuda()  # neuron: keep[TN102] runs on the host", "suppressed by a comment")
    review.press("w", "1 file written", "6 left")
    assert text(repo, "model") == MODEL.replace(FIRST, f"{FIRST}  # neuron: keep[TN102] runs on the host")


def test_comment_for_companions_names_both_rules(repo: Path, review: Session) -> None:
    review.press("]", "train.py")
    review.press("c", "Reason")
    review.press(ENTER, "a comment will hold it back")
    review.press("w", "1 file written")
    assert text(repo, "train").splitlines()[2] == (
        'device = "cuda" if torch.cuda.is_available() else "cpu"  # neuron: keep[TN101, TN103]'
    )


def test_keep_needs_a_reason(repo: Path, review: Session) -> None:
    review.press("o", "Why is it right as it is?")
    review.press(ENTER, "not kept: a reason is needed", "7 left")
    review.press("o", "Why is it right as it is?")
    review.press("wrong" + "\x17" + "a mock" + "\x7f" + "k of ours\r", "kept", "6 left")
    review.press("w", NAME)
    assert decisions(repo) == [("TN102", "kept", "a mock of ours")]


def test_giving_a_question_up_decides_nothing(review: Session) -> None:
    review.press("o", "Why is it right as it is?")
    review.press(ESCAPE, "nothing decided", "7 left")
    review.press("c", "Reason for the comment")
    review.press(ESCAPE, "nothing decided", "7 left")


def test_done_on_a_finding_without_a_change(repo: Path, review: Session) -> None:
    review.press("/unknown\r", "TN003 unknown-site  error", "torch.cuda.quite_unknown()")
    review.press("y", "there is no change to accept here: x when it is done, o to keep it")
    review.press("n", "there is no change to reject here")
    review.press("x", "Done how?")
    review.press("in the launcher\r", "done", "6 left")
    review.press("w", NAME)
    assert decisions(repo) == [("TN003", "done", "in the launcher")]


def test_again_takes_a_written_decision_back(repo: Path, review: Session) -> None:
    review.press("z", "nothing is decided here yet")
    review.press("n", "6 left")
    review.press("w", NAME)
    review.press(LEFT, "fix 1/3", "rejected")
    review.press("z", "undecided again", "7 left")
    review.press("w", NAME)
    assert decisions(repo) == []


def test_undo_takes_back_any_number(review: Session) -> None:
    review.press("u", "there is no decision left to take back")
    review.press("y", "6 left")
    review.press("n", "5 left")
    review.press("a", "4 left", "train.py")
    review.press("u", "taken back: accepted TN102 in model.py; 2 more can be", "fix 3/3  5 left")
    review.press("u", "taken back: rejected TN102 in model.py; 1 more can be", "fix 2/3  6 left")
    review.press("u", "taken back: accepted TN102 in model.py", "fix 1/3  7 left")
    review.press("u", "there is no decision left to take back")


def test_undo_takes_back_a_whole_rule_at_once(review: Session) -> None:
    review.press("r", "4 undecided")
    review.press("y", "3 left")
    review.press("u", "taken back", "7 left")


def test_companions_are_decided_together_and_say_so(repo: Path, review: Session) -> None:
    screen = review.press("]", "train.py", "These 2 changes go together or not at all.")
    assert re.search(r"TN101 line 3: .*\n(.*\n)?.*TN103 line 3: ", screen) or re.search(r"TN103 line 3", screen)
    review.press("y", "accepted, with its companions: 2 changes")
    review.press("w", "1 file written")
    assert text(repo, "train").splitlines()[2] == (
        'device = "neuron" if hasattr(torch, "neuron") and torch.neuron.is_available() else "cpu"'
    )


def test_moving(review: Session) -> None:
    review.press("j", "fix 2/3")
    review.press("k", "fix 1/3")
    review.press("k", "file 2/2  fix 4/4")
    review.press("j", "file 1/2  fix 1/3")
    review.press(LEFT, "this is the first one")
    review.press("\x1b[Z", "this is the first one")
    review.press(RIGHT, "fix 2/3")
    review.press("\t", "fix 3/3")
    review.press("]", "file 2/2  fix 1/4")
    review.press("]", "this is the last file")
    review.press(RIGHT, "fix 2/4")
    review.press("[", "fix 1/4")
    review.press("[", "file 1/2  fix 1/3")


def test_next_undecided_passes_what_is_decided(review: Session) -> None:
    review.press(RIGHT, "fix 2/3")
    review.press("y", "fix 3/3")
    review.press("[", "fix 1/3")
    review.press("j", "fix 3/3  6 left")
    review.press("k", "fix 1/3")
    review.press(RIGHT, "fix 2/3", "accepted")


def test_search(review: Session) -> None:
    review.press("/unknown\r", "TN003", "file 2/2  fix 3/4")
    review.press("/MODEL.cuda\r", "'MODEL.cuda' is nowhere")
    review.press("/model.cuda\r", "file 1/2  fix 3/3")
    review.press("/cuda-method\r", "file 2/2  fix 4/4")
    review.press("/", "Search (cuda-method):")
    review.press(ENTER, "file 1/2  fix 1/3")
    review.press("/(\r", "file 1/2  fix 2/3")
    review.press("/", "Search ((")
    review.press(ESCAPE, "file 1/2  fix 2/3")


def test_pages(review: Session) -> None:
    review.press("v", "Evidence", "TN102 cuda-method, model.py:5", "in place", "1. line 5: no class")
    review.press("q", "file 1/2")
    review.press("i", "Rule TN102", "cuda-method (TN102)")
    review.press(ESCAPE, "file 1/2")
    review.press("?", "Keys", "accept this change", "more lines: space")
    review.press(" ", "undo the last decision")
    review.press("b", "accept this change")
    review.press(PAGE_DOWN, "undo the last decision")
    review.press(PAGE_UP, "accept this change")
    review.press("q", "file 1/2")
    review.press("h", "Keys")
    review.press("q", "7 left")


def test_long_change_scrolls(repo: Path) -> None:
    with Session(repo, "review", ".", lines=12) as review:
        screen = review.expect("more lines: space")
        assert "return model.cuda()" not in screen
        review.press(" ", "    7       return model.cuda(), y", "b: back up")
        review.press(PAGE_UP, 'tensors and modules move with .to("neuron")')
        review.send(DOWN)
        review.until(lambda: "tensors and modules" not in review.screen.text, "the first line gone")
        review.press(UP, "tensors and modules")
        review.press(PAGE_DOWN, "return model.cuda()")
        review.press("b", "tensors and modules")


def test_keys_that_mean_nothing_say_so(review: Session) -> None:
    review.press("Q", "'Q' does nothing here; ? shows the keys", "7 left")


def test_quit_keeps_what_is_decided_waiting(repo: Path, review: Session) -> None:
    review.press("y", "6 left")
    review.send("q")
    assert review.end() == 0
    assert "1 decision waiting: neuron-migrate review, then w, writes them" in review.farewell
    assert text(repo, "model") == MODEL
    assert not (repo / NAME).exists()


def test_ctrl_c_loses_nothing(repo: Path, review: Session) -> None:
    review.press("y", "6 left")
    review.send("\x03")
    assert review.end() == 130
    with Session(repo, "review", ".") as again:
        again.expect("1 decision waiting, w writes it.")


def test_write_with_nothing_decided(review: Session) -> None:
    review.press("w", "nothing waits to be written")


def test_ctrl_z_gives_the_terminal_back_and_fg_returns(review: Session) -> None:
    import signal

    review.press("y", "6 left")
    review.send("\x1a")
    review.until(lambda: not review.screen.alternate, "the shell's screen")

    def back() -> bool:
        review.process.send_signal(signal.SIGCONT)  # again, as the first may come before the process has stopped
        return "fix 2/3" in review.screen.text

    review.until(back, "the review again")
    assert review.screen.alternate


def test_every_key_of_the_table_is_pressed_here() -> None:
    """A key that is added to the table needs a session in this module."""
    source = Path(__file__).read_text()
    names = {"right": "RIGHT", "left": "LEFT", "up": "UP", "down": "DOWN", "page up": "PAGE_UP", "tab": '"\\t"'}
    names |= {"page down": "PAGE_DOWN", "back tab": '"\\x1b[Z"', "\x03": '"\\x03"', "\x1a": '"\\x1a"'}
    for binding in TABLE:
        for key in binding.keys:
            if key != "eof":
                called = names.get(key, f'"{key}')
                assert f"press({called}" in source or f"send({called}" in source, key


def test_hangup_ends_the_command_and_loses_nothing(repo: Path) -> None:
    import os

    session = Session(repo, "review", ".")
    session.expect("7 left")
    session.press("y", "6 left")
    os.close(session.master)
    session.process.wait(30)
    with Session(repo, "review", ".") as again:
        again.expect("1 decision waiting, w writes it.")


def _editor(folder: Path, expression: str) -> str:
    script = folder / "editor.sh"
    script.write_text(f"#!/bin/sh\nsed -i '{expression}' \"$1\"\n")
    script.chmod(0o755)
    return str(script)
