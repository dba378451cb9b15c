"""torch.cuda: device and runtime. Sources: TorchNeuron 2.33 documentation, torch-neuronx sources of April 2026
("sources"), what accelerate, transformers and torchtitan call on `torch.neuron` ("frameworks"), torch 2.13."""

from __future__ import annotations

from transforms.tables.rows import HIGH, LOW, MIDDLE, Row

DEVICE_API: tuple[Row, ...] = (
    Row("torch.cuda.device_count", "torch.neuron.device_count", HIGH, "sources, frameworks", starts=False),
    Row("torch.cuda.current_device", "torch.neuron.current_device", HIGH, "sources, frameworks"),
    Row("torch.cuda.set_device", "torch.neuron.set_device", HIGH, "TorchNeuron best practices 2.33", device=0),
    Row("torch.cuda.get_device_name", "torch.neuron.get_device_name", HIGH, "sources, frameworks", device=0),
    Row(
        "torch.cuda.get_device_properties", "torch.neuron.get_device_properties", HIGH, "sources, torchtitan", device=0
    ),
    Row("torch.cuda.synchronize", "torch.neuron.synchronize", HIGH, "TorchNeuron best practices 2.33", device=0),
    Row("torch.cuda.init", "torch.neuron.init", MIDDLE, "sources"),
    Row("torch.cuda.is_initialized", "torch.neuron.is_initialized", MIDDLE, "sources", starts=False),
    Row("torch.cuda.device", "torch.neuron.device", MIDDLE, "sources", "a function there, not a class", device=0),
    Row("torch.cuda._DeviceGuard", "torch.neuron.device", LOW, "sources", device=0),
    Row("torch.cuda._lazy_init", "torch.neuron.init", LOW, "sources"),
    Row("torch.cuda._sleep", "torch.neuron._sleep", MIDDLE, "sources", "does nothing there"),
    Row("torch.cuda._is_in_bad_fork", "torch.neuron._is_in_bad_fork", MIDDLE, "sources", starts=False),
)
"""Names that have a counterpart."""

_UTIL = "neuron-monitor and neuron-top show it, outside of Python"
_BUILD = "it tells how CUDA kernels were built; there is nothing of the kind on Trainium"
_PEER = "one process owns one device on Trainium: exchange tensors with torch.distributed"
_NCCL = "use the collectives of torch.distributed on the neuron backend"
_KERNEL = "it compiles CUDA code: write the kernel in NKI, or use torch operations"


def _absent(names: str, note: str, source: str, severity: str = "error") -> tuple[Row, ...]:
    return tuple(Row(f"torch.cuda.{name}", "", MIDDLE, source, note, severity) for name in names.split())


MISSING_API: tuple[Row, ...] = (
    *_absent("get_arch_list get_gencode_flags _check_capability _check_cubins", _BUILD, "absent in sources"),
    *_absent("can_device_access_peer", _PEER, "absent in sources"),
    *_absent("device_of", "write `with torch.neuron.device(t.device.index):`", "absent in sources"),
    *_absent("cudaStatus check_error", "there is no CUDA runtime: take the call out", "CUDA's own runtime"),
    *_absent(
        "CudaError DeferredCudaCallError AcceleratorError",
        "errors of the Neuron runtime are RuntimeError",
        "CUDA's own runtime",
    ),
    *_absent("current_blas_handle current_solver_handle", "there is no such library handle", "absent in sources"),
    *_absent(
        "clock_rate power_draw temperature utilization memory_usage device_memory_used list_gpu_processes "
        "memory.list_gpu_processes _get_pynvml_handler",
        _UTIL,
        "absent in sources",
    ),
    *_absent(
        "get_sync_debug_mode",
        "set NEURON_LAUNCH_BLOCKING=1 in the environment to find synchronisations",
        "best practices 2.33",
    ),
    *_absent(
        "_lazy_call _queued_calls _lazy_new",
        "call torch.neuron.init(), then run the code directly",
        "private to torch.cuda",
    ),
    *_absent("_initialized", "ask torch.neuron.is_initialized()", "private to torch.cuda"),
    *_absent(
        "_utils _get_device_index _exchange_device _maybe_exchange_device _get_device",
        "use torch.device(x).index, or torch.neuron.current_device() where it is None",
        "private to torch.cuda",
    ),
    *_absent("_device_count_nvml _parse_visible_devices _raw_device_count_nvml", _UTIL, "private to torch.cuda"),
    *_absent("_CudaDeviceProperties", "use the type of torch.neuron.get_device_properties()", "private to torch.cuda"),
    *_absent("jiterator _compile_kernel", _KERNEL, "no CUDA kernels on Trainium"),
    *_absent("tunable gds green_contexts GreenContext", "it tunes CUDA: take it out", "no counterpart"),
    *_absent("nccl", _NCCL, "TorchNeuron documentation 2.33, distributed"),
    *_absent("comm", _PEER, "one device per process"),
    *_absent("_memory_viz", "read snapshots with the tools of the Neuron profiler", "memory guide 2.33"),
)
"""Names without one. A row also speaks for everything below its name."""

PRIVATE_PREFIX = "torch._C._cuda_"
"""Functions of torch's C++ extension that only a CUDA build has (torch 2.13 CPU: AttributeError)."""

CONSTANTS: tuple[Row, ...] = (
    Row("torch.cuda.is_tf32_supported", "False", LOW, "absent in sources: there is no TF32"),
    Row("torch.cuda.has_half", "True", LOW, "torch 2.13"),
    Row("torch.cuda.has_magma", "False", LOW, "torch 2.13: a library of CUDA"),
    Row("torch.cuda.is_current_stream_capturing", "False", MIDDLE, "there are no CUDA graphs on Trainium"),
    Row("torch.cuda.graphs.is_current_stream_capturing", "False", MIDDLE, "there are no CUDA graphs on Trainium"),
)
"""Questions whose answer is known; `new` is the answer."""

NO_EFFECT: tuple[Row, ...] = (
    Row("torch.cuda.ipc_collect", "", MIDDLE, "absent in sources", "shared CUDA memory is not collected on Trainium"),
    Row(
        "torch.cuda.set_sync_debug_mode",
        "",
        MIDDLE,
        "absent in sources",
        "NEURON_LAUNCH_BLOCKING=1 helps to find synchronisations",
    ),
    Row(
        "torch.cuda.memory.set_per_process_memory_fraction",
        "",
        MIDDLE,
        "absent in sources",
        "there is no limit to set for a process",
    ),
    Row(
        "torch.cuda.set_per_process_memory_fraction",
        "",
        MIDDLE,
        "absent in sources",
        "there is no limit to set for a process",
    ),
)
"""Calls that only tune CUDA: a statement goes, anything else is reported."""

PROPERTIES = frozenset({"name", "total_memory"})
"""Attributes of `torch.neuron.get_device_properties()`. Source: torch-neuronx sources; torchtitan reads both."""
