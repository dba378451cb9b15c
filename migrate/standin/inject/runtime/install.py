"""Put the stand-in into this process, right after `import torch`."""

from __future__ import annotations

import atexit
import os
from typing import Any

import torch

from . import (
    compilebackend,
    device,
    distributed,
    eagercheck,
    leftover,
    native,
    neuronx,
    records,
    reference,
    settings,
    taps,
    workingcopy,
)


def install(session: settings.Session) -> Any:
    """Register the device `neuron` and everything that belongs to it; returns the C++ module.

    The order matters: the backend is renamed once per process, before any hook; the operators that have both a
    CPU kernel and a decomposition are claimed before anything runs.
    """
    records.install(session.folder, torch.__file__)
    if session.moved:
        atexit.register(workingcopy.report_strayed, session.moved[0])
    core = native.load(session.library)
    torch.utils.rename_privateuse1_backend("neuron")
    core.install_hooks()
    core.claim_cpu_kernels()
    core.set_reporter(records.native)
    core.set_enforced(not session.original)
    core.set_visible(_visible_devices(session))
    module = device.make(core, compilebackend.get_metrics, compilebackend.reset_metrics)
    torch._register_device_module("neuron", module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    os.register_at_fork(after_in_child=core.set_forked)
    compilebackend.install(session)
    distributed.install(core, enforced=not session.original)
    neuronx.install(core)
    # Backward on the calling thread: the thread count of the forward (so the same rounding), user frames in
    # reports, and no device thread that still wants the GIL when the interpreter goes away.
    torch._C._set_multithreading_enabled(False)
    if session.seed is not None:
        torch.manual_seed(session.seed)
    if session.original:
        reference.install(core, session)
    else:
        leftover.install()
    if session.compare_eager:
        eagercheck.turn_dropout_off()
    taps.install(session)
    return core


def _visible_devices(session: settings.Session) -> int:
    """As the runtime counts: the cores named to it, else what the launcher started, else the session's number."""
    for name in ("NEURON_RT_NUM_CORES", "LOCAL_WORLD_SIZE"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return session.devices
