"""The redirect of an original where Dynamo traces: inside compiled regions no Python of ours runs.

Dynamo reads the device of an autocast and of `tensor.device.type` itself, so its own readers are led to the stand-in.
"""

from __future__ import annotations

from typing import Any

import torch

from . import records


def install(declared_dtype: torch.dtype | None) -> None:
    """Redirect autocast and device types in traced code. Called when Dynamo has been imported."""
    from torch._dynamo.variables.constant import ConstantVariable
    from torch._dynamo.variables.ctx_manager import AutocastModeVariable

    create = AutocastModeVariable.create

    def create_for_neuron(func: Any, args: Any, kwargs: Any) -> Any:
        variable = create(func, args, kwargs)
        device, dtype, *rest = variable.target_values
        if device == "cuda":
            # torch.cuda.amp.autocast spells out float16, so here a given dtype can't be told from the default.
            if declared_dtype is not None and dtype in (None, torch.float16):
                dtype = declared_dtype
            variable.target_values = ["neuron", dtype, *rest]
        return variable

    AutocastModeVariable.create = staticmethod(create_for_neuron)  # type: ignore[method-assign]
    getattr_of = ConstantVariable.const_getattr

    def const_getattr(self: Any, tx: Any, name: str) -> Any:
        found = getattr_of(self, tx, name)
        if name == "type" and found == "neuron" and isinstance(self.value, torch.device):
            return "cuda" if records.is_user_file(tx.f_code.co_filename) else found
        return found

    ConstantVariable.const_getattr = const_getattr  # type: ignore[method-assign]
