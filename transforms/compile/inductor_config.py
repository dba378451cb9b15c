"""TN307: settings of Inductor."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.conditions import elsewhere
from transforms.flow.uses import Use

INDUCTOR_CONFIG = Rule(
    code="TN307",
    name="inductor-config",
    summary="Settings of `torch._inductor.config` are taken out",
    best=Safety.SAFE,
    argument=(
        "Inductor compiles nothing for the device, and the value that was stored is a literal or a "
        "name, so leaving the "
        "statement out changes neither results nor errors."
    ),
    source="TorchNeuron documentation 2.33, best practices: Inductor options configure nothing",
    why="They tune Triton kernels and CUDA graphs. Compiler flags for Trainium go into NEURON_CC_FLAGS.",
    silent=(
        "Settings behind a `hasattr` guard, or in a branch that runs on another device by a test in place, stay, with "
        "the reason; so do those that the file reads (to restore them)."
    ),
    examples=(
        (
            "import torch\nimport torch._inductor.config\n\ntorch._inductor.config.coordinate_descent_tuning = True\n"
            "print(torch)\n",
            "import torch\nimport torch._inductor.config\n\nprint(torch)\n",
        ),
    ),
)

_CONFIG = "torch._inductor.config"
_MESSAGE = "a setting of Inductor has no effect on neuron"


class InductorConfig(Transform):
    """Takes out statements that set Inductor up."""

    rules = (INDUCTOR_CONFIG,)
    triggers = (b"_inductor",)
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at all uses of the settings in a file."""
        uses = [u for u in cx.uses.under(_CONFIG) if u.name != _CONFIG]
        read = {u.name for u in uses if not isinstance(cx.parent(u.node), cst.AssignTarget)}
        for use in uses:
            self._use(use, use.name in read, cx)

    def _use(self, use: Use, read: bool, cx: Context) -> None:
        target = cx.parent(use.node)
        statement = cx.parent(target) if target is not None else None
        alone = isinstance(statement, cst.Assign) and len(statement.targets) == 1 and not read
        if isinstance(target, cst.AssignTarget) and isinstance(statement, cst.Assign) and alone:
            self._stored(use, statement, cx)
        elif use.name.startswith((f"{_CONFIG}.patch", f"{_CONFIG}.load_config", f"{_CONFIG}.save_config")):
            message = "settings of Inductor have no effect on neuron: take the block or decorator out"
            cx.report(use.node, message, Safety.MANUAL, severity=WARNING)
        elif not isinstance(target, cst.AssignTarget):
            message = "a setting of Inductor is read: nothing follows from it on neuron"
            cx.report(use.node, message, Safety.MANUAL, severity=WARNING)
        else:
            cx.report(use.node, _MESSAGE, Safety.MANUAL, severity=WARNING)

    def _stored(self, use: Use, statement: cst.Assign, cx: Context) -> None:
        if guarded(statement, cx):
            cx.keep(use.node, "without effect on neuron, and behind a guard")
            return
        if (test := elsewhere(statement, cx)) is not None:
            cx.keep(use.node, f"runs on another device, by the test {cx.code(test)}")
            return
        if not isinstance(statement.value, (cst.Name, cst.Attribute, cst.SimpleString, cst.Integer, cst.Float)):
            cx.report(use.node, f"{_MESSAGE}: take it out", Safety.MANUAL, severity=WARNING)
            return
        fix = cx.fix("a setting of Inductor is taken out", cx.remove_statement(statement))
        cx.report(use.node, _MESSAGE, Safety.REVIEW if use.ambiguous else Safety.SAFE, fix=fix)


def guarded(statement: cst.CSTNode, cx: Context) -> bool:
    """Whether a statement stands alone behind a test that names what it sets (`if hasattr(config, ...):`)."""
    holder = cx.index.enclosing(statement, cst.If, cst.FunctionDef, cst.ClassDef)
    if not isinstance(holder, cst.If):
        return False
    test = holder.test
    return isinstance(test, cst.Call) and cx.origin(test.func).name == "builtins.hasattr"
