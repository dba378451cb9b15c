"""TN310: TorchScript, torch.export and ahead-of-time packages."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.conditions import elsewhere
from transforms.tables.compile import JIT_RUNS, NO_TARGET

EXPORT_JIT = Rule(
    code="TN310",
    name="export-jit",
    summary="TorchScript, torch.export and AOTInductor: what runs without being compiled, and what has no target",
    best=Safety.MANUAL,
    argument="It never edits.",
    source="TorchNeuron documentation 2.33, which names torch.compile alone; torch 2.13 source",
    why=(
        "torch.compile is the compiler of the device. TorchScript programs run op by op, AOTInductor "
        "packages do not run."
    ),
    silent=(
        "`torch.jit.ignore`, `unused`, `export`, `is_scripting`, `Final`: marks without an effect of their own; tests "
        "of types and annotations; `torch.onnx.export`; branches that run on another device by a test in place."
    ),
)


class ExportJit(Transform):
    """Reports other ways to compile than torch.compile."""

    rules = (EXPORT_JIT,)
    triggers = (b"jit", b"export", b"_inductor", b"tensorrt", b"load_compiled_function")
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at all uses in a file."""
        for table, severity in ((NO_TARGET, ERROR), (JIT_RUNS, WARNING)):
            for name, why in table.items():
                for use in cx.uses.of(name):
                    if not cx.is_type(use.node) and elsewhere(use.node, cx) is None:
                        level = WARNING if use.ambiguous else severity
                        cx.report(use.node, f"{name}: {why}", Safety.MANUAL, severity=level)
