"""`torch.neuron`: the functions of the device module, with the signatures of the real one."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import torch

from . import names

TOTAL_MEMORY = 24 << 30  # one logical NeuronCore of trn2


class DeviceContext:
    """The context manager that `torch.neuron.device(i)` returns."""

    def __init__(self, core: Any, index: int) -> None:
        self.core = core
        self.idx = index
        self.prev_idx = -1

    def __enter__(self) -> DeviceContext:
        self.prev_idx = self.core.current_device()
        self.core.set_device(self.idx)
        return self

    def __exit__(self, *_exc: object) -> None:
        self.core.set_device(self.prev_idx)


class Device:
    """The functions, on top of the C++ module `core`."""

    def __init__(self, core: Any) -> None:
        self.core = core

    def index(self, device: Any = None) -> int:
        if device is None:
            return int(self.core.current_device())
        if isinstance(device, int):
            return device
        found = torch.device(device).index
        return int(self.core.current_device()) if found is None else found

    # -- device and runtime
    def is_available(self) -> bool:
        return bool(self.core.device_count() > 0)

    def is_initialized(self) -> bool:
        return bool(self.core.is_used())

    def init(self) -> None:
        self.core.set_device(self.core.current_device())

    def set_device(self, device: Any) -> None:
        if not isinstance(device, (int, torch.device)):
            raise TypeError(f"set_device takes an int or a torch.device, not {type(device).__name__}")
        self.core.set_device(self.index(device))

    def get_device_name(self, device: Any = None) -> str:
        return f"neuron:{self.index(device)}"

    def get_device_properties(self, device: Any = None) -> types.SimpleNamespace:
        return types.SimpleNamespace(name="trn2", total_memory=TOTAL_MEMORY)

    def device(self, device: Any) -> DeviceContext:
        return DeviceContext(self.core, self.index(device))

    def synchronize(self, device: Any = None) -> None:
        self.core.set_device(self.core.current_device())

    def _is_in_bad_fork(self) -> bool:
        return bool(self.core.is_forked())

    def _lazy_init(self) -> None:
        if self.core.is_forked():
            self.init()  # raises

    # -- precision
    def is_bf16_supported(self) -> bool:
        return True

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float32, torch.float16, torch.bfloat16]

    # -- random numbers
    def manual_seed(self, seed: int) -> None:
        self.core.default_generator(self.core.current_device()).manual_seed(int(seed))

    def manual_seed_all(self, seed: int) -> None:
        for i in range(self.core.device_count()):
            self.core.default_generator(i).manual_seed(int(seed))

    def seed(self) -> None:
        self.manual_seed(torch.seed())

    def seed_all(self) -> None:
        self.manual_seed_all(torch.seed())

    def initial_seed(self) -> int:
        return int(self.core.default_generator(self.core.current_device()).initial_seed())

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        state: torch.Tensor = self.core.default_generator(self.index(device)).get_state()
        return state

    def set_rng_state(self, new_state: torch.Tensor, device: Any = None) -> None:
        self.core.default_generator(self.index(device)).set_state(new_state)

    def get_rng_state_all(self) -> list[torch.Tensor]:
        return [self.get_rng_state(i) for i in range(self.core.device_count())]

    def set_rng_state_all(self, new_states: list[torch.Tensor]) -> None:
        for i, state in enumerate(new_states):
            self.set_rng_state(state, i)

    # -- streams and events: factories, since elapsed_time wants the exact type
    def Stream(self, *, device: Any = None, priority: int = 0) -> torch.Stream:
        return torch.Stream(device=torch.device("neuron", self.index(device)), priority=priority)

    def Event(self, enable_timing: bool = False, blocking: bool = False) -> torch.Event:
        where = torch.device("neuron", self.core.current_device())
        return torch.Event(where, enable_timing=enable_timing, blocking=blocking)

    def current_stream(self, device: Any = None) -> torch.Stream:
        return torch.accelerator.current_stream(torch.device("neuron", self.index(device)))

    def stream(self, stream: Any) -> Any:
        return contextlib.nullcontext(stream)

    def set_stream(self, stream: Any) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> torch.Event:
        made: torch.Event = event or self.Event()
        made.record()
        return made

    def query(self) -> bool:
        return True

    # -- memory
    def empty_cache(self) -> None:
        pass

    def memory_allocated(self, device: Any = None) -> int:
        return int(self.core.memory_stats(self.index(device))["current"])

    def max_memory_allocated(self, device: Any = None) -> int:
        return int(self.core.memory_stats(self.index(device))["peak"])

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        self.core.reset_peak(self.index(device))

    def reset_accumulated_memory_stats(self, device: Any = None) -> None:
        pass

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        s = self.core.memory_stats(self.index(device))
        figures = {"current": s["current"], "peak": s["peak"], "allocated": s["allocated"], "freed": s["freed"]}
        return {
            "allocated_bytes": dict(figures),
            "reserved_bytes": dict(figures),
            "active_bytes": dict(figures),
            "num_alloc_retries": 0,
            "num_ooms": 0,
            "num_tensor_frees": s["frees"],
            "allocation_requests": s["allocations"],
        }

    def memory_summary(self, device: Any = None, abbreviated: bool = False) -> str:
        flat = self.memory_stats(device)["allocated_bytes"]
        return "\n".join(f"{key:<12} {value}" for key, value in flat.items())

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        return TOTAL_MEMORY - self.memory_allocated(device), TOTAL_MEMORY

    def _sleep(self, cycles: int) -> None:
        pass


def make(core: Any, get_metrics: Any, reset_metrics: Any) -> names.DeviceModule:
    """The module `torch.neuron`."""
    d = Device(core)
    functions = {n: getattr(d, n) for n in dir(Device) if not n.startswith("__") and n != "index"}
    unknown = {n: functions.pop(n) for n in ("get_rng_state_all", "set_rng_state_all", "mem_get_info")}
    unknown.update(
        memory_snapshot=list,
        OutOfMemoryError=torch.OutOfMemoryError,
        random=torch.random,
        default_generators=tuple(core.default_generator(i) for i in range(core.device_count())),
    )
    granted = {
        **functions,
        "device_count": core.device_count,
        "current_device": core.current_device,
        "default_stream": d.current_stream,
        "memory_reserved": d.memory_allocated,
        "max_memory_reserved": d.max_memory_allocated,
        "get_dynamo_metrics": get_metrics,
        "reset_dynamo_metrics": reset_metrics,
    }
    module = names.DeviceModule("torch.neuron", granted, unknown)
    memory = types.ModuleType("torch.neuron.memory")
    memory.__dict__.update({n: f for n, f in granted.items() if "memory" in n or n == "empty_cache"})
    module.memory = memory  # type: ignore[attr-defined]
    return module
