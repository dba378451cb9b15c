"""TN301 to TN306: what their pages say."""

from __future__ import annotations

from transforms.engine.model import Rule, Safety

_SOURCE = (
    "TorchNeuron documentation 2.33, torch.compile reference and best practices; torch 2.13 signature of torch.compile"
)

COMPILE_BACKEND = Rule(
    code="TN301",
    name="compile-backend",
    summary='torch.compile receives `backend="neuron"`, and always `dynamic=False`',
    best=Safety.SAFE,
    argument=(
        "Without a backend torch picks inductor, which has no code for the device. The backend named "
        "neuron takes the same "
        "graphs; static shapes are what it compiles."
    ),
    source=_SOURCE,
    why="The neuron backend compiles whole graphs for Trainium; inductor would generate Triton for a GPU.",
    silent="Backends that are there for debugging (`eager`), and callables, which are reported.",
    examples=(
        (
            "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2))\n",
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
)
COMPILE_MODE = Rule(
    code="TN302",
    name="compile-mode",
    summary="The argument `mode` is dropped",
    best=Safety.SAFE,
    argument="The neuron backend knows the default mode only: it warns about any other and goes on with the default.",
    source=_SOURCE,
    why="Modes choose between Inductor's and CUDA graphs' strategies; none of them exists on Trainium.",
    examples=(
        (
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), mode="max-autotune")\n',
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
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
    why="Compiler flags for Trainium go into NEURON_CC_FLAGS.",
    examples=(
        (
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), options={"triton.cudagraphs": True})\n',
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
)
COMPILE_DYNAMIC = Rule(
    code="TN304",
    name="compile-dynamic",
    summary="Shapes are static: `dynamic=True` becomes `dynamic=False`",
    best=Safety.REVIEW,
    argument="dynamic=True is rejected by the neuron backend; with False every new shape is one more compilation.",
    source=_SOURCE,
    why=(
        "The second distinct shape of an unset `dynamic` turns symbolic in Dynamo, and the backend "
        "refuses symbolic shapes."
    ),
    examples=(
        (
            "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), dynamic=True)\n",
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), dynamic=False, backend="neuron")\n',
        ),
    ),
)
COMPILE_FULLGRAPH = Rule(
    code="TN305",
    name="compile-fullgraph",
    summary="`fullgraph=True` shows graph breaks at once",
    best=Safety.OFFER,
    argument="It turns a graph break into an error, so a program that ran may stop.",
    source=_SOURCE,
    why="Each graph break is a separate compilation and a trip through eager code.",
    examples=(
        (
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
            "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), "
            'backend="neuron", dynamic=False, fullgraph=True)\n',
        ),
    ),
)
COMPILE_SHAPES_SPEC = Rule(
    code="TN306",
    name="compile-shapes-spec",
    summary="The argument `shapes_spec` is dropped",
    best=Safety.SAFE,
    argument="It describes dynamic sizes, and the backend takes static shapes only.",
    source=_SOURCE,
    why="A description of dynamic sizes has no meaning for static graphs.",
    examples=(
        (
            "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), shapes_spec=None)\n",
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
)
