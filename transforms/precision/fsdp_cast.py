"""TN210: a model that is cast as a whole before it is sharded."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.dtypes import dtype_chain
from transforms.tables.amp import FSDP1, FSDP2

FSDP_CAST = Rule(
    code="TN210",
    name="fsdp-cast",
    summary="A whole model cast to a low precision under FSDP, where a mixed-precision policy is meant",
    best=Safety.MANUAL,
    argument="It never edits: with a policy parameters and optimizer states stay in float32, which is another program.",
    source="TorchNeuron documentation 2.33, FSDP: MixedPrecisionPolicy (FSDP2) or MixedPrecision (FSDP1), not a cast",
    why="A cast model also keeps its optimizer states and its reductions in the low precision.",
    silent="Models for inference: nothing shards them; a cast that happens after the sharding.",
)


class FsdpCast(Transform):
    """Reports casts of models that FSDP takes."""

    rules = (FSDP_CAST,)
    triggers = (b"fully_shard", b"FullyShardedDataParallel")
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call that shards a model."""
        assert isinstance(node, cst.Call)
        names = cx.origin(node.func).names
        if not names & (FSDP1 | FSDP2):
            return
        policy = "mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16)"
        if names & FSDP1:
            policy = "mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)"
        model = cx.argument(node, "module", 0)
        if model is not None:
            for site in _casts(model.value, node, cx):
                message = f"the whole model is cast before it is sharded: give {policy} instead"
                cx.report(
                    site, message, Safety.MANUAL, severity=WARNING, evidence=[(node, "the model is sharded here")]
                )


def _casts(model: cst.BaseExpression, sharding: cst.Call, cx: Context) -> list[cst.CSTNode]:
    """Casts in the expression itself, and those of its variable that come before."""
    found = _in_chain(model, cx)
    if not isinstance(model, cst.Name):
        return found
    scope = cx.names.scope(model)
    for binding in cx.names.bindings(model.value, scope):
        before = cx.index.order(binding.node) < cx.index.order(sharding)
        if binding.scope is scope and binding.value is not None and before:
            found += _in_chain(binding.value, cx)
    for use in cx.names.uses(model.value, scope):
        if cx.names.scope(use) is scope and cx.index.order(use) < cx.index.order(sharding):
            method = cx.parent(use)
            call = cx.parent(method) if isinstance(method, cst.Attribute) and method.value is use else None
            if isinstance(call, cst.Call) and isinstance(cx.parent(call), cst.Expr):
                found += _in_chain(call, cx)
    return found


def _in_chain(node: cst.BaseExpression, cx: Context) -> list[cst.CSTNode]:
    """Casts among the methods of a chain of calls."""
    found: list[cst.CSTNode] = []
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not cx.origin(node.func).names:
        method = node.func.attr
        if method.value in ("half", "bfloat16") and not node.args:
            found.append(method)
        elif method.value == "to":
            found += [a.value for a in node.args if dtype_chain(cx, a.value) in ("float16", "bfloat16")][:1]
        node = node.func.value
    return found
