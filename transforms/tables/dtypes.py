"""Data types of torch and what Trainium does with them. Source: TorchNeuron 2.33 documentation; torch 2.13 names."""

DTYPES = {
    "torch.float16": "float16",
    "torch.half": "float16",
    "torch.bfloat16": "bfloat16",
    "torch.float32": "float32",
    "torch.float": "float32",
    "torch.float64": "float64",
    "torch.double": "float64",
    "torch.int64": "int64",
    "torch.long": "int64",
    "torch.complex32": "complex",
    "torch.chalf": "complex",
    "torch.complex64": "complex",
    "torch.cfloat": "complex",
    "torch.complex128": "complex",
    "torch.cdouble": "complex",
}
"""Qualified names by data type (torch 2.13; both spellings)."""

FP8 = {
    "torch.float8_e4m3fn": "float8_e4m3fn needs Trainium 3, and kernels written in NKI refuse it",
    "torch.float8_e5m2": "float8_e5m2 needs Trainium 3",
    "torch.float8_e4m3fnuz": "float8_e4m3fnuz is a type of AMD GPUs: Trainium 3 has e4m3fn and e5m2",
    "torch.float8_e5m2fnuz": "float8_e5m2fnuz is a type of AMD GPUs: Trainium 3 has e4m3fn and e5m2",
    "torch.float8_e8m0fnu": "MXFP8 scales (float8_e8m0fnu) need Trainium 3",
    "torch.float4_e2m1fn_x2": "4-bit floats are not documented for Trainium",
    "torch._scaled_mm": "_scaled_mm calls cuBLASLt; there is no documented counterpart for Trainium",
    "torch.ops.aten._scaled_mm": "_scaled_mm calls cuBLASLt; there is no documented counterpart for Trainium",
}
"""8-bit floats by qualified name (TorchNeuron 2.33: FP8 and MXFP8 on Trainium 3 only)."""

TENSOR_MAKERS = frozenset(
    [
        "arange", "as_tensor", "asarray", "empty", "empty_strided", "eye", "full", "linspace", "logspace", "normal",
        "ones", "rand", "randint", "randn", "randperm", "tensor", "zeros",
    ]
)  # fmt: skip
"""Functions of torch that make a tensor and take `device` and `dtype` (torch 2.13)."""

LIKE_MAKERS = frozenset(
    ["empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"]
)
"""Functions of torch whose result lies where their first argument lies (torch 2.13)."""

INTEGER_VALUES: dict[str, tuple[int, int]] = {
    "tensor": (0, 1), "as_tensor": (0, 1), "asarray": (0, 1), "full": (1, 2), "full_like": (1, 2), "arange": (0, 3),
    "randint": (0, 2), "randint_like": (1, 3), "randperm": (0, 1),
}  # fmt: skip
"""Makers of tensors that hold integers, with the positions of the arguments that are values (torch 2.13)."""

COMPLEX_MAKERS = frozenset(
    [
        "torch.complex", "torch.polar", "torch.view_as_complex", "torch.stft", "torch.fft.fft", "torch.fft.fft2",
        "torch.fft.fftn", "torch.fft.ifft", "torch.fft.ifft2", "torch.fft.ifftn", "torch.fft.rfft", "torch.fft.rfft2",
        "torch.fft.rfftn", "torch.fft.ihfft",
    ]
)  # fmt: skip
"""Functions of torch whose result is complex (torch 2.13)."""

WIDE_INTEGERS = {
    "builtins.hash": "a hash",
    "time.time_ns": "a time in nanoseconds",
    "time.perf_counter_ns": "a time in nanoseconds",
    "time.monotonic_ns": "a time in nanoseconds",
    "int.from_bytes": "a number made of bytes",
    "builtins.int.from_bytes": "a number made of bytes",
    "torch.seed": "a random seed",
    "torch.initial_seed": "a random seed",
    "uuid.uuid4": "a UUID",
}
"""Functions whose results usually need more than 32 bits (Python documentation; torch 2.13)."""

FP8_PACKAGES = {
    "torchao.float8": "8-bit training of torchao calls kernels for NVIDIA GPUs",
    "torchao.quantization.float8": "8-bit inference of torchao calls kernels for NVIDIA GPUs",
    "torchao.quantization.Float8": "8-bit inference of torchao calls kernels for NVIDIA GPUs",
}
"""Packages for training in 8 bits, by prefix (TorchNeuron FAQ: torchao is being evaluated)."""
