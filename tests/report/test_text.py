"""The report for people."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_support import (
    COMPILED,
    DEVICE,
    REPOSITORY,
    TREES,
    WITHOUT_COUNTERPART,
    command,
    fixture_tree,
    result_of,
    write,
)

from migrate.ledger import REJECTED
from migrate.report.text import View, render
from migrate.report.wording import CUDA_GIVEN_UP, State, count, verdict, visible
from migrate.result import mark_applied

COUNTERPART = "has no known counterpart"


def headings(text: str) -> list[str]:
    """Titles of the sections, in order."""
    return [line for line in text.splitlines() if re.match(r"[A-Z].*\)$|Not read", line)]


@pytest.mark.parametrize("name", TREES)
def test_command(name: str, tmp_path: Path) -> None:
    done = command(write(tmp_path, TREES[name]), "check", ".")
    assert done.code == (1 if "needs you" in done.text or "can be applied" in done.text else 0)
    assert "\033" not in done.text


def test_sections_come_by_importance() -> None:
    found = [title.split(",")[0].split(" (")[0] for title in headings(render(result_of(REPOSITORY)))]
    wanted = [
        "Needs you",
        "Can be applied",
        "On offer",
        "Notes",
        "Tests",
        "Not read: no rule knows these kinds of files yet",
    ]
    assert found == wanted


def test_errors_before_warnings_and_grave_files_first() -> None:
    text = render(result_of({"a.py": b"import torch\nlabel = 'cuda'\nrun(label)\n", "z.py": WITHOUT_COUNTERPART}))
    assert headings(text)[0] == "Needs you (1 error, 1 warning)"
    assert text.index("z.py") < text.index("a.py")


def test_width() -> None:
    for line in render(result_of(fixture_tree()), View(kept=True, statistics=True)).splitlines():
        assert len(line) <= 80 or not re.search(r"\S \S+$", line[28:81]), line


def test_equal_findings_are_one_entry() -> None:
    source = WITHOUT_COUNTERPART + b"\n\ntorch.cuda.no_such_call()\ntorch.cuda.other_call()\n"
    text = render(result_of({"a.py": source}))
    assert text.count("no_such_call has") == 1
    assert re.search(r"3:1  error .*\n.*\n +also at 6:1\n", text)
    assert re.search(r"7:1  error ", text)


def test_a_place_is_told_once() -> None:
    result = result_of({"a.py": WITHOUT_COUNTERPART})
    (file,) = result.files
    again = next(i for i in file.items if i.severity == "error")
    file.items.append(replace(again, id="another"))
    assert "also at" not in render(result)


@pytest.mark.parametrize(
    ("number", "left"), [(20, ""), (21, "1 more finding; --all shows it"), (25, "5 more findings")]
)
def test_at_most_twenty_findings_of_a_file(number: int, left: str) -> None:
    source = b"import torch\n" + b"".join(b"torch.cuda.call_%d()\n" % n for n in range(number))
    result = result_of({"a.py": source})
    text = render(result)
    assert text.count(COUNTERPART) == 20
    assert (left in text) if left else ("more finding" not in text)
    assert render(result, View(everything=True)).count(COUNTERPART) == number


def test_room_of_a_file_goes_to_what_needs_a_person() -> None:
    calls = b"".join(b"torch.cuda.call_%d()\n" % n for n in range(19))
    source = DEVICE + b"    return x.cuda()\n" + calls
    text = render(result_of({"a.py": source}))
    assert text.count(COUNTERPART) == 19
    assert re.search(r"Can be applied.*\n  a.py\n.*TN1.*\n(.*\n)?    1 more finding; --all shows it", text)


def test_kept_sites_in_sum_and_one_by_one() -> None:
    result = result_of({"kept.py": REPOSITORY["kept.py"]})
    assert "1 kept: help text 1; --show kept lists them" in render(result)
    assert "kept.py" not in render(result)
    assert re.search(r"Kept \(1\)\n  kept.py\n +3:51  kept", render(result, View(kept=True)))


def test_suppressed_ones_are_in_the_ledger_alone() -> None:
    text = render(result_of({"held.py": REPOSITORY["held.py"].split(b"y = 1")[0]}))
    assert "TN101" not in text
    assert "Ledger: 1 site; open: none; suppressed 1" in text


def test_not_read_files_have_their_counts() -> None:
    text = render(result_of({"Dockerfile": REPOSITORY["Dockerfile"], "a.sh": b"export NCCL_DEBUG=1\n"}))
    assert "  Dockerfile: 3 mentions of CUDA or XLA\n  a.sh: 1 mention of CUDA or XLA\n" in text


def test_what_was_left_out_is_named() -> None:
    text = render(result_of({"third_party/a.py": DEVICE, "bad.py": REPOSITORY["bad.py"]}))
    assert "1 file skipped: vendored: lies in third_party/" in text
    assert "1 file could not be read or changed: bad.py" in text


def test_statistics() -> None:
    text = render(result_of({"a.py": WITHOUT_COUNTERPART * 2, "b.py": COMPILED}), View(statistics=True))
    assert re.search(r"Open findings by rule\n +2  TN003  unknown-site\n", text)


def test_cuda_is_given_up_once() -> None:
    assert render(result_of({"a.py": DEVICE, "b.py": DEVICE})).count(CUDA_GIVEN_UP) == 1
    assert CUDA_GIVEN_UP not in render(result_of({"a.py": WITHOUT_COUNTERPART}))


def test_colour_is_asked_for() -> None:
    result = result_of({"a.py": WITHOUT_COUNTERPART})
    assert "\033" not in render(result)
    colored = render(result, View(color=True))
    assert "\033[31merror\033[0m" in colored
    assert re.sub(r"\033\[\d+m", "", colored) == render(result)


def test_nothing_of_a_user_file_reaches_the_terminal_raw() -> None:
    text = render(result_of({"a\033[31m\udcff.py": WITHOUT_COUNTERPART}))
    assert "\033" not in text and text.isascii()
    assert "a\\x1b[31m\\udcff.py" in text


# The verdict ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "ran", "said"),
    [
        (State(0, 0, 0, 0, 0, 1), "run", "runnable: no required finding is open"),
        (State(0, 1, 0, 0, 0, 1), "run", "not runnable yet: 1 finding needs you"),
        (State(1, 1, 0, 0, 0, 1), "run", "not runnable yet: 2 findings need you"),
        (State(0, 0, 0, 3, 0, 1), "run", "runnable, except 3 you rejected"),
        (
            State(0, 0, 0, 0, 0, 3, unread=2),
            "run",
            "runnable: no required finding is open in the files that could be read; 2 could not be read",
        ),
        (
            State(0, 0, 0, 0, 0, 3, unread=1),
            "check",
            "Nothing that is needed to run is open in the files that could be read; 1 could not be read.",
        ),
        (State(0, 1, 0, 0, 0, 3, unread=1), "run", "not runnable yet: 1 finding needs you"),
        (
            State(0, 0, 0, 0, 0, 2, failed=1),
            "run",
            "not runnable yet: 1 file could not be handled, through a fault of neuron-migrate",
        ),
        (State(0, 0, 0, 0, 0, 2, failed=1), "check", "1 file could not be handled, through a fault of neuron-migrate."),
        (State(1, 0, 0, 0, 1, 1), "check", "1 finding can be applied in 1 file; none needs you."),
        (State(2, 1, 0, 0, 2, 1), "check", "1 finding needs you, 2 can be applied in 2 files."),
        (State(0, 2, 0, 0, 0, 1), "check", "2 findings need you; none can be applied."),
        (State(0, 0, 0, 0, 0, 1), "check", "Nothing that is needed to run is open."),
        (State(0, 0, 0, 0, 0, 0), "check", "Nothing to migrate: there is no Python file to read here."),
    ],
)
def test_verdict(state: State, ran: str, said: str) -> None:
    assert verdict(state, ran) == said


def test_rejected_findings_do_not_count() -> None:
    result = result_of({"a.py": DEVICE})
    next(iter(result.items())).status = REJECTED
    assert "runnable, except 1 you rejected\n" in render(result, View("run"))


def test_run_says_that_it_is_done() -> None:
    result = result_of({"a.py": DEVICE})
    mark_applied(result, {"a.py"})
    text = render(result, View("run"))
    assert text.endswith(f"runnable: no required finding is open\n{CUDA_GIVEN_UP}\n")
    assert "Ledger: 1 site; open: none; applied 1\n" in text


def test_counts() -> None:
    assert [count(n, "file") for n in (0, 1, 2, 12345)] == ["0 files", "1 file", "2 files", "12,345 files"]
    assert visible("a\tb\n") == "a\\tb\\n"


# The next command -------------------------------------------------------------------------------------------------

NEXT = {
    "something to apply": ({"a.py": DEVICE}, (), r"run \."),
    "level safe leaves review": ({"a.py": b"import torch\nx = torch.ones(2).cuda()\n"}, ("--level", "safe"), r"run \."),
    "options are repeated": (
        {"a.py": DEVICE, "tests/test_a.py": DEVICE},
        ("--tests", "--ignore", "TN3", "--exclude", "old stuff/"),
        r"run --ignore TN3 --exclude 'old stuff/' --tests \.",
    ),
    "only for a person": ({"my a.py": WITHOUT_COUNTERPART}, (), r"explain 'my a.py:3'"),
    "an offer": (
        {"a.py": COMPILED.replace(b"(f)", b'(f, backend="neuron", dynamic=False)')},
        (),
        r"run --level offer \.",
    ),
}


@pytest.mark.parametrize("name", NEXT)
def test_next_command_can_be_typed(name: str, tmp_path: Path) -> None:
    files, options, wanted = NEXT[name]
    first = command(write(tmp_path, files), "check", *options, ".")
    line = first.text.splitlines()[-1]
    assert re.fullmatch("Next: neuron-migrate " + wanted, line), line
    second = command(tmp_path, *shlex.split(line)[2:])
    assert second.code in (0, 1), second.err
    if "explain" not in line:
        assert "applied" in second.text


def test_nothing_to_do_has_no_next_command() -> None:
    assert "Next:" not in render(result_of({"clean.py": REPOSITORY["clean.py"]}))


@pytest.mark.parametrize(
    ("view", "wanted"),
    [
        (View(paths=("src", "my pkg")), "Next: neuron-migrate run src 'my pkg'"),
        (View("run", paths=("src",)), "Next: neuron-migrate run src"),
    ],
    ids=["check", "run that left something"],
)
def test_next_command_names_the_paths_that_were_given(view: Any, wanted: str) -> None:
    assert wanted in render(result_of({"src/a.py": DEVICE, "my pkg/b.py": DEVICE}), view).splitlines()


def test_run_names_the_command_that_shows_the_rest() -> None:
    text = render(result_of({"a.py": WITHOUT_COUNTERPART}), View("run", paths=("a.py",)))
    assert text.endswith("not runnable yet: 1 finding needs you\nNext: neuron-migrate check a.py\n")
