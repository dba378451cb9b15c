"""The names of the rules that hazards belong to."""

from __future__ import annotations

# Met only while a program runs: `neuron-migrate check` has no rule for them. The guide explains each one.
RUN_TIME = {
    "TN125": "mixed-devices",
    "TN350": "graph-break",
    "TN351": "host-sync",
    "TN352": "print-in-region",
    "TN353": "data-dependent-control",
    "TN354": "data-dependent-shape",
    "TN355": "sort-limit",
    "TN356": "topk-limit",
    "TN357": "grouped-mm",
    "TN360": "cpu-input",
    "TN361": "recompile",
    "TN362": "object-collective-in-region",
    "TN363": "dynamic-shape",
    "TN364": "recompile-limit",
    "TN450": "functional-collective",
    "TN451": "async-collective",
    "TN501": "non-contiguous-input",
    "TN502": "channels-last",
}


def name(code: str) -> str:
    """What people call the rule of `code`."""
    from transforms.registry import by_code

    return by_code()[code].name if code in by_code() else RUN_TIME.get(code, "")
