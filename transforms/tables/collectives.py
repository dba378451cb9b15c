"""Collectives of torch.distributed that take one tensor. Source: torch 2.13 signatures."""

from __future__ import annotations

COLLECTIVES = {
    "all_reduce": 0,
    "broadcast": 0,
    "reduce": 0,
    "send": 0,
    "recv": 0,
    "isend": 0,
    "irecv": 0,
    "all_gather": 1,
    "gather": 0,
    "scatter": 0,
    "all_gather_into_tensor": 1,
    "reduce_scatter_tensor": 1,
    "all_to_all_single": 1,
}
"""Names with the position of `tensor`."""

IN_PLACE: dict[str, int | None] = {"all_reduce": 1, "broadcast": None, "reduce": 2, "send": None, "recv": None}
"""Those that work in place on any view of the tensor, with the position of `op` where they have one."""

LINEAR = frozenset(
    ["torch.distributed.ReduceOp.SUM", "torch.distributed.ReduceOp.AVG", "torch.distributed.reduce_op.SUM"]
)
"""Operations that act on real and imaginary parts alone."""
