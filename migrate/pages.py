"""Rule pages and their index, generated from the rules: `python -m migrate.pages docs/rules`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from transforms.engine.model import Rule, Safety

INDEX = "README.md"
FAMILIES = {
    "0": "The tool itself",
    "1": "Device",
    "2": "Precision",
    "3": "Compile",
    "4": "Distributed and collectives",
    "5": "Memory layout",
    "6": "Shapes, warm-up, timing",
    "7": "PyTorch/XLA and older Neuron libraries",
    "8": "Kernels and third-party packages",
    "9": "Project files and notes",
}
LEVELS = {
    Safety.SAFE: "applied by `run`, at every level",
    Safety.REVIEW: "applied by `run`; rests on something that the tool can't prove, so look at it",
    Safety.OFFER: "applied by `run --level offer` alone; not needed to run",
    Safety.MANUAL: "never edited; says what to do",
    Safety.NOTE: "advice, without a place to change",
}


@dataclass(frozen=True)
class Case:
    """A fixture that shows a rule at work, or one that shows when it stays silent. `path` is seen from the pages."""

    path: str
    title: str
    changes: bool


def page(rule: Rule, cases: Iterable[Case] = ()) -> str:
    """The page of a rule as Markdown; `cases` are the fixtures that are kept for it."""
    parts = [f"# {rule.name} ({rule.code})", "## What it does", _sentence(rule.summary)]
    if rule.why:
        parts += ["## Why", rule.why]
    if rule.examples:
        parts.append("## Example" if len(rule.examples) == 1 else "## Examples")
    for old, new in rule.examples:
        parts += [_block(old), "stays as it is:" if old == new else "becomes", *([] if old == new else [_block(new)])]
    parts += ["## Fix safety", f"At best `{rule.best.value}`: {LEVELS[rule.best]}.", rule.argument]
    if rule.silent:
        parts += ["## When it stays silent", rule.silent]
    known = sorted(cases, key=lambda c: (not c.changes, c.path))
    if known:
        rows = [f"- [{c.title}]({c.path}){'' if c.changes else ': left alone'}" for c in known]
        parts += ["## Cases", "Each of them is a test.", "\n".join(rows)]
    parts += ["## Source", f"{rule.source.rstrip('.')}. Neuron SDK {', '.join(rule.sdk)}."]
    parts.append(f"`# neuron: keep[{rule.code}] reason` on a statement holds this rule back there.")
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def index(rules: Iterable[Rule]) -> str:
    """The index of all rules: code, name, best level, summary, and the argument for every `safe`."""
    parts = [
        "# Rules",
        "Every rule with the best level that its fixes reach. A single finding may be less certain than that. "
        "What `safe` promises, and which differences it admits, stands in [differences](../differences.md).",
        "\n".join(["| level | means |", "|:--|:--|", *(f"| `{s.value}` | {text} |" for s, text in LEVELS.items())]),
    ]
    groups: dict[str, list[Rule]] = {}
    for rule in sorted(rules, key=lambda r: r.code):
        groups.setdefault(_family(rule), []).append(rule)
    for family, members in groups.items():
        rows = [
            f"| [{r.code}]({r.code}.md) | {r.name} | {r.best.value} | {_cell(r.summary)} | "
            f"{_cell(r.argument) if r.best is Safety.SAFE else ''} |"
            for r in members
        ]
        head = ["| code | name | best | what it does | why it may be called safe |", "|:--|:--|:--|:--|:--|"]
        parts += [f"## {family}", "\n".join(head + rows)]
    return "\n\n".join(parts) + "\n"


def pages(fixtures: Path) -> dict[str, str]:
    """All files of the folder with the rule pages, by name. `fixtures` is the folder with the cases of the rules."""
    from transforms.registry import rules

    every = list(rules())
    found = {f"{rule.code}.md": page(rule, cases_of(rule, fixtures)) for rule in every}
    return {INDEX: index(every), **found}


def cases_of(rule: Rule, fixtures: Path) -> list[Case]:
    """The fixtures in the folder that bears the rule's name, `fixtures/<family>/<rule>/<case>.in.py`."""
    found = []
    for folder in sorted(fixtures.glob("*/*/")):
        if folder.name.replace("_", "-") != rule.name:
            continue
        for case in sorted(folder.glob("*.in.py")):
            stem = case.name.removesuffix(".in.py")
            path = f"../../{fixtures.name}/{folder.parent.name}/{folder.name}/{case.name}"
            found.append(Case(path, stem.replace("_", " "), case.with_name(f"{stem}.out.py").exists()))
    return found


def write(folder: Path, fixtures: Path) -> list[str]:
    """Write the pages, remove those of rules that are gone, and give the names of the files that changed."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages(fixtures)
    changed = []
    for old in folder.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
            changed.append(old.name)
    for name, text in wanted.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            changed.append(name)
    return sorted(changed)


def _family(rule: Rule) -> str:
    digit = rule.code.removeprefix("TN")[:1]
    return FAMILIES.get(digit, "Other") if rule.code.startswith("TN") else "Other"


def _block(code: str) -> str:
    return f"```python\n{code.strip()}\n```"


def _sentence(text: str) -> str:
    return text.rstrip(".") + "."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(arguments: list[str]) -> int:
    """Entry point: `python -m migrate.pages FOLDER` in a checkout."""
    if len(arguments) != 1:
        print("usage: python -m migrate.pages docs/rules", file=sys.stderr)
        return 2
    changed = write(Path(arguments[0]), Path(__file__).parent.parent / "fixtures")
    print(f"{len(changed)} pages written or removed" + "".join(f"\n  {name}" for name in changed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
