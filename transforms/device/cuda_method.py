"""TN102: `.cuda()` on tensors and modules."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import unpacks
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.names import Binding, dotted_name, is_none
from transforms.engine.transform import Transform
from transforms.flow.conditions import never_none
from transforms.flow.indexes import NONE, kinds, several_devices
from transforms.flow.libraries import instead_of_torch, other_array, third_party
from transforms.flow.modules import YES, Modules
from transforms.flow.own_attributes import gives_value
from transforms.flow.storages import is_storage, map_location_function

CUDA_METHOD = Rule(
    code="TN102",
    name="cuda-method",
    summary='`.cuda()` becomes `.to("neuron")`',
    best=Safety.SAFE,
    argument=(
        "No class of the repository defines its own `cuda()`, so the method is torch's; `.to` moves as `.cuda` does "
        "and returns the same object for modules. An index 0 is the current device of a process that owns one."
    ),
    source='TorchNeuron documentation 2.33: `.to("neuron")`; torch 2.13 signatures of Tensor.cuda and Module.cuda',
    why="A torch wheel without CUDA raises in `.cuda()`.",
    silent=(
        "Receivers whose class, or base, defines its own `cuda()`; arrays of other libraries (paddle, oneflow); "
        "settings named `cuda` (`args.cuda`, `getattr(args, \"cuda\", False)`, an attribute that the file stores)."
    ),
    examples=(
        (
            "import torch\n\n\ndef f(x):\n    return x.cuda(non_blocking=True)\n",
            'import torch\n\n\ndef f(x):\n    return x.to("neuron", non_blocking=True)\n',
        ),
        (
            "import torch\n\n\ndef f(xs):\n    return list(map(torch.Tensor.cuda, xs))\n",
            'import torch\n\n\ndef f(xs):\n    return list(map(lambda t: t.to("neuron"), xs))\n',
        ),
    ),
)
_UNBOUND = frozenset({"torch.Tensor.cuda", "torch.nn.Module.cuda", "torch.nn.modules.module.Module.cuda"})
_MOVES = frozenset({"cuda", "to", "cpu"})
_BY_TEXT = ("builtins.getattr", "operator.methodcaller")
_BINDERS = frozenset({"functools.partial", "functools.partialmethod"})
_SETTINGS = frozenset("args arg opt opts options option config cfg conf hparams hps flags settings params ns".split())
"""Names of objects whose attribute `cuda` is a setting, as those that argparse makes are called."""
_ANYTHING = ("torch.load", "torch.hub.", "torch.utils.")
_HOST = ("torch.neuron.", "torch.cuda.")


class CudaMethod(Transform):
    """Rewrites calls of the method `cuda`."""

    rules = (CUDA_METHOD,)
    triggers = (b"cuda",)
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every attribute `cuda`, and at every text `"cuda"` that may name the method."""
        for name in cx.index.names.get("cuda", []):
            attribute = cx.parent(name)
            if isinstance(attribute, cst.Attribute) and attribute.attr is name:
                self._attribute(attribute, cx)
        for string in cx.index.nodes(cst.SimpleString):
            if "cuda" not in string.value:
                continue
            arg = cx.parent(string)
            call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
            if isinstance(call, cst.Call) and cx.origin(call.func).name in _BY_TEXT:
                self._by_text(call, cx)

    def _attribute(self, attribute: cst.Attribute, cx: Context) -> None:
        call = cx.parent(attribute)
        origin = cx.origin(attribute)
        if origin.name in _UNBOUND:
            self._unbound(attribute, cx)
        elif isinstance(call, cst.Call) and call.func is attribute and not origin.names:
            self._method(call, attribute, cx)
        elif not origin.names and self._kept_for_later(attribute, cx):
            message = 'if this is the method of a tensor or module: keep a function that calls .to("neuron") instead'
            cx.report(attribute.attr, message, Safety.MANUAL, severity=WARNING)

    def _kept_for_later(self, node: cst.Attribute, cx: Context) -> bool:
        """Whether `x.cuda` is read as a value, no store and no test of a setting that is called so."""
        above = cx.parent(node)
        valued = (isinstance(above, (cst.Assign, cst.AnnAssign, cst.NamedExpr)) and above.value is node) or isinstance(
            above, (cst.Arg, cst.Return, cst.Element, cst.ListComp, cst.GeneratorExp, cst.SetComp, cst.Lambda)
        )
        holder = node.value
        if not valued or _is_setting(holder, cx):
            return False
        if _from_torch(holder, cx) or cx.shared(Modules).kind(holder).verdict == YES:
            return True
        return not self._own(holder, cx) and not self._stored(cx)

    def _stored(self, cx: Context) -> bool:
        """Whether the file gives an attribute `cuda` a value: the readings are about that."""
        return any(gives_value(name, cx) for name in cx.index.names.get("cuda", []))

    def _by_text(self, call: cst.Call, cx: Context) -> None:
        outer = cx.parent(call)
        if isinstance(outer, cst.Call) and outer.func is call:
            self._dynamic(outer, call, cx)
        self._named(call, cx)

    def _method(self, node: cst.Call, func: cst.Attribute, cx: Context) -> None:
        site, receiver = func.attr, func.value
        if self._own(receiver, cx):
            cx.keep(site, "own method cuda()")
        elif package := other_array(receiver, cx):
            cx.keep(site, f"object of {package}, which is not torch's")
        elif unpacks(node):
            cx.report(site, 'arguments of .cuda() are unpacked: move by hand to .to("neuron")', Safety.MANUAL)
        elif is_storage(receiver, cx):
            self._storage(node, site, cx)
        elif map_location_function(receiver, cx) is None:
            self._move(node, site, receiver, cx)

    def _move(self, node: cst.Call, site: cst.Name, receiver: cst.BaseExpression, cx: Context) -> None:
        safety = Safety.SAFE
        evidence: list[tuple[cst.CSTNode, str]] = []
        if _from_torch(receiver, cx):
            evidence.append((site, "made by a function of torch"))
        elif cx.facts.without_to and (why := _lacks_to(receiver, cx)):
            cx.report(site, f"{why}: move by hand", Safety.MANUAL)
            return
        elif why := cx.own_method("cuda") or third_party(receiver, cx) or instead_of_torch(cx):
            safety = Safety.REVIEW
            evidence.append((site, why))
        else:
            evidence.append((site, "no class of the repository defines cuda()"))
        if cx.at_import_time(node):
            safety = Safety.REVIEW
            evidence.append((site, "runs when the module is imported"))
        arguments = cx.arguments(node)
        device = cx.argument(node, "device", 0)
        blocking = cx.argument(node, "non_blocking", 1)
        if blocking is not None and cx.string(blocking.value) is not None:
            message = "a text where torch takes non_blocking: this cuda() is another library's, see what it moves"
            cx.report(site, message, Safety.MANUAL)
            return
        if blocking is not None and blocking.keyword is None:
            arguments.to_keyword(blocking, "non_blocking")
        target = cx.literal("neuron", node)
        message = 'tensors and modules move with .to("neuron")'
        requires: list[cst.CSTNode] = []
        if device is None:
            arguments.prepend(target)
        else:
            index = cx.integer(device.value)
            if index is not None and index > 0:
                arguments.value(device, cx.literal(f"neuron:{index}", node))
                safety = Safety.REVIEW
                evidence.append((device, "under torchrun a process owns only the index of its rank"))
            elif isinstance(device.value, (cst.SimpleString, cst.FormattedString)):
                requires.append(device.value)
            elif cx.devices.is_device(device.value) and not _is_index(device.value):
                safety = Safety.REVIEW
                evidence.append((device, "the argument is a device; None would not move the value"))
                may_be_none = NONE in kinds(cx, device.value) and not never_none(device.value, cx)
                if may_be_none and isinstance(device.value, (cst.Name, cst.Attribute)):
                    given = cx.code(device.value)
                    arguments.value(device, f"{target} if {given} is None else {given}")
            elif index == 0 or is_none(device.value):
                arguments.value(device, target)
            elif _asks_runtime(device.value, cx):
                safety = Safety.REVIEW
                evidence.append((device, "an index given as a device stands for the accelerator of the process"))
            elif _plain(device.value, cx):
                arguments.value(device, target)
                safety = Safety.REVIEW
                evidence.append((device, "an index (or None): a process owns one device, the current one"))
                if (several := several_devices(cx, device.value)) is not None:
                    evidence.append((several, "stands for several devices, of which one is left"))
                    message = '.to("neuron") moves to the one device of the process, where the index named several'
            else:
                cx.report(
                    site, 'the index of .cuda() is computed: write .to("neuron") and see what it was for', Safety.MANUAL
                )
                return
        fix = cx.fix('.cuda() becomes .to("neuron")', cx.replace(site, "to"), arguments, requires=requires)
        cx.report(site, message, safety, fix=fix, evidence=evidence)

    def _storage(self, node: cst.Call, site: cst.Name, cx: Context) -> None:
        """Storages take the device by keyword only."""
        arguments = cx.arguments(node)
        device = cx.argument(node, "device", 0)
        if len(node.args) > 1 or (
            device is not None and not _plain(device.value, cx) and cx.integer(device.value) is None
        ):
            cx.report(site, "a storage moves with .to(device=...): its arguments are keywords there", Safety.MANUAL)
            return
        if device is not None:
            arguments.drop(device)
        arguments.append(f"device={cx.literal('neuron', node)}")
        fix = cx.fix("a storage moves with .to(device=...)", cx.replace(site, "to"), arguments)
        cx.report(site, "a storage moves with .to(device=...)", Safety.REVIEW, fix=fix)

    def _own(self, receiver: cst.BaseExpression, cx: Context) -> bool:
        """Whether the receiver is an object of a class here that defines `cuda()` itself, or `super()` of one."""
        places = cx.devices.places
        if isinstance(receiver, cst.Call) and cx.origin(receiver.func).name == "builtins.super":
            here = cx.index.enclosing(receiver, cst.ClassDef)
            bases = [places.class_named(a.value) for a in here.bases] if isinstance(here, cst.ClassDef) else []
            return any(b is not None and bool(places.own_method(b, "cuda")) for b in bases)
        holder = places.class_of(receiver)
        return holder is not None and bool(places.own_method(holder, "cuda"))

    # without a receiver -----------------------------------------------------------------------------------------

    def _unbound(self, node: cst.Attribute, cx: Context) -> None:
        """`torch.Tensor.cuda(x)`, or the method passed on as a function."""
        above = cx.parent(node)
        if isinstance(above, cst.Call) and above.func is node:
            if len(above.args) == 1 and not unpacks(above) and above.args[0].keyword is None:
                arguments = cx.arguments(above).append(cx.literal("neuron", node))
                fix = cx.fix('.cuda becomes .to with "neuron"', cx.replace(node.attr, "to"), arguments)
                cx.report(node, 'tensors and modules move with .to("neuron")', Safety.REVIEW, fix=fix)
            else:
                cx.report(node, 'call .to("neuron") on the first argument instead', Safety.MANUAL)
        elif isinstance(above, cst.Arg) and self._called_with_more(above, cx):
            message = 'it may be called with arguments: write a function that takes them and calls .to("neuron", ...)'
            cx.report(node, message, Safety.MANUAL)
        elif isinstance(above, cst.Arg) and not above.star:
            text = f"lambda t: t.to({cx.literal('neuron', node)})"
            fix = cx.fix('the function passed on calls .to("neuron")', cx.replace(node, text))
            evidence = [(node, "a lambda can't be pickled, and takes no further arguments")]
            cx.report(node, 'tensors and modules move with .to("neuron")', Safety.REVIEW, fix=fix, evidence=evidence)
        else:
            cx.report(node, 'the method itself is used: write a function that calls .to("neuron")', Safety.MANUAL)

    def _called_with_more(self, arg: cst.Arg, cx: Context) -> bool:
        """Whether the method is given to something that binds further arguments to it."""
        call = cx.parent(arg)
        if not isinstance(call, cst.Call):
            return False
        keywords = {a.keyword.value for a in call.args if a.keyword is not None}
        bound = call.args[0] is arg and bool(keywords & {"non_blocking", "device"})
        return bound or cx.origin(call.func).name in _BINDERS

    def _dynamic(self, node: cst.Call, getter: cst.Call, cx: Context) -> None:
        """`getattr(x, "cuda")()`."""
        if (
            cx.origin(getter.func).name != "builtins.getattr"
            or len(getter.args) != 2
            or not self._names_method(getter, cx)
        ):
            return
        name = getter.args[1].value
        if node.args:
            cx.report(name, 'getattr(x, "cuda"): call .to("neuron") instead', Safety.MANUAL)
            return
        receiver = getter.args[0].value
        if cx.facts.without_to and (why := _lacks_to(receiver, cx)):
            cx.report(name, f"{why}: move by hand", Safety.MANUAL, severity=WARNING)
            return
        bare = isinstance(receiver, (cst.Name, cst.Attribute, cst.Subscript, cst.Call))
        code = cx.code(receiver) if bare else f"({cx.code(receiver)})"
        arguments = cx.arguments(node).prepend(cx.literal("neuron", node))
        fix = cx.fix('.cuda() becomes .to("neuron")', cx.replace(getter, f"{code}.to"), arguments)
        evidence = [(name, "the method is looked up by its name")]
        cx.report(name, 'tensors and modules move with .to("neuron")', Safety.REVIEW, fix=fix, evidence=evidence)

    def _named(self, node: cst.Call, cx: Context) -> None:
        above = cx.parent(node)
        if cx.origin(node.func).name == "operator.methodcaller":
            if node.args and cx.string(node.args[0].value) == "cuda":
                cx.report(node.args[0].value, 'methodcaller("cuda"): call .to("neuron")', Safety.MANUAL)
        elif self._names_method(node, cx) and not (isinstance(above, cst.Call) and above.func is node):
            cx.report(
                node.args[1].value, 'getattr(x, "cuda"): call .to("neuron") instead', Safety.MANUAL, severity=WARNING
            )

    def _names_method(self, getter: cst.Call, cx: Context) -> bool:
        return (
            len(getter.args) > 1
            and cx.string(getter.args[1].value) == "cuda"
            and not cx.origin(getter.args[0].value).names
            and not self._own(getter.args[0].value, cx)
            and not (len(getter.args) > 2 and _is_setting(getter.args[0].value, cx))
        )


