"""torch.cuda: streams, events and graphs. Sources as in `cuda_device`."""

from __future__ import annotations

from transforms.tables.rows import HIGH, MIDDLE, Row


def _both(name: str, source: str, device: int = -1) -> tuple[Row, ...]:
    """The name on torch.cuda and the same one on torch.cuda.streams."""
    return tuple(
        Row(f"torch.cuda.{middle}{name}", f"torch.neuron.{name}", MIDDLE, source, device=device)
        for middle in ("", "streams.")
    )


STREAM_API: tuple[Row, ...] = (
    *_both("stream", "sources"),
    *_both("current_stream", "sources", device=0),
    *_both("default_stream", "sources", device=0),
    *_both("set_stream", "sources"),
    Row("torch.cuda.StreamContext", "torch.neuron.stream", MIDDLE, "sources", "torch.neuron has the function only"),
)
"""Functions that have a counterpart."""

STREAM_CLASSES: dict[str, str] = {
    "torch.cuda.Stream": "Stream",
    "torch.cuda.streams.Stream": "Stream",
    "torch.cuda.Event": "Event",
    "torch.cuda.streams.Event": "Event",
}
"""Classes whose counterparts on `torch.neuron` are functions with keyword arguments; as types they are torch's own."""

PARAMETERS: dict[str, tuple[str, ...]] = {
    "Stream": ("device", "priority"),
    "Event": ("enable_timing", "blocking", "interprocess", "external"),
}
"""Positional parameters of the CUDA classes (torch 2.13)."""

ACCEPTED: dict[str, frozenset[str]] = {
    "Stream": frozenset({"device", "priority"}),
    "Event": frozenset({"enable_timing", "blocking"}),
}
"""Keyword arguments of the functions on `torch.neuron`. Source: torch-neuronx sources."""

_FOREIGN = "there are no CUDA streams to wrap: use a torch.neuron.Stream()"

STREAM_MISSING: tuple[Row, ...] = (
    Row("torch.cuda.ExternalStream", "", MIDDLE, "absent in sources", _FOREIGN),
    Row("torch.cuda.streams.ExternalStream", "", MIDDLE, "absent in sources", _FOREIGN),
    Row("torch.cuda.get_stream_from_external", "", MIDDLE, "absent in sources", _FOREIGN),
    Row("torch.cuda._set_stream_by_id", "", MIDDLE, "private to torch.cuda", "use torch.neuron.set_stream()"),
)
"""Names without one."""

_GRAPH = 'there are no CUDA graphs on Trainium: compile the function with torch.compile(backend="neuron")'

GRAPH_MISSING: tuple[Row, ...] = tuple(
    Row(f"torch.cuda.{name}", "", HIGH, "TorchNeuron overview 2.33: no graph capture", _GRAPH)
    for name in [
        "CUDAGraph",
        "graph",
        "graphs",
        "graph_pool_handle",
        "make_graphed_callables",
        "_POOL_HANDLE",
        "_graph_annotations",
        "_annotate_cuda_graph_trace",
    ]
)
"""Graph capture. A row also speaks for everything below its name."""
