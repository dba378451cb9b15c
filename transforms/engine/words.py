"""Which tokens are specific to CUDA or XLA: the words that the ledger must account for."""

from __future__ import annotations

import re
from functools import lru_cache

SPECIFIC = frozenset({"cuda", "nccl", "cudnn", "nvtx", "xla"})
"""A token with one of these words is a site, or is kept with a reason."""

_ANY = re.compile(b"cuda|nccl|cudnn|nvtx|xla", re.I)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+")


def may_hold(data: bytes) -> bool:
    """Whether the bytes hold any of the words, in any case: the cheapest filter."""
    return _ANY.search(data) is not None


@lru_cache(maxsize=16384)
def words(text: str) -> tuple[str, ...]:
    """The words of a token, split at `_`, digits and case: `CUDAGraph` gives cuda, graph; `xlabel` gives xlabel."""
    return tuple(w.lower() for w in _WORD.findall(text))


@lru_cache(maxsize=16384)
def is_specific(text: str) -> bool:
    """Whether a token has one of the words that belong to CUDA or XLA."""
    return not SPECIFIC.isdisjoint(words(text))


def count(data: bytes) -> int:
    """How many such words a file of an unread kind holds, for the list of files that no rule reads."""
    return sum(is_specific(m.group().decode("ascii", "replace")) for m in re.finditer(rb"[A-Za-z_0-9]+", data))
