"""Rules that several transforms of the family speak for."""

from __future__ import annotations

from transforms.engine.model import Rule, Safety

DEVICE_STRING = Rule(
    code="TN101",
    name="device-string",
    summary='A string that names the device: `"cuda"` becomes `"neuron"`',
    best=Safety.SAFE,
    argument=(
        "The string stands where torch expects a device (a closed list of positions), so it can mean nothing else "
        "there; a string that reaches such a position through names is safe only when every use of those names "
        "was followed."
    ),
    source="TorchNeuron documentation 2.33: the device type is `neuron`, a bare name is the process's current device",
    why="TorchNeuron registers the device type `neuron`; on a host without CUDA the old name raises.",
    silent=(
        "Texts for people (help, logs, errors, titles), docstrings and comments; keys, columns, options, folders "
        "and attributes that are called so; devices in saved files; code that follows `x.device` or "
        "torch.accelerator."
    ),
    examples=(
        ('import torch\nx = torch.ones(2, device="cuda")\n', 'import torch\nx = torch.ones(2, device="neuron")\n'),
        ('import torch\nd = torch.device("cuda:0")\n', 'import torch\nd = torch.device("neuron")\n'),
    ),
)
DEVICE_TEST = Rule(
    code="TN104",
    name="device-test",
    summary='A test of a device, such as `x.device.type == "cuda"` or `x.is_cuda`',
    best=Safety.SAFE,
    argument="The other side of the test is a `.device`, a `torch.device`, or a value that is used as a device.",
    source="TorchNeuron documentation 2.33: tensors there report the device type `neuron`",
    why="A test that still asks for cuda takes the CPU branch on Trainium without a word.",
    silent=(
        "Devices compared with each other, with the CPU, with another accelerator or with neuron; an `is_cuda` "
        "that the file defines itself. Comparisons whose other side is not known to be a device are reported, "
        "not changed."
    ),
    examples=(
        (
            'import torch\nok = torch.ones(1).device.type == "cuda"\n',
            'import torch\nok = torch.ones(1).device.type == "neuron"\n',
        ),
        ("import torch\nok = torch.ones(1).is_cuda\n", 'import torch\nok = torch.ones(1).device.type == "neuron"\n'),
    ),
)
DEVICE_INDEX = Rule(
    code="TN105",
    name="device-index",
    summary="A device index other than 0, or one that runs over several devices",
    best=Safety.REVIEW,
    argument="Under torchrun a process owns one index, its local rank; another one is right only in a single process.",
    source="TorchNeuron documentation 2.33, distributed: one device per process",
    why="`cuda:1` in one process of many raises on Trainium, where a rank owns only its own core.",
    silent="The index 0, the rank of the process, indexes of the CPU and of neuron, and indexes in texts and keys.",
    examples=(
        ('import torch\nx = torch.ones(2, device="cuda:1")\n', 'import torch\nx = torch.ones(2, device="neuron:1")\n'),
    ),
)
MULTI_BACKEND = Rule(
    code="TN124",
    name="multi-backend-dispatch",
    summary="Code that chooses between several accelerators",
    best=Safety.MANUAL,
    argument="It never edits: such code wants one more entry, not another name.",
    source="Practice of libraries that support several accelerators",
    why="Replacing cuda in a table of accelerators would take CUDA away from its other users.",
    silent=(
        "Choices that name neuron already: there the branch for CUDA stays as it is. Choices between CUDA and "
        "the CPU alone, which change as a device; texts for people."
    ),
)
THIRD_PARTY_ACCELERATOR_NAME = Rule(
    code="TN123",
    name="third-party-accelerator-name",
    summary=(
        'A library that chooses the accelerator by a name of its own, such as Lightning\'s `accelerator="gpu"`, or '
        "that is made for CUDA alone, such as Triton and flash-attn"
    ),
    best=Safety.MANUAL,
    argument="It never edits: the library decides which names exist, and none of them stands for Trainium.",
    source="Documentation of Lightning, transformers, Composer, XGBoost, LightGBM, CatBoost, Ray, ONNX Runtime",
    why=(
        "`gpu` and `auto` look for CUDA there; on Trainium they fail, or run on the CPU without a word. Kernels that "
        "are compiled for CUDA have no code for Trainium."
    ),
    silent=(
        "Calls of the same name that come from elsewhere: the library is known by its import. Values that ask "
        "for the CPU, for nothing, or for an accelerator that the program registers. Imports for types alone, and "
        "packages of the repository that have such a name."
    ),
)
