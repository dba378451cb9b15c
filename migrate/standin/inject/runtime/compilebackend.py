"""`torch.compile(backend="neuron")`: runs the traced graph through AOTAutograd on the stand-in's tensors.

Checks what the documents warn about, once per graph (`graphchecks`) and at every call of a compiled graph.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import torch

from . import breaks, eagercheck, graphchecks, importhook, records, settings

INT32 = (-(2**31), 2**31 - 1)
RANGE_CHECK_LIMIT = 1 << 20  # larger integer inputs are only looked at in the first calls
RANGE_CHECK_CALLS = 10
OPTIONS_KEPT = ("model_name", "fallback_execution", "guard_filter_fn")  # compile reference, env reference


@dataclass
class Metric:
    """One compiled graph, with the fields that the torch.compile guide shows."""

    graph_name: str
    graph_node_count: int
    torch_neuronx_compile_us: int


_metrics: list[Metric] = []


def get_metrics() -> list[Metric]:
    """What `get_dynamo_metrics()` returns: one entry per graph that the backend compiled."""
    return list(_metrics)


def reset_metrics() -> None:
    _metrics.clear()


def install(session: settings.Session) -> None:
    """Wrap torch.compile at once (aliases taken later see the wrapper), the rest when Dynamo is imported."""
    _wrap_torch_compile(session)

    def register(dynamo: ModuleType) -> None:
        from . import dynamointerface

        dynamo.register_backend(_backend_without_checks if session.original else backend, name="neuron")  # type: ignore[attr-defined]
        dynamointerface.install()
        breaks.install()

    importhook.after_import("torch._dynamo", register)


def _wrap_torch_compile(session: settings.Session) -> None:
    original = torch.compile

    def compile(model: Any = None, *, backend: Any = None, **kwargs: Any) -> Any:
        place = records.user_place(sys._getframe(1))
        if session.original and backend in (None, "inductor"):
            backend = "neuron"  # what CUDA would have compiled, the stand-in compiles
        if backend is None:
            records.add("TN301", "note", "torch.compile without backend=: the documents differ on the default", place)
            backend = "neuron"
        if backend == "neuron":
            kwargs = {**kwargs, "dynamic": False} if session.original else _neuron_arguments(kwargs, place)
            if session.original:
                kwargs.pop("mode", None)
                kwargs.pop("options", None)
        if model is None:
            return lambda m: finish(m, backend, kwargs)
        return finish(model, backend, kwargs)

    def finish(model: Any, backend: Any, kwargs: dict[str, Any]) -> Any:
        compiled = original(model, backend=backend, **kwargs)
        if session.compare_eager and backend == "neuron":
            return eagercheck.wrap(model, compiled)
        return compiled

    compile.__wrapped__ = original  # type: ignore[attr-defined]
    torch.compile = compile  # type: ignore[assignment]


def _neuron_arguments(kwargs: dict[str, Any], place: records.Place) -> dict[str, Any]:
    """Report the arguments as they are written, and give Dynamo those that the device would act upon."""
    given = dict(kwargs)
    mode, options, dynamic = given.pop("mode", None), given.pop("options", None), given.pop("dynamic", None)
    if mode not in (None, "default"):
        records.add("TN302", "warning", f"mode={mode!r} is ignored: the neuron backend has one mode", place)
    ignored = sorted(set(options or {}) - set(OPTIONS_KEPT))
    if ignored:
        records.add("TN303", "warning", f"options {', '.join(ignored)} are ignored by the neuron backend", place)
    if options and "guard_filter_fn" in options:
        given["options"] = {"guard_filter_fn": options["guard_filter_fn"]}
    if dynamic:
        records.add("TN304", "error", "dynamic=True is rejected by the neuron backend: write dynamic=False", place)
    elif dynamic is None:
        records.add("TN304", "note", "dynamic= is not written: write dynamic=False", place)
    given["dynamic"] = bool(dynamic)
    return given


def backend(gm: torch.fx.GraphModule, example_inputs: list[Any], **_kwargs: Any) -> Callable[..., Any]:
    """The Dynamo backend."""
    breaks.collect()
    graphchecks.check_dynamo_graph(gm)
    fullgraph = graphchecks.is_fullgraph()

    def check(graph: torch.fx.GraphModule) -> None:
        graphchecks.check_graph(graph, fullgraph=fullgraph)

    names = graphchecks.input_names(gm)
    return _checked(_compile(gm, example_inputs, check), names)


def _backend_without_checks(gm: torch.fx.GraphModule, example_inputs: list[Any], **_kwargs: Any) -> Any:
    return _compile(gm, example_inputs, lambda graph: None)


def _compile(gm: torch.fx.GraphModule, example_inputs: list[Any], check: Callable[[torch.fx.GraphModule], None]) -> Any:
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    started = time.perf_counter()
    serial = len(_metrics)

    def compiler(kind: str) -> Callable[..., Any]:
        def compile_graph(graph: torch.fx.GraphModule, _inputs: list[Any]) -> Any:
            check(graph)
            took = int((time.perf_counter() - started) * 1e6)
            _metrics.append(Metric(f"graph_{serial}_{kind}", len(graph.graph.nodes), took))

            def run(*args: Any) -> Any:
                return graph.forward(*args)

            return make_boxed_func(run)

        return compile_graph

    return aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        keep_inference_input_mutations=True,
    )(gm, example_inputs)


def _checked(compiled: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
    """The checks at every call of a compiled graph, on its inputs."""
    calls = 0

    def call(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        for name, t in zip(names, args):
            if isinstance(t, torch.Tensor) and not torch._subclasses.fake_tensor.is_fake(t):
                _check_input(name, t, calls)
        return compiled(*args)

    return call


def _check_input(name: str, t: torch.Tensor, calls: int) -> None:
    if t.device.type == "cpu" and t.dim() > 0:
        records.add("TN360", "warning", f"{name} is on the CPU: it is copied before every call", _call_place())
        return
    if not t.is_contiguous():
        shape, stride = tuple(t.shape), tuple(t.stride())
        message = f"{name} is not contiguous (shape {shape}, stride {stride}): it is copied before every call"
        records.add("TN501", "warning", message, _call_place())
    if t.dtype == torch.int64 and t.numel() and type(t) in (torch.Tensor, torch.nn.Parameter):
        if t.numel() > RANGE_CHECK_LIMIT and calls > RANGE_CHECK_CALLS:
            return
        low, high = (int(v) for v in torch.aminmax(t.detach()))
        if low < INT32[0] or high > INT32[1]:
            message = f"{name} holds int64 values outside 32 bits ({low} to {high}): they do not survive"
            records.add("TN205", "error", message, _call_place())


def _call_place() -> records.Place:
    """Where user code calls into the compiled region: frames that Dynamo has rewritten are inside it."""
    from torch._dynamo.convert_frame import output_codes

    frame: FrameType | None = sys._getframe(1)
    inside = ("", 0)
    while frame is not None:
        if records.is_user_file(frame.f_code.co_filename):
            if frame.f_code not in output_codes:
                return frame.f_code.co_filename, frame.f_lineno
            inside = (frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return inside
