"""The value of `backend`: a literal, or something that this file knows."""

from __future__ import annotations

import libcst as cst

from transforms.engine.changes import Change, Replace
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.flow.conditions import asks_for_neuron
from transforms.flow.places import option_destination
from transforms.tables.compile import BACKENDS_KEPT, BACKENDS_REPLACED, COMPILE_NAMES, OPTIMIZE_NAMES

_BY_DEVICE = "the backend is chosen by a test of the device, and is neuron where that is"


class BackendValue:
    """What becomes of the backend of one call.

    `kept`: why it stays. `why`: why it can't be edited. Otherwise `changes` make it neuron
    (none when it is so already), `safety` and `evidence` say how sure that is. Of a parameter, `given` are the literals
    that calls of this file pass, which change too, and `unknown` what else they pass, with what to say of it.
    """

    def __init__(self, value: cst.BaseExpression, call: cst.Call, cx: Context) -> None:
        self.cx = cx
        self.call = call
        self.kept = ""
        self.why = ""
        self.severity = ERROR
        self.old = f"backend {cx.code(value)}"
        self.changes: list[Change] = []
        self.safety = Safety.SAFE
        self.evidence: list[tuple[cst.CSTNode, str]] = []
        self.given: list[cst.BaseExpression] = []
        self.unknown: list[tuple[cst.CSTNode, str]] = []
        self._look(value)

    def _look(self, value: cst.BaseExpression) -> None:
        if isinstance(value, (cst.SimpleString, cst.ConcatenatedString)):
            self._literal(value)
        elif isinstance(value, cst.IfExp) and self._arms(value):
            self._conditional(value)
        elif isinstance(value, cst.Name):
            self._name(value)
        elif isinstance(value, cst.Attribute) and not self.cx.origin(value).names:
            self._option(value)
        elif isinstance(value, (cst.Lambda, cst.Attribute)):
            self._unknown("a function is the backend: what it makes of the graph does not run on Trainium", WARNING)
        else:
            self._unknown()

    def _unknown(self, why: str = "", severity: str = ERROR) -> None:
        self.why = why or 'the backend is not a literal here: it has to be "neuron" on Trainium'
        self.severity = severity

    def _literal(self, node: cst.BaseExpression) -> None:
        name = self.cx.string(node)
        if name == "neuron":
            return
        if name in BACKENDS_KEPT:
            self.kept = f'"{name}" is a backend for debugging'
        elif name in BACKENDS_REPLACED:
            self.changes.append(Replace(node, neuron(node, self.cx)))
        else:
            self._unknown(f'the backend {self.cx.code(node)} is not known: it has to be "neuron" on Trainium', WARNING)

    # conditionals -----------------------------------------------------------------------------------------------

    def _arms(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The literals that a conditional chooses from, none when one of them is something else."""
        if isinstance(node, cst.IfExp):
            left, right = self._arms(node.body), self._arms(node.orelse)
            return [*left, *right] if left and right else []
        known = self.cx.string(node) in BACKENDS_REPLACED | BACKENDS_KEPT | {"neuron"}
        return [node] if known or (isinstance(node, cst.Name) and node.value == "None") else []

    def _conditional(self, node: cst.IfExp) -> None:
        arms = self._arms(node)
        if self._by_device(arms):
            self.kept = _BY_DEVICE
        else:
            self._replace(arms)

    def _replace(self, arms: list[cst.BaseExpression]) -> None:
        for arm in arms:
            if self.cx.string(arm) not in BACKENDS_KEPT | {"neuron"}:
                self.changes.append(Replace(arm, neuron(arm, self.cx)))

    def _by_device(self, arms: list[cst.BaseExpression]) -> bool:
        """Whether one of the literals is neuron, chosen by a test that asks for neuron."""
        if all(self.cx.string(arm) != "neuron" for arm in arms):
            return False
        above = [a for arm in arms for a in self.cx.index.ancestors(arm)]
        return any(isinstance(a, (cst.If, cst.IfExp)) and asks_for_neuron(a.test, self.cx) for a in above)

    # names ------------------------------------------------------------------------------------------------------

    def _name(self, name: cst.Name) -> None:
        names = self.cx.names
        found = names.bindings(name.value, names.scope(name))
        if self.cx.origin(name).names or any(b.kind in ("def", "class", "import") for b in found):
            self._unknown("a function is the backend: what it makes of the graph does not run on Trainium", WARNING)
            return
        if len(found) == 1 and found[0].value is None and found[0].kind == "param":
            if self._only_backend(name.value, found[0].scope) and self._passed(name.value, found[0].scope):
                self.old = f"what calls pass for {name.value}"
            else:
                self._unknown()
            return
        values = [b.value for b in found if b.value is not None]
        parameter = len(found) == 1 and found[0].kind == "param"
        if not values or len(values) < len(found) or not (parameter or all(b.kind == "assign" for b in found)):
            self._unknown()
            return
        if any(isinstance(value, cst.Lambda) for value in values):
            self._unknown("a function is the backend: what it makes of the graph does not run on Trainium", WARNING)
            return
        each = [self._arms(value) for value in values]
        arms = [arm for some in each for arm in some]
        if not all(each):
            self._unknown()
        elif self._by_device(arms):
            self.kept = _BY_DEVICE
        elif not self._only_backend(name.value, found[0].scope):
            self._at_call(name, arms, parameter)
        else:
            texts = {self.cx.string(arm) for arm in arms}
            if parameter:
                self._passed(name.value, found[0].scope)
            if texts <= BACKENDS_KEPT and not (self.changes or self.unknown):
                self.kept = f"{' or '.join(map(self.cx.code, arms))} is a backend for debugging"
                return
            self._replace(arms)
            gone = [c.node for c in self.changes if isinstance(c, Replace)] if len(values) > 1 else values
            self.old = f"{name.value} = {' or '.join(map(self.cx.code, gone))}"
            if parameter:
                self.safety = Safety.REVIEW
                self.evidence.append((found[0].node, "a default value: callers may pass another backend"))

    def _passed(self, name: str, function: cst.CSTNode) -> bool:
        """Look at what the calls of this file pass for a parameter; False when there is no such call."""
        if not isinstance(function, cst.FunctionDef):
            return False
        cx, names = self.cx, [p.name.value for p in (*function.params.posonly_params, *function.params.params)]
        found = False
        for call in cx.index.nodes(cst.Call):
            bound = next((own for f, own in cx.devices.places.called(call) if f is function), None)
            if bound is None:
                continue
            arg = cx.argument(call, name, names.index(name) - bound if name in names else None)
            if arg is None:
                if any(a.star for a in call.args):
                    self.unknown.append((call.func, f'{name} may be unpacked here: it has to be "neuron" on Trainium'))
                continue
            found = True
            for arm in self._arms(arg.value) or [arg.value]:
                text = cx.string(arm)
                if text in BACKENDS_REPLACED:
                    self.changes.append(Replace(arm, neuron(arm, cx)))
                    self.given.append(arm)
                elif text not in BACKENDS_KEPT | {"neuron"} and not _passes_on(arm, name):
                    self.unknown.append((arm, f'{name} is the backend of torch.compile: it has to be "neuron"'))
        self.safety = Safety.REVIEW
        return found

    def _at_call(self, name: cst.Name, arms: list[cst.BaseExpression], parameter: bool) -> None:
        """A variable that says the backend and is used for other things too: it stays, and the call names neuron."""
        texts = {self.cx.string(arm) for arm in arms}
        if parameter or not texts.isdisjoint(BACKENDS_KEPT | {"neuron"}):
            self._unknown(f'{name.value} has other uses: set it to "neuron" where that is right for all of them')
            return
        self.changes.append(Replace(name, self.cx.literal("neuron", name)))
        self.safety = Safety.REVIEW
        self.evidence.append((name, f"{name.value} has other uses and keeps its value"))

    def _only_backend(self, name: str, scope: cst.CSTNode) -> bool:
        """Whether all uses of a variable are backends of torch.compile, in this file."""
        if isinstance(scope, cst.ClassDef) or (isinstance(scope, cst.Module) and self.cx.facts.importers.get(name)):
            return False
        return all(self._is_backend(use) for use in self.cx.names.uses(name, scope))

    def _is_backend(self, use: cst.Name) -> bool:
        arg = self.cx.parent(use)
        call = self.cx.parent(arg) if arg is not None else None
        if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call):
            return False
        names = self.cx.origin(call.func).names
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if call is self.call:
            return keyword == "backend" or not keyword
        return keyword == "backend" and bool(names & (COMPILE_NAMES | OPTIMIZE_NAMES))

    # options of the command line --------------------------------------------------------------------------------

    def _option(self, value: cst.Attribute) -> None:
        """`args.backend`, where argparse in this file says what it is when nothing is given."""
        for call in self.cx.index.nodes(cst.Call):
            if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "add_argument":
                continue
            if option_destination(self.cx, call) != value.attr.value:
                continue
            if self.cx.argument(call, "choices") is not None:
                self._unknown('the backend is an option with fixed choices: add "neuron" to them and pass it')
                self.evidence.append((call, "the option"))
                return
            self._defaults(call, value)
            return
        self._unknown()

    def _defaults(self, option: cst.Call, value: cst.Attribute) -> None:
        for name in ("default", "const"):
            arg = self.cx.argument(option, name)
            if arg is not None and self.cx.string(arg.value) in BACKENDS_REPLACED:
                self.changes.append(Replace(arg.value, neuron(arg.value, self.cx)))
        settled = any(
            arg is not None and self.cx.string(arg.value) == "neuron"
            for arg in (self.cx.argument(option, "default"), self.cx.argument(option, "const"))
        )
        if self.changes:
            self.old = f"the default of {value.attr.value}"
            self.safety = Safety.REVIEW
            self.evidence.append((option, "the option: a command line may still name another backend"))
        elif not settled:
            self._unknown(f"the backend comes from the command line: pass neuron for {value.attr.value}")
            self.evidence.append((option, "the option"))


def _passes_on(node: cst.BaseExpression, name: str) -> bool:
    """Whether None is given, which the function must know of, or a parameter of the same name."""
    return isinstance(node, cst.Name) and node.value in ("None", name)


def neuron(old: cst.CSTNode, cx: Context) -> str:
    """The literal that takes the place of another one, in its quotes."""
    if isinstance(old, cst.SimpleString) and len(old.quote) == 1:
        return f"{old.quote}neuron{old.quote}"
    return cx.literal("neuron", old)
