"""torch.compile and what surrounds it. Source: TorchNeuron 2.33, torch.compile reference and best "
"practices; torch 2.13."""

from __future__ import annotations

COMPILE_NAMES = frozenset({"torch.compile", "torch.compiler.compile"})
"""Qualified names of the function."""

OPTIMIZE_NAMES = frozenset({"torch._dynamo.optimize", "torch._dynamo.eval_frame.optimize"})
"""The older form: the backend is the first argument, and the result is applied to the model."""

PARTIALS = frozenset({"functools.partial"})

BACKENDS_REPLACED = frozenset(
    [
        "inductor",
        "cudagraphs",
        "aot_eager",
        "onnxrt",
        "tensorrt",
        "torch_tensorrt",
        "ipex",
        "tvm",
        "openxla",
        "openxla_eval",
        "nvfuser",
        "hidet",
    ]
)
"""Backends that generate code for other hardware, or that stand in for one that does."""

BACKENDS_KEPT = frozenset({"eager", "aot_eager_decomp_partition", "eager_noexcept", "eager_debug"})
"""Backends for debugging: they run on any device."""

OPTIONS_KEPT = frozenset({"model_name", "fallback_execution", "guard_filter_fn"})
"""Keys of `options` that mean something: two are read by the neuron backend, the last one by torch itself."""

TORCH_KEYWORDS = frozenset(
    [
        "backend",
        "fullgraph",
        "dynamic",
        "mode",
        "options",
        "disable",
        "recompile_limit",
        "isolate_recompiles",
        "shapes_spec",
        "name",
    ]
)
"""Keywords of torch.compile (torch 2.13), which nn.Module.compile passes on."""

DYNAMO_REPORTED: dict[str, str] = {
    "suppress_errors": "it hides graphs that fail to compile: they run eagerly, op by op, without a word",
    "optimize_ddp": "graphs split by bucket sizes of DDP: nothing is documented for the neuron backend",
    "capture_dynamic_output_shape_ops": (
        "output shapes that depend on data are dynamic, which the neuron backend refuses"
    ),
    "capture_scalar_outputs": "values read by .item() become symbols in the graph, which the neuron backend refuses",
    "allow_unspec_int_on_nn_module": "integers of modules become symbols, which the neuron backend refuses",
}
"""Settings of torch._dynamo.config to look at by hand, with what is wrong."""

DYNAMO_STATIC: dict[str, str] = {
    "assume_static_by_default": "True",
    "automatic_dynamic_shapes": "False",
    "dynamic_shapes": "False",
    "force_nn_module_property_static_shapes": "True",
    "force_parameter_static_shapes": "True",
    "specialize_int": "True",
    "specialize_float": "True",
}
"""Settings of torch._dynamo.config that govern dynamic shapes, with the value that keeps shapes static."""

MARKS_DYNAMIC = frozenset(
    {
        "torch._dynamo.mark_dynamic",
        "torch._dynamo.maybe_mark_dynamic",
        "torch._dynamo.decorators.mark_dynamic",
        "torch._dynamo.decorators.maybe_mark_dynamic",
        "torch._dynamo.mark_unbacked",
        "torch._dynamo.decorators.mark_unbacked",
    }
)
"""Calls that make a size symbolic."""

STEP_MARKS = frozenset({"torch.compiler.cudagraph_mark_step_begin", "torch._inductor.cudagraph_mark_step_begin"})
"""Calls that tell CUDA graph trees where a step begins; without effect otherwise."""

CUDAGRAPH_PREFIXES = (
    "torch._inductor.cudagraph_trees",
    "torch._inductor.cudagraph_utils",
    "torch._inductor.compile_fx.cudagraphify",
)

NO_TARGET: dict[str, str] = {
    "torch._inductor.aoti_compile_and_package": (
        "AOTInductor packages code for CPUs and GPUs: there is no neuron target"
    ),
    "torch._inductor.aot_compile": "AOTInductor packages code for CPUs and GPUs: there is no neuron target",
    "torch._inductor.aoti_load_package": "an AOTInductor package holds code for CPUs and GPUs",
    "torch._inductor.standalone_compile": "Inductor compiles for CPUs and GPUs",
    "torch._inductor.compile": "Inductor compiles for CPUs and GPUs",
    "torch._inductor.compile_fx.compile_fx": "Inductor compiles for CPUs and GPUs",
    "torch._export.aot_compile": "AOTInductor packages code for CPUs and GPUs: there is no neuron target",
    "torch._export.aot_load": "an AOTInductor package holds code for CPUs and GPUs",
    "torch_tensorrt.compile": 'TensorRT compiles for NVIDIA GPUs: use torch.compile(backend="neuron")',
    "torch.compiler.load_compiled_function": "nothing is documented about compiled functions loaded from a file",
}
"""Calls that make or load code for other hardware: they fail, or run on the CPU."""

JIT_RUNS: dict[str, str] = {
    "torch.jit.script": "TorchScript runs eagerly on neuron, without its fusers",
    "torch.jit.trace": "a traced module runs eagerly on neuron, and constants it recorded keep the device of the trace",
    "torch.jit.trace_module": (
        "a traced module runs eagerly on neuron, and constants it recorded keep the device of the trace"
    ),
    "torch.jit.freeze": "freezing folds constants for the device of the trace",
    "torch.jit.optimize_for_inference": "its passes are for CPUs and GPUs",
    "torch.jit.load": "a module saved after tracing keeps the devices that it was traced with",
    "torch.jit.fuser": "the fusers of TorchScript are for CPUs and GPUs",
    "torch.jit.set_fusion_strategy": "the fusers of TorchScript are for CPUs and GPUs",
    "torch.export.export": (
        'the traced program still runs; compile it with torch.compile(ep.module(), backend="neuron")'
    ),
}
"""Calls that go on running, though not compiled for Trainium. `torch.jit.ignore` and the like are "
"marks without effect."""

FUSED_OPTIMIZERS = frozenset(
    ["Adam", "AdamW", "SGD", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adadelta", "Adamax", "ASGD", "Rprop"]
)
"""Optimizers of torch.optim with the arguments fused, foreach or capturable (torch 2.13)."""

FALLBACK_VARIABLE = "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION"
"""1, the default of 2.33, raises where a compiled graph fails; 0 runs the graph eagerly."""

WRAPPERS = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_shard",
        "torch.distributed._composable.fsdp.fully_shard",
        "torch.distributed._composable.replicate",
        "torch.distributed._composable.replicate.replicate",
    }
)
"""What wraps a model for data parallel training."""

DEFAULT_BACKEND = "torch.compiler.set_default_backend"
"""Sets what torch.compile takes when no backend is given."""
