"""Edits inside a range that another edit takes out."""

from __future__ import annotations

import pytest

from transforms.engine.compose import Shift, apply, overlaps
from transforms.engine.model import Edit, Row

TEXT = "keep(1)\ngone(cuda, x)\nlast\n"
GONE = Edit(8, 22, "")


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param(Edit(13, 17, "neuron"), id="a-replacement-inside"),
        pytest.param(Edit(13, 13, "a and "), id="an-insertion-inside"),
        pytest.param(Edit(13, 18, ""), id="a-smaller-removal"),
    ],
)
def test_what_lies_in_a_removal_goes_with_it(inner: Edit) -> None:
    assert not overlaps(GONE, inner)
    assert apply(TEXT, [inner, GONE]) == "keep(1)\nlast\n"
    assert Shift.of([inner, GONE]).back(8) == 22


@pytest.mark.parametrize(
    "outer, inner",
    [
        pytest.param(Edit(8, 22, "other\n"), Edit(13, 17, "neuron"), id="a-replacement-is-no-removal"),
        pytest.param(GONE, Edit(5, 13, "x"), id="reaches-out-of-the-removal"),
        pytest.param(GONE, Edit(9, 9, "first()\n"), id="a-statement-is-put-in-beside"),
        pytest.param(Edit(8, 22, "", moved=(8, 22, 0)), Edit(5, 13, "x"), id="text-that-moves-is-not-lost"),
    ],
)
def test_what_is_no_removal_of_all_of_it_clashes(outer: Edit, inner: Edit) -> None:
    assert overlaps(outer, inner)
    assert overlaps(inner, outer)


def test_an_insertion_at_the_edge_of_a_removal_stays() -> None:
    before, after = Edit(8, 8, "a\n"), Edit(22, 22, "b\n")
    assert apply(TEXT, [GONE, before, after]) == "keep(1)\na\nb\nlast\n"


def test_removals_of_neighbours_on_one_line_do_not_clash() -> None:
    row = Row(((0, 4), (6, 10)), 0, 11, "")
    assert not overlaps(Edit(0, 6, "", row=row, place=0), Edit(4, 10, "", row=row, place=1))
