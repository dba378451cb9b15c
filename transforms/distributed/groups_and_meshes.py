"""TN412 and TN413: process groups built by hand, and the order of mesh dimensions."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.engine.words import words
from transforms.flow.groups import runs_on_host
from transforms.tables.distributed import GROUP_CALLS

HAND_BUILT_GROUP = Rule(
    code="TN412",
    name="hand-built-group",
    summary="Groups from `new_group` are not seen when graphs with collectives are compiled",
    best=Safety.NOTE,
    argument="It never edits.",
    source="TorchNeuron documentation 2.33, distributed training: prefer DeviceMesh",
    why="init_device_mesh records the replica groups that the compiler needs; new_group does not.",
    silent="Groups on gloo, and those of a file whose default group is on gloo. It speaks once per file.",
)
MESH_TOPOLOGY = Rule(
    code="TN413",
    name="mesh-topology",
    summary="Tensor parallelism belongs into the innermost dimension of a mesh",
    best=Safety.MANUAL,
    argument="It never edits: the order decides which ranks hold which shards.",
    source="TorchNeuron documentation 2.33, best practices: keep tensor parallelism innermost, inside a chip",
    why="Neighbouring ranks share a chip and its fast links; tensor parallelism communicates in every layer.",
    silent="Meshes whose names are not written in place, and meshes of the CPU.",
)
_MESHES = frozenset(
    (
        "torch.distributed.device_mesh.init_device_mesh",
        "torch.distributed.init_device_mesh",
        "torch.distributed.device_mesh.DeviceMesh",
        "torch.distributed.DeviceMesh",
        "torch.distributed._tensor.DeviceMesh",
    )
)
_TENSOR = frozenset(("tp", "tensor"))


class GroupsAndMeshes(Transform):
    """Advice about groups and meshes."""

    rules = (HAND_BUILT_GROUP, MESH_TOPOLOGY)
    triggers = (b"new_group", b"new_subgroups", b"mesh_dim_names")
    nodes = (cst.Call,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call."""
        assert isinstance(node, cst.Call)
        names = cx.origin(node.func).names
        if names & GROUP_CALLS and not runs_on_host(cx, node):
            if not any(f.rule == HAND_BUILT_GROUP.code for f in cx.findings):
                message = "groups built by hand are not seen when graphs with collectives are compiled: a DeviceMesh is"
                cx.report(node.func, message, Safety.NOTE)
        elif names & _MESHES:
            self._mesh(node, cx)

    def _mesh(self, call: cst.Call, cx: Context) -> None:
        arg = cx.argument(call, "mesh_dim_names")
        if arg is None or not isinstance(arg.value, (cst.Tuple, cst.List)):
            return
        device = cx.argument(call, "device_type", 0)
        if device is not None and cx.string(device.value) == "cpu":
            return
        dimensions = [set(words(cx.string(e.value) or "")) for e in arg.value.elements]
        if any(d & _TENSOR for d in dimensions[:-1]) and not dimensions[-1] & _TENSOR:
            message = (
                "tensor parallelism is not the innermost dimension: neighbouring ranks, which share a chip, are in "
                "other groups"
            )
            cx.report(arg, message, Safety.MANUAL, rule=MESH_TOPOLOGY, severity=WARNING)
