"""The first five rules as ordinary LibCST codemods, one pass each: what the engine is compared with.

They are written as such codemods usually are: a fresh `MetadataWrapper` and qualified names per pass. They know less
than the rules (no flow of values, no ledger, no evidence), which is in their favour.
"""

from __future__ import annotations

import libcst as cst
from libcst.helpers import get_full_name_for_node
from libcst.metadata import MetadataWrapper, QualifiedNameProvider, QualifiedNameSource


class _Pass(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (QualifiedNameProvider,)

    def names(self, node: cst.CSTNode) -> set[str]:
        """Imported qualified names of a node."""
        found = self.get_metadata(QualifiedNameProvider, node, set())
        return {n.name for n in found if n.source is QualifiedNameSource.IMPORT}


class DeviceString(_Pass):
    """`device="cuda"` and `torch.device("cuda")`."""

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        """Rename the literal of a `device=` argument."""
        value = updated_node.value
        named = original_node.keyword is not None and original_node.keyword.value == "device"
        if named and isinstance(value, cst.SimpleString) and value.evaluated_value == "cuda":
            return updated_node.with_changes(value=value.with_changes(value=value.value.replace("cuda", "neuron")))
        return updated_node


class CudaMethod(_Pass):
    """`.cuda()`."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Rename the method and give it the device."""
        func = updated_node.func
        if isinstance(func, cst.Attribute) and func.attr.value == "cuda" and not self.names(original_node.func):
            first = cst.Arg(cst.SimpleString('"neuron"'))
            return updated_node.with_changes(
                func=func.with_changes(attr=cst.Name("to")), args=[first, *updated_node.args]
            )
        return updated_node


class AvailabilityProbe(_Pass):
    """`torch.cuda.is_available()`."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        """Replace the call by the guarded form."""
        if self.names(original_node.func) == {"torch.cuda.is_available"}:
            return cst.parse_expression('(hasattr(torch, "neuron") and torch.neuron.is_available())')
        return updated_node


class Backend(_Pass):
    """`init_process_group("nccl")`."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Rename the backend."""
        if self.names(original_node.func) != {"torch.distributed.init_process_group"}:
            return updated_node
        args = []
        for arg in updated_node.args:
            if isinstance(arg.value, cst.SimpleString) and arg.value.evaluated_value == "nccl":
                arg = arg.with_changes(value=cst.SimpleString('"neuron"'))
            args.append(arg)
        return updated_node.with_changes(args=args)


class Compile(_Pass):
    """`torch.compile(...)`."""

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """Drop the modes and name the backend."""
        if self.names(original_node.func) != {"torch.compile"}:
            return updated_node
        dropped = ("mode", "options", "backend", "dynamic")
        args = [a for a in updated_node.args if get_full_name_for_node(a.keyword or "") not in dropped]
        args += [
            cst.Arg(cst.SimpleString('"neuron"'), keyword=cst.Name("backend")),
            cst.Arg(cst.Name("False"), keyword=cst.Name("dynamic")),
        ]
        return updated_node.with_changes(args=args)


PASSES = (DeviceString, CudaMethod, AvailabilityProbe, Backend, Compile)


def run(data: bytes) -> bytes:
    """All passes, one after the other."""
    module = cst.parse_module(data)
    for transformer in PASSES:
        module = MetadataWrapper(module).visit(transformer())
    return module.bytes
