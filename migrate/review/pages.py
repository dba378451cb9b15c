"""The pages that lie over the review for a while: keys, evidence, a rule, the greeting."""

from __future__ import annotations

import re
from collections import Counter

from rich.text import Text

from migrate.decisions import Decision
from migrate.review.keys import sections, shown
from migrate.review.layout import DIM, fold, wrap
from migrate.review.log import Choice
from migrate.review.session import Session
from migrate.review.units import Unit
from migrate.review.view import code, line_of, place_of


def keys_page(width: int) -> list[Text]:
    """All keys."""
    lines: list[Text] = []
    for section, bindings in sections().items():
        lines += [Text(section, style="bold")]
        for binding in bindings:
            label = f"  {shown(binding):<18}"
            pieces = wrap(binding.says, max(width - len(label), 20))
            lines.append(Text.assemble((label, "bold"), pieces[0]))
            lines += [Text.assemble(" " * len(label), piece) for piece in pieces[1:]]
        lines.append(Text())
    lines += wrap("Nothing is written to your files before w, and every decision is on the disk at once.", width)
    return lines


def evidence_page(session: Session, unit: Unit, width: int) -> list[Text]:
    """Every step of the reasoning, with the code that it speaks of."""
    lines: list[Text] = []
    for item in unit.items:
        head = f"{item.rule} {item.name}, {item.path}:{line_of(session, item)}"
        lines += [*wrap(head, width, "  ", "bold"), *wrap(item.message, width)]
        if item.reason and item.reason != item.message:
            lines += wrap(f"because {item.reason}", width, "  ")
        if item.scope:
            lines += wrap(f"in {item.scope}", width, "  ", DIM)
        for number, step in enumerate(item.evidence, 1):
            where = place_of(session, item, step.start, step.path)
            lines += wrap(f"{number}. {where}: {step.text}", width, "   ")
            file = session.files.get(step.path or item.path)
            if file is not None and file.source is not None:
                start, end = file.source.line_bounds(min(step.start, len(file.source.text)))
                lines += fold(Text("      " + file.source.text[start:end].strip(), style=DIM), width)
        if not item.evidence:
            lines += wrap("The code itself is all the evidence.", width, "", DIM)
        for state in [item.fix] if item.fix is not None else []:
            lines += wrap(f"The fix: {state.fix.description}.", width, "  ")
        lines += [Text(), *code(session, item, width), Text()]
    return lines


def markdown_page(text: str, width: int) -> list[Text]:
    """A rule's page: headings, code and paragraphs in the terminal's own colours, on light and dark alike."""
    lines: list[Text] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            lines += fold(Text("    " + line, style="cyan"), width)
        elif line.startswith("#"):
            lines += [Text(line.lstrip("# "), style="bold underline" if line.startswith("# ") else "bold")]
        elif line.strip():
            bullet = "  " if re.match(r"[-*] ", line) else ""
            lines += wrap(line.replace("`", ""), width, bullet)
        else:
            lines.append(Text())
    return lines


def counted(number: int, word: str, plural: str = "") -> str:
    """A number with its noun."""
    return f"{number} {word if number == 1 else plural or word + 's'}"


def greeting(session: Session, width: int, news: list[str]) -> list[Text]:
    """What waits from before, and which of it fits nothing any more; empty for a fresh start."""
    lines: list[Text] = []
    waiting = session.waiting_count
    if waiting:
        verdicts = Counter(c.verdict for u in session.waiting if (c := session.choices.get(u)) is not None)
        parts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
        lines += [Text(f"{counted(waiting, 'decision')} waiting, w writes {'it' if waiting == 1 else 'them'}.", "bold")]
        lines += [*wrap(parts, width, "", DIM), Text()] if parts else [Text()]
    again = len(session.notes)
    if again:
        lines += wrap(f"{counted(again, 'decision')} {'needs' if again == 1 else 'need'} a second look.", width)
    for line in news:
        lines += wrap(line, width, "  ")
    if session.stale:
        lines += [Text(), *wrap("Stale: decided before, but the code is gone or another one now.", width, "", "bold")]
        for decision in session.stale:
            lines += wrap(f"  {described(decision)}", width, "    ")
    if lines:
        left = session.left
        lines += [Text(), *wrap(f"{counted(left, 'finding')} left to decide." if left else "All is decided.", width)]
    return lines


def described(decision: Decision) -> str:
    """A decision in one line."""
    site = decision.site
    scope = f" {site.scope}" if site.scope else ""
    return f"{decision.verdict} {site.rule} {site.path}{scope}: {site.text}"


def taken_back(choice: Choice) -> str:
    """What an undo undid."""
    site = choice.sites[0]
    return f"{choice.verdict} {site.rule} in {site.path}"
