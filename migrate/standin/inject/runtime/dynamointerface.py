"""What Dynamo asks an accelerator about itself."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo import device_interface

from . import device


def install() -> None:
    """Register the device with Dynamo, as `neuron` and as each `neuron:i`."""
    neuron = torch.neuron  # type: ignore[attr-defined]

    core = neuron.device(None).core

    class Context(device.DeviceContext):
        def __init__(self, index: Any) -> None:
            super().__init__(core, device.Device(core).index(index))

    class NeuronInterface(device_interface.DeviceInterface):
        device = Context
        Event = neuron.Event
        Stream = neuron.Stream
        current_device = staticmethod(neuron.current_device)
        set_device = staticmethod(neuron.set_device)
        device_count = staticmethod(neuron.device_count)
        is_available = staticmethod(neuron.is_available)
        synchronize = staticmethod(neuron.synchronize)
        current_stream = staticmethod(neuron.current_stream)
        set_stream = staticmethod(neuron.set_stream)
        memory_allocated = staticmethod(neuron.memory_allocated)

        @staticmethod
        def exchange_device(index: int) -> int:
            old = int(core.current_device())
            if index >= 0:
                core.set_device(index)
            return old

        maybe_exchange_device = exchange_device

        @staticmethod
        def is_bf16_supported(including_emulation: bool = False) -> bool:
            return True

        @staticmethod
        def get_compute_capability(device: Any = None) -> None:
            return None

    device_interface.register_interface_for_device("neuron", NeuronInterface)
    for index in range(128):
        device_interface.register_interface_for_device(f"neuron:{index}", NeuronInterface)
