"""The keyword arguments of a call, those of a dict that it unpacks included, and what a change to them edits."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from transforms.engine.arguments import Arguments
from transforms.engine.changes import Change
from transforms.engine.context import Context
from transforms.engine.entries import Entries
from transforms.engine.names import Binding


@dataclass(frozen=True, eq=False)
class Keyword:
    """One argument: the node that stands for it (an argument or an entry of a dict) and its value."""

    node: cst.CSTNode
    value: cst.BaseExpression


class Keywords:
    """Arguments of one call by name. `why` says why they can't all be known; then nothing is to be changed."""

    def __init__(self, call: cst.Call, cx: Context) -> None:
        self.cx = cx
        self.call = call
        self.arguments = cx.arguments(call)
        self.entries: Entries | None = None
        self.shown: cst.Call | None = None
        self.why = ""
        self._display = self._unpacked()
        if isinstance(self._display, cst.Dict):
            self.entries = Entries(self._display)
        elif isinstance(self._display, cst.Call):
            self.shown = self._display
            self._inner = cx.arguments(self._display)

    @property
    def changes(self) -> list[Change]:
        """Everything that was asked for."""
        found: list[Change] = [self.arguments] if self.arguments else []
        if self.entries is not None:
            found.append(self.entries)
        if self.shown is not None and self._inner:
            found.append(self._inner)
        return found

    def get(self, name: str) -> Keyword | None:
        """The argument given for a keyword."""
        arg = self.cx.argument(self.call, name)
        if arg is None and self.shown is not None:
            arg = self.cx.argument(self.shown, name)
        if arg is not None:
            return Keyword(arg, arg.value)
        if self.entries is not None:
            for entry in self.entries.node.elements:
                if isinstance(entry, cst.DictElement) and self.cx.string(entry.key) == name:
                    return Keyword(entry, entry.value)
        return None

    def drop(self, keyword: Keyword) -> None:
        """Take an argument out."""
        if isinstance(keyword.node, cst.DictElement):
            assert self.entries is not None
            self.entries.drop(keyword.node)
        else:
            assert isinstance(keyword.node, cst.Arg)
            self._holder(keyword.node).drop(keyword.node)

    def value(self, keyword: Keyword, text: str) -> None:
        """Give an argument another value."""
        if isinstance(keyword.node, cst.DictElement):
            assert self.entries is not None
            self.entries.value(keyword.node, text)
        else:
            assert isinstance(keyword.node, cst.Arg)
            self._holder(keyword.node).value(keyword.node, text)

    def append(self, name: str, text: str) -> None:
        """Add an argument, to the dict that is unpacked when there is one."""
        if self.entries is not None:
            self.entries.append(f"{self.cx.literal(name, self.call)}: {text}")
        elif self.shown is not None:
            self._inner.append(f"{name}={text}")
        else:
            self.arguments.append(f"{name}={text}")

    def _holder(self, arg: cst.Arg) -> Arguments:
        return self.arguments if any(a is arg for a in self.call.args) else self._inner

    # what is unpacked -------------------------------------------------------------------------------------------

    def _unpacked(self) -> cst.Dict | cst.Call | None:
        """The dict display or `dict()` call that the call unpacks and nobody else uses."""
        stars = [a for a in self.call.args if a.star]
        if not stars:
            return None
        value = stars[0].value
        if len(stars) > 1 or stars[0].star != "**":
            self.why = "arguments are unpacked"
            return None
        if isinstance(value, cst.Name):
            self.why, held = only_for(value, self.cx)
            value = held.value if held is not None and held.value is not None else value
        if self.why or not self._plain(value):
            self.why = self.why or "what is unpacked is no dict that is written out with its keys"
            return None
        assert isinstance(value, (cst.Dict, cst.Call))
        return value

    def _plain(self, value: cst.BaseExpression) -> bool:
        if isinstance(value, cst.Dict):
            return has_plain_keys(value, self.cx)
        if isinstance(value, cst.Call) and self.cx.origin(value.func).name == "builtins.dict":
            return all(a.keyword is not None for a in value.args)
        return False


def has_plain_keys(value: cst.Dict, cx: Context) -> bool:
    """Whether all keys of a dict display are text literals."""
    return all(isinstance(e, cst.DictElement) and cx.string(e.key) is not None for e in value.elements)


def only_for(name: cst.Name, cx: Context) -> tuple[str, Binding | None]:
    """The one assignment of a variable that is read here and nowhere else, or why there is none."""
    names = cx.names
    found = names.bindings(name.value, names.scope(name))
    if found and all(b.kind == "param" for b in found):
        return f"{name.value} comes from the caller", None
    if len(found) != 1 or found[0].kind != "assign" or found[0].value is None:
        return f"{name.value} is not set once, in this file", None
    scope = found[0].scope
    if len(names.uses(name.value, scope)) != 1:
        return f"{name.value} has other uses", None
    if isinstance(scope, cst.ClassDef) or (isinstance(scope, cst.Module) and cx.facts.importers.get(name.value)):
        return f"{name.value} is used in other files", None
    return "", found[0]


def assignment(binding: Binding, cx: Context) -> cst.Assign | None:
    """The statement of a binding, where it binds one name and can be left out without a trace."""
    target = cx.parent(binding.node)
    statement = cx.parent(target) if target is not None else None
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1 or statement.targets[0] is not target:
        return None
    whole = isinstance(binding.scope, cst.Module)
    return None if whole and (cx.names.executes or cx.facts.importers.get("*")) else statement
