"""Changes of numerics that applied fixes declare, and that an original may be run with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import CannotRun

AUTOCAST = (None, "bfloat16", "float16", "float32")
SCALER = (None, "enabled", "disabled", "removed")


def load(path: Path) -> dict[str, Any]:
    """Read a JSON file: one declaration, or a list of them. Raises CannotRun when it is neither."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotRun(f"--numerics {path}: {error}") from None
    return merge(content if isinstance(content, list) else [content], str(path))


def merge(declarations: Iterable[Any], source: str) -> dict[str, Any]:
    """The declarations as one. Two that contradict each other cannot be applied to one run: CannotRun."""
    merged: dict[str, Any] = {}
    for declaration in declarations:
        if declaration is None:
            continue
        if not isinstance(declaration, Mapping):
            raise CannotRun(f"{source}: a declaration of numerics is an object, not {declaration!r}")
        for key, value in declaration.items():
            known = {"autocast_dtype": AUTOCAST, "scaler": SCALER}.get(key)
            if known is None or value not in known:
                raise CannotRun(f"{source}: unknown declaration of numerics {key}: {value!r}")
            if value is None:
                continue
            if merged.get(key, value) != value:
                raise CannotRun(f"{source}: {key} is declared as {merged[key]} and as {value}, which one run cannot be")
            merged[key] = value
    return merged


def described(numerics: Mapping[str, Any]) -> str:
    """In words: `autocast dtype bfloat16, scaler disabled`."""
    words = {"autocast_dtype": "autocast dtype", "scaler": "scaler"}
    return ", ".join(f"{words[key]} {value}" for key, value in sorted(numerics.items()))
