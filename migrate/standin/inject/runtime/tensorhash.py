"""Hashes of tensors and of the things that scripts save, the same on every device."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from . import records

DEPTH_LIMIT = 12


def of_tensor(t: torch.Tensor) -> str:
    """Hash of dtype, shape and bytes; the device and the strides do not count."""
    with records.quiet(), torch.no_grad():
        t = t.detach()
        if hasattr(t, "to_local"):  # DTensor: each rank compares its own shard
            t = t.to_local()
        if t.layout is not torch.strided or t.is_quantized:
            return _text(repr(t.cpu()))
        t = t.cpu().resolve_conj().resolve_neg().contiguous()
        digest = hashlib.blake2b(f"{t.dtype}{tuple(t.shape)}".encode(), digest_size=8)
        size = t.numel() * t.element_size()
        if size:
            digest.update(ctypes.string_at(t.data_ptr(), size))
        return digest.hexdigest()


def scalar(t: torch.Tensor) -> float | None:
    """The value of a tensor with one element, else nothing."""
    with records.quiet(), torch.no_grad():
        if hasattr(t, "to_local"):
            t = t.to_local()
        return float(t.detach().cpu().item()) if t.numel() == 1 and not t.is_complex() else None


def entries(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """(path, hash) of each tensor and plain value inside a saved object. Devices do not count."""
    if isinstance(value, torch.Tensor):
        yield path, of_tensor(value)
    elif depth > DEPTH_LIMIT:
        return
    elif isinstance(value, torch.nn.Module):
        yield from entries(value.state_dict(), path, depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from entries(item, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from entries(item, f"{path}[{i}]", depth + 1)
    elif isinstance(value, bool) or value is None or isinstance(value, (int, float, complex)):
        yield path, _text(repr(value))
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        yield from entries(vars(value), path, depth + 1)


def _text(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
