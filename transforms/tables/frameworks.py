"""Libraries that name accelerators in their own words: their strings are no torch devices."""

from __future__ import annotations

from typing import NamedTuple


class Accelerator(NamedTuple):
    """One argument of a library call: which values ask for CUDA, what to do, and the severity when it stays.

    `place` is its position, -1 when it is given by keyword alone.
    """

    roots: tuple[str, ...]
    call: str
    argument: str
    values: tuple[str, ...]
    advice: str
    severity: str
    place: int = -1


_LIGHTNING = ("lightning", "pytorch_lightning", "lightning_fabric", "lightning_lite")
_HUGGING_FACE = ("transformers", "diffusers", "accelerate", "peft", "optimum", "sentence_transformers")
_MAP = 'placement by a device map is not documented for neuron: load on the CPU and move the model with .to("neuron")'
_NAMES = ("gpu", "cuda", "auto")
_LOOP = (
    "Lightning knows no neuron accelerator: register one (lightning.pytorch.accelerators.Accelerator), or drive the "
    "training loop yourself"
)
_FABRIC = 'Fabric knows no neuron accelerator: register one, or move the objects with .to("neuron")'
_COUNTED = "Lightning counts CUDA devices here: there is no neuron accelerator"
_RAY = "Ray counts CUDA devices here: ask for the resource neuron_cores"
_PROVIDERS = ("CUDAExecutionProvider", "TensorrtExecutionProvider")
_ONNX = "ONNX Runtime has no provider for Trainium: it falls back to the CPU"
_VLLM = "vLLM chooses its platform by a plug-in: take the argument out, and install that of Neuron"
_STAYS = "it has no kernels for Trainium and stays on the CPU: take the argument out"

ACCELERATORS: tuple[Accelerator, ...] = (
    Accelerator(_LIGHTNING, "Trainer", "accelerator", _NAMES, _LOOP, "error"),
    Accelerator(_LIGHTNING, "Fabric", "accelerator", _NAMES, _FABRIC, "error", 0),
    Accelerator(_LIGHTNING, "LightningCLI", "accelerator", _NAMES, _LOOP, "error"),
    Accelerator(_LIGHTNING, "Trainer", "gpus", (), _COUNTED, "error"),
    Accelerator(_LIGHTNING, "Trainer", "strategy", ("ddp_cuda", "cuda"), "a strategy for CUDA", "error"),
    Accelerator(_HUGGING_FACE, "*", "device_map", ("cuda", "gpu"), _MAP, "error"),
    Accelerator(_HUGGING_FACE, "*", "device_map", ("auto", "balanced", "sequential"), _MAP, "warning"),
    Accelerator(("composer",), "Trainer", "device", ("gpu", "cuda"), "Composer knows no neuron device", "error"),
    Accelerator(("xgboost",), "*", "device", ("cuda", "gpu"), _STAYS, "warning"),
    Accelerator(("xgboost",), "*", "tree_method", ("gpu_hist",), _STAYS, "warning"),
    Accelerator(("lightgbm",), "*", "device", ("cuda", "gpu"), _STAYS, "warning"),
    Accelerator(("lightgbm",), "*", "device_type", ("cuda", "gpu"), _STAYS, "warning"),
    Accelerator(("catboost",), "*", "task_type", ("GPU",), _STAYS, "warning"),
    Accelerator(("ray",), "*", "use_gpu", (), _RAY, "warning"),
    Accelerator(("ray",), "*", "num_gpus", (), _RAY, "warning"),
    Accelerator(("onnxruntime",), "InferenceSession", "providers", _PROVIDERS, _ONNX, "warning", 2),
    Accelerator(("vllm",), "*", "device", ("cuda", "gpu"), _VLLM, "warning"),
)
"""Source: the public documentation of each library, late 2026; none lists an accelerator of that name for Trainium."""


def rows_for(qualified: str) -> list[Accelerator]:
    """The rows of a call."""
    root, _, rest = qualified.partition(".")
    names = {"*", *rest.split(".")[-2:]}
    return [row for row in ACCELERATORS if root in row.roots and row.call in names] if rest else []


def accelerator_argument(qualified: str, keyword: str) -> bool:
    """Whether a keyword of a call takes a name of the library's own for an accelerator."""
    return bool(keyword) and any(row.argument == keyword for row in rows_for(qualified))

OTHER_ARRAYS = frozenset(
    "jax cupy warp tensorflow keras mxnet paddle mlx numba faiss onnxruntime tvm taichi dask oneflow mindspore jittor "
    "ctranslate2 faster_whisper open3d nvidia".split()
)
"""Packages with arrays or devices of their own, by import name: a `device=` of their functions is not torch's."""
