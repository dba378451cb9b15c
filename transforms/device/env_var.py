"""TN121: environment variables of CUDA in Python code."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.text_roles import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.effects import effects
from transforms.tables.environment import VARIABLES, VISIBLE, Variable

ENV_VAR = Rule(
    code="TN121",
    name="env-var",
    summary="Environment variables that CUDA or torch's CUDA part reads",
    best=Safety.SAFE,
    argument="`NEURON_LAUNCH_BLOCKING` is documented to mean what `CUDA_LAUNCH_BLOCKING` means; nothing else is safe.",
    source="TorchNeuron documentation 2.33 (best practices, environment variables)",
    why="Nothing on Trainium reads these variables, so what they were set for does not happen.",
    silent=(
        "Names in help, log and error texts; constants, attributes and macros of that shape; variables of other "
        "accelerators."
    ),
    examples=(
        (
            'import os\n\nos.environ["CUDA_LAUNCH_BLOCKING"] = "1"\n',
            'import os\n\nos.environ["NEURON_LAUNCH_BLOCKING"] = "1"\n',
        ),
    ),
)
_SHAPE = re.compile(r"(PYTORCH_|TORCH_)?(NO_)?(CUDA|CUDNN)_[A-Z0-9_]+$|PYTORCH_\w*CUDA\w*$|TORCH_\w*CUDA\w*$")
_READERS = frozenset({"os.getenv", "os.environ.get", "os.environ.pop"})
_WRITERS = frozenset({"os.environ.setdefault", "os.putenv", "os.unsetenv"})
_CORES = re.compile(r"\d+$")


class EnvVar(Transform):
    """Rewrites, or reports, each place that names such a variable."""

    rules = (ENV_VAR,)
    triggers = (b"CUDA_", b"CUDNN_")
    nodes = (cst.SimpleString, cst.Arg)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one string, or one keyword of `dict(os.environ, ...)`."""
        if isinstance(node, cst.Arg):
            self._keyword(node, cx)
            return
        assert isinstance(node, cst.SimpleString)
        name = cx.string(node)
        if name is None or not _SHAPE.match(name) or is_docstring(cx, node):
            return
        access = _access(node, cx)
        if name not in VARIABLES and not access:
            return  # a name of CUDA's own, of a macro or an error: nothing says that it is a variable
        variable = VARIABLES.get(name) or Variable(name, "", "no variable of TorchNeuron stands for it", "")
        if not access and (reason := text_role(cx, node)) and reason != "key of a dict":
            cx.keep(node, reason)
        elif name == VISIBLE:
            self._visible(node, access, cx)
        elif variable.new:
            self._renamed(node, variable, access, cx)
        else:
            self._idle(node, variable, access, cx)

    def _renamed(self, node: cst.SimpleString, variable: Variable, access: str, cx: Context) -> None:
        safety, evidence = Safety.SAFE, [(node, variable.source)]
        if access in ("read", "ask"):
            safety = Safety.REVIEW
            evidence.append((node, "read here: what sets it has to name it so too"))
        elif not access:
            safety = Safety.REVIEW
            evidence.append((node, "nothing here shows that this is a key of the environment"))
        elif self._late(node, cx):
            safety = Safety.REVIEW
            evidence.append((node, "set after torch is imported: it may be read only once, when torch starts"))
        new = node.value.replace(variable.name, variable.new)
        fix = cx.fix(f"{variable.new} stands for {variable.name}", cx.replace(node, new))
        cx.report(node, f"{variable.new} stands for {variable.name}", safety, fix=fix, evidence=evidence)

    def _visible(self, node: cst.SimpleString, access: str, cx: Context) -> None:
        """Which devices a process sees: TorchNeuron decides that by rank, a single process may choose a core."""
        if access in ("read", "ask") and self._renamed_here(cx):
            new = node.value.replace(VISIBLE, "NEURON_RT_VISIBLE_CORES")
            fix = cx.fix("the core that the process sees", cx.replace(node, new), group=VISIBLE)
            cx.report(node, "this file sets NEURON_RT_VISIBLE_CORES instead", Safety.REVIEW, fix=fix)
            return
        if access in ("read", "delete"):
            message = (
                f"{VISIBLE} is not set on Trainium: ask for NEURON_RT_VISIBLE_CORES (such as 0-3), or the local rank"
            )
            cx.report(node, message, Safety.MANUAL, severity=ERROR)
            return
        value = self._value(node, cx) if access in ("write", "default") else None
        if access and self._single(value, cx) and not cx.facts.distributed:
            assert value is not None
            new = node.value.replace(VISIBLE, "NEURON_RT_VISIBLE_CORES")
            fix = cx.fix("the core that the process sees", cx.replace(node, new), group=VISIBLE)
            evidence = [(value, "one device; NEURON_RT_VISIBLE_CORES counts logical NeuronCores")]
            if self._late(node, cx):
                evidence.append((node, "set after torch is imported: it is read when the runtime starts"))
            cx.report(node, "the runtime reads NEURON_RT_VISIBLE_CORES", Safety.REVIEW, fix=fix, evidence=evidence)
            return
        if value is not None and cx.string(value) in ("", "-1"):
            message = f"{VISIBLE} hides all devices here; on Trainium nothing does: give the CPU as the device"
        elif cx.facts.distributed:
            message = (
                f"{VISIBLE} is not read on Trainium: under torchrun TorchNeuron gives each rank its core; take it out"
            )
        else:
            message = f"{VISIBLE} is not read on Trainium: set NEURON_RT_VISIBLE_CORES (such as 0-3) before it starts"
        cx.report(node, message, Safety.MANUAL, severity=WARNING)

    def _single(self, value: cst.BaseExpression | None, cx: Context) -> bool:
        """Whether the variable is set to one device."""
        if value is None:
            return False
        return bool(_CORES.match(cx.string(value) or "")) or _text_of_number(value, cx)

    def _renamed_here(self, cx: Context) -> bool:
        """Whether this file sets the variable, each time to one device."""
        named = [s for s in cx.index.nodes(cst.SimpleString) if cx.string(s) == VISIBLE]
        given = [self._value(s, cx) for s in named if _access(s, cx) in ("write", "default")]
        return bool(given) and not cx.facts.distributed and all(self._single(v, cx) for v in given)

    def _idle(self, node: cst.SimpleString, variable: Variable, access: str, cx: Context) -> None:
        message = f"{variable.name} has no effect on Trainium ({variable.advice})"
        statement = _statement(node, cx) if variable.idle and access in ("write", "default", "delete") else None
        if statement is not None:
            fix = cx.fix(f"{variable.name} goes", cx.remove_statement(statement))
            cx.report(node, message, Safety.REVIEW if access == "delete" else Safety.OFFER, fix=fix)
        elif access in ("read", "delete"):
            message = f"{variable.name} is read here and is not set on Trainium ({variable.advice})"
            cx.report(node, message, Safety.MANUAL, severity=ERROR)
        else:
            cx.report(node, message, Safety.MANUAL, severity=WARNING)

    def _keyword(self, arg: cst.Arg, cx: Context) -> None:
        """`dict(os.environ, CUDA_VISIBLE_DEVICES="0")`: the environment of another process."""
        if arg.keyword is None or not _SHAPE.match(arg.keyword.value):
            return
        call = cx.parent(arg)
        variable = VARIABLES.get(arg.keyword.value)
        called = cx.origin(call.func).name if isinstance(call, cst.Call) else ""
        if called not in ("builtins.dict", "os.environ.update") and variable is None:
            return
        advice = f": {variable.new} is read there ({variable.advice})" if variable is not None and variable.new else ""
        message = f"{arg.keyword.value} has no effect on Trainium{advice}"
        cx.report(arg.keyword, message, Safety.MANUAL, severity=WARNING)

    def _value(self, node: cst.SimpleString, cx: Context) -> cst.BaseExpression | None:
        """What the variable is set to."""
        above = cx.parent(node)
        if isinstance(above, cst.Index):
            subscript = cx.index.enclosing(above, cst.Subscript)
            statement = cx.index.statement(node)
            if isinstance(statement, cst.Assign) and any(t.target is subscript for t in statement.targets):
                return statement.value
        call = cx.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(call, cst.Call) and len(call.args) == 2:
            return call.args[1].value
        return None

    def _late(self, node: cst.CSTNode, cx: Context) -> bool:
        """Whether torch is imported above, at the top of the module."""
        if not cx.at_import_time(node):
            return True
        here = cx.index.order(node)
        return any(
            cx.index.order(alias) < here and cx.names.imported_name(alias).split(".")[0] == "torch"
            for alias in cx.index.nodes(cst.ImportAlias)
        )


