"""`--compiled-vs-eager`: the first calls of each compiled region also run eagerly, on the same inputs.

Compared are outputs, and the gradients of the inputs and parameters. Both runs start from the same random
state and the same buffers, with dropout off in the whole program, and leave both as they found them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import records

CALLS_COMPARED = 2


def turn_dropout_off() -> None:
    """Make every dropout of torch.nn.functional the identity."""
    import torch.nn.functional as F

    for name in ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"):
        setattr(F, name, _without_dropout(getattr(F, name)))


def _without_dropout(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def same(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
        return input

    return same


def wrap(model: Any, compiled: Any) -> Any:
    """`compiled`, which compares its first calls with `model`."""
    place = records.user_place(sys._getframe(2))
    owner = model if isinstance(model, torch.nn.Module) else getattr(model, "__self__", None)
    module = owner if isinstance(owner, torch.nn.Module) else None
    name = type(module).__name__ if module is not None else getattr(model, "__qualname__", repr(model))
    left = CALLS_COMPARED

    def checked(eager: Callable[..., Any], fast: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fast)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if left > 0 and not torch.compiler.is_compiling():
                left -= 1
                _compare(name, place, module, eager, fast, args, kwargs)
            return fast(*args, **kwargs)

        return call

    if isinstance(model, torch.nn.Module):
        compiled.forward = checked(model.__call__, compiled.forward)
        return compiled
    return checked(model, compiled)


def _compare(name: str, place: records.Place, module: Any, eager: Any, fast: Any, args: Any, kwargs: Any) -> None:
    row: dict[str, Any] = {"kind": "region-check", "name": name, "path": place[0], "line": place[1]}
    try:
        with records.quiet():
            start = _State(module)
            expected = _run(start, module, eager, args, kwargs)
            got = _run(start, module, fast, args, kwargs)
            start.restore()
    except Exception as error:
        row.update(equal=None, detail=f"not compared: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
        records.write(row)
        return
    worst, exact = "", True
    for what, a in expected.items():
        b = got.get(what)
        if b is None:
            worst, exact = worst or f"{what} is missing", False
        elif not torch.equal(a, b):
            exact = False
            try:
                torch.testing.assert_close(b, a, check_device=False, check_stride=False, equal_nan=True)
            except AssertionError as error:
                worst = worst or f"{what}: {' '.join(str(error).split())[:200]}"
    row.update(equal=not worst, exact=exact, detail=worst)
    records.write(row)


class _State:
    """Random state and buffers, to go back to."""

    def __init__(self, module: Any) -> None:
        self.cpu = torch.get_rng_state()
        self.neuron = torch.neuron.get_rng_state()  # type: ignore[attr-defined]
        self.buffers = [(b, b.detach().clone()) for b in module.buffers()] if module is not None else []

    def restore(self) -> None:
        torch.set_rng_state(self.cpu)
        torch.neuron.set_rng_state(self.neuron)  # type: ignore[attr-defined]
        with torch.no_grad():
            for buffer, value in self.buffers:
                buffer.copy_(value)


def _run(start: _State, module: Any, function: Any, args: Any, kwargs: Any) -> dict[str, torch.Tensor]:
    """Outputs and gradients by name."""
    start.restore()
    args, kwargs = pytree.tree_map(_own_copy, (args, kwargs))
    out = function(*args, **kwargs)
    tensors = [t for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
    found = {f"output {i}": t.detach().clone() for i, t in enumerate(tensors)}
    inputs = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.requires_grad]
    wanted = {f"gradient of input {i}": t for i, t in enumerate(inputs)}
    if module is not None:
        wanted.update({f"gradient of {n}": p for n, p in module.named_parameters() if p.requires_grad})
    roots = [t for t in tensors if t.requires_grad]
    if roots and wanted and torch.is_grad_enabled():
        loss = sum((t * _weights(t)).sum() for t in roots)
        gradients = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
        found.update({n: g.detach().clone() for n, g in zip(wanted, gradients) if g is not None})
    return found


def _weights(t: torch.Tensor) -> torch.Tensor:
    """Different weights for the elements, so that a wrong gradient cannot hide in a sum."""
    return torch.cos(torch.arange(t.numel(), device=t.device, dtype=torch.float32)).view(t.shape).to(t.dtype)


def _own_copy(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter):
        return value
    return value.detach().clone(memory_format=torch.preserve_format).requires_grad_(value.requires_grad)
