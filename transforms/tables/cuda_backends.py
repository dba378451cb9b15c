"""torch.backends.cuda and cudnn: switches of CUDA libraries. Source: torch 2.13 on a CPU wheel, where each was run;
none of them is read by TorchNeuron (sources; its attention always takes its own backend)."""

from __future__ import annotations

MODULES: tuple[str, ...] = ("torch.backends.cuda", "torch.backends.cudnn")

TF32: frozenset[str] = frozenset(
    f"torch.backends.{name}"
    for name in [
        "cuda.matmul.allow_tf32",
        "cuda.matmul.fp32_precision",
        "cuda.matmul.allow_fp16_reduced_precision_reduction",
        "cuda.matmul.allow_bf16_reduced_precision_reduction",
        "cuda.matmul.allow_fp16_accumulation",
        "cudnn.allow_tf32",
        "cudnn.fp32_precision",
        "cudnn.conv.fp32_precision",
        "cudnn.rnn.fp32_precision",
    ]
)
"""How exactly CUDA multiplies float32."""

FLAGS: frozenset[str] = frozenset(
    f"torch.backends.{name}"
    for name in [
        "cudnn.benchmark",
        "cudnn.benchmark_limit",
        "cudnn.deterministic",
        "cudnn.enabled",
        "cuda.cufft_plan_cache.max_size",
    ]
)
"""Attributes that are written to."""

SETTERS: dict[str, str] = {
    "torch.backends.cuda.enable_flash_sdp": "attention on neuron never asks for it",
    "torch.backends.cuda.enable_mem_efficient_sdp": "attention on neuron never asks for it",
    "torch.backends.cuda.enable_math_sdp": "attention on neuron never asks for it",
    "torch.backends.cuda.enable_cudnn_sdp": "attention on neuron never asks for it",
    "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp": "attention on neuron never asks for it",
    "torch.backends.cuda.preferred_linalg_library": "it chooses between CUDA libraries",
    "torch.backends.cuda.preferred_blas_library": "it chooses between CUDA libraries",
    "torch.backends.cuda.preferred_rocm_fa_library": "it chooses between ROCm libraries",
    "torch.backends.cuda.cufft_plan_cache.clear": "there is no cuFFT",
    "torch.backends.cudnn.set_flags": "there is no cuDNN",
}
"""Functions that set something, with the reason why the call may go."""

CONTEXTS: dict[str, str] = {
    "torch.backends.cuda.sdp_kernel": "attention on neuron never asks which CUDA kernels are allowed",
    "torch.backends.cudnn.flags": "there is no cuDNN",
}
"""Context managers."""

READS: dict[str, str] = {
    "torch.backends.cudnn.is_available": "False on Trainium",
    "torch.backends.cudnn.is_acceptable": "False on Trainium",
    "torch.backends.cudnn.version": "None on Trainium",
    "torch.backends.cuda.is_built": "False on Trainium",
    "torch.backends.cuda.flash_sdp_enabled": "says nothing about attention on Trainium",
    "torch.backends.cuda.mem_efficient_sdp_enabled": "says nothing about attention on Trainium",
    "torch.backends.cuda.math_sdp_enabled": "says nothing about attention on Trainium",
    "torch.backends.cuda.cudnn_sdp_enabled": "says nothing about attention on Trainium",
    "torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed": "says nothing about attention on Trainium",
    "torch.backends.cuda.is_flash_attention_available": "False on Trainium",
    "torch.backends.cuda.is_ck_sdpa_available": "False on Trainium",
    "torch.backends.cuda.SDPAParams": "describes a choice among CUDA kernels",
    "torch.backends.cuda.SDPBackend": "names CUDA kernels",
    "torch.backends.cuda.can_use_flash_attention": "asks about CUDA kernels",
    "torch.backends.cuda.can_use_efficient_attention": "asks about CUDA kernels",
    "torch.backends.cuda.can_use_cudnn_attention": "asks about CUDA kernels",
}
"""Questions, with what is true of the answer there."""

FAILS: frozenset[str] = frozenset({"torch.backends.cuda.cufft_plan_cache"})
"""What raises on a wheel without CUDA; reads of the others do not."""
