"""TN409: environment variables that only NCCL reads."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.text_roles import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.effects import effects

NCCL_SETTING = Rule(
    code="TN409",
    name="nccl-setting",
    summary="`NCCL_*` and `TORCH_NCCL_*` variables have no effect",
    best=Safety.OFFER,
    argument="A variable that nobody reads on Trainium can stay or go; the program may still run on CUDA hosts too.",
    source="TorchNeuron documentation 2.33, environment variables (no NCCL_ variables); torch 2.13 ProcessGroupNCCL",
    why="They tune NCCL's transport and its watchdog. Settings of EFA (`FI_*`) stay: the fabric is the same.",
    silent="`NCCL_` names that are no text, such as own constants.",
    examples=(
        (
            'import os\n\nos.environ["NCCL_DEBUG"] = "INFO"\nprint("ready")\n',
            'import os\n\nprint("ready")\n',
        ),
    ),
)
_VARIABLE = re.compile(r"(TORCH_)?NCCL_[A-Z0-9_]+$")
_NO_EFFECT = "is read by NCCL only and has no effect on Trainium"


class NcclSetting(Transform):
    """Offers to remove assignments, and reports all other uses."""

    rules = (NCCL_SETTING,)
    triggers = (b"NCCL_",)
    nodes = (cst.SimpleString,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one string."""
        assert isinstance(node, cst.SimpleString)
        name = cx.string(node)
        if name is None or not _VARIABLE.match(name) or is_docstring(cx, node):
            return
        statement = self._assignment(node, cx)
        if statement is not None:
            fix = cx.fix(f"{name} goes", cx.remove_statement(statement))
            cx.report(node, f"{name} {_NO_EFFECT}", Safety.OFFER, fix=fix)
        elif (reason := text_role(cx, node)) and reason != "key of a dict":
            cx.keep(node, reason)
        else:
            cx.report(node, f"{name} {_NO_EFFECT}", Safety.MANUAL, severity=WARNING)

    def _assignment(self, node: cst.SimpleString, cx: Context) -> cst.BaseSmallStatement | None:
        """The statement that does nothing but set or delete the variable."""
        statement = cx.index.statement(node)
        index = cx.parent(node)
        if isinstance(index, cst.Index):
            subscript = cx.index.enclosing(index, cst.Subscript)
            if subscript is None or cx.origin(subscript.value).name != "os.environ":
                return None
            if isinstance(statement, cst.Assign) and len(statement.targets) == 1:
                plain = statement.targets[0].target is subscript and not effects(cx, statement.value).calls
                return statement if plain else None
            return statement if isinstance(statement, cst.Del) and statement.target is subscript else None
        call = cx.parent(index) if isinstance(index, cst.Arg) else None
        if isinstance(statement, cst.Expr) and statement.value is call and isinstance(call, cst.Call):
            known = cx.origin(call.func).name in ("os.environ.setdefault", "os.environ.pop", "os.putenv", "os.unsetenv")
            return statement if known and not effects(cx, *call.args).calls else None
        return None
