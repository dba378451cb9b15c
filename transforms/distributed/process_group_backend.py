"""TN401: the name of the process-group backend."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.changes import StringPart
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.residue import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.backends import Backends, backend_text

PROCESS_GROUP_BACKEND = Rule(
    code="TN401",
    name="process-group-backend",
    summary='The backend of a process group: `"nccl"` becomes `"neuron"`',
    best=Safety.SAFE,
    argument=(
        "The string is the backend argument of a torch.distributed function, or is compared with what get_backend() "
        "returns; TorchNeuron registers its backend under the name neuron for neuron tensors."
    ),
    source='TorchNeuron documentation 2.33, distributed: `dist.init_process_group(backend="neuron")`',
    why="NCCL moves CUDA tensors only; a wheel without CUDA refuses the backend.",
    silent="gloo and mpi, which go on serving CPU tensors; texts for people.",
    examples=(
        (
            'import torch.distributed as dist\n\ndist.init_process_group("nccl")\n',
            'import torch.distributed as dist\n\ndist.init_process_group("neuron")\n',
        ),
    ),
)


class ProcessGroupBackend(Transform):
    """Rewrites backend names where the flow of values proves what they are."""

    rules = (PROCESS_GROUP_BACKEND,)
    triggers = (b"nccl", b"NCCL")
    nodes = (cst.SimpleString,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one string literal."""
        text = cx.string(node)
        if text is None or not backend_text(text) or is_docstring(cx, node):
            return
        verdict = Backends(cx).literal(node)
        if verdict.kind in ("given", "test"):
            assert isinstance(node, cst.SimpleString)
            changes = [
                StringPart(node, m.start(), m.group(), "neuron:neuron" if ":" in m.group() else "neuron")
                for m in re.finditer(r"cuda:nccl|nccl", node.value, re.I)
            ]
            fix = cx.fix("the process group runs on the neuron backend", *changes, group=verdict.group)
            cx.report(node, "the backend is neuron on Trainium", verdict.safety, fix=fix, evidence=verdict.evidence)
        elif reason := text_role(cx, node):
            cx.keep(node, reason)
        else:
            cx.report(
                node,
                f"{cx.code(node)} may name a process-group backend: nothing in this file says how it is used",
                Safety.MANUAL,
                severity=WARNING,
                evidence=verdict.evidence,
            )