def _is_setting(holder: cst.BaseExpression, cx: Context) -> bool:
    """Whether the attribute `cuda` of an expression is a setting: an option of that name, or an object of options."""
    last = holder.attr.value if isinstance(holder, cst.Attribute) else getattr(holder, "value", "")
    return last in _SETTINGS or last == "FLAGS" or bool(cx.devices.options("cuda"))


def _is_index(node: cst.CSTNode) -> bool:
    """Whether an expression is the index of a device: `x.device.index`."""
    return isinstance(node, cst.Attribute) and node.attr.value == "index"


def _plain(node: cst.CSTNode, cx: Context) -> bool:
    """Whether leaving the expression out can't be noticed: names, attributes, constant subscripts, sums of them."""
    if isinstance(node, (cst.Name, cst.Integer)):
        return True
    if isinstance(node, cst.Attribute):
        return _plain(node.value, cx)
    if isinstance(node, cst.BinaryOperation):
        return _plain(node.left, cx) and _plain(node.right, cx)
    if isinstance(node, cst.IfExp):
        return all(_plain(part, cx) for part in (node.test, node.body, node.orelse))
    if isinstance(node, cst.Comparison):
        return _plain(node.left, cx) and all(_plain(c.comparator, cx) for c in node.comparisons)
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        index = node.slice[0].slice.value
        environment = cx.origin(node.value).name == "os.environ"
        return (isinstance(index, cst.Integer) and _plain(node.value, cx)) or environment
    if isinstance(node, cst.Call) and len(node.args) <= 1:
        name = cx.origin(node.func).name
        if name in ("builtins.int", "torch.distributed.get_rank", "torch.distributed.get_node_local_rank", "os.getenv"):
            return all(_plain(a.value, cx) or isinstance(a.value, cst.SimpleString) for a in node.args)
    return False


