"""What has to change in the arguments of one call that has torch.compile's keywords."""

from __future__ import annotations

from collections.abc import Sequence

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
from transforms.compile.keywords import Keyword, Keywords, assignment, has_plain_keys, only_for
from transforms.engine.changes import Change
from transforms.engine.context import Context, PendingFix
from transforms.engine.entries import Entries
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.names import is_none
from transforms.flow.conditions import elsewhere
from transforms.flow.effects import side_effects
from transforms.tables.compile import OPTIONS_KEPT

_Evidence = list[tuple[cst.CSTNode, str]]


class CompileArguments:
    """The arguments of one call.

    `site` stands for what is missing, `best` is the level that the callee allows, `why` what that rests on. `offers`:
    the call knows `fullgraph`, too.
    """

    def __init__(
        self,
        call: cst.Call,
        site: cst.CSTNode,
        cx: Context,
        best: Safety,
        why: Sequence[tuple[cst.CSTNode, str]] = (),
        offers: bool = True,
    ) -> None:
        self.call = call
        self.site = site
        self.cx = cx
        self.best = best
        self.why = why
        self.offers = offers
        self.keywords = Keywords(call, cx)
        self.more: list[Change] = []
        self.found: list[tuple[cst.CSTNode, str, Rule, Safety, _Evidence]] = []

    def check(self) -> None:
        """Report every argument that has to change; all of them are one fix."""
        cx = self.cx
        if (test := elsewhere(self.call, cx)) is not None:
            cx.keep(self.site, f"runs on another device, by the test {cx.code(test)}", rule=COMPILE_BACKEND)
            return
        if self.keywords.why:
            message = (
                f'{self.keywords.why}: torch.compile needs backend="neuron" and dynamic=False, and no mode or options'
            )
            cx.report(self.site, message, Safety.MANUAL, rule=COMPILE_BACKEND, evidence=self.why)
            return
        if self._disabled() or not self._backend():
            return
        self._dropped("mode", COMPILE_MODE, "the neuron backend has no modes")
        self._options()
        self._dropped("shapes_spec", COMPILE_SHAPES_SPEC, "shapes are static on Trainium")
        self._dynamic()
        fix = cx.fix("compile for neuron", *self.keywords.changes, *self.more)
        for site, message, rule, safety, evidence in self.found:
            self._report(site, message, rule, safety, fix, evidence)
        if self.offers:
            self._fullgraph()

    def _report(
        self, site: cst.CSTNode, message: str, rule: Rule, safety: Safety, fix: PendingFix, evidence: _Evidence
    ) -> None:
        level = safety.at_most(self.best)
        self.cx.report(site, message, level, rule=rule, fix=fix, evidence=[*self.why, *evidence])

    def _say(
        self,
        site: cst.CSTNode,
        message: str,
        rule: Rule,
        safety: Safety | None = None,
        evidence: _Evidence | None = None,
    ) -> None:
        self.found.append((site, message, rule, safety or self.best, evidence or []))

    def _disabled(self) -> bool:
        """Whether `disable=True` says that nothing is compiled."""
        keyword = self.keywords.get("disable")
        return keyword is not None and isinstance(keyword.value, cst.Name) and keyword.value.value == "True"

    # backend ----------------------------------------------------------------------------------------------------

    def _backend(self) -> bool:
        """Set the backend. False when the call is to be left alone."""
        cx = self.cx
        keyword = self.keywords.get("backend")
        if keyword is None or is_none(keyword.value):
            if keyword is None:
                self.keywords.append("backend", cx.literal("neuron", self.call))
            else:
                self.keywords.value(keyword, cx.literal("neuron", self.call))
            site = self.site if keyword is None else keyword.node
            self._say(site, 'torch.compile needs backend="neuron", dynamic=False', COMPILE_BACKEND)
            return True
        value = BackendValue(keyword.value, self.call, cx)
        if value.kept:
            cx.keep(keyword.node, value.kept, rule=COMPILE_BACKEND)
            return False
        if value.why:
            cx.report(
                keyword.node,
                value.why,
                Safety.MANUAL,
                rule=COMPILE_BACKEND,
                severity=value.severity,
                evidence=value.evidence,
            )
            return False
        for site, message in value.unknown:
            cx.report(site, message, Safety.MANUAL, rule=COMPILE_BACKEND)
        for site in value.given:
            message = f"the backend {cx.code(site)} becomes neuron"
            self._say(site, message, COMPILE_BACKEND, Safety.REVIEW, value.evidence)
        if value.changes:
            self.more += value.changes
            self._say(keyword.node, f"{value.old} becomes neuron", COMPILE_BACKEND, value.safety, value.evidence)
        return True

    def _already(self) -> bool:
        backend = self.keywords.get("backend")
        return backend is not None and self.cx.string(backend.value) == "neuron"

    # arguments that go ------------------------------------------------------------------------------------------

    def _dropped(self, name: str, rule: Rule, why: str) -> None:
        keyword = self.keywords.get(name)
        if keyword is None:
            return
        calls = any(isinstance(n, (cst.Call, cst.Await, cst.NamedExpr)) for n in below(keyword.value))
        lost = side_effects(self.cx, keyword.value)
        self.keywords.drop(keyword)
        self._forget(keyword.value)
        evidence: _Evidence = lost or ([(keyword.value, "its value is no longer computed")] if calls else [])
        self._say(keyword.node, f"{name} is dropped: {why}", rule, Safety.REVIEW if calls else None, evidence)

    def _forget(self, value: cst.BaseExpression) -> None:
        """Take out the assignment of a variable that nothing reads any more, where it is a literal."""
        if not isinstance(value, cst.Name):
            return
        _, binding = only_for(value, self.cx)
        if binding is None or not isinstance(binding.value, (cst.SimpleString, cst.Dict, cst.Name)):
            return
        if isinstance(binding.value, cst.Name) and not is_none(binding.value):
            return
        if any(isinstance(n, (cst.Call, cst.Await, cst.NamedExpr)) for n in below(binding.value)):
            return
        statement = assignment(binding, self.cx)
        if statement is not None:
            self.more.append(self.cx.remove_statement(statement))

    def _options(self) -> None:
        keyword = self.keywords.get("options")
        if keyword is None:
            return
        value: cst.BaseExpression | None = keyword.value
        if isinstance(value, cst.Name) and (held := only_for(value, self.cx)[1]) is not None:
            value = held.value
        if value is None or is_none(value):
            self.keywords.drop(keyword)
            self._say(keyword.node, "options=None is dropped", COMPILE_OPTIONS)
            return
        if not isinstance(value, cst.Dict) or not has_plain_keys(value, self.cx):
            self.cx.report(
                keyword.node,
                "options are not written in place: only model_name, fallback_execution and "
                "guard_filter_fn mean something",
                Safety.MANUAL,
                rule=COMPILE_OPTIONS,
                severity=WARNING,
            )
            return
        self._strip(keyword, value)

    def _strip(self, keyword: Keyword, value: cst.Dict) -> None:
        """Take the keys out that mean nothing, and the argument when none is left."""
        gone = [
            e for e in value.elements if isinstance(e, cst.DictElement) and self.cx.string(e.key) not in OPTIONS_KEPT
        ]
        if value.elements and not gone:
            return
        if len(gone) == len(value.elements):
            self.keywords.drop(keyword)
            self._forget(keyword.value)
        else:
            entries = Entries(value)
            for entry in gone:
                entries.drop(entry)
            self.more.append(entries)
        named = ", ".join(self.cx.code(e.key) for e in gone) or "empty"
        lost = [step for e in gone for step in side_effects(self.cx, e.value)]
        message = f"options for Inductor are dropped: {named}"
        self._say(keyword.node, message, COMPILE_OPTIONS, Safety.REVIEW if lost else None, lost)

    # shapes and graph breaks ------------------------------------------------------------------------------------

    def _dynamic(self) -> None:
        cx = self.cx
        keyword = self.keywords.get("dynamic")
        if keyword is None and self._already():
            fix = cx.fix("static shapes are said", *self._appended("dynamic", "False"))
            message = "without dynamic=False the second shape turns symbolic, which the backend refuses"
            cx.report(self.site, message, Safety.OFFER, rule=COMPILE_DYNAMIC, fix=fix)
        elif keyword is None:
            self.keywords.append("dynamic", "False")
            self._say(self.site, "dynamic=False is said: shapes are static on Trainium", COMPILE_DYNAMIC)
        elif isinstance(keyword.value, cst.Name) and keyword.value.value == "False":
            return
        elif is_none(keyword.value):
            self.keywords.value(keyword, "False")
            self._say(keyword.node, "dynamic=None becomes dynamic=False", COMPILE_DYNAMIC)
        else:
            self.keywords.value(keyword, "False")
            literal = isinstance(keyword.value, cst.Name) and keyword.value.value == "True"
            lost = side_effects(cx, keyword.value)
            message = "dynamic=True is rejected" if literal else "dynamic may be true, which is rejected"
            message += ": each shape is compiled on its own"
            self._say(keyword.node, message, COMPILE_DYNAMIC, Safety.REVIEW, lost)

    def _appended(self, name: str, text: str) -> list[Change]:
        """The change that adds one argument and does nothing else."""
        keywords = Keywords(self.call, self.cx)
        keywords.append(name, text)
        return keywords.changes

    def _fullgraph(self) -> None:
        if self.keywords.get("fullgraph") is None:
            fix = self.cx.fix("graph breaks become errors", *self._appended("fullgraph", "True"))
            message = "fullgraph=True shows graph breaks at once"
            self.cx.report(self.site, message, Safety.OFFER, rule=COMPILE_FULLGRAPH, fix=fix)


def below(node: cst.CSTNode) -> list[cst.CSTNode]:
    """A node and all nodes in it."""
    found, stack = [], [node]
    while stack:
        here = stack.pop()
        found.append(here)
        stack += here.children
    return found
