"""What runs on NVIDIA hardware alone: packages, and texts that name what they offer."""

from __future__ import annotations

CUDA_ONLY = frozenset(
    {
        "apex",
        "bitsandbytes",
        "cudf",
        "cuml",
        "cupy",
        "cupyx",
        "deepspeed.ops",
        "flash_attn",
        "flash_attn_interface",
        "numba.cuda",
        "nvidia",
        "py3nvml",
        "pycuda",
        "pynvml",
        "tensorrt",
        "torch.utils.cpp_extension",
        "torch_tensorrt",
        "transformer_engine",
        "triton",
        "xformers",
    }
)
"""Packages and modules whose code is compiled for CUDA, compiles for it, or asks its driver (their own documentation,
2025; Trainium kernels are written in NKI instead, AWS Neuron documentation 2.33)."""

SPOKEN_OF = frozenset({"apex", "nvidia", "numba.cuda", "pynvml", "py3nvml", "deepspeed.ops"})
"""Those whose uses other rules speak about (apex.amp, names with `cuda`), or that are imported without a device."""

APEX_KERNELS = frozenset({"apex.contrib", "apex.normalization", "apex.optimizers", "apex.transformer"})
"""Parts of apex that call kernels of its own (apex documentation: fused optimizers, fused layer norm)."""

GPU_PARTS = frozenset({"faiss"})
"""Packages of which only the names that say `gpu` need CUDA (faiss documentation: GPU index classes and functions)."""

CUDA_PROVIDERS = frozenset({"CUDAExecutionProvider", "TensorrtExecutionProvider"})
"""Execution providers of ONNX Runtime that need CUDA (its documentation)."""

PORTABLE_HELPERS = frozenset({"accelerate", "diffusers", "lightning", "pytorch_lightning", "transformers", "timm"})
"""Packages whose functions keep `cuda` in their names although they look after other accelerators too."""

KERNEL_COMPILERS = frozenset({"triton", "numba", "cuda", "cupy", "cupyx"})
"""Packages whose decorators make a kernel that is launched as `kernel[grid](...)`."""
