"""`torch.cuda` over the stand-in, for original scripts: one CUDA device per device of the stand-in."""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Any

import torch

from . import device

LEGACY_TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


def legacy_dtype(kind: Any) -> torch.dtype | None:
    """The dtype of `torch.cuda.FloatTensor` and its like, given as the type or as its name."""
    name = kind if isinstance(kind, str) else f"{getattr(kind, '__module__', '')}.{getattr(kind, '__name__', '')}"
    return LEGACY_TYPES.get(name.removeprefix("torch.cuda.")) if name.startswith("torch.cuda.") else None


class Cuda(device.Device):
    """The device's functions, with the looser signatures of torch.cuda."""

    def set_device(self, device: Any) -> None:
        index = device if isinstance(device, int) else _plain(device).index
        if index is not None and index >= 0:
            self.core.set_device(index)

    def index(self, device: Any = None) -> int:
        return super().index(device if device is None or isinstance(device, int) else _plain(device))

    def Stream(self, device: Any = None, priority: int = 0, **_kwargs: Any) -> torch.Stream:  # type: ignore[override]
        return super().Stream(device=device, priority=priority)

    def Event(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> torch.Event:
        return super().Event(enable_timing, blocking)

    def get_device_name(self, device: Any = None) -> str:
        return "NVIDIA stand-in"

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        return 8, 0

    def get_device_properties(self, device: Any = None) -> types.SimpleNamespace:
        same = super().get_device_properties()
        same.__dict__.update(name="NVIDIA stand-in", major=8, minor=0, multi_processor_count=108)
        return same

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        s = self.core.memory_stats(self.index(device))
        figures = {k: s[k] for k in ("current", "peak", "allocated", "freed")}
        return {f"{kind}.all.{k}": v for kind in ("allocated_bytes", "reserved_bytes") for k, v in figures.items()}


def _plain(where: Any) -> torch.device:
    """A device that no torch-function mode or CUDA check looks at."""
    text = str(where)
    return torch.device(text.replace("cuda", "neuron"))


def install(core: Any) -> None:
    """Let torch.cuda answer as if the stand-in were a CUDA device."""
    import torch.cuda.amp
    import torch.cuda.nvtx

    cuda = Cuda(core)
    functions = {n: getattr(cuda, n) for n in dir(Cuda) if not n.startswith("__") and n != "index"}
    functions.update(
        device_count=core.device_count,
        current_device=core.current_device,
        default_stream=cuda.current_stream,
        memory_reserved=cuda.memory_allocated,
        max_memory_reserved=cuda.max_memory_allocated,
        reset_max_memory_allocated=cuda.reset_peak_memory_stats,
        ipc_collect=cuda.empty_cache,
        is_initialized=lambda: True,
        get_arch_list=lambda: ["sm_80"],
        is_current_stream_capturing=lambda: False,
        set_per_process_memory_fraction=lambda fraction, device=None: None,
    )
    for name, function in functions.items():
        setattr(torch.cuda, name, function)
    for name, dtype in LEGACY_TYPES.items():
        setattr(torch.cuda, name, _legacy_type(name, dtype))
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        setattr(torch.cuda.nvtx, name, lambda *args, **kwargs: 0)
    torch.cuda.nvtx.range = lambda *args, **kwargs: contextlib.nullcontext()
    torch.cuda.amp.custom_fwd = functools.partial(torch.amp.custom_fwd, device_type="neuron")
    torch.cuda.amp.custom_bwd = functools.partial(torch.amp.custom_bwd, device_type="neuron")
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.version.cuda = "12.8"
    torch.backends.cuda.is_built = lambda: True
    torch.Generator = _Generator  # type: ignore[misc]
    _methods()


def _methods() -> None:
    def cuda(self: Any, device: Any = None, non_blocking: bool = False, **_kwargs: Any) -> Any:
        where = None if device is None else device if isinstance(device, int) else _plain(device).index
        return self.neuron(where, non_blocking=non_blocking)

    def module_cuda(self: Any, device: Any = None) -> Any:
        return self.neuron(None if device is None else device if isinstance(device, int) else _plain(device).index)

    torch.Tensor.cuda = cuda  # type: ignore[method-assign]
    torch.UntypedStorage.cuda = cuda  # type: ignore[method-assign]
    torch.nn.Module.cuda = module_cuda  # type: ignore[method-assign]
    torch.Tensor.is_cuda = torch.Tensor.is_neuron  # type: ignore[attr-defined]


def _legacy_type(name: str, dtype: torch.dtype) -> type:
    def new(_cls: type, *args: Any) -> torch.Tensor:
        if args and not isinstance(args[0], int):
            return torch.tensor(args[0], dtype=dtype, device="neuron")
        return torch.empty(*args or (0,), dtype=dtype, device="neuron")

    return type(name, (), {"__new__": new, "__module__": "torch.cuda", "dtype": dtype})


class _GeneratorType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, torch._C.Generator)


class _Generator(metaclass=_GeneratorType):
    """torch.Generator, which takes a CUDA device for the stand-in's."""

    def __new__(cls, device: Any = "cpu") -> Any:
        return torch._C.Generator(_plain(device))
