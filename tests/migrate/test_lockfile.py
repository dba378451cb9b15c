"""The lock file: stable, readable, mergeable, and clear about what is wrong with it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrate.decisions import DONE, KEEP, REJECT, Decision, Site
from migrate.lockfile import NAME, Lockfile, LockfileError, read, render, write

_text = st.text(max_size=20)
_name = st.text(min_size=1, max_size=20)


def decision(path: str = "a.py", identity: str = "1", verdict: str = REJECT, reason: str | None = None) -> Decision:
    return Decision(Site(path, "main", "TN102", "x = x.cuda()", identity, "any", "content"), verdict, reason)


def lines(*changes: tuple[str, object], count: int = 1) -> list[str]:
    """The lines of a good file with fields of the first entry replaced."""
    found = render([decision(identity=str(n)) for n in range(count)]).decode().splitlines()
    entry = json.loads(found[4].rstrip(","))
    entry.update({k: v for k, v in changes if v is not ...})
    for name, value in changes:
        if value is ...:
            del entry[name]
    found[4] = json.dumps(entry) + ","
    return found


def refused(root: Path, text: str | bytes) -> str:
    """The message for a file with this text, without the folder."""
    (root / NAME).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(LockfileError) as error:
        read(root)
    return str(error.value).replace(str(root) + "/", "")


def test_no_file_holds_nothing(tmp_path: Path) -> None:
    assert read(tmp_path) == Lockfile()


def test_form() -> None:
    assert render([decision()]).decode() == (
        "{\n"
        '"version": 1,\n'
        '"about": "Decisions of neuron-migrate review. Commit this file.'
        ' One entry per line: in a merge, keep both sides.",\n'
        '"decisions": [\n'
        '{"path": "a.py", "scope": "main", "rule": "TN102", "decision": "rejected", "reason": null,'
        ' "text": "x = x.cuda()", "id": "1", "anywhere": "any", "content": "content"},\n'
        "{}\n"
        "]\n"
        "}\n"
    )


@given(
    st.lists(
        st.builds(
            Decision,
            st.builds(Site, _name, _text, _name, _text, _name, _text, _text),
            st.sampled_from([REJECT, DONE]),
            st.none() | _name,
        ),
        unique_by=lambda d: d.site.id,
    )
)
def test_whatever_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, made: list[Decision]) -> None:
    root = tmp_path_factory.mktemp("root")
    write(root, Lockfile(), made)
    found = read(root)
    assert {(d.site, d.verdict, d.reason) for d in found.decisions} == {(d.site, d.verdict, d.reason) for d in made}
    lines = found.text.split("\n")
    assert all(json.loads(lines[d.origin - 1].rstrip(","))["id"] == d.site.id for d in found.decisions)


def test_order_does_not_depend_on_the_order_of_decisions() -> None:
    made = [decision("b.py", "2"), decision("a.py", "3"), decision("a.py", "1")]
    assert render(made) == render(reversed(made))
    assert [json.loads(x.rstrip(","))["id"] for x in render(made).decode().splitlines()[4:7]] == ["1", "3", "2"]


def test_writing_the_same_again_touches_nothing(tmp_path: Path) -> None:
    assert write(tmp_path, Lockfile(), [decision()])
    before = (tmp_path / NAME).stat()
    assert not write(tmp_path, read(tmp_path), [decision()])
    assert (tmp_path / NAME).stat().st_ino == before.st_ino


def test_nothing_to_hold_makes_no_file(tmp_path: Path) -> None:
    assert not write(tmp_path, Lockfile(), [])
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    write(tmp_path, Lockfile(), [decision()])
    old = read(tmp_path)
    changed = render([decision(), decision("b.py", "2")])
    (tmp_path / NAME).write_bytes(changed)
    with pytest.raises(LockfileError, match="has changed since it was read"):
        write(tmp_path, old, [])
    assert (tmp_path / NAME).read_bytes() == changed


def test_a_reformatted_file_is_read_with_the_right_lines(tmp_path: Path) -> None:
    document = json.loads(render([decision(), decision("b.py", "2")]))
    (tmp_path / NAME).write_text(json.dumps(document, indent=2))
    assert [d.origin for d in read(tmp_path).decisions] == [5, 16]


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "=======", ">>>>>>> other", "||||||| base"])
def test_conflict_markers_are_named(tmp_path: Path, marker: str) -> None:
    good = lines()
    message = refused(tmp_path, "\n".join([*good[:4], marker, *good[4:]]))
    assert message.startswith(f"{NAME}:5: a git conflict is not resolved ({marker[:7]}): keep the entries of both")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("decision", "maybe"), "the decision 'maybe' is none of rejected, kept, done"),
        (("decision", "accepted"), "the decision 'accepted' is none of rejected, kept, done"),
        (("decision", "kept"), "a kept site needs a reason"),
        (("id", ...), "the entry has no 'id'"),
        (("path", ""), "'path' is empty"),
        (("rule", 3), "'rule' has to be a string"),
        (("colour", "red"), "'colour' is no field of an entry"),
    ],
    ids=str,
)
def test_malformed_entries_are_named(tmp_path: Path, change: tuple[str, object], problem: str) -> None:
    message = refused(tmp_path, "\n".join(lines(change, count=3)))
    assert message == f"{NAME}:5: {problem}: repair the entry, or delete its line to decide again"


def test_broken_json_is_named_with_its_line(tmp_path: Path) -> None:
    good = lines(count=3)
    good[5] = good[5].rstrip(",")
    assert refused(tmp_path, "\n".join(good)).startswith(f"{NAME}:7: is no valid JSON")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("[]", f'{NAME}:1: has to be an object with the list "decisions"'),
        ('{"version": 2, "decisions": []}', f"{NAME}:1: version 2 is not 1: use the neuron-migrate that wrote it"),
        (b'{"version": 1,\n"about": "\xff"}', f"{NAME}:2: is not UTF-8"),
    ],
    ids=["no object", "newer version", "bytes"],
)
def test_foreign_files_are_refused(tmp_path: Path, text: str | bytes, start: str) -> None:
    assert refused(tmp_path, text).startswith(start)


def test_contradicting_entries_are_named_with_both_lines(tmp_path: Path) -> None:
    text = render([decision(), decision(verdict=DONE)]).decode()
    assert refused(tmp_path, text) == (
        f"{NAME}:6: decides the same site (TN102 in a.py) differently from line 5: delete one of the two lines"
    )


def test_entries_that_a_merge_doubled_count_once(tmp_path: Path) -> None:
    good = lines()
    (tmp_path / NAME).write_text("\n".join([*good[:5], *good[4:]]))
    assert len(read(tmp_path).decisions) == 1


# merges -------------------------------------------------------------------------------------------------------------


def _git(folder: Path, *arguments: str, check: bool = True) -> int:
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=check, capture_output=True).returncode


def _merge(folder: Path, base: list[Decision], ours: list[Decision], theirs: list[Decision]) -> int:
    """Merge two branches that each add decisions; gives git's exit code."""
    _git(folder, "init", "-q", "-b", "main")

    def commit(decisions: list[Decision]) -> None:
        (folder / NAME).write_bytes(render(decisions))
        _git(folder, "add", ".")
        _git(folder, "commit", "-qm", "decisions")

    commit(base)
    _git(folder, "checkout", "-qb", "theirs")
    commit([*base, *theirs])
    _git(folder, "checkout", "-q", "main")
    commit([*base, *ours])
    return _git(folder, "merge", "-q", "theirs", check=False)


