"""TN123: imports of packages that are made for CUDA alone, and extensions built from CUDA's sources."""

from __future__ import annotations

import pytest

from harness import migrate, run_tree

TOLD = [
    pytest.param("from flash_attn import flash_attn_func", "error", id="a-function-of-flash-attn"),
    pytest.param("import triton.language as tl", "error", id="a-module-of-triton"),
    pytest.param("import bitsandbytes as bnb", "error", id="eight-bit-optimizers"),
    pytest.param("from apex.optimizers import FusedAdam", "error", id="fused-optimizers-of-apex"),
    pytest.param("try:\n    import xformers.ops\nexcept ImportError:\n    xformers = None", "warning", id="optional"),
    pytest.param("def f():\n    import flash_attn\n    return flash_attn", "warning", id="only-where-it-is-called"),
    pytest.param("if FAST:\n    import triton", "warning", id="under-a-condition"),
    pytest.param(
        'from torch.utils.cpp_extension import load\nop = load(name="op", sources=["op.cpp", "op.cu"])',
        "error",
        id="an-extension-with-a-kernel",
    ),
]

SILENT = [
    pytest.param("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import triton", id="for-types-alone"),
    pytest.param("from .triton import kernel", id="a-module-beside-this-one"),
    pytest.param("from ops.triton import kernel\nfrom mine import flash_attn", id="a-part-of-another-package"),
    pytest.param("triton = None\nx.flash_attn()", id="no-import"),
    pytest.param("import triton_helpers", id="a-longer-name"),
    pytest.param(
        'from torch.utils.cpp_extension import load\nop = load(name="op", sources=["op.cpp"])', id="an-extension-in-C++"
    ),
    pytest.param('from mine import load\nop = load(name="cpp_extension", sources=["op.cu"])', id="an-own-function"),
    pytest.param("from torch.utils.cpp_extension import BuildExtension", id="the-builder-is-for-C++-too"),
    pytest.param('TEXT = "import flash_attn"  # import triton', id="text-and-comment"),
]


@pytest.mark.parametrize("code, severity", TOLD)
def test_told_once_and_not_edited(code: str, severity: str) -> None:
    outcome = migrate(code + "\n")
    assert outcome.text == code + "\n"
    assert outcome.one("TN123")["safety"] == "manual"
    assert outcome.one("TN123")["severity"] == severity


@pytest.mark.parametrize("code", SILENT)
def test_silent(code: str) -> None:
    outcome = migrate(code + "\n")
    assert outcome.text == code + "\n"
    assert not outcome.lines("TN123")


def test_apex_amp_is_left_to_the_rule_of_autocast() -> None:
    outcome = migrate("from apex import amp\n\n\ndef f(m, o):\n    return amp.initialize(m, o)\n")
    assert not outcome.lines("TN123")
    assert outcome.lines("TN201")


def test_a_package_of_the_repository_with_such_a_name_is_its_own() -> None:
    result, _ = run_tree({"triton/__init__.py": b"def jit(f):\n    return f\n", "a.py": b"import triton\n"})
    assert not [i for f in result.files for i in f.items if i.rule == "TN123"]
