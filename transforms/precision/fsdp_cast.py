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
    silent=(
        "Models for inference: nothing shards them; a cast that happens after the sharding, or is taken back; a cast "
        "of inputs, or to a type that is given by a variable."
    ),
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
    found, wide = _in_chain(model, cx)
    if found or wide or not isinstance(model, (cst.Name, cst.Attribute)):
        return found
    for value in _before(model, sharding, cx):
        casts, wide = _in_chain(value, cx)
        found = [] if wide else [*found, *casts]
    return found


def _before(model: cst.Name | cst.Attribute, sharding: cst.Call, cx: Context) -> list[cst.BaseExpression]:
    """What a variable or attribute is set to before it is sharded, and calls of its methods, in source order."""
    scope, code = cx.names.scope(model), cx.code(model)
    values: list[cst.BaseExpression] = []
    statements: list[cst.Assign | cst.Expr] = [*cx.index.nodes(cst.Assign), *cx.index.nodes(cst.Expr)]
    for statement in statements:
        if cx.index.order(statement) > cx.index.order(sharding) or cx.names.scope(statement) is not scope:
            continue
        value = statement.value
        if isinstance(statement, cst.Assign):
            about = any(cx.code(t.target) == code for t in statement.targets)
        else:
            about = _root(value, cx) == code
        itself = any(a is statement for a in cx.index.ancestors(sharding))
        if about and not itself and _goes_on(statement, sharding, cx):
            values.append(value)
    return sorted(values, key=cx.index.order)


def _root(node: cst.BaseExpression, cx: Context) -> str:
    """What the methods of a chain are called on."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    return cx.code(node)


def _goes_on(statement: cst.CSTNode, sharding: cst.Call, cx: Context) -> bool:
    """Whether the sharding can follow a statement: no branch around it alone leaves the function."""
    around = {id(a) for a in cx.index.ancestors(sharding)}
    for above in cx.index.ancestors(statement):
        if isinstance(above, (cst.IndentedBlock, cst.SimpleStatementSuite)) and id(above) not in around:
            last: cst.CSTNode = above.body[-1]
            if isinstance(last, cst.SimpleStatementLine):
                last = last.body[-1]
            if isinstance(last, (cst.Return, cst.Raise)):
                return False
    return True


def _in_chain(node: cst.BaseExpression, cx: Context) -> tuple[list[cst.CSTNode], bool]:
    """Casts among the methods of a chain of calls, and whether its last one goes back to float32."""
    if isinstance(node, cst.IfExp):
        return [*_in_chain(node.body, cx)[0], *_in_chain(node.orelse, cx)[0]], False
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not cx.origin(node.func).names:
        method = node.func.attr
        types = {t: a.value for a in node.args if (t := dtype_chain(cx, a.value))} if method.value == "to" else {}
        if (method.value in ("float", "double") and not node.args) or types.keys() & {"float32", "float64"}:
            return [], True
        if method.value in ("half", "bfloat16") and not node.args:
            return [method], False
        if low := types.get("float16") or types.get("bfloat16"):
            return [low], False
        node = node.func.value
    return [], False
