"""The log of decisions: only grows, forgets nothing, and tolerates a torn end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migrate.decisions import ACCEPT, KEEP, REJECT, Site
from migrate.journal import JournalError
from migrate.review.log import AGAIN, Choice, DecisionLog, Draft, Written, decisions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".neuron-migrate").mkdir()
    return tmp_path


def choice(*ids: str, verdict: str = ACCEPT, reason: str | None = None, drafts: tuple[Draft, ...] = ()) -> Choice:
    sites = tuple(Site("a.py", "f", "TN102", "x", i, "any", "content") for i in ids)
    return Choice(sites, verdict, reason, "shows", drafts)


def decide(log: DecisionLog, *choices: Choice) -> None:
    log.decide([replace(c, number=log.next_number) for c in choices])


def live(log: DecisionLog) -> list[tuple[str, str]]:
    return [(d.site.id, d.verdict) for d in decisions(log.live())]


def test_decisions_are_there_again(root: Path) -> None:
    draft = Draft("a.py", "old\r\n", "new\u2028é\r\n", 4)
    log = DecisionLog(root)
    decide(log, choice("1", "2"), choice("3", drafts=(draft,)))
    decide(log, choice("4", verdict=KEEP, reason="ours"))
    assert DecisionLog(root).live() == log.live()
    assert [c.drafts for c in log.live()] == [(), (draft,), ()]


def test_later_decisions_win_and_undo_brings_earlier_ones_back(root: Path) -> None:
    log = DecisionLog(root)
    decide(log, choice("1", "2"))
    decide(log, choice("2", verdict=REJECT))
    assert live(log) == [("1", ACCEPT), ("2", REJECT)]
    log.undo()
    assert live(log) == live(DecisionLog(root)) == [("1", ACCEPT), ("2", ACCEPT)]
    log.undo()
    assert log.undo() == ()
    assert live(DecisionLog(root)) == []


def test_undo_after_a_restart_takes_the_last_one(root: Path) -> None:
    first = DecisionLog(root)
    decide(first, choice("1"))
    decide(first, choice("2"))
    again = DecisionLog(root)
    assert again.undoable == 2
    assert [s.id for c in again.undo() for s in c.sites] == ["2"]
    assert live(DecisionLog(root)) == [("1", ACCEPT)]


def test_settled_decisions_wait_no_longer_and_later_ones_do(root: Path) -> None:
    log = DecisionLog(root)
    decide(log, choice("1"), choice("2"))
    log.settle(["1"])
    assert live(log) == live(DecisionLog(root)) == [("2", ACCEPT)]
    decide(log, choice("1", verdict=AGAIN))
    assert live(log) == live(DecisionLog(root)) == [("2", ACCEPT), ("1", AGAIN)]


def test_the_file_goes_when_nothing_waits(root: Path) -> None:
    log = DecisionLog(root)
    decide(log, choice("1"))
    log.settle(["1"])
    assert not log.file.exists()
    decide(log, choice("1"))
    assert live(DecisionLog(root)) == [("1", ACCEPT)]


def test_every_prefix_of_the_file_is_a_state_that_was(root: Path) -> None:
    """Wherever a kill tears the file, what is read is what was decided up to some key."""
    log = DecisionLog(root)
    states = [live(log)]
    for step in range(5):
        if step == 3:
            log.undo()
        else:
            decide(log, choice(str(step)), choice(f"{step}b", verdict=ACCEPT))
        states.append(live(log))
    data = log.file.read_bytes()
    for end in range(len(data)):
        log.file.write_bytes(data[:end])
        found = DecisionLog(root)
        assert live(found) == states[data[:end].count(b"\n") + (data[end : end + 1] == b"\n")]
        assert found.damaged == 0


def test_going_on_after_a_torn_line_keeps_both_sides(root: Path) -> None:
    log = DecisionLog(root)
    decide(log, choice("1"))
    decide(log, choice("2"))
    log.file.write_bytes(log.file.read_bytes()[:-20])
    again = DecisionLog(root)
    decide(again, choice("3"))
    last = DecisionLog(root)
    assert live(last) == [("1", ACCEPT), ("3", ACCEPT)]
    assert last.damaged == 1


def test_a_decision_that_cannot_be_saved_does_not_count(root: Path) -> None:
    log = DecisionLog(root)
    decide(log, choice("1"))
    log.file.rename(log.file.with_suffix(".old"))
    log.file.mkdir()
    with pytest.raises(JournalError, match="the decision was not saved and does not count"):
        decide(log, choice("2"))
    assert live(log) == [("1", ACCEPT)]


def test_an_interrupted_write_is_known_until_it_is_settled(root: Path) -> None:
    log = DecisionLog(root)
    decide(log, choice("1"), choice("2"))
    log.begin_write({"a.py": Written("old", "new", ("1",))})
    assert DecisionLog(root).interrupted == {"a.py": Written("old", "new", ("1",))}
    log.settle(["1"])
    assert DecisionLog(root).interrupted == {}
