"""Every name of torch.cuda with a counterpart, and those without: for `hasattr(torch.cuda, "empty_cache")` and such."""

from __future__ import annotations

from transforms.tables.cuda_device import CONSTANTS, DEVICE_API, MISSING_API, NO_EFFECT
from transforms.tables.cuda_memory import MEMORY_API, MEMORY_MISSING
from transforms.tables.cuda_rng import RNG_API, RNG_MISSING
from transforms.tables.cuda_streams import GRAPH_MISSING, STREAM_API, STREAM_CLASSES, STREAM_MISSING
from transforms.tables.tensor_types import DTYPES

COUNTERPARTS: dict[str, str] = {
    **{row.name: row.new for table in (DEVICE_API, MEMORY_API, RNG_API, STREAM_API) for row in table},
    **{name: f"torch.neuron.{kind}" for name, kind in STREAM_CLASSES.items()},
    "torch.cuda.is_available": "torch.neuron.is_available",
    "torch.cuda.is_bf16_supported": "torch.neuron.is_bf16_supported",
}
"""Qualified names and their counterparts."""

_MISSING = (MISSING_API, MEMORY_MISSING, RNG_MISSING, STREAM_MISSING, GRAPH_MISSING, CONSTANTS, NO_EFFECT)
ABSENT: frozenset[str] = frozenset(
    {
        *(row.name.split(".")[2] for table in _MISSING for row in table if row.name.count(".") == 2),
        *DTYPES,
        *"amp nvtx profiler sparse cudart get_device_capability OutOfMemoryError".split(),
    }
)
"""Names directly below torch.cuda that torch.neuron lacks (the tables above; torch-neuronx sources of April 2026)."""
