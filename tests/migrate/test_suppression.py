from __future__ import annotations

import textwrap

import pytest

from migrate.suppression import Suppressions, find_suppressions

KNOWN = {"TN101": "device-string", "TN102": "cuda-method", "TN301": "compile-backend"}


def found(text: str) -> list[tuple[int, tuple[str, ...], str]]:
    return [(s.line, s.codes, s.reason) for s in find_suppressions(text) if s.holds]


@pytest.mark.parametrize(
    ("comment", "codes", "reason"),
    [
        ("# neuron: keep", (), ""),
        ("#neuron:keep", (), ""),
        ("#  Neuron : Keep", (), ""),
        ("## neuron: keep", (), ""),
        ("# neuron: keep this one stays", (), "this one stays"),
        ("# neuron: keep[TN101]", ("TN101",), ""),
        ("# neuron: keep[TN101, device-string] two reasons", ("TN101", "device-string"), "two reasons"),
        ("# neuron: keep [TN1 TN301]: why", ("TN1", "TN301"), ": why"),
        ("# neuron: keep see bug#12", (), "see bug#12"),
        ("# noqa: E501  # neuron: keep[TN102] CI  # type: ignore", ("TN102",), "CI"),
    ],
    ids=[
        "plain",
        "without spaces",
        "odd case and spaces",
        "two hashes",
        "reason alone",
        "one code",
        "codes, names and a reason",
        "space before the bracket, spaces between",
        "hash inside the reason",
        "among other comments",
    ],
)
def test_forms(comment: str, codes: tuple[str, ...], reason: str) -> None:
    text = f"import torch\nx = 1  {comment}\n"
    assert found(text) == [(2, codes, reason)]
    (suppression,) = find_suppressions(text)
    assert (suppression.problem, suppression.alone) == (None, False)
    written = text[suppression.start : suppression.end]
    assert written.lower().replace(" ", "").lstrip("#").startswith("neuron:keep")
    assert written.endswith(reason)


@pytest.mark.parametrize(
    "text",
    [
        "x = '# neuron: keep'\n",
        'x = """\n# neuron: keep\n"""\n',
        "x = 'a' '# neuron: keep'\n",
        "x = 'it\\'s # neuron: keep'\n",
        "x = f'{a} # neuron: keep'\n",
        "x = rb'''\n  # neuron: keep'''\n",
        "x = 'a\\\n# neuron: keep'\n",
        "# neuron: activations are kept\n",
        "# neuron: keeping them apart\n",
        "# neuron: deep layers\n",
        "# neuron: skip connection below\n",
        "# the neuron: keep it\n",
        "# neuron keep alive\n",
        "# neurons: keep\n",
        '# write "# neuron: keep" to keep a line\n',
    ],
    ids=[
        "string",
        "triple-quoted string",
        "second string of a line",
        "escaped quote",
        "f-string",
        "raw bytes over lines",
        "string continued with a backslash",
        "prose behind the word",
        "a longer word",
        "a similar word of the field",
        "prose with a word of other tools",
        "the word later in the comment",
        "prose without a colon",
        "another word",
        "quoted in prose",
    ],
)
@pytest.mark.parametrize("broken", [False, True], ids=["tokenizer", "scanner"])
def test_no_comment_of_ours(text: str, broken: bool) -> None:
    assert find_suppressions(text + ("x = (\n" if broken else "")) == []


NEWLINES = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


@pytest.mark.parametrize("newline", list(NEWLINES.values()), ids=list(NEWLINES))
@pytest.mark.parametrize("broken", [False, True], ids=["tokenizer", "scanner"])
@pytest.mark.parametrize("bom", ["", "\ufeff"], ids=["plain", "bom"])
def test_offsets_and_lines_count_in_the_text_as_it_is(newline: str, broken: bool, bom: str) -> None:
    lines = [
        "x = '\u00e9\u2028\U0001f600'  # neuron: keep[TN101] h\u00e9",
        "\x0c",
        's = """a',
        "b\u2028\x85",
        '"""  # neuron: keep[TN102]',
        "# neuron: keep[TN301]",
        "print((((" if broken else "",
    ]
    text = bom + newline.join(lines)
    assert [(s.line, text[s.start : s.end]) for s in find_suppressions(text)] == [
        (1, "# neuron: keep[TN101] h\u00e9"),
        (5, "# neuron: keep[TN102]"),
        (6, "# neuron: keep[TN301]"),
    ]


def test_first_line_behind_a_bom_stands_alone() -> None:
    (suppression,) = find_suppressions("\ufeff# neuron: keep\nx = 1\n")
    assert (suppression.alone, suppression.start, suppression.end) == (True, 1, 15)


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n  x = 1  # neuron: keep\n",
        "if a:\n        b\n    c  # neuron: keep\n",
        "x = 'never closed\ny = 1  # neuron: keep\n",
        'x = 1  # neuron: keep\ny = """never closed\n',
        'y = """never closed\nx = 1  # neuron: keep\n',
        "print 'py2'  # neuron: keep\n",
        "x = 0777L `y` $ ?  # neuron: keep\n",
        "x = {{ cookiecutter.n }}\nfrom {{ a }} import b  # neuron: keep\n",
        "(" * 300 + "  # neuron: keep\n",
        "x = 1\0  # neuron: keep\n",
    ],
    ids=[
        "syntax error",
        "wrong dedent",
        "open string",
        "open triple quote behind",
        "open triple quote before",
        "python 2 print",
        "python 2 tokens",
        "template",
        "300 open brackets",
        "null byte",
    ],
)
def test_broken_code_keeps_its_comments(text: str) -> None:
    assert [codes for _, codes, _ in found(text)] == [()]


