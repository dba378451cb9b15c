"""Arguments by which other libraries are told how to call torch.compile."""

from __future__ import annotations

from typing import NamedTuple


class FrameworkArgument(NamedTuple):
    """One argument. `new`: the value it gets, `DROP` to take it out. `keep`: values that are right already."""

    roots: tuple[str, ...]
    calls: tuple[str, ...]
    argument: str
    new: str
    keep: tuple[str, ...]
    source: str


DROP = ""

_TRAINING = (
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "RewardConfig",
    "PPOConfig",
    "ORPOConfig",
    "KTOConfig",
)
_HUGGING_FACE = ("transformers", "trl")
_DEBUG = ("neuron", "eager")
_UNSET = (*_DEBUG, "None")
_ACCELERATE_KEPT = (*_UNSET, "NEURON", "no", "NO")
_TRAINER = "transformers 5.24: the Trainer passes them to torch.compile, and dynamic=False for the backend neuron"
_CONFIG = "transformers 5.24: CompileConfig, whose default mode is reduce-overhead"
_ACCELERATE = "accelerate 1.15: DynamoBackend.NEURON"

FRAMEWORK_ARGUMENTS: tuple[FrameworkArgument, ...] = (
    FrameworkArgument(_HUGGING_FACE, _TRAINING, "torch_compile_backend", '"neuron"', _UNSET, _TRAINER),
    FrameworkArgument(_HUGGING_FACE, _TRAINING, "torch_compile_mode", DROP, (), _TRAINER),
    FrameworkArgument(("transformers",), ("CompileConfig",), "backend", '"neuron"', _DEBUG, _CONFIG),
    FrameworkArgument(("transformers",), ("CompileConfig",), "mode", '"default"', ("default",), _CONFIG),
    FrameworkArgument(("transformers",), ("CompileConfig",), "dynamic", "False", ("False",), _CONFIG),
    FrameworkArgument(("accelerate",), ("Accelerator",), "dynamo_backend", '"neuron"', _ACCELERATE_KEPT, _ACCELERATE),
    FrameworkArgument(("accelerate",), ("TorchDynamoPlugin",), "backend", '"neuron"', _ACCELERATE_KEPT, _ACCELERATE),
    FrameworkArgument(("accelerate",), ("TorchDynamoPlugin",), "mode", DROP, (), _ACCELERATE),
    FrameworkArgument(("accelerate",), ("TorchDynamoPlugin",), "dynamic", "False", ("False",), _ACCELERATE),
)


def rows_for(qualified: str) -> list[FrameworkArgument]:
    """The rows of a call."""
    root, _, rest = qualified.partition(".")
    last = rest.rpartition(".")[2]
    return [row for row in FRAMEWORK_ARGUMENTS if root in row.roots and last in row.calls] if rest else []
