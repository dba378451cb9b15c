"""TN301 to TN306: every way to call torch.compile."""

from __future__ import annotations

import libcst as cst

from transforms.compile.backend_value import BackendValue
from transforms.compile.call_rules import (
    COMPILE_BACKEND,
    COMPILE_DYNAMIC,
    COMPILE_FULLGRAPH,
    COMPILE_MODE,
    COMPILE_OPTIONS,
    COMPILE_SHAPES_SPEC,
)
from transforms.compile.compile_arguments import CompileArguments
from transforms.compile.overrides import check_overrides
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Safety
from transforms.engine.names import is_none
from transforms.engine.transform import Transform
from transforms.flow.modules import NO, YES, Modules
from transforms.tables.compile import (
    BACKENDS_KEPT,
    COMPILE_NAMES,
    DEFAULT_BACKEND,
    OPTIMIZE_NAMES,
    PARTIALS,
    TORCH_KEYWORDS,
)

_CALLED = frozenset({"compile", "optimize", "partial", "set_default_backend"})
"""Last part of the names of interest: a cheap look before the names are resolved."""

_LOOKERS = ("builtins.", "inspect.", "unittest.", "typing.", "functools.wraps", "functools.update_wrapper")
"""Functions that look at a function and do not call it."""

_PASS_ON = frozenset({"builtins.map", "builtins.staticmethod"})
"""Builtins through which the function is called."""

_NEEDED = 'torch.compile needs backend="neuron", dynamic=False'


