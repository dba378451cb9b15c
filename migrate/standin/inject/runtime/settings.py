"""What the tool tells the processes of one run: a JSON file in the session's folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Session:
    """One run of one script.

    `role` is `migrated`, or `original` for the CUDA script that serves as the reference: there `cuda` is
    redirected to the stand-in and the device's limits are off. `numerics` are changes to apply to an original.
    """

    folder: str
    library: str
    role: str = "migrated"
    taps: bool = False
    seed: int | None = None
    stop_after: int | None = None
    devices: int = 1
    compare_eager: bool = False
    numerics: dict[str, Any] = field(default_factory=dict)
    moved: list[str] | None = None  # a real tree, and the working copy that stands for it

    @property
    def original(self) -> bool:
        return self.role == "original"


def load(folder: str) -> Session:
    """Read the settings that `launch` wrote into `folder`."""
    with open(os.path.join(folder, "session.json"), encoding="utf-8") as file:
        return Session(folder=folder, **json.load(file))
