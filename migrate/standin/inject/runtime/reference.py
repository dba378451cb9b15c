"""Run an original CUDA script on the stand-in, as the reference that the migrated one is compared with.

`cuda` and `nccl` are redirected to the stand-in, so both runs use the same kernels and the same autocast lists.
A PrivateUse1 device cannot be named "cuda", hence the redirect: it sits in a torch-function mode for everything
that torch lets one override, and in wrappers for the rest.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from . import cudafacade, importhook, records, settings


def redirect(value: Any) -> Any:
    """`value`, or the stand-in's device where it names a CUDA device."""
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "neuron" + value[4:]
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("neuron") if value.index is None else torch.device("neuron", value.index)
    return value


class Redirect(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = pytree.tree_map(redirect, (args, kwargs or {}))
        if func is torch.Tensor.type and len(args) > 1:
            dtype = cudafacade.legacy_dtype(args[1])
            if dtype is not None:
                return args[0].to(device="neuron", dtype=dtype)
        return func(*args, **kwargs)


def redirected(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with CUDA devices among its arguments redirected."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map(redirect, (args, kwargs))
        return function(*args, **kwargs)

    return call


def install(core: Any, session: settings.Session) -> None:
    """Redirect this process, and apply the declared numeric changes of the session."""
    cudafacade.install(core)
    for owner, name in (
        (torch, "load"),
        (torch, "set_default_device"),
        (torch, "get_autocast_dtype"),
        (torch, "set_autocast_dtype"),
        (torch.autocast, "__init__"),
        (torch.nn.Module, "to"),
        (torch.nn.Module, "to_empty"),
        (torch.utils.data.DataLoader, "__init__"),
        (torch.random, "fork_rng"),
    ):
        setattr(owner, name, redirected(getattr(owner, name)))
    _name_devices_cuda()
    _redirect_autocast_state()
    _autocast_without_own_default()
    _redirect_scaler(disabled=session.numerics.get("scaler") in ("disabled", "removed"))
    _redirect_distributed()
    _scatter_to_one_device()
    name = session.numerics.get("autocast_dtype")
    dtype: torch.dtype | None = getattr(torch, name) if name else None
    if dtype is not None:
        torch.set_autocast_dtype("neuron", dtype)

    def redirect_dynamo(_module: Any) -> None:
        from . import referencedynamo

        referencedynamo.install(dtype)

    importhook.after_import("torch._dynamo", redirect_dynamo)
    _redirect_threads()


def _name_devices_cuda() -> None:
    """Let `tensor.device.type` say "cuda" to user code, whose tests of it choose what the original computes.

    `torch.device` can be neither subclassed nor assigned to, so the attribute is replaced in the type's own dict.
    torch itself keeps seeing the real name.
    """
    members = gc.get_referents(torch.device.__dict__)[0]
    real = members["type"]

    def type_of(self: torch.device) -> str:
        name: str = real.__get__(self)
        if name == "neuron" and records.is_user_file(sys._getframe(1).f_code.co_filename):
            return "cuda"
        return name

    members["type"] = property(type_of)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(torch.device))


def _redirect_autocast_state() -> None:
    enabled, set_enabled = torch.is_autocast_enabled, torch.set_autocast_enabled
    torch.is_autocast_enabled = lambda device="neuron": enabled(redirect(device))  # type: ignore[assignment]

    def set_autocast_enabled(*args: Any) -> None:
        device, on = args if len(args) == 2 else ("neuron", args[0])
        set_enabled(redirect(device), on)

    torch.set_autocast_enabled = set_autocast_enabled  # type: ignore[assignment]
    torch.get_autocast_gpu_dtype = lambda: torch.get_autocast_dtype("neuron")
    torch.set_autocast_gpu_dtype = lambda dtype: torch.set_autocast_dtype("neuron", dtype)


def _autocast_without_own_default() -> None:
    """torch.cuda.amp.autocast spells out float16; a declared dtype must reach the calls that give none."""
    original = torch.cuda.amp.autocast.__init__

    @functools.wraps(original)
    def init(self: Any, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        original(self, enabled, dtype or torch.get_autocast_dtype("neuron"), cache_enabled)

    torch.cuda.amp.autocast.__init__ = init  # type: ignore[method-assign]


def _redirect_scaler(*, disabled: bool) -> None:
    original = torch.amp.GradScaler.__init__

    @functools.wraps(original)
    def init(self: Any, device: Any = "cuda", *args: Any, **kwargs: Any) -> None:
        original(self, redirect(device), *args, **kwargs)
        if disabled:
            self._enabled = False

    torch.amp.GradScaler.__init__ = init  # type: ignore[method-assign]


def _redirect_distributed() -> None:
    import torch.distributed as dist
    from torch.distributed import device_mesh, distributed_c10d

    if not dist.is_available():
        return

    def backend_name(name: Any) -> Any:
        if name is None:
            return "cpu:gloo,neuron:neuron"
        parts = str(name).lower().split(",")
        return ",".join(p.replace("cuda:", "neuron:").replace("nccl", "neuron") for p in parts)

    def patch(name: str, make: Callable[[Any], Any]) -> None:
        fresh = make(getattr(distributed_c10d, name))
        for module in (dist, distributed_c10d):
            setattr(module, name, fresh)

    def init(original: Any) -> Any:
        @functools.wraps(original)
        def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("device_id", None)
            kwargs.pop("pg_options", None)
            return original(backend_name(backend), *args, **kwargs)

        return init_process_group

    def group(original: Any) -> Any:
        @functools.wraps(original)
        def new_group(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop("pg_options", None)
            if kwargs.get("backend") is not None:
                kwargs["backend"] = backend_name(kwargs["backend"])
            return original(*args, **kwargs)

        return new_group

    def without_devices(original: Any) -> Any:
        @functools.wraps(original)
        def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
            return original(group=group, async_op=async_op)

        return barrier

    patch("init_process_group", init)
    patch("new_group", group)
    patch("barrier", without_devices)
    patch("is_nccl_available", lambda _original: lambda: True)
    device_mesh.init_device_mesh = redirected(device_mesh.init_device_mesh)
    dist.init_device_mesh = device_mesh.init_device_mesh  # type: ignore[attr-defined]
    device_mesh.DeviceMesh.__init__ = redirected(device_mesh.DeviceMesh.__init__)  # type: ignore[method-assign]


def _scatter_to_one_device() -> None:
    """Let DataParallel move its inputs, which torch has compiled for CUDA alone; over one device it does no more."""
    from torch.nn.parallel import scatter_gather

    class Scatter:
        @staticmethod
        def apply(devices: Any, _sizes: Any, _dim: int, tensor: Any) -> tuple[Any, ...]:
            if len(devices) > 1:
                raise RuntimeError(f"the stand-in has no DataParallel over {len(devices)} devices: run with one")
            return (tensor.cuda(devices[0]),)

    scatter_gather.Scatter = Scatter  # type: ignore[assignment]


def _redirect_threads() -> None:
    """A torch-function mode belongs to one thread: enter it in this one and in each that starts."""
    Redirect().__enter__()
    original = threading.Thread.run

    def run(self: threading.Thread) -> None:
        with Redirect():
            original(self)

    threading.Thread.run = run  # type: ignore[method-assign]
