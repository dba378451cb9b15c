"""Environment variables that CUDA, its libraries or torch's CUDA part read, and what stands for them on Trainium."""

from __future__ import annotations

from typing import NamedTuple


class Variable(NamedTuple):
    """One variable. `new`: the variable with the same meaning; `idle`: nothing on Trainium reads it."""

    name: str
    new: str
    advice: str
    source: str
    idle: bool = False


VISIBLE = "CUDA_VISIBLE_DEVICES"
_S1 = "TorchNeuron documentation 2.33 (best practices)"
_ENV = "TorchNeuron documentation 2.33 (environment variables)"
_TORCH = "torch 2.13, CUDA part"
_NVIDIA = "NVIDIA CUDA documentation; read by no part of TorchNeuron"

VARIABLES: dict[str, Variable] = {
    v.name: v
    for v in (
        Variable(VISIBLE, "NEURON_RT_VISIBLE_CORES", "under torchrun TorchNeuron gives each rank its core", _S1),
        Variable("CUDA_LAUNCH_BLOCKING", "NEURON_LAUNCH_BLOCKING", "the same for Trainium", _S1),
        Variable("PYTORCH_CUDA_ALLOC_CONF", "", "settings of the CUDA allocator", _ENV, True),
        Variable("PYTORCH_NO_CUDA_MEMORY_CACHING", "", "a setting of the CUDA allocator", _TORCH, True),
        Variable("PYTORCH_NVML_BASED_CUDA_CHECK", "", "how CUDA is found", _TORCH, True),
        Variable("TORCH_CUDNN_V8_API_DISABLED", "", "a setting of cuDNN", _TORCH, True),
        Variable("TORCH_CUDNN_V8_API_ENABLED", "", "a setting of cuDNN", _TORCH, True),
        Variable("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "", "there is no TF32", _TORCH, True),
        Variable("TORCH_USE_CUDA_DSA", "", "a check inside CUDA kernels", _TORCH, True),
        Variable("CUDA_DEVICE_ORDER", "", "the order of GPUs", _NVIDIA, True),
        Variable("CUDA_DEVICE_MAX_CONNECTIONS", "", "queues of a GPU", _NVIDIA, True),
        Variable("CUDA_MODULE_LOADING", "", "how CUDA loads kernels", _NVIDIA, True),
        Variable("CUDA_CACHE_PATH", "", "the cache of CUDA kernels", _NVIDIA, True),
        Variable("CUDA_CACHE_DISABLE", "", "the cache of CUDA kernels", _NVIDIA, True),
        Variable("CUDA_CACHE_MAXSIZE", "", "the cache of CUDA kernels", _NVIDIA, True),
        Variable("CUDA_AUTO_BOOST", "", "clocks of a GPU", _NVIDIA, True),
        Variable("CUDA_HOME", "", "where CUDA's compiler is: extensions need another build", _NVIDIA),
        Variable("CUDA_PATH", "", "where CUDA's compiler is: extensions need another build", _NVIDIA),
        Variable("CUDA_ROOT", "", "where CUDA's compiler is: extensions need another build", _NVIDIA),
        Variable("CUDA_TOOLKIT_ROOT_DIR", "", "where CUDA's compiler is: extensions need another build", _NVIDIA),
        Variable("TORCH_CUDA_ARCH_LIST", "", "which GPUs an extension is built for", _TORCH),
    )
}
"""By name. Variables of NCCL and of PyTorch/XLA have rules of their own."""
