"""torch.cuda: random numbers. Sources as in `cuda_device`."""

from __future__ import annotations

from transforms.tables.rows import HIGH, MIDDLE, Row

_STATE = "a state of 16 bytes (seed and offset): one that was saved on CUDA can't be restored"


def _both(name: str, confidence: str, source: str, note: str = "", device: int = -1) -> tuple[Row, ...]:
    """The name on torch.cuda and the same one on torch.cuda.random."""
    return tuple(
        Row(f"torch.cuda.{middle}{name}", f"torch.neuron.{name}", confidence, source, note, device=device)
        for middle in ("", "random.")
    )


RNG_API: tuple[Row, ...] = (
    *_both("manual_seed", MIDDLE, "sources"),
    *_both("manual_seed_all", HIGH, "sources, accelerate"),
    *_both("seed", MIDDLE, "sources"),
    *_both("seed_all", MIDDLE, "sources"),
    *_both("initial_seed", MIDDLE, "sources"),
    *_both("get_rng_state", HIGH, "sources, accelerate", _STATE, device=0),
    *_both("set_rng_state", HIGH, "sources, accelerate", _STATE, device=1),
    *_both("get_rng_state_all", MIDDLE, "accelerate calls it; absent in sources", "newer than the other functions"),
    *_both("set_rng_state_all", MIDDLE, "accelerate calls it; absent in sources", _STATE),
)
"""Names that have a counterpart."""

RNG_MISSING: tuple[Row, ...] = (
    Row(
        "torch.cuda.default_generators",
        "",
        MIDDLE,
        "sources",
        'make a torch.Generator(device="neuron"), or use torch.neuron.get_rng_state() and set_rng_state()',
    ),
    *(
        Row(
            f"torch.cuda.{name}",
            "",
            MIDDLE,
            "private to torch.cuda",
            "use torch.neuron.get_rng_state() and set_rng_state()",
        )
        for name in ("_get_generator", "_get_rng_state_offset", "_set_rng_state_offset", "_lazy_seed_tracker")
    ),
)
"""Names without one."""
