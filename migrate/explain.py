"""`explain`: the page of a rule, or everything that is known about a line."""

from __future__ import annotations

from pathlib import Path

import click


def explain_rule(word: str) -> str:
    """The page of a rule as Markdown. Raises click.UsageError with the nearest names."""
    from difflib import get_close_matches

    from migrate.pages import page
    from transforms.registry import find, rules

    rule = find(word)
    if rule is None:
        names = [w for r in rules() for w in (r.code, r.name)]
        near = get_close_matches(word, names, 3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; neuron-migrate rules lists them"
        raise click.UsageError(f"there is no rule {word}{hint}")
    return page(rule)


def explain_line(path: Path, line: int) -> str:
    """Findings, kept sites, evidence and fixes of one line. Raises click.UsageError for a line that is not there."""
    from migrate.discover import find_root
    from migrate.pipeline import run_pipeline
    from migrate.settings import load_settings

    root = find_root([path])
    result = run_pipeline(root, [path], load_settings(root))
    lines: list[str] = []
    for file in result.files:
        if file.source is None:
            lines.append(f"{file.path}: {file.reason or file.status}")
            continue
        last = file.source.position(len(file.source.text))[0]
        if not 1 <= line <= last:
            raise click.UsageError(f"{file.path} has {last} lines; there is no line {line}")
        start = file.source.line_start(line)
        lines.append(f"{file.path}:{line}: {file.source.text[slice(*file.source.line_bounds(start))].strip()}")
        for item in file.items:
            first, until = file.source.position(item.start)[0], file.source.position(item.end)[0]
            if not first <= line <= until:
                continue
            level = item.safety.value if item.safety is not None else "kept"
            lines.append(f"  {item.rule} {item.name}, {level}, {item.status}: {item.message}")
            if item.reason and item.reason != item.message:
                lines.append(f"    because {item.reason}")
            for step in item.evidence:
                where = file.source.position(step.start)[0]
                lines.append(f"    evidence, line {where}: {step.text}")
            if item.fix is not None:
                lines.append(f"    fix: {item.fix.fix.description}")
                for edit in item.fix.edits:
                    place = ":".join(map(str, file.source.position(edit.start)))
                    lines.append(f"      {place}: {file.source.text[edit.start : edit.end]!r} -> {edit.text!r}")
        if len(lines) == 1:
            lines.append("  nothing is known about this line")
    return "\n".join(lines)
