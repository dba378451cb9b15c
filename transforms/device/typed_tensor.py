"""TN108: the legacy tensor types of torch.cuda."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.changes import StringPart
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.text_roles import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.annotations import is_type_text, names_in
from transforms.flow.beside import indexed_by
from transforms.flow.kept import kept_in, readers
from transforms.flow.uses import Use
from transforms.tables.tensor_types import DTYPES, tensor_type

TYPED_TENSOR = Rule(
    code="TN108",
    name="typed-tensor",
    summary="Tensor types such as `torch.cuda.FloatTensor`, as constructors, casts, tests and texts",
    best=Safety.SAFE,
    argument=(
        "The type says a data type and a device, which torch takes as `dtype` and `device` everywhere. A constructor "
        "is changed only where its arguments show whether they are sizes or values."
    ),
    source="torch 2.13 documentation of tensor types; TorchNeuron has no such types (sources of April 2026)",
    why="`torch.cuda.FloatTensor` raises without CUDA, and no type of that kind exists for neuron.",
    silent=(
        "Types without a device (`torch.FloatTensor`), which are those of the CPU; texts for people, and keys of dicts "
        "that nothing indexes by a type."
    ),
    examples=(
        (
            "import torch\n\n\ndef f():\n    return torch.cuda.LongTensor([1, 2])\n",
            'import torch\n\n\ndef f():\n    return torch.tensor([1, 2], dtype=torch.int64, device="neuron")\n',
        ),
        (
            "import torch\n\n\ndef f(x):\n    return x.type(torch.cuda.HalfTensor)\n",
            'import torch\n\n\ndef f(x):\n    return x.to("neuron", torch.float16)\n',
        ),
    ),
)
_DEFAULT = "torch.set_default_tensor_type"
_NUMPY_ARRAYS = frozenset(
    "array asarray ascontiguousarray zeros ones full empty zeros_like ones_like arange linspace eye stack concatenate "
    "vstack hstack expand_dims rand randn random uniform normal random_sample standard_normal".split()
)
"""Functions of numpy that never return an integer, which would be a size (numpy 2)."""
_SIZES = frozenset({"builtins.int", "builtins.len", "builtins.max", "builtins.min"})


class TypedTensor(Transform):
    """Rewrites uses of tensor types."""

    rules = (TYPED_TENSOR,)
    triggers = (b"cuda",)
    nodes = (cst.Module, cst.SimpleString)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use of a type, and at every text that names one."""
        if isinstance(node, cst.SimpleString):
            text = cx.string(node)
            if text is not None and tensor_type(text) and not is_docstring(cx, node):
                self._text(node, tensor_type(text), cx)
            elif text is not None and "torch.cuda." in text and is_type_text(node, cx):
                self._annotation(node, cx)
            return
        for use in cx.uses.under("torch.cuda"):
            if use.aliased:
                continue  # the assignment speaks for what is read from its variable
            kind = tensor_type(use.name)
            last = use.name.rpartition(".")[2]
            if kind:
                self._use(use, kind, cx)
            elif use.name.startswith("torch.cuda.sparse.") or (last.endswith("Storage") and use.name.count(".") == 2):
                message = f"{use.name} has no counterpart on neuron: give dtype and device where the object is made"
                cx.report(use.node, message, Safety.MANUAL)

    def _use(self, use: Use, kind: str, cx: Context) -> None:
        node = use.node
        above = cx.parent(node)
        call = cx.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(above, cst.Call) and above.func is node:
            self._constructor(above, use, kind, cx)
        elif _sets_default(node, cx):
            return
        elif isinstance(call, cst.Call) and isinstance(above, cst.Arg) and _casts(call, above, cx):
            self._cast(call, above, use.node, kind, cx, use.ambiguous)
        elif isinstance(call, cst.Call) and cx.origin(call.func).name == "builtins.isinstance" and len(call.args) == 2:
            self._instance(call, node, kind, cx)
        elif cx.index.enclosing(node, cst.Annotation) is not None:
            text, requests = cx.spell("torch.Tensor", node)
            fix = cx.fix("the type is torch.Tensor", cx.replace(node, text), requests=requests)
            cx.report(node, "an annotation: the type of tensors on any device is torch.Tensor", Safety.SAFE, fix=fix)
        elif isinstance(above, cst.Assign) and self._held(above, use, kind, cx):
            return
        else:
            message = "a tensor type is used as a value: pass dtype and device instead (torch.empty, torch.tensor, .to)"
            cx.report(node, message, Safety.MANUAL)

    # constructors -----------------------------------------------------------------------------------------------

    def _constructor(self, call: cst.Call, use: Use, kind: str, cx: Context) -> None:
        node = use.node
        made = self._made(call, cx)
        if made is None:
            message = "sizes or values? write torch.empty(...) or torch.tensor(...) with dtype and device"
            cx.report(node, message, Safety.MANUAL)
            return
        safety, evidence = Safety.SAFE, []
        if use.ambiguous:
            safety = Safety.REVIEW
            evidence.append((node, use.origin.why or "the name may stand for something else"))
        if cx.at_import_time(call):
            safety = Safety.REVIEW
            evidence.append((node, "runs when the module is imported"))
        maker, wants = cx.spell(f"torch.{made}", node)
        dtype, more = cx.spell(f"torch.{DTYPES[kind]}", node)
        arguments = cx.arguments(call)
        if not call.args:
            arguments.prepend("0")
        arguments.append(f"dtype={dtype}").append(f"device={cx.literal('neuron', node)}")
        fix = cx.fix(f"{kind} becomes torch.{made}", cx.replace(node, maker), arguments, requests=[*wants, *more])
        cx.report(node, f"torch.{made} with dtype and device", safety, fix=fix, evidence=evidence)

    def _made(self, call: cst.Call, cx: Context) -> str | None:
        """`empty` for sizes, `tensor` for values, None when the arguments don't show which."""
        if any(a.keyword is not None or a.star == "**" for a in call.args):
            return None
        if len(call.args) != 1 or call.args[0].star:
            return "empty"
        return self._one(call.args[0].value, cx)

    def _one(self, value: cst.BaseExpression, cx: Context, hops: int = 0) -> str | None:
        if isinstance(value, (cst.List, cst.Tuple, cst.ListComp)):
            return "tensor"
        if isinstance(value, cst.Integer):
            return "empty"
        if isinstance(value, cst.Attribute) and value.attr.value == "shape":
            return "empty"
        if isinstance(value, cst.Call):
            name = cx.origin(value.func).name
            if name in ("builtins.list", "builtins.tuple") or (
                name.startswith("numpy.") and name.removeprefix("numpy.").removeprefix("random.") in _NUMPY_ARRAYS
            ):
                return "tensor"
            if name in _SIZES:
                return "empty"
            method = value.func.attr.value if isinstance(value.func, cst.Attribute) else ""
            if method == "size" and not name:
                return "empty"
            return "tensor" if method == "tolist" else None
        if isinstance(value, cst.Name) and hops < 2:
            found = cx.names.bindings(value.value, cx.names.scope(value))
            if len(found) == 1 and found[0].kind == "assign" and found[0].value is not None:
                return self._one(found[0].value, cx, hops + 1)
        return None

    # casts and tests --------------------------------------------------------------------------------------------

    def _cast(self, call: cst.Call, arg: cst.Arg, site: cst.CSTNode, kind: str, cx: Context, ambiguous: bool) -> None:
        assert isinstance(call.func, cst.Attribute)
        safety, evidence = Safety.SAFE, []
        if ambiguous or cx.own_method("type") or cx.at_import_time(call):
            safety = Safety.REVIEW
            evidence.append(
                (call, cx.own_method("type") or "runs when the module is imported, or the name is ambiguous")
            )
        dtype, requests = cx.spell(f"torch.{DTYPES[kind]}", site)
        text = f"{cx.literal('neuron', call)}, {dtype}"
        if unpacks(call) or any(a.keyword is not None and a.keyword.value == "dtype" for a in call.args):
            cx.report(site, f"move and cast with .to({text})", Safety.MANUAL)
            return
        fix = cx.fix(
            ".type(...) becomes .to(device, dtype)",
            cx.replace(call.func.attr, "to"),
            cx.replace(arg.value, text),
            requests=requests,
        )
        cx.report(site, f"the cast is .to({text})", safety, fix=fix, evidence=evidence)

    def _instance(self, call: cst.Call, site: cst.CSTNode, kind: str, cx: Context) -> None:
        subject = call.args[0].value
        if not _repeatable(subject):
            cx.report(site, "test the dtype and .device.type of the tensor instead", Safety.MANUAL)
            return
        code = cx.code(subject)
        tensor, wants = cx.spell("torch.Tensor", site)
        test = f"{cx.code(call.func)}({code}, {tensor}) and {self._test(code, kind, site, cx)}"
        fix = cx.fix(
            "the test of a type becomes one of dtype and device",
            cx.replace(call, _grouped(call, test, cx)),
            requests=wants,
        )
        cx.report(site, "a type says dtype and device: both are tested", Safety.REVIEW, fix=fix)

    def _test(self, code: str, kind: str, at: cst.CSTNode, cx: Context) -> str:
        dtype = cx.spell(f"torch.{DTYPES[kind]}", at)[0]
        return f"{code}.dtype == {dtype} and {code}.device.type == {cx.literal('neuron', at)}"

    # types in variables -----------------------------------------------------------------------------------------

    def _held(self, assign: cst.Assign, use: Use, kind: str, cx: Context) -> bool:
        """`kind = torch.cuda.FloatTensor` whose every use is `x.type(kind)`: the variable becomes the dtype."""
        target = assign.targets[0].target
        if len(assign.targets) != 1 or not isinstance(target, cst.Name) or use.ambiguous:
            return False
        scope = cx.names.scope(target)
        if len(cx.names.bindings(target.value, scope)) != 1 or cx.facts.importers.get(target.value):
            return False
        uses = cx.names.uses(target.value, scope)
        casts: list[cst.Call] = []
        for name in uses:
            arg = cx.parent(name)
            call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
            if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg) or not _casts(call, arg, cx):
                return False
            casts.append(call)
        dtype, requests = cx.spell(f"torch.{DTYPES[kind]}", use.node)
        changes = [cx.replace(use.node, dtype)]
        for call, name in zip(casts, uses):
            assert isinstance(call.func, cst.Attribute)
            changes += [
                cx.replace(call.func.attr, "to"),
                cx.replace(name, f"{cx.literal('neuron', call)}, {target.value}"),
            ]
        if not casts:
            return False
        fix = cx.fix("the variable holds the dtype, and the casts name the device", *changes, requests=requests)
        cx.report(use.node, f"a dtype in {target.value}, and .to(device, {target.value})", Safety.REVIEW, fix=fix)
        return True

    # texts ------------------------------------------------------------------------------------------------------

    def _text(self, node: cst.SimpleString, kind: str, cx: Context) -> None:
        above = cx.parent(node)
        call = cx.parent(above) if isinstance(above, cst.Arg) else None
        if _sets_default(node, cx):
            return
        if _becomes_default(node, cx):
            message = "no type of neuron can be the default: use torch.set_default_device and torch.set_default_dtype"
            cx.report(node, message, Safety.MANUAL)
            return
        if is_type_text(node, cx):
            self._annotation(node, cx)
            return
        if isinstance(call, cst.Call) and isinstance(above, cst.Arg) and _casts(call, above, cx):
            self._cast(call, above, node, kind, cx, False)
            return
        reason = text_role(cx, node)
        if reason and reason != "key of a dict":
            cx.keep(node, reason)
            return
        if reason and not self._looked_up_by_type(node, above, cx):
            if isinstance(above, cst.DictElement):
                message = "the name of a tensor type as a key: change it if the dict is looked up by x.type()"
                cx.report(node, message, Safety.MANUAL, severity=WARNING)
            else:
                cx.keep(node, reason)
            return
        comparison = cx.parent(above) if isinstance(above, cst.ComparisonTarget) else above
        if isinstance(comparison, cst.Comparison) and self._compared(comparison, node, kind, cx):
            return
        if self._asks_types(cx) and (call is None or _beside_type(call, cx)):
            new = f"torch.neuron.{kind}"
            fix = cx.fix("the name of the type", cx.replace(node, cx.literal(new, node)))
            evidence = [(node, "what .type() returns for a tensor on neuron (torch 2.13 source)")]
            cx.report(node, f"the type is called {new} on Trainium", Safety.REVIEW, fix=fix, evidence=evidence)
        else:
            cx.report(node, "the name of a tensor type: use dtype and device", Safety.MANUAL)

    def _annotation(self, node: cst.SimpleString, cx: Context) -> None:
        """A type written as text, alone or within another one."""
        parts = [StringPart(node, at, name, "torch.Tensor") for at, name in names_in(node) if tensor_type(name)]
        if parts:
            fix = cx.fix("the type is torch.Tensor", *parts)
            cx.report(node, "an annotation: the type of tensors on any device is torch.Tensor", Safety.SAFE, fix=fix)

    def _compared(self, comparison: cst.Comparison, node: cst.CSTNode, kind: str, cx: Context) -> bool:
        """`x.type() == "torch.cuda.HalfTensor"`."""
        target = comparison.comparisons[0]
        other = target.comparator if comparison.left is node else comparison.left
        if len(comparison.comparisons) != 1 or not isinstance(target.operator, cst.Equal) or not _type_of(other, cx):
            return False
        assert isinstance(other, cst.Call) and isinstance(other.func, cst.Attribute)
        if not _repeatable(other.func.value):
            return False
        text = _grouped(comparison, self._test(cx.code(other.func.value), kind, node, cx), cx)
        requests = cx.spell(f"torch.{DTYPES[kind]}", node)[1]
        fix = cx.fix(
            "the test of a type becomes one of dtype and device", cx.replace(comparison, text), requests=requests
        )
        cx.report(node, "a type says dtype and device: both are tested", Safety.SAFE, fix=fix)
        return True

    def _looked_up_by_type(self, key: cst.CSTNode, above: cst.CSTNode | None, cx: Context) -> bool:
        """Whether the dict of a key is, or may be, indexed by what `x.type()` gives."""
        subscript = cx.index.enclosing(key, cst.Subscript) if isinstance(above, cst.Index) else None
        holder = cx.parent(above) if isinstance(above, cst.DictElement) else subscript and subscript.value
        subjects = list(indexed_by(cx, holder))
        return any(_type_in(s, cx) for s in subjects) or (bool(subjects) and self._asks_types(cx))

    def _asks_types(self, cx: Context) -> bool:
        return any(
            isinstance(above := cx.parent(name), cst.Attribute)
            and (call := cx.parent(above)) is not None
            and _type_of(call, cx)
            for name in cx.index.names.get("type", [])
        )


