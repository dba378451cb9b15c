"""TN123: packages that are made for CUDA alone, where they are imported, and extensions that are built from CUDA's
sources."""

from __future__ import annotations

import libcst as cst

from transforms.device._rules import THIRD_PARTY_ACCELERATOR_NAME
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.engine.names import dotted_name
from transforms.engine.transform import Transform
from transforms.engine.words import is_specific
from transforms.tables.cuda_only import APEX_KERNELS, CUDA_ONLY, SPOKEN_OF

_EXTENSIONS = "torch.utils.cpp_extension"
_PACKAGES = (CUDA_ONLY - SPOKEN_OF - {_EXTENSIONS}) | APEX_KERNELS
_NOT_THERE = "is made for CUDA: on Trainium use torch's own operators, or a kernel written in NKI"


class CudaOnlyPackage(Transform):
    """Reports such imports and builds."""

    rules = (THIRD_PARTY_ACCELERATOR_NAME,)
    triggers = (b"cpp_extension", *sorted({p.split(".")[0].encode() for p in _PACKAGES}))
    nodes = (cst.Import, cst.ImportFrom, cst.Call)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one import, or at one call that may build an extension."""
        if isinstance(node, cst.Import):
            for alias in node.names:
                self._package(alias.name, cx)
        elif isinstance(node, cst.ImportFrom):
            if node.module is not None and not node.relative:
                self._package(node.module, cx)
        elif isinstance(node, cst.Call) and cx.origin(node.func).name.startswith(f"{_EXTENSIONS}."):
            self._extension(node, cx)

    def _package(self, site: cst.BaseExpression, cx: Context) -> None:
        parts = dotted_name(site).split(".")
        package = next((p for n in range(1, len(parts) + 1) if (p := ".".join(parts[:n])) in _PACKAGES), "")
        if not package or parts[0] in cx.facts.modules or is_specific(".".join(parts)):
            return
        conditional = False
        for above in cx.index.ancestors(site):
            if isinstance(above, cst.If) and "TYPE_CHECKING" in cx.code(above.test):
                return
            conditional = conditional or isinstance(above, (cst.If, cst.Try, cst.TryStar, cst.FunctionDef))
        cx.report(site, f"{package} {_NOT_THERE}", Safety.MANUAL, severity=WARNING if conditional else ERROR)

    def _extension(self, call: cst.Call, cx: Context) -> None:
        """A call that is given a text such as "scale.cu"."""
        if is_specific(cx.code(call.func)):
            return
        work: list[cst.CSTNode] = list(call.args)
        while work:
            node = work.pop()
            text = cx.string(node) if isinstance(node, cst.SimpleString) else None
            if text is not None and text.endswith((".cu", ".cuh")):
                message = "this extension is built from CUDA's sources: neuron needs a kernel written in NKI"
                cx.report(call.func, message, Safety.MANUAL, evidence=[(node, "a source for CUDA's compiler")])
                return
            work += node.children