BASE = [decision("b.py", "b"), decision("d.py", "d"), decision("f.py", "f")]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("a.py", "c.py"), ("c.py", "e.py"), ("c.py", "g.py"), ("a.py", "g.py")],
    ids=["first and middle", "two middles", "middle and last", "first and last"],
)
def test_decisions_about_different_places_merge_by_themselves(tmp_path: Path, ours: str, theirs: str) -> None:
    assert _merge(tmp_path, BASE, [decision(ours, "o")], [decision(theirs, "t")]) == 0
    assert sorted(d.site.path for d in read(tmp_path).decisions) == sorted(["b.py", "d.py", "f.py", ours, theirs])


def test_a_conflict_is_resolved_by_keeping_both_sides(tmp_path: Path) -> None:
    assert _merge(tmp_path, BASE, [decision("c.py", "o", KEEP, "a stub")], [decision("c2.py", "t")]) == 1
    with pytest.raises(LockfileError, match="a git conflict is not resolved"):
        read(tmp_path)
    text = (tmp_path / NAME).read_text()
    kept = [line for line in text.splitlines() if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")]
    (tmp_path / NAME).write_text("\n".join(kept))
    assert len(read(tmp_path).decisions) == 5


def test_a_union_merge_needs_no_hand_at_all(tmp_path: Path) -> None:
    (tmp_path / ".gitattributes").write_text(f"{NAME} merge=union\n")
    assert _merge(tmp_path, BASE, [decision("c.py", "o")], [decision("c2.py", "t")]) == 0
    assert len(read(tmp_path).decisions) == 5
