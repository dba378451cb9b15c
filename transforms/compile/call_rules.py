"""TN301 to TN306: what their pages say."""

from __future__ import annotations

from transforms.engine.model import Rule, Safety

_SOURCE = (
    "TorchNeuron documentation 2.33, torch.compile reference and best practices; torch 2.13 signature of torch.compile"
)
_NEURON = ', backend="neuron", dynamic=False'
_LEFT = "Calls that TN301 leaves alone as a whole: a backend for debugging, `disable=True`, a branch for another device"


def _example(before: str, after: str = _NEURON) -> tuple[tuple[str, str]]:
    """A call of torch.compile with these further arguments, and what it becomes."""
    call = "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2){})\n"
    return ((call.format(before), call.format(after)),)


COMPILE_BACKEND = Rule(
    code="TN301",
    name="compile-backend",
    summary='torch.compile receives `backend="neuron"`, and always `dynamic=False`',
    best=Safety.SAFE,
    argument=(
        "Without a backend torch picks inductor, which has no code for the device. The backend named neuron takes the "
        "same graphs; static shapes are what it compiles."
    ),
    source=_SOURCE,
    why="The neuron backend compiles whole graphs for Trainium; inductor would generate Triton for a GPU.",
    silent=(
        "Backends that are there for debugging (`eager`), `disable=True`, a backend that a test of the device chooses "
        "and that is neuron there, calls in a branch for another device by a test in place, and `compile()` of other "
        "packages and classes. Backends that are callables are reported."
    ),
    examples=_example(""),
)
COMPILE_MODE = Rule(
    code="TN302",
    name="compile-mode",
    summary="The argument `mode` is dropped",
    best=Safety.SAFE,
    argument="The neuron backend knows the default mode only: it warns about any other and goes on with the default.",
    source=_SOURCE,
    silent=f"{_LEFT}; modes of other calls.",
    why="Modes choose between Inductor's and CUDA graphs' strategies; none of them exists on Trainium.",
    examples=_example(', mode="max-autotune"'),
)
COMPILE_OPTIONS = Rule(
    code="TN303",
    name="compile-options",
    summary="Keys of `options` that configure Inductor are dropped",
    best=Safety.SAFE,
    argument=(
        "The neuron backend ignores all keys but model_name, fallback_execution and torch's own "
        "guard_filter_fn, which stay."
    ),
    source=_SOURCE,
    silent=f"{_LEFT}; keys that the backend reads; options of other calls.",
    why="Compiler flags for Trainium go into NEURON_CC_FLAGS.",
    examples=_example(', options={"triton.cudagraphs": True}'),
)
COMPILE_DYNAMIC = Rule(
    code="TN304",
    name="compile-dynamic",
    summary="Shapes are static: `dynamic=True` becomes `dynamic=False`",
    best=Safety.REVIEW,
    argument="dynamic=True is rejected by the neuron backend; with False every new shape is one more compilation.",
    source=_SOURCE,
    silent=f"{_LEFT}; `dynamic=False`.",
    why="The second distinct shape of an unset `dynamic` turns symbolic, and the backend refuses symbolic shapes.",
    examples=_example(", dynamic=True", ', dynamic=False, backend="neuron"'),
)
COMPILE_FULLGRAPH = Rule(
    code="TN305",
    name="compile-fullgraph",
    summary="`fullgraph=True` shows graph breaks at once",
    best=Safety.OFFER,
    argument="It turns a graph break into an error, so a program that ran may stop.",
    source=_SOURCE,
    silent=f"{_LEFT}; calls that give `fullgraph` a value.",
    why="Each graph break is a separate compilation and a trip through eager code.",
    examples=_example(_NEURON, f"{_NEURON}, fullgraph=True"),
)
COMPILE_SHAPES_SPEC = Rule(
    code="TN306",
    name="compile-shapes-spec",
    summary="The argument `shapes_spec` is dropped",
    best=Safety.SAFE,
    argument="It describes dynamic sizes, and the backend takes static shapes only.",
    source=_SOURCE,
    silent=f"{_LEFT}; the argument of other calls.",
    why="A description of dynamic sizes has no meaning for static graphs.",
    examples=_example(", shapes_spec=None"),
)