def _casts(call: cst.Call, arg: cst.Arg, cx: Context) -> bool:
    """Whether the call is `x.type(arg)`."""
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    return method == "type" and not cx.origin(call.func).names and cx.argument(call, "dtype", 0) is arg


def _type_of(node: cst.CSTNode, cx: Context) -> bool:
    """Whether an expression is `x.type()`."""
    if not isinstance(node, cst.Call) or node.args or not isinstance(node.func, cst.Attribute):
        return False
    return node.func.attr.value == "type" and not cx.origin(node.func).names


def _type_in(node: cst.CSTNode, cx: Context) -> bool:
    """Whether an expression is `x.type()`, or a variable that keeps it."""
    if isinstance(node, cst.Name):
        found = cx.names.bindings(node.value, cx.names.scope(node))
        return any(b.value is not None and _type_of(b.value, cx) for b in found)
    return _type_of(node, cx)


def _beside_type(call: cst.CSTNode, cx: Context) -> bool:
    """Whether a call compares a text with `x.type()`, or gives it to a function of this file."""
    if not isinstance(call, cst.Call):
        return True
    return any(_type_in(a.value, cx) for a in call.args) or cx.devices.places.resolves(call)


def _sets_default(node: cst.CSTNode, cx: Context) -> bool:
    """Whether the type is the argument of set_default_tensor_type, alone or as an arm of a conditional."""
    above = cx.parent(node)
    if isinstance(above, cst.IfExp):
        above = cx.parent(above)
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    return isinstance(call, cst.Call) and cx.origin(call.func).name == _DEFAULT


def _becomes_default(node: cst.CSTNode, cx: Context) -> bool:
    """Whether the name of a type is kept in a variable that set_default_tensor_type gets."""
    return any(_sets_default(read, cx) for target in kept_in(cx, node) for read in readers(cx, target))


def _grouped(node: cst.CSTNode, text: str, cx: Context) -> str:
    """An `and` expression for the place of `node`, in parentheses inside an `or` as well."""
    above = cx.parent(node)
    if isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.Or) and not getattr(node, "lpar", ()):
        return f"({text})"
    return cx.parenthesize(node, text)


def _repeatable(node: cst.CSTNode) -> bool:
    """Whether an expression may be written twice: names, attributes and constant subscripts."""
    if isinstance(node, cst.Name):
        return True
    if isinstance(node, cst.Attribute):
        return _repeatable(node.value)
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return _repeatable(node.value) and isinstance(node.slice[0].slice.value, (cst.Integer, cst.Name))
    return False
