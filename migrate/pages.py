"""Rule pages, generated from the rules."""

from __future__ import annotations

from transforms.engine.model import Rule


def page(rule: Rule) -> str:
    """The page of a rule as Markdown."""
    parts = [f"# {rule.name} ({rule.code})", rule.summary.rstrip(".") + "."]
    if rule.why:
        parts += ["## Why", rule.why]
    for old, new in rule.examples:
        parts += ["## Example", f"```python\n{old.strip()}\n```", "becomes", f"```python\n{new.strip()}\n```"]
    parts += ["## Fix safety", f"At best `{rule.best.value}`. {rule.argument}"]
    if rule.silent:
        parts += ["## When it stays silent", rule.silent]
    parts += ["## Source", f"{rule.source}. Neuron SDK {', '.join(rule.sdk)}."]
    return "\n\n".join(parts) + "\n"
