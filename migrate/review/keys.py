"""The keys of the review, in one table that the program obeys, its help page shows and the guide repeats."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Binding:
    """What a key does: `action` names the method that does it, `says` tells people."""

    keys: tuple[str, ...]
    action: str
    says: str
    section: str


_DECIDE, _LOOK, _MOVE, _END = "Decide", "Look", "Move", "Undo, write, leave"
TABLE = (
    Binding(("y",), "accept", "accept this change", _DECIDE),
    Binding(("n",), "reject", "reject it: it is not offered again", _DECIDE),
    Binding(("a",), "accept_file", "accept this one and the rest of the file", _DECIDE),
    Binding(("d",), "reject_file", "reject this one and the rest of the file", _DECIDE),
    Binding(("r",), "whole_rule", "decide all that is left of this rule, in all files", _DECIDE),
    Binding(("l",), "whole_level", "decide all that is left of this level, in all files", _DECIDE),
    Binding(("e",), "edit", "write the new text yourself, in $EDITOR", _DECIDE),
    Binding(("c",), "comment", "write a comment '# neuron: keep' instead", _DECIDE),
    Binding(("o",), "keep", "it is right as it is: keep it, with a reason", _DECIDE),
    Binding(("x",), "done", "it is done, by hand or elsewhere", _DECIDE),
    Binding(("z",), "again", "take back what is decided here, and ask again", _DECIDE),
    Binding(("v",), "evidence", "the evidence, step by step", _LOOK),
    Binding(("i",), "rule_page", "the page of the rule", _LOOK),
    Binding((" ", "page down"), "page_down", "more of a long change", _LOOK),
    Binding(("b", "page up"), "page_up", "back up", _LOOK),
    Binding(("down",), "line_down", "one line down", _LOOK),
    Binding(("up",), "line_up", "one line up", _LOOK),
    Binding(("?", "h"), "help", "this page", _LOOK),
    Binding(("j",), "next_open", "the next undecided one", _MOVE),
    Binding(("k",), "previous_open", "the undecided one before", _MOVE),
    Binding(("right", "tab"), "next", "the next one, decided or not", _MOVE),
    Binding(("left", "back tab"), "previous", "the one before", _MOVE),
    Binding(("]",), "next_file", "the next file", _MOVE),
    Binding(("[",), "previous_file", "the file before", _MOVE),
    Binding(("/",), "search", "search paths, rules, messages and code; / and Enter again", _MOVE),
    Binding(("u",), "undo", "undo the last decision; again for the one before", _END),
    Binding(("w",), "write", "write what is decided: files and lock file", _END),
    Binding(("q", "eof"), "quit", "leave; what is decided waits for the next time", _END),
    Binding(("\x03",), "interrupt", "the same", _END),
    Binding(("\x1a",), "suspend", "to the shell, until fg", _END),
)
ACTIONS = {key: binding.action for binding in TABLE for key in binding.keys}
_SHOWN = {" ": "space", "\x03": "Ctrl-C", "\x1a": "Ctrl-Z"}


def shown(binding: Binding) -> str:
    """The keys of a binding as people name them."""
    return ", ".join(_SHOWN.get(key, key) for key in binding.keys if key != "eof")


def sections() -> dict[str, list[Binding]]:
    """The table by section."""
    found: dict[str, list[Binding]] = {}
    for binding in TABLE:
        found.setdefault(binding.section, []).append(binding)
    return found