def _access(node: cst.SimpleString, cx: Context) -> str:
    """How the environment is used with this name: read, write, default (kept when set), delete, ask, or empty.

    `read` and `delete` raise where the variable is not set.
    """
    above = cx.parent(node)
    if isinstance(above, cst.Index):
        subscript = cx.index.enclosing(above, cst.Subscript)
        if subscript is None or cx.origin(subscript.value).name != "os.environ":
            return ""
        above = cx.parent(subscript)
        if isinstance(above, cst.Del):
            return "delete"
        return "write" if isinstance(above, cst.AssignTarget) else "read"
    if isinstance(above, cst.Arg):
        call = cx.parent(above)
        if not isinstance(call, cst.Call) or call.args[0] is not above:
            return ""
        name = cx.origin(call.func).name
        if name == "os.environ.pop" and len(call.args) == 1:
            return "delete"
        if name in _READERS:
            return "ask"
        return "default" if name in _WRITERS else ""
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
        return "ask"
    return ""


def _statement(node: cst.SimpleString, cx: Context) -> cst.BaseSmallStatement | None:
    """The statement that does nothing but set or delete the variable."""
    statement = cx.index.statement(node)
    subscript = cx.index.enclosing(node, cst.Subscript)
    if isinstance(statement, cst.Assign) and len(statement.targets) == 1 and statement.targets[0].target is subscript:
        return statement if not effects(cx, statement.value).calls else None
    if isinstance(statement, cst.Del):
        return statement if statement.target is subscript else None
    if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Call):
        call = statement.value
        plain = all(isinstance(a.value, cst.SimpleString) for a in call.args)
        return statement if plain and call.args[0].value is node else None
    return None


def _text_of_number(value: cst.CSTNode, cx: Context) -> bool:
    """`str(i)`, `f"{i}"` of one number."""
    if isinstance(value, cst.Call) and cx.origin(value.func).name == "builtins.str":
        return len(value.args) == 1 and isinstance(value.args[0].value, (cst.Name, cst.Attribute, cst.Integer))
    return (
        isinstance(value, cst.FormattedString)
        and len(value.parts) == 1
        and isinstance(value.parts[0], cst.FormattedStringExpression)
    )
