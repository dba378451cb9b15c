"""Every name of torch.cuda that has a counterpart, for questions such as `hasattr(torch.cuda, "empty_cache")`."""

from __future__ import annotations

from transforms.tables.cuda_device import DEVICE_API
from transforms.tables.cuda_memory import MEMORY_API
from transforms.tables.cuda_rng import RNG_API
from transforms.tables.cuda_streams import STREAM_API, STREAM_CLASSES

COUNTERPARTS: dict[str, str] = {
    **{row.name: row.new for table in (DEVICE_API, MEMORY_API, RNG_API, STREAM_API) for row in table},
    **{name: f"torch.neuron.{kind}" for name, kind in STREAM_CLASSES.items()},
    "torch.cuda.is_available": "torch.neuron.is_available",
    "torch.cuda.is_bf16_supported": "torch.neuron.is_bf16_supported",
}
"""Qualified names and their counterparts."""
