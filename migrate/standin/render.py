"""The report of `verify`, as text and as JSON (schema 1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from migrate.version import VERSION

from . import codes, compare
from .against import Original
from .launch import Program
from .numerics import described
from .results import SEVERITIES
from .verify import Report

SCHEMA = 1
LISTED = 10  # names in one line of the report
KIND_WORDS = {
    "loss": ("loss", "losses"),
    "parameters": ("parameter state", "parameter states"),
    "save": ("saved file", "saved files"),
    "print": ("printed number", "printed numbers"),
}


def text(report: Report) -> str:
    """The report for people: what needs attention first, the verdict last."""
    return "\n".join([*_lines(report), ""])


def _lines(report: Report) -> Iterator[str]:
    program, seen = report.request.program, report.seen
    ranks = f", {program.processes} processes" if program.processes else ""
    yield f"verify {program.target} on the CPU stand-in (torch {report.interpreter.torch}{ranks})"
    if report.ended.timed_out:
        yield f"  stopped by the time limit after {report.ended.seconds:.0f} s"
    elif report.ended.code:
        yield f"  failed with exit code {report.ended.code} after {report.ended.seconds:.1f} s"
    else:
        steps = f", {_plural(report.steps, 'optimizer step', 'optimizer steps')}" if report.steps else ""
        yield f"  ran to its end in {report.ended.seconds:.1f} s{steps}"
    yield from _hazards(report)
    if seen.unverified:
        yield "names not verified for Neuron SDK 2.33 (they work here):"
        for name, path, line in seen.unverified:
            yield f"  {_place(path, line)}: {name}"
    if seen.regions:
        yield "compiled regions:"
        for region in seen.regions:
            yield f"  {_place(region.path, region.line)}: {_plural(region.graphs, 'graph', 'graphs')}"
    if seen.checks:
        yield "compiled against eager:"
        for check in seen.checks:
            yield f"  {_place(check.path, check.line)}: {check.name}: {_check_words(check)}"
    yield from _comparison(report)
    yield f"result: {_verdict(report)}"


def _hazards(report: Report) -> Iterator[str]:
    hazards = report.seen.hazards
    if not hazards:
        yield "hazards: none"
        return
    counts = {s: sum(h.severity == s for h in hazards) for s in SEVERITIES}
    yield "hazards: " + ", ".join(_plural(n, s, f"{s}s") for s, n in counts.items() if n)
    for h in hazards:
        times = f" ({h.count} times)" if h.count > 1 else ""
        yield f"  {_place(h.path, h.line)}: {h.severity} {h.code} {codes.name(h.code)}: {h.message}{times}"


def _comparison(report: Report) -> Iterator[str]:
    compared = report.comparison
    if compared is None:
        return
    assert report.original is not None
    yield f"compared with {report.original.label} (the original, on the same stand-in):"
    if report.original.run is not None:
        yield from _restored(report.original)
    if report.numerics:
        yield f"  declared changes, made to the original too: {described(report.numerics)}"
    equal = [_plural(n, *KIND_WORDS[kind]) for kind, n in compared.counts.items() if n]
    if equal:
        yield f"  bit-equal: {', '.join(equal)}"
    if report.unstable:
        many = len(report.unstable) != 1
        yield (
            f"  left out: {len(report.unstable)} {'values that vary' if many else 'value that varies'} "
            f"from run to run: {_listed(compare.readable(report.unstable))}"
        )
    for difference in sorted(compared.differences, key=lambda d: d is not compared.first):
        yield f"  first difference: {difference}"
    if report.undeclared and not compared.equal:
        run, numerics = report.undeclared
        yield f"  the original was run without what {run} declares ({described(numerics)}): compare with {run}"
    if report.effect is not None:
        e = report.effect
        yield (
            f"  effect of the declared changes on {_plural(e.losses, 'loss', 'losses')}: at most {e.largest:.3g} "
            f"(step {e.step}: {e.at_largest[0]:.6g} -> {e.at_largest[1]:.6g}); "
            f"last {e.last[0]:.6g} -> {e.last[1]:.6g}"
        )


def _restored(original: Original) -> Iterator[str]:
    files = _plural(len(original.restored), "file", "files")
    yield f"  with the tree as it is now, except for the {files} of {original.label} and of later runs"
    if original.changed_since is None:
        yield "  whether other files have changed since is not known: no git commit to compare with"
    elif original.changed_since:
        changed = _listed(original.changed_since)
        yield f"  differ from git's HEAD, and are used as they are now on both sides: {changed}"


def _listed(names: Sequence[str]) -> str:
    left = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + left


def _check_words(check: Any) -> str:
    if check.equal is None:
        return str(check.detail)
    if check.equal:
        return "outputs and gradients are bit-equal" if check.exact else "outputs and gradients agree within rounding"
    return f"DIFFERENT: {check.detail}"


def _verdict(report: Report) -> str:
    if report.exit_code == 2:
        return f"nothing is proven: {report.undecided}"
    bad = []
    if report.ended.code and not report.ended.timed_out:
        bad.append("the script failed")
    errors = sum(h.severity == "error" for h in report.seen.hazards)
    if errors:
        bad.append(_plural(errors, "hazard of severity error", "hazards of severity error"))
    if report.comparison is not None and not report.comparison.equal:
        bad.append("it computes something else than the original")
    if any(check.equal is False for check in report.seen.checks):
        bad.append("compiled and eager differ")
    if bad:
        return "; ".join(bad)
    return "it runs, and computes what the original computes" if report.comparison is not None else "it runs"


def as_json(report: Report) -> str:
    """The report for programs."""
    compared = report.comparison
    program = report.request.program
    data = {
        **_head(program),
        "python": report.interpreter.path,
        "torch": report.interpreter.torch,
        "exit": report.exit_code,
        "verdict": _verdict(report),
        "run": {
            "code": report.ended.code,
            "timed_out": report.ended.timed_out,
            "seconds": round(report.ended.seconds, 2),
            "steps": report.steps,
        },
        "hazards": [{**asdict(h), "name": codes.name(h.code)} for h in report.seen.hazards],
        "unverified": [{"name": n, "path": p, "line": line} for n, p, line in report.seen.unverified],
        "regions": [asdict(r) for r in report.seen.regions],
        "compiled_vs_eager": [asdict(c) for c in report.seen.checks],
        "comparison": None
        if compared is None
        else {
            "against": report.original.label if report.original else None,
            "restored": list(report.original.restored) if report.original and report.original.run else None,
            "changed_since": list(report.original.changed_since)
            if report.original and report.original.changed_since is not None
            else None,
            "equal": compared.equal,
            "numerics": report.numerics or None,
            "counts": compared.counts,
            "varying": len(report.unstable),
            "varying_values": compare.readable(report.unstable),
            "first_difference": _difference(compared.first),
            "differences": [_difference(d) for d in compared.differences],
            "effect": asdict(report.effect) if report.effect else None,
        },
    }
    return json.dumps(data, indent=2) + "\n"


def failure_as_json(program: Program, reason: str) -> str:
    """The report for programs where nothing was run, or not to its end: the reason alone."""
    data = {**_head(program), "exit": 2, "verdict": f"nothing is proven: {reason}"}
    return json.dumps({**data, "run": None, "hazards": [], "comparison": None}, indent=2) + "\n"


def _head(program: Program) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tool": {"name": "neuron-migrate", "version": VERSION},
        "program": {"target": program.target, "arguments": list(program.arguments), "processes": program.processes},
    }


def _difference(difference: compare.Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    fields = ("rank", "kind", "step", "name", "original", "migrated")
    return {name: getattr(difference, name) for name in fields}


def _place(path: str, line: int) -> str:
    return f"{path}:{line}" if path else "(outside your code)"


def _plural(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