TEXT = textwrap.dedent("""\
    import torch

    # neuron: keep[TN101]
    # the lab machine has one
    a = torch.ones(
        2,  # neuron: keep[TN301]
        device="cuda",
    )  # neuron: keep[TN102] reason
    b = 1

    # neuron: keep

    c = 2
    if c:  # neuron: keep
        d = 3
    e = 4
    # neuron: keep
    f = 5  # a word about f
    g = 6  # neuron: keep
    h = 7
""")


@pytest.mark.parametrize(
    ("code", "first", "last", "line"),
    [
        ("TN101", 5, 8, 3),
        ("TN301", 5, 8, 6),
        ("TN102", 5, 8, 8),
        ("TN102", 9, 9, None),
        ("TN102", 7, 7, None),
        ("TN101", 13, 13, None),
        ("TN101", 14, 14, 14),
        ("TN101", 15, 15, None),
        ("TN101", 16, 16, None),
        ("TN101", 18, 18, 17),
        ("TN101", 19, 19, 19),
        ("TN101", 20, 20, None),
        ("TN101", 1, 1, None),
    ],
    ids=[
        "in the comment block above",
        "on a line inside",
        "on the last line",
        "only for the statement it ends",
        "not for lines it does not stand on",
        "an empty line between",
        "header of a compound statement",
        "not for its body",
        "not for the statement behind the body",
        "alone above",
        "at the end of the only line",
        "not above unless alone",
        "top of the file",
    ],
)
def test_match(code: str, first: int, last: int, line: int | None) -> None:
    suppression = Suppressions(TEXT, KNOWN).match(code, KNOWN[code], first, last)
    assert (suppression.line if suppression else None) == line


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ("TN101", True),
        ("tn101", True),
        ("device-string", True),
        ("TN1", True),
        ("TN", True),
        ("TN102", False),
        ("device", False),
    ],
)
def test_selectors(selector: str, holds: bool) -> None:
    text = f'x = "cuda"  # neuron: keep[{selector}]\n'
    assert (Suppressions(text, KNOWN).match("TN101", "device-string", 1, 1) is not None) is holds


def complaints(text: str, matched: list[str], ran: set[str]) -> list[str]:
    suppressions = Suppressions(text, KNOWN)
    for code in matched:
        suppressions.match(code, KNOWN[code], 1, 1)
    return [complaint.message for complaint in suppressions.unused(ran)]


@pytest.mark.parametrize(
    ("comment", "matched", "ran", "words"),
    [
        ("# neuron: keep", ["TN101"], set(KNOWN), None),
        ("# neuron: keep", [], set(KNOWN), "unused"),
        ("# neuron: keep", [], {"TN101"}, None),
        ("# neuron: keep[TN101]", ["TN101"], set(KNOWN), None),
        ("# neuron: keep[TN101]", ["TN102"], set(KNOWN), "unused: TN101"),
        ("# neuron: keep[TN101]", [], {"TN102"}, None),
        ("# neuron: keep[TN101]", [], {"TN101"}, "unused: TN101"),
        ("# neuron: keep[TN101, cuda-method]", ["TN101"], set(KNOWN), "unused: cuda-method"),
        ("# neuron: keep[TN1]", ["TN102"], set(KNOWN), None),
        ("# neuron: keep[TN1]", [], {"TN101"}, None),
        ("# neuron: keep[TN1]", [], {"TN101", "TN102"}, "unused: TN1"),
        ("# neuron: keep[TN999]", [], set(), "no rule is called 'TN999'"),
        ("# neuron: keep[device-strng]", [], set(), "did you mean 'device-string'"),
    ],
    ids=[
        "all rules, used",
        "all rules, unused",
        "all rules, but not all ran",
        "code, used",
        "code, used by another rule only",
        "code that did not run",
        "code, unused",
        "one of two unused",
        "family, used",
        "family that ran in part",
        "family, unused",
        "unknown code",
        "misspelt name",
    ],
)
def test_unused(comment: str, matched: list[str], ran: set[str], words: str | None) -> None:
    messages = complaints(f"x = 1  {comment}\n", matched, ran)
    assert len(messages) == (words is not None)
    assert words is None or words in messages[0]


@pytest.mark.parametrize(
    ("comment", "holds", "words"),
    [
        ("# neuron: kep", False, "'kep' is not understood"),
        ("# neuron: keeps", False, "'keeps' is not understood"),
        ("# neuron: ignore", False, "'ignore' is not understood"),
        ("# neuron: skip[TN101]", False, "'skip' is not understood"),
        ("# neuron keep", True, "colon is missing"),
        ("# neuron keep[TN101]", True, "colon is missing"),
        ("# neuron: keep[TN101", True, "not closed"),
        ("# neuron: keep[]", True, "empty"),
        ("# neuron: keep TN101 because", True, "stand in brackets"),
    ],
)
def test_malformed_comments_are_reported_whatever_ran(comment: str, holds: bool, words: str) -> None:
    suppressions = Suppressions(f"x = 1\ny = 2  {comment}\n", KNOWN)
    assert (suppressions.match("TN101", "device-string", 2, 2) is not None) is holds
    (complaint,) = suppressions.unused(set())
    assert complaint.line == 2
    assert words in complaint.message


def test_a_text_without_comments_has_nothing_to_say() -> None:
    suppressions = Suppressions("x = 'neuron'\n", KNOWN)
    assert suppressions.match("TN101", "device-string", 1, 1) is None
    assert suppressions.unused(set(KNOWN)) == []
