"""TN314: torch.compile around a wrapper for data parallel training, or below one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.names import Binding
from transforms.engine.transform import Transform
from transforms.tables.compile import COMPILE_NAMES, WRAPPERS

COMPILED_WRAPPER = Rule(
    code="TN314",
    name="compiled-wrapper",
    summary="A model that is compiled whole and wrapped for data parallel training is pointed out",
    best=Safety.MANUAL,
    argument="Which parts of the model are its blocks is not to be seen here, so it never edits.",
    source="TorchNeuron documentation 2.33, best practices for distributed training: compile the per-layer blocks",
    why=(
        "The hooks of DDP and FSDP have to stay outside the compiled region, and the gradients of "
        "one block can be reduced "
        "while the next one is computed."
    ),
    silent="Calls on blocks: an element of a container, a loop variable, a method of the block itself.",
)

_LAST_PARTS = frozenset(name.rpartition(".")[2] for name in COMPILE_NAMES | WRAPPERS)
_ADVICE = 'compile the blocks instead: for block in model.layers: block.compile(backend="neuron", dynamic=False)'


class CompiledWrapper(Transform):
    """Reports whole models that are both compiled and wrapped."""

    rules = (COMPILED_WRAPPER,)
    triggers = (b"DistributedDataParallel", b"FullyShardedDataParallel", b"fully_shard", b"replicate")
    nodes = (cst.Call,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call of torch.compile, or of a wrapper."""
        assert isinstance(node, cst.Call)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value not in _LAST_PARTS:
            return
        names = cx.origin(node.func).names
        compiles, wraps = bool(names & COMPILE_NAMES), bool(names & WRAPPERS)
        if not (compiles or wraps):
            return
        arg = cx.argument(node, "model" if compiles else "module", 0)
        if arg is None:
            return
        inner = _made_by(arg.value, node, WRAPPERS if compiles else COMPILE_NAMES, cx)
        if inner is None:
            return
        wrapper = node if wraps else inner
        name = cx.code(wrapper.func).rpartition(".")[2]
        order = f"the {name} wrapper is compiled" if compiles else f"the whole model is compiled below {name}"
        evidence = [(inner, "wrapped here" if compiles else "compiled here")]
        cx.report(arg, f"{order}: {_ADVICE}", Safety.MANUAL, severity=WARNING, evidence=evidence)


def _made_by(value: cst.BaseExpression, call: cst.Call, names: frozenset[str], cx: Context) -> cst.Call | None:
    """The call of one of `names` that made a value before `call` runs, as far as the order of the text tells."""
    if isinstance(value, cst.Call):
        return value if cx.origin(value.func).names & names else None
    if isinstance(value, cst.Name):
        for binding in reversed(cx.names.bindings(value.value, cx.names.scope(value))):
            before = cx.index.order(binding.node) < cx.index.order(call)
            if before and _calls(binding, names, cx) and not _exclusive(binding.node, call, cx):
                return binding.value if isinstance(binding.value, cst.Call) else None
        return None
    if isinstance(value, cst.Attribute) and not cx.origin(value).names:
        return _attribute(value, call, names, cx)
    return None


def _exclusive(first: cst.CSTNode, second: cst.CSTNode, cx: Context) -> bool:
    """Whether two places lie in different branches of one `if`, so that only one of them runs."""
    branches = {id(a): child for a, child in _branches(first, cx)}
    return any(branches.get(id(a), child) is not child for a, child in _branches(second, cx))


def _branches(node: cst.CSTNode, cx: Context) -> Iterator[tuple[cst.If, cst.CSTNode]]:
    child = node
    for above in cx.index.ancestors(node):
        if isinstance(above, cst.If):
            yield above, child
        child = above


def _calls(binding: Binding, names: frozenset[str], cx: Context) -> bool:
    return isinstance(binding.value, cst.Call) and bool(cx.origin(binding.value.func).names & names)


def _attribute(value: cst.Attribute, call: cst.Call, names: frozenset[str], cx: Context) -> cst.Call | None:
    """`self.model`, stored in the same function."""
    function = cx.index.enclosing(call, cst.FunctionDef)
    for target in cx.index.nodes(cst.AssignTarget):
        statement = cx.parent(target)
        same = cx.code(target.target) == cx.code(value) and cx.index.enclosing(target, cst.FunctionDef) is function
        if same and isinstance(statement, cst.Assign) and isinstance(statement.value, cst.Call):
            before = cx.index.order(statement) < cx.index.order(call) and statement.value is not call
            if before and cx.origin(statement.value.func).names & names:
                return statement.value
    return None
