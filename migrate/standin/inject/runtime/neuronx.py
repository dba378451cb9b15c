"""`torch_neuronx`: the functions that the documents name, as far as a host can answer them."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

import torch

from . import names

VERSION = "2.14.3.0+standin"
SAME_AS_DEVICE_MODULE = [
    "synchronize",
    "empty_cache",
    "memory_stats",
    "memory_summary",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "reset_peak_memory_stats",
    "is_available",
    "device_count",
    "current_device",
    "set_device",
    "device",
    "stream",
    "Event",
    "current_stream",
    "default_stream",
    "set_stream",
    "get_dynamo_metrics",
    "reset_dynamo_metrics",
]


class NeuronProfiler:
    """Accepts what the real one accepts and records nothing: there is no device timeline here."""

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        pass

    def __enter__(self) -> NeuronProfiler:
        return self

    def __exit__(self, *_exc: object) -> None:
        pass

    def export_snapshot(self, *_args: object, **_kwargs: object) -> None:
        pass


def _nki_op(name: str, mutates_args: Any = (), **_kwargs: object) -> Any:
    """NKI kernels cannot run here; an operator that wraps one keeps its name and signature."""
    return torch.library.custom_op(name, mutates_args=tuple(mutates_args))


def _stream(device: Any = None, priority: int = 0) -> torch.Stream:
    return torch.neuron.Stream(device=device, priority=priority)  # type: ignore[attr-defined,no-any-return]


def install(core: Any) -> None:
    """Put `torch_neuronx` and its submodules into sys.modules."""
    device = torch.neuron  # type: ignore[attr-defined]
    granted: dict[str, Any] = {name: getattr(device, name) for name in SAME_AS_DEVICE_MODULE}
    granted.update(
        __version__=VERSION,
        Stream=_stream,
        StreamContext=contextlib.nullcontext,
        clear_op_tracking=core.clear_operator_counts,
        get_executed_ops=lambda: sorted(core.operator_counts()),
        # Which operators a device runs on the host comes from a table that is not published: none are claimed.
        get_fallback_ops=list,
        is_neuron_runtime_initialized=core.is_used,
        get_concatenation_status=lambda: {"enabled": False},
        get_concatenated_ops=dict,
        get_concatenated_op_execution_counts=dict,
        nki_op=_nki_op,
        wrap_nki=lambda function, **_kwargs: function,
        NeuronProfiler=NeuronProfiler,
    )
    module = names.DeviceModule("torch_neuronx", granted, {})
    names.register(module)

    def submodule(name: str, **attributes: Any) -> None:
        made = types.ModuleType(f"torch_neuronx.{name}")
        made.__dict__.update(attributes)
        names.register(made)
        setattr(module, name, made)

    submodule(
        "neuron_dynamo_backend",
        get_dynamo_metrics=device.get_dynamo_metrics,
        reset_dynamo_metrics=device.reset_dynamo_metrics,
    )
    submodule("compiler", compile_only=contextlib.nullcontext)
    submodule("metrics", report=lambda: "", set_concatenation_profiling_enabled=lambda enabled: None)
    submodule("numa", get_numa_status=dict)
    submodule("profiling", NeuronProfiler=NeuronProfiler, NeuronConfig=_profiler_config, ProfileMode=_ProfileMode())
    assert "torch_neuronx" in sys.modules


def _profiler_config(*_args: object, **_kwargs: object) -> Any:
    return torch._C._profiler._ExperimentalConfig()  # type: ignore[attr-defined]


class _ProfileMode:
    def __getattr__(self, name: str) -> str:
        return name
