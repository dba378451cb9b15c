"""What is known about torch.distributed on Trainium. Signatures: torch 2.13. Target: Neuron SDK 2.33.0."""

from __future__ import annotations

BACKEND_CALLS: dict[str, tuple[str, int]] = {
    "torch.distributed.init_process_group": ("backend", 0),
    "torch.distributed.distributed_c10d.init_process_group": ("backend", 0),
    "torch.distributed.new_group": ("backend", 2),
    "torch.distributed.distributed_c10d.new_group": ("backend", 2),
    "torch.distributed.new_subgroups": ("backend", 3),
    "torch.distributed.new_subgroups_by_enumeration": ("backend", 2),
    "torch.distributed.split_group": ("backend", 5),
    "torch.distributed.is_backend_available": ("backend", 0),
    "torch.distributed.Backend": ("name", 0),
    "torch.distributed.distributed_c10d.Backend": ("name", 0),
}
"""Functions that take a backend: name and position of the parameter."""

INIT_CALLS = frozenset(
    ("torch.distributed.init_process_group", "torch.distributed.distributed_c10d.init_process_group")
)
"""Functions that start the default process group."""

GROUP_CALLS = frozenset(
    (
        "torch.distributed.new_group",
        "torch.distributed.distributed_c10d.new_group",
        "torch.distributed.new_subgroups",
        "torch.distributed.new_subgroups_by_enumeration",
    )
)
"""Functions that build groups by hand."""

DEVICE_ID_POSITION = {
    "torch.distributed.init_process_group": 8,
    "torch.distributed.distributed_c10d.init_process_group": 8,
    "torch.distributed.new_group": 6,
    "torch.distributed.distributed_c10d.new_group": 6,
}
"""Position of `device_id`, by which NCCL connects early."""

OPTIONS_POSITION = {
    "torch.distributed.init_process_group": 7,
    "torch.distributed.distributed_c10d.init_process_group": 7,
    "torch.distributed.new_group": 3,
    "torch.distributed.distributed_c10d.new_group": 3,
    "torch.distributed.new_subgroups": 4,
    "torch.distributed.new_subgroups_by_enumeration": 3,
}
"""Position of `pg_options`. TorchNeuron's process group raises NotImplementedError for options."""

UNSUPPORTED_GROUP_CALLS: dict[str, str] = {
    "torch.distributed.split_group": (
        "splitting a communicator is a feature of NCCL: build the group with new_group or a DeviceMesh"
    ),
    "torch.distributed.shrink_group": "shrinking a communicator is a feature of NCCL: start a new process group",
}
"""Functions that only NCCL's process group implements."""

DDP = frozenset(("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.distributed.DistributedDataParallel"))
FSDP = frozenset(
    (
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    )
)
DATA_PARALLEL = frozenset(
    (
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.parallel.data_parallel.DataParallel",
        "torch.nn.parallel.data_parallel",
        "torch.nn.parallel.data_parallel.data_parallel",
    )
)
"""Classes under all the names that torch exports them by."""

OBJECT_COLLECTIVES: dict[str, int] = {
    "all_gather_object": 2,
    "gather_object": 3,
    "broadcast_object_list": 2,
    "scatter_object_list": 3,
    "send_object_list": 2,
    "recv_object_list": 2,
}
"""Collectives of pickled objects in torch.distributed, with the position of `group`. They run; each new size is one
more compilation (best practices of TorchNeuron; accelerate 1.15 pads the payload for that reason)."""

MISSING: dict[str, tuple[str, str]] = {
    "torch.distributed.monitored_barrier": ("warning", "monitored_barrier works on gloo groups only"),
    "torch.distributed._coalescing_manager": ("error", "the neuron backend does not coalesce by a manager"),
    "torch.distributed.distributed_c10d._coalescing_manager": (
        "error",
        "the neuron backend does not coalesce by a manager",
    ),
    "torch.distributed.reduce_scatter_coalesced": ("error", "the neuron backend has no reduce_scatter_coalesced"),
    "torch.distributed.rpc.init_rpc": (
        "warning",
        "RPC moves tensors of the host; for neuron tensors it is not documented",
    ),
    "torch.distributed._symmetric_memory.enable_symm_mem_for_group": ("error", "neuron has no symmetric memory"),
    "torch.distributed._symmetric_memory.empty": ("error", "neuron has no symmetric memory"),
    "torch.distributed._symmetric_memory.rendezvous": ("error", "neuron has no symmetric memory"),
}
"""Functions that ProcessGroupNeuron does not serve (its sources; AWS FAQ for RPC and symmetric memory): how bad it is,
and what to say."""

GLOO_ONLY = frozenset({"gloo", "cpu:gloo"})
"""Backends whose groups run on the host, where the limits of the neuron backend do not hold."""