def _asks_runtime(node: cst.CSTNode, cx: Context) -> bool:
    """Whether the index is asked of the device module itself, whose call has a rule of its own."""
    return isinstance(node, cst.Call) and cx.origin(node.func).name.startswith(_HOST)


def _from_torch(receiver: cst.BaseExpression, cx: Context) -> bool:
    """Whether a chain of calls starts at a function or class of torch, which gives tensors and modules."""
    while isinstance(receiver, (cst.Call, cst.Attribute, cst.Subscript)):
        if isinstance(receiver, cst.Call):
            origin = cx.origin(receiver.func)
            if origin.names:
                return (
                    not origin.ambiguous and origin.name.startswith("torch.") and not origin.name.startswith(_ANYTHING)
                )
            receiver = receiver.func
        else:
            receiver = receiver.value
    return False


def _lacks_to(receiver: cst.BaseExpression, cx: Context) -> str:
    """Why a receiver may have cuda() but no to(), empty when something shows that it is no object of such a class."""
    classes = cx.facts.without_to
    why = f"{', '.join(sorted(classes)[:3])} of this repository has cuda() but no to(), and this may be one"
    kind = cx.shared(Modules).kind(receiver)
    if kind.verdict == YES:
        return ""
    if isinstance(receiver, cst.Name):
        found = cx.names.bindings(receiver.value, cx.names.scope(receiver))
        return "" if found and all(_known(b, classes, cx) for b in found) else why
    if isinstance(receiver, cst.Call):
        return "" if _known_maker(receiver, classes, cx) else why
    if isinstance(receiver, (cst.BinaryOperation, cst.UnaryOperation)):
        return ""
    return why


