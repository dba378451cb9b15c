"""Work for other processes that never ends."""

from __future__ import annotations

import time
from collections.abc import Sequence


def wait(items: Sequence[int]) -> list[int]:
    """Wait until somebody ends this process."""
    time.sleep(600)
    return list(items)
