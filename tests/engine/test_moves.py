"""Moves of statements: nested edits travel, places map back, comments go where a person would put them."""

from __future__ import annotations

import re

import libcst as cst
import pytest

from transforms.engine.changes import Layout
from transforms.engine.compose import Shift, apply, clashes, overlaps
from transforms.engine.index import Index
from transforms.engine.model import Edit
from transforms.engine.moves import MoveStatement
from transforms.engine.parse import parse
from transforms.engine.source import Source
from transforms.engine.spans import Spans


def moved(text: str, first: int, second: int, before: bool = False, comment: str = "", *more: tuple[str, str]) -> str:
    """The text after statement number `first` of the innermost block went to statement `second`; `more` are renames."""
    source = Source.read(text.encode())
    module = parse(source)
    index = Index(module)
    blocks = index.nodes(cst.IndentedBlock)
    body = (blocks[0] if blocks else module).body
    change = MoveStatement(
        body[first],  # type: ignore[arg-type]
        body[second],  # type: ignore[arg-type]
        before,
        re.compile(comment) if comment else None,
    )
    layout = Layout(source, index, Spans(module, list(change.wants()), source))
    edits = change.edits(layout)
    for old, new in more:
        at = text.index(old)
        edits.append(Edit(at, at + len(old), new))
    new_text = apply(text, edits)
    compile(new_text, "case", "exec")
    return new_text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("a()\nb()\nc()\n", "b()\na()\nc()\n", id="plain"),
        pytest.param("a()\nb()", "b()\na()", id="no newline at the end of the file"),
        pytest.param("a()\r\nb()\r\nc()\r\n", "b()\r\na()\r\nc()\r\n", id="CRLF"),
        pytest.param("a()  # one\nb()  # two\n", "b()  # two\na()  # one\n", id="comments on the line go along"),
        pytest.param(
            "x()\n# why b\n".replace("x", "a") + "b()\n", "# why b\nb()\na()\n", id="comment of the other stays"
        ),
        pytest.param("z = 1\n\n# why\na()\n\nb()\n", "z = 1\n\nb()\n# why\na()\n", id="own paragraph with its comment"),
        pytest.param("# both\na()\nb()\n", "# both\nb()\na()\n", id="a comment that heads both stays"),
        pytest.param("a(\n    1,\n)\nb(\n    2,\n)\nc()\n", "b(\n    2,\n)\na(\n    1,\n)\nc()\n", id="several lines"),
        pytest.param("a()\n\nb()\n\nc()\n", "b()\na()\n\nc()\n", id="blank lines do not pile up"),
    ],
)
def test_behind(before: str, after: str) -> None:
    shift = 1 if before.startswith("z") else 0
    assert moved(before, shift, shift + 1) == after


def test_a_comment_that_names_the_subject_goes_along() -> None:
    assert moved("# pick the GPU\na()\nb()\n", 0, 1, False, "GPU") == "b()\n# pick the GPU\na()\n"


def test_compound_statements_take_their_deeper_comments() -> None:
    before = (
        "def f():\n    if x:\n        a()\n        # end of a\n    if y:\n        b()\n        # end of b\n    return\n"
    )
    after = (
        "def f():\n    if y:\n        b()\n        # end of b\n    if x:\n        a()\n        # end of a\n    return\n"
    )
    assert moved(before, 0, 1) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("a()\nx()\nb()\n", "b()\na()\nx()\n", id="over two"),
        pytest.param("a()\nb()", "b()\na()", id="no newline at the end of the file"),
        pytest.param("# of a\na()\nb()\n", "# of a\nb()\na()\n", id="the comment of a block stays on top"),
    ],
)
def test_in_front(before: str, after: str) -> None:
    last = before.rstrip("\n").count("()") - 1
    assert moved(before, last, 0, True) == after


def test_edits_inside_both_statements_are_kept() -> None:
    text = "def f(r):\n    cuda.set_device(r)\n    init('nccl')\n    done()\n"
    after = "def f(r):\n    init('neuron')\n    neuron.set_device(r)\n    done()\n"
    assert moved(text, 0, 1, False, "", ("cuda", "neuron"), ("nccl", "neuron")) == after


OUT, IN = Edit(10, 20, "", moved=(10, 19, 1)), Edit(30, 30, "\n" + "x" * 9, moved=(10, 19, 1))


@pytest.mark.parametrize(
    ("edit", "clash"),
    [
        pytest.param(Edit(12, 15, "new"), False, id="inside"),
        pytest.param(Edit(10, 19, "new"), False, id="all of the text"),
        pytest.param(Edit(15, 15, "new"), False, id="insertion inside"),
        pytest.param(Edit(19, 19, "new"), False, id="insertion at the end"),
        pytest.param(Edit(10, 10, "import x\n"), False, id="insertion in front stays there"),
        pytest.param(Edit(8, 12, "new"), True, id="across the start"),
        pytest.param(Edit(15, 25, "new"), True, id="across the end"),
        pytest.param(Edit(14, 16, "", moved=(14, 16, 0)), True, id="another move inside"),
        pytest.param(Edit(28, 32, "new"), True, id="over the new place"),
    ],
)
def test_what_clashes_with_a_move(edit: Edit, clash: bool) -> None:
    assert clashes([edit], [OUT, IN]) is clash
    assert any(overlaps(t, edit) for t in (OUT, IN)) is clash


def test_an_insertion_in_front_does_not_travel() -> None:
    text = "a()\nb()\n"
    edits = [Edit(0, 4, "", moved=(0, 3, 1)), Edit(7, 7, "\na()", moved=(0, 3, 1)), Edit(0, 0, "import x\n")]
    assert apply(text, edits) == "import x\nb()\na()\n"


def test_half_a_move_is_a_plain_edit() -> None:
    text = "a()\nb()\n"
    assert apply(text, [Edit(0, 4, "", moved=(0, 3, 1))]) == "b()\n"
    assert apply(text, [Edit(7, 7, "\na()", moved=(0, 3, 1))]) == "a()\nb()\na()\n"


def test_places_map_back_through_a_move() -> None:
    text = "cuda.set(r)\ninit(1)\ndone(2)\n"
    edits = [
        Edit(0, 12, "", moved=(0, 11, 1)),
        Edit(19, 19, "\ncuda.set(r)", moved=(0, 11, 1)),
        Edit(0, 4, "neuron"),
    ]
    new = apply(text, edits)
    assert new == "init(1)\nneuron.set(r)\ndone(2)\n"
    shift = Shift.of(edits)
    for word in ("init", "set", "(r)", "done", "(2)"):
        assert shift.back(new.index(word)) == text.index(word), word
    assert shift.back(new.index("neuron")) == 0


def test_a_comment_that_holds_the_statement_back_goes_along() -> None:
    before = "# neuron: keep[TN106] mine\na()\nb()\n"
    assert moved(before, 0, 1) == "b()\n# neuron: keep[TN106] mine\na()\n"
    both = "# neuron: keep\n{}()\n# neuron: keep\n{}()\n"
    assert moved(both.format("a", "b"), 1, 0, True) == both.format("b", "a")
