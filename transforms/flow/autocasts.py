"""The autocasts of one file: which dtype each computes in, on which device, and what they say together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.flow.amp import AmpUses, Use, is_constant
from transforms.flow.dtypes import dtype_of
from transforms.tables.amp import AUTOCAST, CUDA_AUTOCAST

if TYPE_CHECKING:
    from transforms.engine.context import Context


@dataclass(frozen=True, eq=False)
class Autocast:
    """An autocast that switches mixed precision on. `dtype` is empty when it can't be told.

    `lacks` says that it names no dtype and is to receive bfloat16; `device` is cuda, neuron, other or unknown.
    """

    use: Use
    dtype: str
    lacks: bool
    device: str


class Autocasts:
    """Answers about autocast in one file."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.amp = cx.shared(AmpUses)

    def active(self) -> list[Autocast]:
        """The autocasts that may switch mixed precision on, on Trainium: none of the CPU, none with `enabled=False`."""
        found = []
        for use in self.amp.of("autocast"):
            if use.kind == "type" or (use.kind == "alias" and not self.amp.binds(use)):
                continue
            autocast = self.of(use)
            if autocast is not None and not autocast.dtype and self.amp.stored(use):
                continue  # the place where the function is stored speaks for it
            if autocast is not None and autocast.device != "other":
                found.append(autocast)
        return found

    def of(self, use: Use) -> Autocast | None:
        """What one use says about precision, None when it switches it off."""
        positions = CUDA_AUTOCAST if use.cuda else AUTOCAST
        if use.call is None:
            return Autocast(use, "", self.amp.binds(use), "cuda" if use.cuda else "unknown")
        enabled = use.argument("enabled", positions)
        if enabled is not None and is_constant(enabled.value, "False"):
            return None
        device = "cuda" if use.cuda else self.device(use)
        dtype = use.argument("dtype", positions)
        if dtype is not None and not is_constant(dtype.value, "None"):
            return Autocast(use, dtype_of(self.cx, dtype.value), False, device)
        if unpacks(use.call):
            return Autocast(use, "", False, device)
        return Autocast(use, "float16" if device == "neuron" else "", device == "cuda", device)

    def device(self, use: Use) -> str:
        """The device that torch.autocast or torch.amp.GradScaler is told: cuda, neuron, other or unknown."""
        name = "device_type" if use.function == "autocast" else "device"
        arg = use.argument(name, (name,))
        if arg is None:
            return "unknown" if use.call is not None and unpacks(use.call) else "cuda"
        text = self.cx.string(arg.value)
        texts = {text} if text is not None else self._texts(arg.value)
        kinds = {t.split(":")[0] for t in texts}
        if "cuda" in kinds:
            return "cuda"
        if "neuron" in kinds:
            return "neuron"
        return "other" if text is not None else "unknown"

    def _texts(self, node: cst.CSTNode) -> set[str]:
        component = self.cx.devices.component_of(node)
        if component is None:
            return set()
        return {t for o in component.origins if (t := self.cx.string(o.node)) is not None}
