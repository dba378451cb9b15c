"""Decisions find their findings again: by id, then without path, then without scope, as multisets."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.decisions import ACCEPT, DONE, KEEP, REJECT, Decision, Site, apply, match
from migrate.ledger import Item
from migrate.lockfile import NAME, Lockfile, render
from migrate.pipeline import run_pipeline
from migrate.result import Result
from migrate.settings import Settings

RULES = Settings(select=("TN101", "TN102", "TN103", "TN003", "TN004"))
ONE = "import torch\n\n\ndef main(x):\n    x = x.cuda()\n    return x\n"
TWO = "import torch\n\n\ndef main(x):\n    x = x.cuda()\n    x = x.cuda()\n    return x\n"


def look(root: Path, files: dict[str, str], lock: Lockfile | None = None, paths: tuple[str, ...] = (".",)) -> Result:
    """Run the tool on files that replace all there are."""
    for old in root.rglob("*.py"):
        old.unlink()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return run_pipeline(root, [root / p for p in paths], RULES, lock=lock or Lockfile())


def decide(result: Result, *verdicts: str | None) -> Lockfile:
    """One verdict for each TN102 finding in order, as a lock file that was read."""
    items = [i for i in result.items() if i.rule == "TN102"]
    assert len(items) == len(verdicts)
    made = []
    for item, verdict in zip(items, verdicts, strict=True):
        source = next(f.source for f in result.files if f.path == item.path)
        assert source is not None
        if verdict is not None:
            made.append(Decision(Site.of(item, source.text), verdict, "why"))
    return _as_read(made)


def _as_read(decisions: list[Decision]) -> Lockfile:
    data = render(decisions)
    lines = data.decode().splitlines()
    placed = [
        Decision(d.site, d.verdict, d.reason, next(n for n, line in enumerate(lines, 1) if d.site.id in line))
        for d in decisions
    ]
    return Lockfile(tuple(placed), data)


def held(result: Result) -> list[tuple[str, int, str]]:
    """Path, line and status of all TN102 findings."""
    found = []
    for file in result.files:
        for item in file.items:
            if item.rule == "TN102" and file.source is not None:
                found.append((file.path, file.source.position(item.start)[0], item.status))
    return found


def notes(result: Result) -> list[str]:
    """Messages about entries of the lock file."""
    return [i.message for i in result.items() if i.rule == "TN004"]


@pytest.mark.parametrize(
    ("verdict", "status", "reason"),
    [(REJECT, "rejected", "why"), (KEEP, "kept", "why"), (DONE, "kept", "done: why"), (ACCEPT, "open", None)],
)
def test_statuses(tmp_path: Path, verdict: str, status: str, reason: str | None) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), verdict)
    result = look(tmp_path, {"a.py": ONE}, lock)
    (item,) = result.items()
    assert (item.status, item.reason) == (status, reason)
    assert (item.safety is None) == (status == "kept")
    assert bool(result.changes) == (verdict == ACCEPT)


def test_lines_move(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    moved = "# one more line\n" + ONE.replace("    return x", "    y = 3\n    return x")
    result = look(tmp_path, {"a.py": moved}, lock)
    assert held(result) == [("a.py", 6, "rejected")]
    assert notes(result) == []


def test_spaces_and_comments_change(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    result = look(tmp_path, {"a.py": ONE.replace("x = x.cuda()", "x  =  x.cuda()  # placed")}, lock)
    assert held(result) == [("a.py", 5, "rejected")]


def test_a_file_is_renamed(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    result = look(tmp_path, {"pkg/b.py": ONE}, lock)
    assert held(result) == [("pkg/b.py", 5, "rejected")]
    assert [n.split("(")[0] for n in notes(result)] == ["the entry rejected TN102 in a.py "]
    assert notes(result)[0].endswith("now holds a site of pkg/b.py")


def test_a_function_is_renamed(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    result = look(tmp_path, {"a.py": ONE.replace("def main", "def run")}, lock)
    assert held(result) == [("a.py", 5, "rejected")]
    assert notes(result) == []


def test_a_file_and_its_function_are_renamed(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    assert held(look(tmp_path, {"b.py": ONE.replace("def main", "def run")}, lock)) == [("b.py", 5, "rejected")]


def test_another_statement_is_another_site(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    result = look(tmp_path, {"a.py": ONE.replace("x = x.cuda()", "x = y.cuda()")}, lock)
    assert held(result) == [("a.py", 5, "open")]
    assert notes(result) == ["the entry rejected TN102 in a.py (x = x.cuda()) matches nothing any more"]


@pytest.mark.parametrize("deleted", [4, 5], ids=["first", "second"])
def test_deleting_one_of_two_equal_sites_does_not_bring_back_the_other(tmp_path: Path, deleted: int) -> None:
    lock = decide(look(tmp_path, {"a.py": TWO}), REJECT, REJECT)
    lines = TWO.splitlines(keepends=True)
    del lines[deleted]
    result = look(tmp_path, {"a.py": "".join(lines)}, lock)
    assert held(result) == [("a.py", 5, "rejected")]
    assert len(notes(result)) == 1


def test_the_second_of_two_equal_sites_stays_rejected_when_the_first_goes(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": TWO}), None, REJECT)
    assert held(look(tmp_path, {"a.py": ONE}, lock)) == [("a.py", 5, "rejected")]


def test_one_entry_holds_one_of_two_equal_sites(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    assert held(look(tmp_path, {"a.py": TWO}, lock)) == [("a.py", 5, "rejected"), ("a.py", 6, "open")]


def test_the_rejected_one_of_two_equal_sites_is_not_applied_in_a_later_round(tmp_path: Path) -> None:
    """After the first is applied only one is left, and it is the rejected one."""
    lock = decide(look(tmp_path, {"a.py": TWO}), None, REJECT)
    result = look(tmp_path, {"a.py": TWO}, lock)
    assert result.changes["a.py"][1].decode() == TWO.replace("x.cuda()", 'x.to("neuron")', 1)
    assert held(result) == [("a.py", 5, "open"), ("a.py", 6, "rejected")]


def test_equal_code_elsewhere_is_not_held_while_the_entry_has_its_own_site(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"b.py": ONE}), REJECT)
    assert held(look(tmp_path, {"a.py": ONE, "b.py": ONE}, lock)) == [("a.py", 5, "open"), ("b.py", 5, "rejected")]


def test_a_run_on_a_part_moves_nothing_from_files_that_it_does_not_read(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"b.py": ONE}), REJECT)
    result = look(tmp_path, {"a.py": ONE, "b.py": ONE}, lock, ("a.py",))
    assert held(result) == [("a.py", 5, "open")]
    assert notes(result) == []


def test_a_run_on_a_part_calls_nothing_stale(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    assert notes(look(tmp_path, {"a.py": "", "b.py": ""}, lock, ("a.py",))) == []


def test_rules_that_do_not_run_are_not_judged(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    result = run_pipeline(tmp_path, [tmp_path], Settings(ignore=("TN102",)), lock=lock)
    assert notes(result) == []


def test_a_file_that_cannot_be_parsed_keeps_its_entries(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    assert notes(look(tmp_path, {"a.py": ONE + "    return (\n"}, lock)) == []


def test_a_rejected_part_holds_its_companions_back(tmp_path: Path) -> None:
    code = 'import torch\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n'
    first = look(tmp_path, {"a.py": code})
    item = next(i for i in first.items() if i.rule == "TN101")
    result = look(tmp_path, {"a.py": code}, _as_read([Decision(Site.of(item, code), REJECT)]))
    assert result.changes == {}
    other = next(i for i in result.items() if i.rule == "TN103")
    assert other.safety is not None and other.safety.value == "manual"


def test_stale_notes_stand_on_the_line_of_their_entry_and_fail_nothing(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": TWO}), REJECT, REJECT)
    result = look(tmp_path, {"a.py": "import torch\n"}, lock)
    (file,) = [f for f in result.files if f.path == NAME]
    assert file.source is not None
    assert [file.source.position(i.start)[0] for i in file.items] == [5, 6]
    assert result.runnable


def test_the_lock_file_itself_is_not_searched(tmp_path: Path) -> None:
    lock = decide(look(tmp_path, {"a.py": ONE}), REJECT)
    (tmp_path / NAME).write_bytes(lock.data or b"")
    result = run_pipeline(tmp_path, [tmp_path], RULES)
    assert [f.path for f in result.files] == ["a.py"]
    assert held(result) == [("a.py", 5, "rejected")]


def test_passes_come_in_order() -> None:
    """An id beats equal content in the same file, which beats the same scope in another, which beats none."""

    def site(path: str, scope: str, identity: str) -> Site:
        return Site(path, scope, "TN102", "x", identity, f"any-{scope}", "content")

    def item(path: str, scope: str, identity: str, start: int) -> Item:
        made = Item(path, identity, "TN102", "", "", start, start + 1, (0, 1), scope, None, None, "open", None, True)
        made.anywhere, made.content = f"any-{scope}", "content"
        return made

    decision = Decision(site("a.py", "f", "1"), REJECT)
    best = [
        item("z.py", "q", "1", 9),
        item("a.py", "f", "2", 8),
        item("z.py", "f", "3", 7),
        item("a.py", "g", "4", 6),
        item("z.py", "g", "5", 5),
    ]
    while best:
        matching = match([decision], list(reversed(best)), lambda _: True)
        assert [i.id for i, _ in matching.pairs] == [best[0].id]
        del best[0]
    assert match([decision], [], lambda _: True).left == [decision]


def test_what_is_suppressed_stays_so(tmp_path: Path) -> None:
    code = ONE.replace("x = x.cuda()", "x = x.cuda()  # neuron: keep[TN102] host")
    result = look(tmp_path, {"a.py": code})
    (item,) = result.items()
    apply([(item, Decision(Site.of(item, code), REJECT))])
    assert item.status == "suppressed"
