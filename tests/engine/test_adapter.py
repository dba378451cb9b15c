"""Ordinary LibCST transformers run as transforms, and their result is small edits."""

from __future__ import annotations

import libcst as cst
from hypothesis import given
from hypothesis import strategies as st
from libcst.codemod import CodemodContext, VisitorBasedCodemodCommand
from libcst.codemod.visitors import AddImportsVisitor

from transforms.engine.adapter import Adapted, difference
from transforms.engine.analyse import analyse
from transforms.engine.compose import apply
from transforms.engine.model import Rule, Safety
from transforms.engine.source import Source

RULE = Rule("XX001", "sum-to-fsum", "sum becomes math.fsum", Safety.REVIEW, "an example", "tests")


class Rename(cst.CSTTransformer):
    """Renames the function `sum`."""

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value="fsum") if updated_node.value == "sum" else updated_node


class Command(VisitorBasedCodemodCommand):
    """The same with an import, which LibCST adds after the visit."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if isinstance(updated_node.func, cst.Name) and updated_node.func.value == "sum":
            AddImportsVisitor.add_needed_import(self.context, "math")
            return updated_node.with_changes(func=cst.parse_expression("math.fsum"))
        return updated_node


TEXT = "import os\n\nx  =  sum( [1, 2] )  # odd   spaces\ny = 3\n\n\ndef f():\n    return sum([y])\n"


def run(transform: Adapted, text: str = TEXT) -> tuple[str, list[int]]:
    source = Source.read(text.encode())
    analysis = analyse(source, [transform])
    edits = [e for fix in analysis.fixes for e in fix.edits]
    return apply(text, edits), [source.position(f.start)[0] for f in analysis.findings]


def test_transformer_changes_names_and_nothing_else() -> None:
    text, lines = run(Adapted(RULE, Rename, (b"sum",)))
    assert text == TEXT.replace("sum", "fsum")
    assert lines == [3, 8]


def test_codemod_command_keeps_its_import_request() -> None:
    text, lines = run(Adapted(RULE, lambda: Command(CodemodContext()), (b"sum",)))
    assert text == TEXT.replace("sum", "math.fsum").replace("import os\n", "import os\nimport math\n")
    assert lines == [3, 8]


def test_file_without_the_trigger_is_not_touched() -> None:
    assert run(Adapted(RULE, Rename, (b"sum",)), "x = 1\n") == ("x = 1\n", [])


def test_form_feed_that_libcst_loses_stays() -> None:
    text = "import os\n\x0cdef f():\n    return sum([1])\n"
    assert run(Adapted(RULE, Rename, (b"sum",)), text)[0] == text.replace("sum", "fsum")


@given(st.text("ab \n(),\r", max_size=40), st.text("ab \n(),\r", max_size=40))
def test_difference_turns_one_text_into_the_other(old: str, new: str) -> None:
    assert apply(old, difference(old, new)) == new
