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
_CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.modules.container.ModuleList"})


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
        cx.report(arg, f"{order}: {_advice(arg.value, cx)}", Safety.MANUAL, severity=WARNING, evidence=evidence)


def _advice(model: cst.BaseExpression, cx: Context) -> str:
    """What to do, with the container of the blocks where the model's class shows just one."""
    holder = _class_of(model, cx)
    paths = dict.fromkeys(_containers(holder, cx)) if holder is not None else {}
    name = cx.code(model) if isinstance(model, (cst.Name, cst.Attribute)) else "model"
    if len(paths) == 1:
        blocks = f"for block in {name}.{next(iter(paths))}: block.compile"
        return f'compile the blocks instead: {blocks}(backend="neuron", dynamic=False)'
    return 'compile its blocks instead, before it is wrapped: block.compile(backend="neuron", dynamic=False)'


def _class_of(value: cst.CSTNode, cx: Context, hops: int = 0) -> cst.ClassDef | None:
    """The class of this file that a model is made by, through wrappers, moves and assignments."""
    if hops > 6:
        return None
    if isinstance(value, cst.Call):
        if (holder := cx.devices.places.class_named(value.func)) is not None:
            return holder
        if cx.origin(value.func).names & (COMPILE_NAMES | WRAPPERS) and value.args:
            return _class_of(value.args[0].value, cx, hops + 1)
        if isinstance(value.func, cst.Attribute) and not cx.origin(value.func).names:
            return _class_of(value.func.value, cx, hops + 1)
    elif isinstance(value, cst.Name):
        values = [b.value for b in cx.names.bindings(value.value, cx.names.scope(value)) if b.value is not None]
        found = [h for v in values if v is not value and (h := _class_of(v, cx, hops + 1)) is not None]
        return found[0] if found and all(f is found[0] for f in found) else None
    return None


def _containers(holder: cst.ClassDef, cx: Context) -> Iterator[str]:
    """Paths of the lists of modules that a class keeps: `layers`, or `transformer.h` inside of a ModuleDict."""
    for call in cx.index.nodes(cst.Call):
        if not cx.origin(call.func).names & _CONTAINERS or cx.index.enclosing(call, cst.ClassDef) is not holder:
            continue
        keys: list[str] = []
        child: cst.CSTNode = call
        for above in cx.index.ancestors(call):
            if isinstance(above, cst.Arg) and above.keyword is not None:
                keys.append(above.keyword.value)
            elif isinstance(above, cst.DictElement) and above.value is child:
                keys.append(cx.string(above.key) or "")
            elif isinstance(above, cst.Assign):
                target = above.targets[0].target
                own = isinstance(target, cst.Attribute) and cx.code(target.value) == "self"
                path = [target.attr.value, *reversed(keys)] if isinstance(target, cst.Attribute) and own else []
                if path and all(p.isidentifier() for p in path):
                    yield ".".join(path)
                break
            child = above


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
