"""NVTX and profilers. Sources: TorchNeuron profiling guide 2.33, best practices 2.33, torch 2.13."""

from __future__ import annotations

ACTIVITY: frozenset[str] = frozenset(
    f"{module}.ProfilerActivity.CUDA"
    for module in (
        "torch.profiler",
        "torch.autograd",
        "torch.autograd.profiler",
        "torch._C._profiler",
        "torch._C._autograd",
    )
)
"""Spellings of the activity; `PrivateUse1` takes its place (documented)."""

MARKERS: frozenset[str] = frozenset(f"torch.cuda.nvtx.{name}" for name in ("range_push", "range_pop", "mark"))
"""NVTX calls that stand alone as statements."""

NVTX_RANGE = "torch.cuda.nvtx.range"
"""Context manager and decorator; `torch.profiler.record_function` is both as well."""

EMIT_NVTX = "torch.autograd.profiler.emit_nvtx"
"""Context manager that marks every operation for NVTX."""

NVTX_OTHER: frozenset[str] = frozenset({"torch.cuda.nvtx", EMIT_NVTX})
"""Everything else of NVTX (names below included)."""

CUDA_PROFILER_SWITCHES: frozenset[str] = frozenset(
    {"torch.cuda.profiler.start", "torch.cuda.profiler.stop", "torch.cuda.profiler.init"}
)
"""Calls that open and close the window of an external CUDA profiler."""

CUDA_PROFILER_CONTEXT = "torch.cuda.profiler.profile"

CUDART_SWITCHES: frozenset[str] = frozenset({"cudaProfilerStart", "cudaProfilerStop"})
"""The same, as methods of `torch.cuda.cudart()`."""

TIME_KEYS: dict[str, str] = {
    f"{own}cuda_{rest}": f"{own}device_{rest}"
    for own in ("", "self_")
    for rest in ("time_total", "time", "memory_usage", "time_str", "time_total_str")
}
"""Columns and attributes of profiler events: torch 2.13 keeps the CUDA names as deprecated aliases of these."""

PROFILE_LEGACY = "torch.autograd.profiler.profile"
PROFILE = "torch.profiler.profile"

STACK_METRICS: dict[str, str] = {"self_cuda_time_total": "self_privateuse1_time_total"}
"""Metrics of export_stacks, which takes a closed list (torch 2.13, autograd/profiler_util.py)."""
