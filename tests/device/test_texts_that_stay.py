"""Texts that name cuda and are no device: for people, keys, columns, folders."""

from __future__ import annotations

import pytest

from harness import migrate

HEAD = "import csv, logging, operator, os, unittest\nfrom collections import namedtuple\nfrom pathlib import Path\n"

KEPT = {
    "a folder after a slash": ('root / "cuda"', "part of a path"),
    "a folder before a slash": ('"cuda" / root', "part of a path"),
    "a folder of os.path": ('os.path.join("csrc", "cuda")', "part of a path"),
    "a path": ('Path("cuda")', "part of a path"),
    "a folder below a path": ('root.joinpath("cuda")', "part of a path"),
    "a key of get": ('x.get("cuda", 0)', "key of a dict"),
    "a key of pop": ('x.pop("cuda", None)', "key of a dict"),
    "a key of setdefault": ('x.setdefault("cuda", [])', "key of a dict"),
    "a key of itemgetter": ('operator.itemgetter("cuda")', "key of a dict"),
    "columns": ('x.table(root, columns=["cuda", "cpu"])', "name of a column"),
    "names of fields": ('csv.DictWriter(root, fieldnames=["cuda"])', "name of a column"),
    "fields of a named tuple": ('namedtuple("T", ["cuda", "cpu"])', "name of a field"),
    "a logger": ('logging.getLogger("cuda")', "name for people"),
    "a range of a profile": ('x.record_function("cuda")', "name for people"),
    "a curve": ('x.add_scalar("cuda", 1.0, 0)', "name for people"),
    "a title": ('x.set_title("cuda")', "name for people"),
    "a legend": ('x.legend(["cuda", "cpu"])', "name for people"),
    "a reason to skip": ('unittest.skipIf(root, "cuda")', "log text"),
    "a test that skips itself": ('x.skipTest("cuda")', "log text"),
    "a message of click": ('x.echo("cuda")', "log text"),
    "other names of a command": ('x.add_parser(root, aliases=["cuda"])', "name of an option"),
    "where a command is stored": ('x.add_subparsers(dest="cuda")', "name of an option"),
}
REPORTED = {
    "a lookup in the environment": 'os.environ.get("cuda")',
    "the default of a lookup": 'x.get("a", "cuda")',
    "an argument": 'x.open("cuda")',
    "a part of an unknown text": 'root % "cuda"',
    "a keyword of another call": 'x.open(aliases="cuda")',
}


@pytest.mark.parametrize("code, reason", KEPT.values(), ids=KEPT)
def test_kept(code: str, reason: str) -> None:
    outcome = migrate(f"{HEAD}\n\ndef f(x, root):\n    return {code}\n")
    assert [(f["rule"], f["reason"]) for f in outcome.findings] == [("TN101", reason)]


@pytest.mark.parametrize("code", REPORTED.values(), ids=REPORTED)
def test_reported(code: str) -> None:
    outcome = migrate(f"{HEAD}\n\ndef f(x, root):\n    return {code}\n")
    assert [(f["rule"], f["safety"]) for f in outcome.findings] == [("TN101", "manual")]


def test_a_device_in_the_same_place_changes() -> None:
    text = 'import torch\nd = "cuda"\n\n\ndef f(x, axes):\n    axes.set_title(d)\n    return x.to(d)\n'
    assert 'd = "neuron"' in migrate(text).text


def test_a_key_of_a_pattern_is_kept() -> None:
    found = migrate('def f(x):\n    match x:\n        case {"cuda": y}:\n            return y\n').one("TN101")
    assert found["reason"] == "key of a dict"


CUT_SHORT = {
    "an index as a text": ('"cuda:" + "1"', '"neuron:" + "1"'),
    "a colon and an index": ('"cuda" + ":" + "1"', '"neuron" + ":" + "1"'),
}


@pytest.mark.parametrize("before, after", CUT_SHORT.values(), ids=CUT_SHORT)
def test_a_name_with_an_index_behind_it_is_a_device(before: str, after: str) -> None:
    text = f"import torch\n\n\ndef f(x):\n    return x.to({before})\n"
    assert migrate(text).text == text.replace(before, after)


@pytest.mark.parametrize("tail", ["toolkit", "12", " 1"])
def test_another_text_behind_the_name_makes_no_device(tail: str) -> None:
    text = f'import torch\n\n\ndef f(log):\n    log.info("cuda" + "{tail}")\n'
    outcome = migrate(text)
    assert outcome.text == text and outcome.rules() == []


CONSTANTS = {
    "in braces": 'f"cuda:{1}"',
    "a percent sign": '"cuda:%d" % 1',
    "a sum": '"cuda:" + str(1)',
    "format": '"cuda:{}".format(1)',
    "a constant of the module": 'f"cuda:{CARD}"',
    "a constant beside the type": 'torch.device("cuda", CARD)',
}
VARIABLES = {
    "the first": 'f"cuda:{0}"',
    "a constant that is the first": 'f"cuda:{FIRST}"',
    "a parameter": 'f"cuda:{rank}"',
    "a number that changes": 'f"cuda:{moved}"',
}
INDEX = "import torch\n\nCARD = 1\nFIRST = 0\nmoved = 1\nmoved = 2\n\n\n"


@pytest.mark.parametrize("code", CONSTANTS.values(), ids=CONSTANTS)
def test_an_index_that_stands_in_the_code_is_for_review(code: str) -> None:
    found = migrate(f"{INDEX}def f(x, rank):\n    return x.to({code})\n").one("TN105")
    assert found["safety"] == "review"
    assert any("a number other than 0" in e["text"] for e in found["evidence"])


@pytest.mark.parametrize("code", VARIABLES.values(), ids=VARIABLES)
def test_an_index_that_does_not_is_a_plain_device(code: str) -> None:
    outcome = migrate(f"{INDEX}def f(x, rank):\n    return x.to({code})\n")
    assert outcome.one("TN101")["safety"] == "safe" and outcome.lines("TN105") == []