class CompileCall(Transform):
    """Rewrites the arguments of torch.compile where this file knows them."""

    rules = (
        COMPILE_BACKEND,
        COMPILE_MODE,
        COMPILE_OPTIONS,
        COMPILE_DYNAMIC,
        COMPILE_FULLGRAPH,
        COMPILE_SHAPES_SPEC,
    )
    triggers = (b"compile", b"_dynamo", b"set_default_backend")
    nodes = (cst.Call, cst.Decorator, cst.Module)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call, bare decorator, or use of the function as a value."""
        if isinstance(node, cst.Decorator):
            if cx.origin(node.decorator).names & COMPILE_NAMES:
                self._bare(node, cx)
        elif isinstance(node, cst.Call):
            if not isinstance(node.func, cst.Attribute) or node.func.attr.value in _CALLED:
                self._call(node, cx)
        else:
            for name in sorted(COMPILE_NAMES):
                for use in cx.uses.of(name):
                    self._value(use.node, cx)
            self._passed_on(cx)

    def _bare(self, node: cst.Decorator, cx: Context) -> None:
        origin = cx.origin(node.decorator)
        text = f"{cx.code(node.decorator)}(backend={cx.literal('neuron', node)}, dynamic=False)"
        fix = cx.fix("compile for neuron", cx.replace(node.decorator, text))
        cx.report(node.decorator, _NEEDED, Safety.REVIEW if origin.ambiguous else Safety.SAFE, fix=fix)

    def _call(self, node: cst.Call, cx: Context) -> None:
        origin = cx.origin(node.func)
        best = Safety.REVIEW if origin.ambiguous else Safety.SAFE
        if origin.names & COMPILE_NAMES:
            CompileArguments(node, node.func, cx, best).check()
        elif origin.names & PARTIALS and node.args and cx.origin(node.args[0].value).names & COMPILE_NAMES:
            CompileArguments(node, node.args[0].value, cx, best).check()
        elif origin.names & OPTIMIZE_NAMES:
            self._optimize(node, cx, best)
        elif DEFAULT_BACKEND in origin.names:
            self._default_backend(node, cx, best)
        elif origin.name == "builtins.getattr":
            self._looked_up(node, cx)
        elif not origin.names and isinstance(node.func, cst.Attribute) and node.func.attr.value == "compile":
            self._method(node, node.func, cx)
        elif not origin.names:
            check_overrides(node, cx)

    # the function as a value ------------------------------------------------------------------------------------

    def _value(self, node: cst.CSTNode, cx: Context) -> None:
        """`torch.compile` handed on: to map, into a variable that others import, as an arm of a conditional."""
        if not self._handed_on(node, cx):
            return
        assigned = isinstance(cx.parent(node), cst.Assign)  # in a class it would be bound, and a partial is not
        if cx.origin(node).ambiguous or (assigned and isinstance(cx.names.scope(node), cst.ClassDef)):
            cx.report(node, f"{_NEEDED} wherever this is called", Safety.MANUAL)
            return
        name, requests = cx.spell("functools.partial", node)
        if name.startswith("__import__"):
            cx.report(node, f"{_NEEDED} where it is called; the name functools is not free here", Safety.MANUAL)
            return
        text = f"{name}({cx.code(node)}, backend={cx.literal('neuron', node)}, dynamic=False)"
        fix = cx.fix("the function goes on with its arguments", cx.replace(node, text), requests=requests)
        cx.report(node, f"{_NEEDED} where it is called", Safety.REVIEW, fix=fix)

    def _passed_on(self, cx: Context) -> None:
        """The function under a name that other files import from this one: their calls say nothing of torch."""
        for alias in cx.index.nodes(cst.ImportAlias):
            bound = alias.asname.name if alias.asname is not None else alias.name
            if cx.names.imported_name(alias) not in COMPILE_NAMES or not isinstance(bound, cst.Name):
                continue
            importers = cx.facts.importers.get(bound.value, ())
            if importers and isinstance(cx.names.scope(bound), cst.Module):
                message = f"{', '.join(importers[:3])} imports torch.compile from here: {_NEEDED} where it is called"
                cx.report(alias.name, message, Safety.MANUAL)

    def _handed_on(self, node: cst.CSTNode, cx: Context) -> bool:
        above = cx.parent(node)
        if isinstance(above, cst.Assign) and above.value is node:
            return not (self._followed(above, cx) or self._put_back(above, cx))
        if isinstance(above, cst.Arg) and above.value is node and isinstance(call := cx.parent(above), cst.Call):
            called = cx.origin(call.func)
            if called.names & PARTIALS:
                return call.args[0] is not above
            if any(cx.string(arg.value) == "compile" for arg in call.args):
                return False  # setattr(torch, "compile", kept)
            return not any(n.startswith(_LOOKERS) and n not in _PASS_ON for n in called.names)
        if isinstance(above, cst.IfExp):
            return above.test is not node
        if isinstance(above, (cst.DictElement, cst.Element)):
            holder = cx.parent(above)
            return above.value is node and not isinstance(cx.parent(holder) if holder else None, cst.ComparisonTarget)
        return isinstance(above, (cst.Return, cst.Lambda)) or (isinstance(above, cst.Param) and above.default is node)

    def _put_back(self, statement: cst.Assign, cx: Context) -> bool:
        """Whether a test that replaced `torch.compile` puts it back: `torch.compile = kept`."""
        targets = [t.target for t in statement.targets]
        return any(isinstance(t, cst.Attribute) and cx.origin(t).names & COMPILE_NAMES for t in targets)

    def _followed(self, statement: cst.Assign, cx: Context) -> bool:
        """Whether an alias is only called here, where its calls get the arguments themselves."""
        target = statement.targets[0].target
        if len(statement.targets) > 1 or not isinstance(target, cst.Name):
            return False
        scope = cx.names.scope(target)
        if isinstance(scope, cst.Module) and (cx.facts.importers.get(target.value) or cx.facts.importers.get("*")):
            return False
        uses = cx.names.uses(target.value, scope)
        return bool(uses) and len(cx.names.bindings(target.value, scope)) == 1

    def _looked_up(self, node: cst.Call, cx: Context) -> None:
        """`getattr(torch, "compile", None)`: what is done with it stands elsewhere."""
        if len(node.args) < 2 or cx.string(node.args[1].value) != "compile":
            return
        child: cst.CSTNode = node
        above = cx.parent(node)
        while isinstance(above, cst.BooleanOperation):
            child, above = above, cx.parent(above)
        tested = isinstance(above, (cst.Comparison, cst.UnaryOperation)) or getattr(above, "test", None) is child
        if not tested and cx.origin(node.args[0].value).name == "torch":
            cx.report(node, f"{_NEEDED} where this is called", Safety.MANUAL)

    # other spellings --------------------------------------------------------------------------------------------

    def _optimize(self, node: cst.Call, cx: Context, best: Safety) -> None:
        """`torch._dynamo.optimize("inductor")`: backend first, `dynamic` by keyword."""
        arg = cx.argument(node, "backend", 0)
        if arg is None or arg.keyword is not None:
            CompileArguments(node, node.func, cx, best, offers=False).check()
            return
        change = cx.arguments(node)
        value = BackendValue(arg.value, node, cx)
        if value.kept:
            cx.keep(arg, value.kept)
            return
        if value.why and not is_none(arg.value):
            cx.report(arg, value.why, Safety.MANUAL, severity=value.severity, evidence=value.evidence)
            return
        if is_none(arg.value):
            change.value(arg, cx.literal("neuron", node))
        dynamic = cx.argument(node, "dynamic")
        static = dynamic is not None and isinstance(dynamic.value, cst.Name) and dynamic.value.value == "False"
        if not static:
            change.set("dynamic", "False")
        fix = cx.fix("compile for neuron", change, *value.changes)
        level = best.at_most(value.safety)
        if value.changes or is_none(arg.value):
            cx.report(arg, f"{value.old} becomes neuron", level, fix=fix, evidence=value.evidence)
        if not static:
            level = Safety.REVIEW if dynamic is not None and not is_none(dynamic.value) else level
            message = "shapes are static on Trainium: dynamic=False"
            cx.report(dynamic or node.func, message, level, rule=COMPILE_DYNAMIC, fix=fix)

    def _default_backend(self, node: cst.Call, cx: Context, best: Safety) -> None:
        arg = cx.argument(node, "backend", 0)
        if arg is None:
            return
        if is_none(arg.value):
            fix = cx.fix("compile for neuron", cx.arguments(node).value(arg, cx.literal("neuron", node)))
            cx.report(arg, "the default backend becomes neuron", best, fix=fix)
            return
        value = BackendValue(arg.value, node, cx)
        if value.why:
            cx.report(arg, value.why, Safety.MANUAL, severity=value.severity, evidence=value.evidence)
        elif value.changes:
            fix = cx.fix("compile for neuron", *value.changes)
            cx.report(arg, f"{value.old} becomes neuron", best.at_most(value.safety), fix=fix, evidence=value.evidence)

    # nn.Module.compile ------------------------------------------------------------------------------------------

    def _method(self, node: cst.Call, func: cst.Attribute, cx: Context) -> None:
        """`model.compile(...)`: torch's where the receiver is a module."""
        given = {a.keyword.value for a in node.args if a.keyword is not None}
        if given - TORCH_KEYWORDS or any(a.keyword is None and not a.star for a in node.args):
            return
        kind = cx.shared(Modules).kind(func.value)
        own = cx.own_method("compile")
        if kind.verdict == NO or (own and not given & TORCH_KEYWORDS and kind.verdict != YES):
            return
        here = cx.options.path in cx.facts.methods.get("compile", ())
        if kind.verdict == YES and not here:
            best = Safety.REVIEW if own else Safety.SAFE
            why = [(func.value, kind.why), (func.value, own)] if own else [(func.value, kind.why)]
            CompileArguments(node, func.attr, cx, best, why).check()
        elif not own and given & TORCH_KEYWORDS:
            why = [(func.value, "nothing here says what the receiver is; its arguments are those of torch")]
            CompileArguments(node, func.attr, cx, Safety.REVIEW, why).check()
        elif "torch" in cx.index.names and cx.string(_backend(node, cx)) not in BACKENDS_KEPT | {"neuron"}:
            message = f"if this is nn.Module.compile: {_NEEDED}"
            evidence = [(func.value, own)] if own else []
            cx.report(func.attr, message, Safety.MANUAL, severity=WARNING, evidence=evidence)


def _backend(call: cst.Call, cx: Context) -> cst.BaseExpression | None:
    arg = cx.argument(call, "backend")
    return arg.value if arg is not None else None
