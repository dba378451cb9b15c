"""The editor of the user, and the draft that outlives it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from migrate.journal import FOLDER
from migrate.review.byhand import NotPossible, check, edited, proposal
from migrate.review.log import Draft
from migrate.review.session import Session
from migrate.review.terminal import Terminal
from migrate.review.units import Unit


def command() -> list[str]:
    """The user's editor: $VISUAL, $EDITOR, else the first of vi and nano. Raises NotPossible when there is none."""
    for name in ("VISUAL", "EDITOR"):
        value = os.environ.get(name, "").strip()
        if value:
            return shlex.split(value)
    for program in ("vi", "nano"):
        if shutil.which(program):
            return [program]
    raise NotPossible("there is no editor: set $EDITOR")


def write_by_hand(
    session: Session, unit: Unit, terminal: Terminal, choose: Callable[[str, str], str]
) -> tuple[Draft, ...]:
    """Let somebody write what a unit becomes; empty when nothing was decided.

    The draft lies in `.neuron-migrate/drafts/` until its text is taken or given up, so a kill loses none of it.
    """
    program = command()
    choice = session.choices.get(unit)
    earlier = choice.drafts if choice is not None else session.earlier_drafts(unit)
    fitting = tuple(d for d in earlier if d.kind == "edit" and d.old in session.text(d.path))
    text, parts = proposal(unit, session.files, fitting if len(fitting) == len(earlier) else ())
    draft = session.root / FOLDER / "drafts" / f"{unit.first.id}.py"
    if not draft.exists():
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    while True:
        _run(program, draft, terminal)
        try:
            written = draft.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise NotPossible(f"{draft}: can't be read: {error.strerror}") from None
        try:
            drafts = edited(written, parts, session.files)
            if drafts:
                check(unit, drafts, session.files)
        except NotPossible as problem:
            if choose(f"{problem}. e edits again, any other key gives the text up", "e"):
                continue
            drafts = ()
        with contextlib.suppress(OSError):
            draft.unlink()
        return drafts


def _run(program: list[str], draft: Path, terminal: Terminal) -> None:
    with terminal.lent():
        try:
            code = subprocess.call([*program, str(draft)])
        except OSError as error:
            raise NotPossible(f"{program[0]}: can't be started: {error.strerror}; set $EDITOR") from None
    if code:
        raise NotPossible(f"{program[0]} ended with {code}; your text is in {draft}, e opens it again")
