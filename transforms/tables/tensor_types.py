"""The legacy tensor types of torch.cuda and the dtype that each stands for (torch 2.13 documentation)."""

from __future__ import annotations

DTYPES: dict[str, str] = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}

FLOATING = frozenset({"FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor"})
"""Types that set_default_tensor_type accepts."""


def tensor_type(qualified: str) -> str:
    """`FloatTensor` of `torch.cuda.FloatTensor`, empty for other names."""
    prefix, _, last = qualified.rpartition(".")
    return last if prefix == "torch.cuda" and last in DTYPES else ""


def host_type(qualified: str) -> str:
    """`FloatTensor` of `torch.FloatTensor`, empty for other names."""
    prefix, _, last = qualified.rpartition(".")
    return last if prefix == "torch" and last in DTYPES else ""
