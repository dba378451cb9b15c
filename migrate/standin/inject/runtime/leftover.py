"""Leftover torch.cuda, .cuda() and mixed precision for CUDA in a migrated script.

Reading a name of torch.cuda is a warning: code for several devices does it behind a test. Most calls raise by
themselves on a host without CUDA; those that only switch themselves off in silence are errors here.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import torch

from . import records


class _Watched(types.ModuleType):
    """A module that notes each read of its attributes by user code."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if not name.startswith("__"):
            place = records.direct_place(1)
            if place:
                records.add("TN107", "warning", f"leftover {super().__getattribute__('__name__')}.{name}", place)
        return value


def install() -> None:
    """Watch torch.cuda, torch.cuda.amp, Tensor.cuda, Module.cuda, autocast and the loss scaler."""
    import torch.cuda.amp

    for name in ("torch.cuda", "torch.cuda.amp"):
        sys.modules[name].__class__ = _Watched
    _watch_method(torch.Tensor)
    _watch_method(torch.nn.Module)
    _watch_constructor(torch.autocast, "device_type")
    _watch_constructor(torch.amp.GradScaler, "device")


def _watch_method(owner: Any) -> None:
    original = owner.cuda

    @functools.wraps(original)
    def cuda(self: Any, *args: Any, **kwargs: Any) -> Any:
        records.add("TN107", "error", f"leftover {owner.__name__}.cuda()")
        return original(self, *args, **kwargs)

    owner.cuda = cuda


def _watch_constructor(owner: Any, parameter: str) -> None:
    """autocast and GradScaler for "cuda" warn and do nothing on a host without CUDA."""
    original = owner.__init__
    default = "cuda" if owner is torch.amp.GradScaler else None

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        device = args[0] if args else kwargs.get(parameter, default)
        if str(device).startswith("cuda") and kwargs.get("enabled", True):
            records.add("TN107", "error", f"leftover {owner.__name__} for cuda: it switches itself off")
        original(self, *args, **kwargs)

    owner.__init__ = init
