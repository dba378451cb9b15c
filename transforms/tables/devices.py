"""Where torch and its surroundings take a device: parameters, positions, and the names of other accelerators."""

from __future__ import annotations

DEVICE_KEYWORDS = frozenset("device map_location device_type pin_memory_device torch_device".split())
"""Parameters of torch functions, and by convention of code around it, that take a device. Source: torch 2.13."""

DEVICE_CALLS: dict[str, tuple[int, str]] = {
    "torch.device": (0, "type"),
    "torch.Generator": (0, "device"),
    "torch.autocast": (0, "device_type"),
    "torch.amp.autocast": (0, "device_type"),
    "torch.amp.autocast_mode.autocast": (0, "device_type"),
    "torch.amp.GradScaler": (0, "device"),
    "torch.GradScaler": (0, "device"),
    "torch.amp.grad_scaler.GradScaler": (0, "device"),
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": (0, "device"),
    "torch.amp.is_autocast_available": (0, "device_type"),
    "torch.amp.autocast_mode.is_autocast_available": (0, "device_type"),
    "torch.amp.custom_fwd": (-1, "device_type"),
    "torch.amp.custom_bwd": (-1, "device_type"),
    "torch.set_default_device": (0, "device"),
    "torch.get_device_module": (0, "device"),
    "torch.get_autocast_dtype": (0, "device_type"),
    "torch.set_autocast_dtype": (0, "device_type"),
    "torch.is_autocast_enabled": (0, "device_type"),
    "torch.set_autocast_enabled": (0, "device_type"),
    "torch.distributed.device_mesh.init_device_mesh": (0, "device_type"),
    "torch.distributed.init_device_mesh": (0, "device_type"),
    "torch.distributed.tensor.init_device_mesh": (0, "device_type"),
    "torch.distributed._tensor.init_device_mesh": (0, "device_type"),
    "torch.distributed.device_mesh.DeviceMesh": (0, "device_type"),
    "torch.distributed.DeviceMesh": (0, "device_type"),
    "torch.distributed.tensor.DeviceMesh": (0, "device_type"),
    "torch.distributed._tensor.DeviceMesh": (0, "device_type"),
    "torch.random.fork_rng": (-1, "device_type"),
    "torch.autograd.profiler.profile": (-1, "use_device"),
    "torch.load": (1, "map_location"),
    "torch.jit.load": (1, "map_location"),
    "torch.hub.load_state_dict_from_url": (2, "map_location"),
    "torch.cuda.device": (0, "device"),
    "torch.cuda.set_device": (0, "device"),
    "torch.cuda.synchronize": (0, "device"),
    "torch.cuda.Stream": (0, "device"),
    "torch.cuda.current_stream": (0, "device"),
    "torch.cuda.default_stream": (0, "device"),
    "torch.cuda.get_device_name": (0, "device"),
    "torch.cuda.get_device_properties": (0, "device"),
    "torch.cuda.get_device_capability": (0, "device"),
    "torch.cuda.memory_allocated": (0, "device"),
    "torch.cuda.max_memory_allocated": (0, "device"),
    "torch.cuda.memory_reserved": (0, "device"),
    "torch.cuda.max_memory_reserved": (0, "device"),
    "torch.cuda.memory_stats": (0, "device"),
    "torch.cuda.memory_summary": (0, "device"),
    "torch.cuda.mem_get_info": (0, "device"),
    "torch.cuda.reset_peak_memory_stats": (0, "device"),
    "torch.cuda.reset_max_memory_allocated": (0, "device"),
    "torch.cuda.reset_max_memory_cached": (0, "device"),
    "torch.cuda.reset_accumulated_memory_stats": (0, "device"),
    "torch.cuda.memory_cached": (0, "device"),
    "torch.cuda.max_memory_cached": (0, "device"),
    "torch.cuda.memory_stats_as_nested_dict": (0, "device"),
    "torch.cuda.memory.memory_allocated": (0, "device"),
    "torch.cuda.memory.max_memory_allocated": (0, "device"),
    "torch.cuda.memory.memory_reserved": (0, "device"),
    "torch.cuda.memory.max_memory_reserved": (0, "device"),
    "torch.cuda.memory.memory_stats": (0, "device"),
    "torch.cuda.memory.memory_summary": (0, "device"),
    "torch.cuda.memory.reset_peak_memory_stats": (0, "device"),
    "torch.cuda.get_rng_state": (0, "device"),
    "torch.cuda.set_rng_state": (1, "device"),
    "torch.cuda.random.get_rng_state": (0, "device"),
    "torch.cuda.random.set_rng_state": (1, "device"),
    "torch.neuron.set_device": (0, "device"),
}
"""Functions with the position and the name of their device (torch 2.13 signatures; -1: by keyword only)."""

INDEX_CALLS = frozenset({"torch.cuda.set_device", "torch.neuron.set_device", "torch.cuda.device"})
"""Of these, the ones that read the index out of the device, so that a text must keep it (TorchNeuron 2.33)."""

DEVICE_METHODS = frozenset({"to", "to_empty"})
"""Methods of tensors and modules whose first argument is a device (torch 2.13)."""

NEW_TENSORS = frozenset("new_empty new_empty_strided new_full new_ones new_tensor new_zeros".split())
"""Methods of tensors that make a tensor, on `device=` (torch 2.13)."""

OTHER_ACCELERATORS = frozenset("mps xpu npu hpu mlu musa privateuseone xla tpu hip rocm".split())
"""Device types beside cuda and cpu that torch 2.13 and its plug-ins know. Code that names them chooses a backend."""

DEVICE_NAMES = OTHER_ACCELERATORS | frozenset("cpu gpu meta auto cuda neuron".split())
"""Texts that may stand beside `cuda` in one variable and leave it a device."""

RECORDS = frozenset({"types.SimpleNamespace", "argparse.Namespace", "dataclasses.replace", "copy.replace"})
"""Calls whose keywords become attributes of what they return (Python 3.14 library)."""

FIELDS = frozenset(
    {
        "dataclasses.field",
        "attrs.field",
        "attr.ib",
        "attr.field",
        "pydantic.Field",
        "typer.Option",
        "typer.Argument",
        "click.Option",
    }
)
"""Calls that stand for the default value of a field or parameter."""

CONVERSIONS = frozenset(
    "builtins.str builtins.list builtins.tuple builtins.set builtins.frozenset builtins.sorted click.Choice".split()
)
"""Calls that hand on the text, or the texts, that they are given."""
