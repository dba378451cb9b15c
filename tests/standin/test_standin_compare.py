"""Comparing taps and printed numbers, and merging declarations: no torch needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from migrate.standin import compare, numerics, printed, results
from migrate.standin.errors import CannotRun
from migrate.standin.results import Taps


def taps(losses: list[float], prints: list[str] = (), hashes: list[str] | None = None) -> dict[int, Taps]:  # type: ignore[assignment]
    rows = [{"step": i, "hash": repr(v), "value": v} for i, v in enumerate(losses)]
    parameters = [{"step": i, "names": ["w", "b"], "hashes": [h, "same"]} for i, h in enumerate(hashes or [])]
    return {0: Taps(rows, parameters, [], [{"step": 9, "text": t} for t in prints])}


def test_equal_runs() -> None:
    result = compare.compare(taps([1.0, 2.0], ["loss 1.0"]), taps([1.0, 2.0], ["loss 1.0"]))
    assert result.equal
    assert result.counts == {"loss": 2, "parameters": 0, "save": 0, "print": 1}


def test_first_difference_is_the_earliest_step() -> None:
    result = compare.compare(taps([1.0, 2.0], [], ["a", "x"]), taps([1.0, 2.5], [], ["a", "y"]))
    assert str(result.first) == "step 1: value of backward(): original 2.0, migrated 2.5"
    assert [d.kind for d in result.differences] == ["loss", "parameters"]
    assert result.differences[1].name == "w after the step"


def test_missing_value_is_a_difference() -> None:
    result = compare.compare(taps([1.0, 2.0]), taps([1.0]))
    assert str(result.first) == "step 0: calls of backward(): original 2, migrated 1"


def test_missing_rank_is_a_difference() -> None:
    one = taps([1.0])
    result = compare.compare({0: one[0], 1: one[0]}, one)
    assert result.first is not None
    assert (result.first.name, result.first.original, result.first.migrated) == ("ranks", "[0, 1]", "[0]")


def test_what_varies_from_run_to_run_is_left_out() -> None:
    old, new, again = (taps([1.0], [f"t {x}"]) for x in ("0.1", "0.2", "0.3"))
    assert not compare.compare(old, new).equal
    assert compare.compare(old, new, compare.varying(new, again)).equal


def test_what_varies_is_named() -> None:
    one, two = taps([1.0, 2.0], ["t 0.1 u 1", "t 5"], ["a"]), taps([1.0, 3.0], ["t 0.2 u 2", "t 6"], ["b", "c"])
    assert compare.readable(compare.varying({**one, 1: one[0]}, {**two, 1: two[0]})) == [
        "backward() 1",
        "parameters after step 0",
        "number of optimizer steps",
        "printed number in 't # u #'",
        "printed number in 't #'",
    ]
    assert compare.readable(frozenset()) == []


def test_saved_entry_is_named() -> None:
    def saved(**entries: str) -> dict[int, Taps]:
        return {0: Taps(save=[{"step": 3, "file": "c.pt", "entries": entries}])}

    first = compare.compare(saved(a="1", b="2"), saved(a="1", b="3")).first
    assert first is not None and first.name == "saved to c.pt: b"
    absent = compare.compare(saved(a="1", b="2"), saved(a="1")).first
    assert absent is not None and (absent.original, absent.migrated) == ("value 2", "absent")


def test_effect_is_the_largest_distance() -> None:
    effect = compare.effect(taps([1.0, 2.0, 3.0]), taps([1.0, 2.5, 3.25]))
    assert effect == compare.Effect(3, 0.5, 1, (2.0, 2.5), (3.0, 3.25))


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("step 3: loss 0.125, lr 1e-3", ["3", "0.125", "1e-3"]),
        ("iter 0: loss 10.98, time 123.45ms, mfu -100.00%", ["0", "10.98"]),
        ("epoch 1 took 0.26s, 0.3 MiB", ["1"]),
        ("[2026-11-29 14:07:21,182] accuracy=0.5", ["0.5"]),
        ("  12.5 it/s, 800 tokens/s", []),
        ("| ms/batch 93.41 | loss  2.50 | sec/it: 0.9 | losses/batch 4", ["2.50", "4"]),
        ("Time  9.777 ( 9.9)\tLoss 7.0e+00 (7.5e+00)", ["7.0e+00", "7.5e+00"]),
        ("elapsed: 3.5 best 2", ["2"]),
        ("using cuda:0 with 10.65M parameters", ["10.65"]),
        ("resnet18 on <object at 0x7f12>", []),
        ("0%|          | 0/10 [00:00<?, ?it/s]", ["0", "0", "10"]),
        ("(main.py 345): INFO lr 0.5", ["0.5"]),
        ('train.py:12: step 3, File "net.py", line 7', ["3"]),
        ("-1.5e+02 nan 7", ["-1.5e+02", "7"]),
    ],
    ids=[
        "plain",
        "time and mfu",
        "seconds and memory",
        "date",
        "speed",
        "time per something before",
        "average of a time",
        "word before",
        "device",
        "address",
        "bar",
        "place in a log",
        "place in a traceback",
        "signs",
    ],
)
def test_numbers_that_count(line: str, numbers: list[str]) -> None:
    assert printed.split(line)[1] == numbers


def test_device_names_do_not_count_in_the_text() -> None:
    assert printed.split("on cuda:0 loss 1")[0] == printed.split("on neuron loss 2")[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("| ms/batch  9.34 | loss  2.50", "| ms/batch 10.02 | loss  2.75"),
        ("Time  9.77 ( 9.80)\tLoss 2.50", "Time 10.02 (10.11)\tLoss 2.75"),
        ("dt=  9 loss 2.50", "dt= 10 loss 2.75"),
    ],
    ids=["between words", "in brackets", "after a sign"],
)
def test_width_of_a_padded_time_does_not_part_the_lines(one: str, other: str) -> None:
    result = compare.compare(taps([], [one, other]), taps([], [other, one]))
    assert [(d.original, d.migrated) for d in result.differences] == [("2.50", "2.75")]
    assert result.counts["print"] == 0


def test_padding_parts_no_numbers() -> None:
    assert [printed.split(line)[0] for line in ("a 1 2", "a 12", "a1  2 ")] == ["a # #", "a #", "a1 #"]


@pytest.mark.parametrize(
    ("content", "merged"),
    [
        ({"autocast_dtype": "bfloat16", "scaler": None}, {"autocast_dtype": "bfloat16"}),
        (
            [{"autocast_dtype": "bfloat16"}, {"scaler": "disabled"}, None],
            {"autocast_dtype": "bfloat16", "scaler": "disabled"},
        ),
    ],
    ids=["one", "list"],
)
def test_declared_numerics(content: Any, merged: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(json.dumps(content))
    assert numerics.load(tmp_path / "n.json") == merged


@pytest.mark.parametrize(
    "content",
    [
        '{"autocast_dtype": "int8"}',
        '{"rounding": "up"}',
        "[1]",
        "not json",
        '[{"scaler": "disabled"}, {"scaler": "enabled"}]',
    ],
    ids=["value", "key", "shape", "syntax", "contradiction"],
)
def test_numerics_that_cannot_be_used(content: str, tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(content)
    with pytest.raises(CannotRun, match=r"n\.json"):
        numerics.load(tmp_path / "n.json")


def test_records_of_all_processes_are_added_up(tmp_path: Path) -> None:
    row = {
        "kind": "hazard",
        "code": "TN501",
        "severity": "warning",
        "message": "m",
        "path": str(tmp_path / "a.py"),
        "line": 3,
    }
    for pid, count in (("1", 4), ("2", 5)):
        lines = [{"kind": "process"}, {**row, "count": 1}, {**row, "count": count}]
        (tmp_path / f"records-{pid}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines) + '{"kind": "haz')
    seen = results.read(tmp_path, str(tmp_path))
    assert seen.processes == 2
    assert seen.hazards == (results.Hazard("TN501", "warning", "m", "a.py", 3, 9),)