def _known(binding: Binding, classes: frozenset[str], cx: Context) -> bool:
    """Whether a binding gives something that is no object of these classes."""
    if binding.kind == "param":
        param = cx.parent(binding.node)
        annotation = param.annotation.annotation if isinstance(param, cst.Param) and param.annotation else None
        if annotation is not None:
            return cx.origin(annotation).name.startswith("torch.")
        return isinstance(binding.scope, cst.FunctionDef) and _given_by_torch(binding.scope, binding.name, cx)
    value = binding.value
    if binding.kind != "assign" or value is None:
        return False
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in _MOVES:
        inner = value.func.value
        if isinstance(inner, cst.Name) and inner.value == binding.name:
            return True  # `x = x.cuda()`: what x is, its other bindings say
    return isinstance(value, cst.BinaryOperation) or (isinstance(value, cst.Call) and _known_maker(value, classes, cx))


def _given_by_torch(function: cst.FunctionDef, parameter: str, cx: Context) -> bool:
    """Whether the calls of a function in this file, at least one, all pass something that torch made."""
    given: list[cst.Arg | None] = []
    for name in cx.index.names.get(function.name.value, []):
        call = cx.parent(name)
        if isinstance(call, cst.Call) and call.func is name:
            names = [p.name.value for p in (*function.params.posonly_params, *function.params.params)]
            position = names.index(parameter) if parameter in names else None
            given.append(cx.argument(call, parameter, position))
    return bool(given) and all(arg is not None and _from_torch(arg.value, cx) for arg in given)


def _known_maker(call: cst.Call, classes: frozenset[str], cx: Context) -> bool:
    """Whether a call makes something of torch's, or an object of a class that is not one of these."""
    if _from_torch(call, cx):
        return True
    name = dotted_name(call.func).rpartition(".")[2]
    return name[:1].isupper() and not name.isupper() and name not in classes
