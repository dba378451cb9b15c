"""torch.cuda: memory. Sources as in `cuda_device`; the memory guide is that of TorchNeuron 2.33."""

from __future__ import annotations

from transforms.tables.rows import HIGH, LOW, MIDDLE, Row

_READ = "the allocator works asynchronously: call torch.neuron.synchronize() before a figure is read"


def _both(name: str, new: str, confidence: str, source: str, note: str = "", device: int = 0) -> tuple[Row, ...]:
    """The name on torch.cuda and the same one on torch.cuda.memory."""
    return tuple(
        Row(f"torch.cuda.{middle}{name}", f"torch.neuron.{new}", confidence, source, note, device=device)
        for middle in ("", "memory.")
    )


MEMORY_API: tuple[Row, ...] = (
    *_both("empty_cache", "empty_cache", HIGH, "sources, frameworks", device=-1),
    *_both("memory_allocated", "memory_allocated", HIGH, "memory guide 2.33", _READ),
    *_both("max_memory_allocated", "max_memory_allocated", HIGH, "memory guide 2.33", _READ),
    *_both("memory_reserved", "memory_reserved", HIGH, "memory guide 2.33", _READ),
    *_both("max_memory_reserved", "max_memory_reserved", HIGH, "memory guide 2.33", _READ),
    *_both("memory_stats", "memory_stats", HIGH, "best practices 2.33, sources", "a nested dict there"),
    *_both("memory_summary", "memory_summary", HIGH, "best practices 2.33, sources"),
    *_both("reset_peak_memory_stats", "reset_peak_memory_stats", HIGH, "sources, frameworks"),
    *_both("reset_accumulated_memory_stats", "reset_accumulated_memory_stats", MIDDLE, "sources"),
    *_both("reset_max_memory_allocated", "reset_peak_memory_stats", MIDDLE, "diffusers does so", "a deprecated alias"),
    *_both("reset_max_memory_cached", "reset_peak_memory_stats", MIDDLE, "diffusers does so", "a deprecated alias"),
    *_both("memory_cached", "memory_reserved", MIDDLE, "torch 2.13: a deprecated alias", _READ),
    *_both("max_memory_cached", "max_memory_reserved", MIDDLE, "torch 2.13: a deprecated alias", _READ),
    *_both(
        "memory_stats_as_nested_dict", "memory_stats", LOW, "sources: already nested", "its keys differ from CUDA's"
    ),
)
"""Names that have a counterpart."""

_INFO = (
    "take total_memory of torch.neuron.get_device_properties() and torch.neuron.memory_allocated(), or try "
    "torch.accelerator.get_memory_info()"
)
_HISTORY = "TorchNeuron keeps a memory history of its own: see export_snapshot() of its profiler"
_POOL = "TorchNeuron has no pluggable allocator and no memory pools: take it out"
_HOST = "TorchNeuron has no statistics of host memory"


def _absent(names: str, note: str, source: str) -> tuple[Row, ...]:
    return tuple(
        Row(f"torch.cuda.{middle}{name}", "", MIDDLE, source, note)
        for name in names.split()
        for middle in ("", "memory.")
    )


MEMORY_MISSING: tuple[Row, ...] = (
    *_absent("mem_get_info", _INFO, "absent in sources"),
    *_absent(
        "memory_snapshot _record_memory_history _dump_snapshot _snapshot _save_segment_usage _save_memory_usage",
        _HISTORY,
        "best practices 2.33, memory guide",
    ),
    *_absent(
        "caching_allocator_alloc caching_allocator_delete caching_allocator_enable caching_allocator_disabled "
        "get_allocator_backend change_current_allocator CUDAPluggableAllocator MemPool MemPoolContext use_mem_pool "
        "_set_allocator_settings",
        _POOL,
        "absent in sources",
    ),
    *_absent("get_per_process_memory_fraction", "there is no limit for a process", "absent in sources"),
    *_absent(
        "host_memory_stats host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats "
        "reset_peak_host_memory_stats",
        _HOST,
        "absent in sources",
    ),
)
"""Names without one."""

STATS_KEYS = frozenset(
    [
        "allocated_bytes",
        "reserved_bytes",
        "active_bytes",
        "num_alloc_retries",
        "num_ooms",
        "num_tensor_frees",
        "allocation_requests",
    ]
)
"""First-level keys of `torch.neuron.memory_stats()`. Source: torch-neuronx sources."""

STATS_GROUPS = frozenset({"allocated_bytes", "reserved_bytes", "active_bytes"})
"""Keys that hold a dict with current, peak, allocated and freed."""
