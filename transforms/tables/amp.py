"""Mixed precision: names under torch.cuda.amp and their homes in torch.amp. Source: torch 2.13; TorchNeuron 2.33."""

CUDA_AMP = {
    "torch.cuda.amp": "torch.amp",
    "torch.cuda.amp.autocast": "torch.amp.autocast",
    "torch.cuda.amp.autocast_mode": "torch.amp.autocast_mode",
    "torch.cuda.amp.autocast_mode.autocast": "torch.amp.autocast_mode.autocast",
    "torch.cuda.amp.GradScaler": "torch.amp.GradScaler",
    "torch.cuda.amp.grad_scaler": "torch.amp.grad_scaler",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.amp.grad_scaler.GradScaler",
    "torch.cuda.amp.custom_fwd": "torch.amp.custom_fwd",
    "torch.cuda.amp.custom_bwd": "torch.amp.custom_bwd",
    "torch.cuda.amp.autocast_mode.custom_fwd": "torch.amp.autocast_mode.custom_fwd",
    "torch.cuda.amp.autocast_mode.custom_bwd": "torch.amp.autocast_mode.custom_bwd",
}
"""Modules and functions that exist under both names; the ones of torch.amp take a device (torch 2.13 source)."""

FUNCTIONS = {
    **{name: name.rpartition(".")[2] for name in CUDA_AMP if not name.endswith(("amp", "_mode", "grad_scaler"))},
    "torch.autocast": "autocast",
    "torch.amp.autocast": "autocast",
    "torch.amp.autocast_mode.autocast": "autocast",
    "torch.GradScaler": "GradScaler",
    "torch.amp.GradScaler": "GradScaler",
    "torch.amp.grad_scaler.GradScaler": "GradScaler",
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": "ShardedGradScaler",
    "torch.amp.custom_fwd": "custom_fwd",
    "torch.amp.custom_bwd": "custom_bwd",
    "torch.amp.autocast_mode.custom_fwd": "custom_fwd",
    "torch.amp.autocast_mode.custom_bwd": "custom_bwd",
}
"""Qualified names by what they are."""

SPELLED = {
    "autocast": "torch.autocast",
    "GradScaler": "torch.amp.GradScaler",
    "custom_fwd": "torch.amp.custom_fwd",
    "custom_bwd": "torch.amp.custom_bwd",
}
"""How a function is written out where no local name of it is kept (the spelling of the TorchNeuron documentation)."""

CUDA_AUTOCAST = ("enabled", "dtype", "cache_enabled")
"""Positional parameters of torch.cuda.amp.autocast (torch 2.13)."""

AUTOCAST = ("device_type", "dtype", "enabled", "cache_enabled")
"""Positional parameters of torch.autocast (torch 2.13)."""

CUDA_GRAD_SCALER = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
"""Positional parameters of torch.cuda.amp.GradScaler; torch.amp.GradScaler has `device` before them (torch 2.13)."""

AUTOCAST_STATE: dict[str, tuple[str, int]] = {
    "torch.get_autocast_gpu_dtype": ("torch.get_autocast_dtype", 0),
    "torch.set_autocast_gpu_dtype": ("torch.set_autocast_dtype", 1),
    "torch.is_autocast_enabled": ("torch.is_autocast_enabled", 0),
    "torch.set_autocast_enabled": ("torch.set_autocast_enabled", 1),
}
"""Functions that mean CUDA when no device is given: the one that takes a device first, and how many arguments follow.

Source: torch 2.13, `torch._C`; `torch.is_autocast_enabled()` without an argument asks for CUDA.
"""

FSDP1 = frozenset(
    {
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    }
)
FSDP2 = frozenset(
    {
        "torch.distributed.fsdp.fully_shard",
        "torch.distributed._composable.fsdp.fully_shard",
        "torch.distributed._composable.fully_shard",
    }
)
"""Names of the two generations of FSDP (torch 2.13)."""
