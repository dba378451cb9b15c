"""Graph breaks and recompilations, which Dynamo itself records, as hazards at lines of user code."""

from __future__ import annotations

import atexit
import re
from typing import Any

from . import records

GRAD_MODE = "grad_mode"  # what the guard names when gradients were on before and are off now, or the reverse
METRICS_KEPT = 100_000  # Dynamo keeps 64 by default, and forgets the older ones

OBJECT_COLLECTIVES = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")

# The first pattern that matches the reason names the rule.
BREAKS = (
    ("TN362", "|".join(OBJECT_COLLECTIVES)),
    ("TN351", r"Tensor\.item\(\)|Tensor\.tolist|Tensor\.numpy|_local_scalar_dense|\.cpu\(\)"),
    ("TN352", r"`print`|builtin print"),
    ("TN353", r"[Dd]ata-dependent (branching|jump|assertion)|Data dependent|generic_jump"),
    ("TN354", r"[Dd]ynamic shape operator|dynamic output shape|[Dd]ynamic slicing"),
    ("TN451", r"async_op"),
)

_graphs: dict[tuple[str, int], int] = {}
_seen: list[Any] = []  # the metrics that have been taken over


def install() -> None:
    """Listen to Dynamo's records."""
    from torch._dynamo import output_graph, utils

    utils.set_compilation_metrics_limit(METRICS_KEPT)
    original = output_graph.GraphCompileReason.__post_init__

    def post_init(self: Any) -> None:
        original(self)
        if self.graph_break:
            _add_break(self)

    output_graph.GraphCompileReason.__post_init__ = post_init  # type: ignore[method-assign]
    _break_at_object_collectives()
    atexit.register(_finish)


def _break_at_object_collectives() -> None:
    """Make Dynamo break the graph at collectives of Python objects: tracing into them, torch 2.13 ends with an
    internal error that names no line of the user's."""
    import torch.distributed as dist

    if dist.is_available():
        for name in OBJECT_COLLECTIVES:
            function: Any = getattr(dist, name)
            function._torchdynamo_disable = True
            function._torchdynamo_disable_msg = f"{name} moves Python objects"


def _add_break(reason: Any) -> None:
    frames = [f for f in reason.user_stack or () if records.is_user_file(f.filename)]
    place = (frames[-1].filename, frames[-1].lineno or 0) if frames else None
    text = reason.reason.strip()
    code = next((code for code, pattern in BREAKS if re.search(pattern, text)), "TN350")
    severity = "error" if code == "TN362" else "warning"
    records.add(code, severity, f"graph break: {_brief(text)}", place)


def _brief(text: str) -> str:
    """The headline of Dynamo's reason, and its explanation where it has one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    explanation = next((x.partition(":")[2].strip() for x in lines if x.startswith("Explanation:")), "")
    return (f"{lines[0]}: {explanation}" if explanation else lines[0])[:240]


def collect() -> None:
    """Take over the compilations that were recorded since the last call."""
    from torch._dynamo import config, utils

    metrics = utils.get_compilation_metrics()
    for metric in metrics[len(_seen) :]:
        path, line = metric.co_filename or "", metric.co_firstlineno or 0
        if not path:
            continue
        _graphs[path, line] = _graphs.get((path, line), 0) + 1
        if metric.recompile_reason:
            reason = metric.recompile_reason.partition(": ")[2] or metric.recompile_reason
            # Without the sizes themselves, so that a function that meets many of them is one line with a count.
            guard = reason.splitlines()[0].partition(". expected")[0]
            if GRAD_MODE in guard:
                message = f"{metric.co_name} is compiled twice: with and without gradients"
                records.add("TN361", "note", message, (path, line))
            else:
                message = f"{metric.co_name} is compiled again: {guard[:200]}"
                records.add("TN361", "warning", message, (path, line))
        if _graphs[path, line] == config.recompile_limit:
            message = f"{metric.co_name} has reached the limit of {config.recompile_limit} graphs"
            records.add("TN364", "warning", message, (path, line))
    _seen[:] = metrics


def _finish() -> None:
    collect()
    for (path, line), graphs in sorted(_graphs.items()):
        if records.is_user_file(path):
            records.write({"kind": "region", "path": path, "line": line, "graphs": graphs})
    records.flush()


def forget() -> None:
    """Start over; for tests, after Dynamo has been reset."""
    _seen.clear()
    _graphs.clear()
