"""The process-group backend `neuron`: gloo underneath, with the order and ownership rules of the device."""

from __future__ import annotations

import os
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from . import records


def install(core: Any, *, enforced: bool) -> None:
    """Register the backend. Joining the default group gives the process its one device."""

    def create(store: Any, rank: int, size: int, timeout: Any) -> Any:
        default_group = c10d.GroupMember.WORLD is None
        if default_group and enforced and core.is_used():
            first = records.first_use()
            where = f" (first at {first})" if first else ""
            message = f"the device is used before init_process_group{where}: init first, then set_device and tensors"
            records.add("TN402", "error", message)
            raise RuntimeError("Neuron runtime should not be initialized before the init_process_group.")
        gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        if default_group:
            _own_device(core, rank, size, enforced=enforced)
        return core.wrap_backend(gloo, default_group)

    dist.Backend.register_backend("neuron", create, devices=["neuron"])


def _own_device(core: Any, rank: int, size: int, *, enforced: bool) -> None:
    """A process owns the device of its local rank, and no other (torch-neuronx sources)."""
    local_rank = int(os.environ.get("LOCAL_RANK", rank))
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    core.set_visible(max(local_size, local_rank + 1))
    if enforced:
        core.set_device(local_rank)
        core.set_owned(local_rank)
