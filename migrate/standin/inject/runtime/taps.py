"""Taps: what a script computes, written step by step, for the comparison with its original.

A tap is the value on which `backward()` is called, the parameters after each `Optimizer.step`, what
`torch.save` gets, and what is printed. Steps are counted by optimizer steps of the process.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import weakref
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from . import settings, tensorhash

PARAMETERS_NAMED = 2000


@dataclass
class _State:
    file: Any = None
    steps: int = 0


_state = _State()
_names: weakref.WeakKeyDictionary[torch.optim.Optimizer, list[str]] = weakref.WeakKeyDictionary()

_unscaled: MutableMapping[torch.Tensor, torch.Tensor] = WeakTensorKeyDictionary()


def install(session: settings.Session) -> None:
    """Set the taps that the session asks for."""
    if session.taps:
        _open(session.folder)
        os.register_at_fork(after_in_child=lambda: _open(session.folder))
        _tap_scaling()
        _tap_backward()
        _tap_save()
        _tap_stdout()
    if session.taps or session.stop_after is not None:
        _tap_step(session)


def _open(folder: str) -> None:
    # Line buffered: a run that is stopped keeps what it has said.
    _state.file = open(  # noqa: SIM115 (open as long as the process lives)
        os.path.join(folder, f"taps-{os.getpid()}.jsonl"), "a", buffering=1, encoding="utf-8"
    )


def _rank() -> int:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return int(os.environ.get("RANK", "0") or 0)


def _write(tap: str, **data: Any) -> None:
    if _state.file is not None:
        _state.file.write(json.dumps({"tap": tap, "rank": _rank(), "step": _state.steps, **data}) + "\n")


def _tap_scaling() -> None:
    """Remember what a loss was before it was scaled: scaling is no part of what a script computes."""
    original = torch.amp.GradScaler.scale

    def scale(self: Any, outputs: Any) -> Any:
        scaled = original(self, outputs)
        if isinstance(scaled, torch.Tensor) and scaled is not outputs:
            _unscaled[scaled] = outputs.detach()
        return scaled

    torch.amp.GradScaler.scale = scale  # type: ignore[method-assign]


def _tap_backward() -> None:
    original = torch.autograd.backward

    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        for t in (tensors,) if isinstance(tensors, torch.Tensor) else tensors:
            if isinstance(t, torch.Tensor):
                plain = _unscaled.get(t, t)
                _write("loss", hash=tensorhash.of_tensor(plain), value=tensorhash.scalar(plain))
        return original(tensors, *args, **kwargs)

    torch.autograd.backward = backward  # type: ignore[assignment]


def _tap_step(session: settings.Session) -> None:
    from torch.optim.optimizer import register_optimizer_step_post_hook

    def after_step(optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if session.taps:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            names = _names.get(optimizer)
            if names is None or len(names) != min(len(parameters), PARAMETERS_NAMED):
                names = _names[optimizer] = _parameter_names(parameters)[:PARAMETERS_NAMED]
            _write("parameters", names=names, hashes=[tensorhash.of_tensor(p)[:8] for p in parameters])
        _state.steps += 1
        if session.stop_after is not None and _state.steps >= session.stop_after:
            raise SystemExit(0)

    register_optimizer_step_post_hook(after_step)


def _parameter_names(parameters: list[torch.Tensor]) -> list[str]:
    """The names that the modules of the process give to these parameters."""
    modules = [o for o in gc.get_objects() if issubclass(type(o), torch.nn.Module)]
    inner = {id(child) for m in modules for child in m.children()}
    found: dict[int, str] = {}
    for root in (m for m in modules if id(m) not in inner):
        for name, parameter in root.named_parameters():
            found.setdefault(id(parameter), name.replace("_orig_mod.", "").removeprefix("module."))
    return [found.get(id(p), f"parameter {i}") for i, p in enumerate(parameters)]


def _tap_save() -> None:
    original = torch.save

    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        name = os.path.basename(str(f)) if isinstance(f, (str, os.PathLike)) else "a stream"
        _write("save", file=name, entries=dict(tensorhash.entries(obj)))
        return original(obj, f, *args, **kwargs)

    torch.save = save


def _tap_stdout() -> None:
    stream, pending = sys.stdout, ""
    original = stream.write

    def write(text: str) -> int:
        nonlocal pending
        done = original(text)
        *lines, pending = (pending + text).split("\n")
        for line in lines:
            if any(c.isdigit() for c in line):
                _write("print", text=line[-500:])
        return done

    with contextlib.suppress(AttributeError):  # a stream of the user's own that cannot be tapped
        stream.write = write  # type: ignore[method-assign]
