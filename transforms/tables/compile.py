"""torch.compile: what the neuron backend reads. Source: TorchNeuron 2.33, torch.compile reference; torch 2.13."""

COMPILE_NAMES = frozenset({"torch.compile", "torch.compiler.compile"})
"""Qualified names of the function."""

BACKENDS_REPLACED = frozenset(
    "inductor cudagraphs aot_eager onnxrt tensorrt torch_tensorrt ipex tvm openxla nvfuser".split()
)
"""Backends that generate code for other hardware, or that stand in for one that does."""

BACKENDS_KEPT = frozenset({"eager", "aot_eager_decomp_partition", "eager_noexcept", "eager_debug"})
"""Backends for debugging: they run on any device."""

OPTIONS_KEPT = frozenset({"model_name", "fallback_execution", "guard_filter_fn"})
"""Keys of `options` that mean something: two are read by the neuron backend, the last one by torch itself."""
