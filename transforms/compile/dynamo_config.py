"""TN308: settings of Dynamo, and marks for dynamic sizes."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.conditions import elsewhere, never_on_neuron
from transforms.flow.uses import Use
from transforms.tables.compile import DYNAMO_REPORTED, DYNAMO_STATIC, MARKS_DYNAMIC

DYNAMO_CONFIG = Rule(
    code="TN308",
    name="dynamo-config",
    summary="Settings of `torch._dynamo.config` that make shapes dynamic or hide errors",
    best=Safety.REVIEW,
    argument=(
        "The neuron backend refuses symbolic sizes; with the static setting each new shape is one "
        "more compilation, up to "
        "the recompile limit."
    ),
    source="TorchNeuron documentation 2.33, best practices: static shapes; torch 2.13: torch._dynamo.config",
    why="A size that is marked dynamic reaches the compiler as a symbol and fails there.",
    silent=(
        "Limits (`cache_size_limit`, `recompile_limit`) and logging, which mean the same with any backend; settings "
        "that are read, or put back as they were; branches that run on another device by a test in place."
    ),
    examples=(
        (
            "import torch\n\ntorch._dynamo.config.assume_static_by_default = False\n",
            "import torch\n\ntorch._dynamo.config.assume_static_by_default = True\n",
        ),
    ),
)

_CONFIG = "torch._dynamo.config"


class DynamoConfig(Transform):
    """Keeps shapes static, and reports what hides failures."""

    rules = (DYNAMO_CONFIG,)
    triggers = (b"_dynamo",)
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at all uses of Dynamo's settings and marks in a file."""
        for use in cx.uses.under(_CONFIG):
            if elsewhere(use.node, cx) is None:
                self._setting(use, cx)
        for name in sorted(MARKS_DYNAMIC):
            for use in cx.uses.of(name):
                if elsewhere(use.node, cx) is None:
                    self._mark(use, cx)

    def _setting(self, use: Use, cx: Context) -> None:
        key = use.name.removeprefix(_CONFIG).lstrip(".")
        target = cx.parent(use.node)
        statement = cx.parent(target) if target is not None else None
        if isinstance(target, cst.AssignTarget) and isinstance(statement, cst.Assign):
            self._value(key, use.node, statement.value, cx)
        elif key == "patch" and isinstance(target, cst.Call) and target.func is use.node:
            self._patched(target, cx)
        elif not key and isinstance(statement, cst.Call) and cx.origin(statement.func).name == "builtins.setattr":
            self._patched(statement, cx)

    def _patched(self, call: cst.Call, cx: Context) -> None:
        """`patch(key=value)`, `patch({"key": value})`, `patch("key", value)` and `setattr(config, "key", value)`."""
        for arg in call.args:
            if arg.keyword is not None:
                self._value(arg.keyword.value, arg, arg.value, cx)
            elif isinstance(arg.value, cst.Dict):
                for entry in arg.value.elements:
                    if isinstance(entry, cst.DictElement):
                        self._value(cx.string(entry.key) or "", entry, entry.value, cx)
        if len(call.args) > 1 and (key := cx.string(call.args[-2].value)) is not None:
            self._value(key, call.args[-2], call.args[-1].value, cx)

    def _value(self, key: str, site: cst.CSTNode, value: cst.BaseExpression, cx: Context) -> None:
        """Look at the value of a setting; one that is put back is as it was."""
        if f"{_CONFIG}.{key}" in cx.origin(value).names:
            return
        said = value.value if isinstance(value, cst.Name) and value.value in ("True", "False") else ""
        if not said and never_on_neuron(value, cx):
            said = "False"
        if key in DYNAMO_STATIC and said != DYNAMO_STATIC[key]:
            static = DYNAMO_STATIC[key]
            fix = cx.fix("shapes stay static", cx.replace(value, static))
            cx.report(site, f"shapes are static on Trainium: {key} = {static}", Safety.REVIEW, fix=fix)
        elif key in DYNAMO_REPORTED and said != "False":
            cx.report(site, f"{key}: {DYNAMO_REPORTED[key]}", Safety.MANUAL, severity=WARNING)

    def _mark(self, use: Use, cx: Context) -> None:
        """`mark_dynamic(x, 0)`: a statement of its own is taken out."""
        call = cx.parent(use.node)
        if not isinstance(call, cst.Call) or call.func is not use.node:
            return
        statement = cx.parent(call)
        message = "a size that is marked dynamic is refused by the neuron backend"
        if isinstance(statement, cst.Expr) and not use.name.endswith("mark_unbacked"):
            fix = cx.fix("the size stays static", cx.remove_statement(statement))
            cx.report(use.node, message, Safety.REVIEW, fix=fix)
        else:
            cx.report(use.node, message, Safety.MANUAL, severity=ERROR)
