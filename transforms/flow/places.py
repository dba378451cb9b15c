"""One step of data flow: what an expression's value goes into, and where a value can come from.

Flow-insensitive and by name: a *place* is a variable of a scope, an attribute name, a dict key or the result of a
function. Everything that is stored in a place is taken to meet everything that is read from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.names import dotted_name

if TYPE_CHECKING:
    from transforms.engine.context import Context

Place = tuple[str, int, str]
"""(kind, scope identity or 0, name); kinds: var, attr, item, return."""


@dataclass(frozen=True, eq=False)
class Sink:
    """A use that says something about the value. `kind`:

    device (a device is expected here), test (compared with `other`), key, choice, index (an index is read out of the
    text), text (for people), leak (goes where nobody can follow), multi (one of several accelerators).
    """

    kind: str
    node: cst.CSTNode
    text: str
    other: cst.CSTNode | None = None


@dataclass(frozen=True, eq=False)
class Origin:
    """A value that comes from outside the places: `device` (a device object), `literal` or `other`."""

    kind: str
    node: cst.CSTNode
    text: str


DEVICE_KEYWORDS = frozenset("device map_location device_type pin_memory_device torch_device".split())
"""Parameters of torch functions, and by convention of code around it, that take a device."""

DEVICE_CALLS: dict[str, int] = {
    "torch.device": 0,
    "torch.Generator": 0,
    "torch.autocast": 0,
    "torch.amp.autocast": 0,
    "torch.amp.GradScaler": 0,
    "torch.amp.autocast_mode.autocast": 0,
    "torch.set_default_device": 0,
    "torch.get_device_module": 0,
    "torch.get_autocast_dtype": 0,
    "torch.set_autocast_dtype": 0,
    "torch.is_autocast_enabled": 0,
    "torch.set_autocast_enabled": 0,
    "torch.distributed.device_mesh.init_device_mesh": 0,
    "torch.distributed.init_device_mesh": 0,
    "torch.distributed.device_mesh.DeviceMesh": 0,
    "torch.distributed.DeviceMesh": 0,
    "torch.distributed._tensor.DeviceMesh": 0,
    "torch.random.fork_rng": -1,
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
}
"""torch functions that take a device at a position (torch 2.13 signatures)."""

DEVICE_METHODS = frozenset({"to", "to_empty", "type"})
_STRING_METHODS = frozenset("lower upper strip format replace casefold rstrip lstrip".split())
_GETTERS = frozenset("get pop setdefault getenv getattr".split())
_ACCELERATORS = frozenset("mps xpu npu hpu mlu musa privateuseone xla tpu hip rocm meta".split()) - {"meta"}


class Places:
    """Forward and backward steps in one file."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self._functions: dict[str, list[cst.FunctionDef]] | None = None

    # forward ----------------------------------------------------------------------------------------------------

    def forward(self, node: cst.CSTNode) -> Iterator[Sink | Place]:
        """Where the value of an expression goes next."""
        above = self.cx.parent(node)
        if isinstance(above, cst.IfExp):
            if node is not above.test:
                if self.is_probe(above.test):
                    yield Sink("device", above, "arm of a conditional on an availability probe")
                yield from self.forward(above)
        elif isinstance(above, (cst.BooleanOperation, cst.Await)):
            yield from self.forward(above)
        elif isinstance(above, cst.BinaryOperation):
            if isinstance(above.operator, (cst.Add, cst.Modulo)):
                yield from self.forward(above)
        elif isinstance(above, cst.ConcatenatedString):
            yield from self.forward(above)
        elif isinstance(above, cst.NamedExpr) and above.value is node:
            yield from self.target(above.target)
            yield from self.forward(above)
        elif isinstance(above, cst.Assign):
            for target in above.targets:
                yield from self._assigned(target.target, above, node)
        elif isinstance(above, cst.AnnAssign):
            yield from self._assigned(above.target, above, node)
        elif isinstance(above, cst.Param):
            if above.default is node:
                yield self.variable(above.name)
        elif isinstance(above, cst.Return):
            yield from self._returned(above)
        elif isinstance(above, (cst.Element, cst.StarredElement)):
            yield from self._element(above)
        elif isinstance(above, cst.DictElement):
            yield from self._dict(above, node)
        elif isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
            yield from self._compared(above, node)
        elif isinstance(above, cst.MatchValue):
            yield from self._matched(above)
        elif isinstance(above, cst.Arg):
            yield from self._argument(above, node)
        elif isinstance(above, cst.Attribute) and above.value is node:
            yield from self._attribute(above)
        elif isinstance(above, cst.Subscript) and above.value is node:
            yield from self._sliced(above)
        elif isinstance(above, cst.Index):
            yield from self._index(above, node)
        elif isinstance(above, cst.For) and above.iter is node:
            yield from self.target(above.target)
        elif isinstance(above, cst.CompFor) and above.iter is node:
            yield from self.target(above.target)
        elif isinstance(above, (cst.GeneratorExp, cst.ListComp, cst.SetComp)) and above.elt is node:
            yield from self.forward(above)
        elif isinstance(above, cst.FormattedStringExpression):
            yield Sink("text", above, "part of a text")
        elif isinstance(above, (cst.If, cst.While, cst.Assert, cst.UnaryOperation, cst.Expr)):
            return
        elif isinstance(above, (cst.Annotation, cst.Del, cst.Global)):
            return
        else:
            yield Sink("leak", node, "used in a way that can't be followed")

    def target(self, target: cst.CSTNode) -> Iterator[Place]:
        """The place that an assignment target names."""
        if isinstance(target, cst.Name):
            yield self.variable(target)
            if isinstance(self.cx.names.scope(target), cst.ClassDef):
                yield ("attr", 0, target.value)
        elif isinstance(target, cst.Attribute):
            if not self.cx.origin(target).names:
                yield ("attr", 0, target.attr.value)
        elif isinstance(target, cst.Subscript):
            key = self._key(target)
            if key is not None:
                yield ("item", 0, key)

    def _key(self, node: cst.Subscript) -> str | None:
        if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
            return self.cx.string(node.slice[0].slice.value)
        return None

    def variable(self, name: cst.Name) -> Place:
        """The variable that a name means."""
        scope = self.cx.names.binding_scope(name.value, self.cx.names.scope(name))
        return ("var", id(scope) if scope is not None else 0, name.value)

    def _assigned(self, target: cst.CSTNode, statement: cst.CSTNode, value: cst.CSTNode) -> Iterator[Sink | Place]:
        holder = self.cx.index.enclosing(statement, cst.If)
        if holder is not None and self.is_probe(holder.test) and self._in_body(statement, holder):
            yield Sink("probe", holder, "set where an availability probe holds")
        if isinstance(target, (cst.Tuple, cst.List)):
            return
        yield from self.target(target)

    def _in_body(self, node: cst.CSTNode, holder: cst.If) -> bool:
        child = node
        for above in self.cx.index.ancestors(node):
            if above is holder:
                return child is holder.body
            child = above
        return False

    def _returned(self, node: cst.CSTNode) -> Iterator[Place]:
        function = self.cx.index.enclosing(node, cst.FunctionDef)
        if function is not None:
            yield ("return", id(function), function.name.value)

    def _element(self, element: cst.CSTNode) -> Iterator[Sink | Place]:
        holder = self.cx.parent(element)
        if not isinstance(holder, (cst.List, cst.Tuple, cst.Set)):
            yield Sink("leak", element, "used in a way that can't be followed")
            return
        if self.names_other_accelerators(holder):
            yield Sink("multi", holder, "one of several accelerators")
            return
        assign = self.cx.parent(holder)
        if isinstance(holder, cst.Tuple) and isinstance(assign, cst.Assign) and isinstance(assign.targets[0].target, cst.Tuple):
            place = next(i for i, e in enumerate(holder.elements) if e is element)
            elements = assign.targets[0].target.elements
            if place < len(elements):
                yield from self.target(elements[place].value)
            return
        yield from self.forward(holder)

    def names_other_accelerators(self, holder: cst.CSTNode) -> bool:
        """Whether a sequence or dict names a further accelerator beside CUDA."""
        elements = getattr(holder, "elements", ())
        for element in elements:
            node = element.key if isinstance(element, cst.DictElement) else element.value
            text = self.cx.string(node)
            if text is not None and text.split(":")[0] in _ACCELERATORS:
                return True
        return False

    def _dict(self, element: cst.DictElement, node: cst.CSTNode) -> Iterator[Sink | Place]:
        holder = self.cx.parent(element)
        assert isinstance(holder, cst.Dict)
        if element.key is node:
            if self.names_other_accelerators(holder):
                yield Sink("multi", holder, "one of several accelerators")
            else:
                yield Sink("key", holder, "key of a dict", holder)
            return
        key = self.cx.string(element.key)
        argument = self.cx.parent(holder)
        if isinstance(argument, cst.Arg) and argument.keyword and argument.keyword.value == "map_location":
            yield Sink("device", holder, "target of a map_location")
        elif key is not None:
            yield ("item", 0, key)
        else:
            yield Sink("leak", holder, "value of a dict")

    def _compared(self, above: cst.CSTNode, node: cst.CSTNode) -> Iterator[Sink]:
        comparison = above if isinstance(above, cst.Comparison) else self.cx.parent(above)
        assert isinstance(comparison, cst.Comparison)
        if len(comparison.comparisons) != 1:
            yield Sink("leak", comparison, "chained comparison")
            return
        target = comparison.comparisons[0]
        other = target.comparator if comparison.left is node else comparison.left
        if isinstance(target.operator, (cst.Equal, cst.NotEqual, cst.In, cst.NotIn)):
            yield Sink("test", comparison, "compared", other)
        elif isinstance(target.operator, (cst.Is, cst.IsNot)):
            return
        else:
            yield Sink("leak", comparison, "compared by order")

    def _matched(self, pattern: cst.MatchValue) -> Iterator[Sink]:
        case = self.cx.index.enclosing(pattern, cst.MatchCase)
        match = self.cx.index.enclosing(pattern, cst.Match)
        if case is not None and match is not None:
            yield Sink("test", case, "matched", match.subject)

    def _argument(self, arg: cst.Arg, node: cst.CSTNode) -> Iterator[Sink | Place]:
        call = self.cx.parent(arg)
        if isinstance(call, cst.ClassDef):
            return
        assert isinstance(call, cst.Call)
        keyword = arg.keyword.value if arg.keyword is not None else ""
        position = next((i for i, a in enumerate(call.args) if a is arg), -1)
        if arg.star:
            yield Sink("leak", call, "unpacked into a call")
            return
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        name = self.cx.origin(call.func).name
        if method == "add_argument" or method == "option" or method == "add_option":
            yield from self._option(call, keyword)
            return
        if keyword in DEVICE_KEYWORDS:
            yield Sink("device", arg, f"{keyword}= of a call")
            yield from self._into_function(call, keyword, position)
            return
        if name in DEVICE_CALLS and not keyword and DEVICE_CALLS[name] == position:
            yield Sink("device", call, f"device of {name}")
            if name == "torch.device":
                yield from self.forward(call)
            return
        if name == "builtins.getattr" and position == 1 and not keyword:
            if self.cx.origin(call.args[0].value).name == "torch":
                yield Sink("device", call, "names a device module of torch")
            return
        if method in DEVICE_METHODS and position == 0 and not keyword and not name:
            yield Sink("device", call, f"first argument of .{method}()")
            return
        if method in ("startswith", "endswith", "find", "index", "count", "__contains__") and position == 0:
            assert isinstance(call.func, cst.Attribute)
            yield Sink("test", call, f"tested with .{method}()", call.func.value)
            return
        if name == "builtins.str" or method in ("lower", "strip") or (method == "join"):
            yield from self.forward(call)
            return
        if name.startswith("re.") and position in (0, 1):
            yield Sink("leak", call, "used as or in a regular expression")
            return
        if (method in _GETTERS or name in ("builtins.getattr", "os.getenv")) and position >= 1:
            key = self.cx.string(call.args[1 if name == "builtins.getattr" else 0].value)
            if key is not None:
                yield ("item", 0, key) if name != "builtins.getattr" else ("attr", 0, key)
            yield from self.forward(call)
            return
        if name in ("builtins.dict", "types.SimpleNamespace", "argparse.Namespace") and keyword:
            yield ("item" if name == "builtins.dict" else "attr", 0, keyword)
            return
        if method in ("set_defaults",) and keyword:
            yield ("attr", 0, keyword)
            return
        if name in ("typing.get_args", "builtins.len", "builtins.isinstance", "builtins.repr", "builtins.id", "builtins.hasattr"):
            return
        if name == "builtins.int":
            yield Sink("index", call, "read as a number")
            return
        if self._speaks(call, method):
            yield Sink("text", call, "printed")
            return
        followed = False
        for place in self._into_function(call, keyword, position):
            followed = True
            yield place
        if followed:
            return
        if name in ("dataclasses.field", "attrs.field", "attr.ib", "pydantic.Field") and keyword in ("default", ""):
            yield from self.forward(call)
            return
        if method == "append":
            yield Sink("leak", call, "put into a list")
            return
        known = f"argument {keyword} of" if keyword else "argument of"
        yield Sink("leak", call, f"{known} {dotted_name(call.func) or 'a call'}()")

    def _speaks(self, call: cst.Call, method: str) -> bool:
        from transforms.engine.residue import _PRINTERS

        return (method or dotted_name(call.func)) in _PRINTERS or dotted_name(call.func).endswith(("Error", "Exception"))

    def _option(self, call: cst.Call, keyword: str) -> Iterator[Sink | Place]:
        if keyword in ("default", "choices", "const", "type"):
            if keyword != "type":
                yield ("attr", 0, option_destination(self.cx, call))
        elif keyword:
            yield Sink("text", call, "help text")
        else:
            yield Sink("text", call, "name of an option")

    def _into_function(self, call: cst.Call, keyword: str, position: int) -> Iterator[Place]:
        for function, bound in self.called(call):
            parameter = _parameter(function, keyword, position + (1 if bound else 0))
            if parameter is not None:
                yield ("var", id(function), parameter)

    def called(self, call: cst.Call) -> list[tuple[cst.FunctionDef, bool]]:
        """Functions of this file that a call can mean, and whether the first parameter is given by the receiver."""
        if isinstance(call.func, cst.Name):
            found: list[tuple[cst.FunctionDef, bool]] = []
            for binding in self.cx.names.bindings(call.func.value, self.cx.names.scope(call.func)):
                holder = self.cx.parent(binding.node)
                if binding.kind == "def" and isinstance(holder, cst.FunctionDef):
                    found.append((holder, False))
                elif binding.kind == "class" and isinstance(holder, cst.ClassDef):
                    found += [(f, True) for f in self.methods("__init__") if self._class_of(f) is holder]
                    found += []
            return found
        if isinstance(call.func, cst.Attribute) and not self.cx.origin(call.func).names:
            return [(f, True) for f in self.methods(call.func.attr.value)]
        return []

    def _class_of(self, function: cst.FunctionDef) -> cst.ClassDef | None:
        return self.cx.index.enclosing(function, cst.ClassDef)

    def methods(self, name: str) -> list[cst.FunctionDef]:
        """Methods of this name in the file."""
        if self._functions is None:
            self._functions = {}
            for function in self.cx.index.nodes(cst.FunctionDef):
                if isinstance(self.cx.names.scope(function), cst.ClassDef):
                    self._functions.setdefault(function.name.value, []).append(function)
        return self._functions.get(name, [])

    def _attribute(self, attribute: cst.Attribute) -> Iterator[Sink | Place]:
        name = attribute.attr.value
        if name in ("type", "value"):
            yield from self.forward(attribute)
            return
        if name == "index":
            yield Sink("index", attribute, "its index is read")
            return
        call = self.cx.parent(attribute)
        if isinstance(call, cst.Call) and call.func is attribute:
            if name in _STRING_METHODS:
                yield from self.forward(call)
            elif name in ("split", "partition", "rsplit"):
                yield Sink("index", call, "split at its colon")
                yield from self.forward(call)
            elif name in ("startswith", "endswith", "find", "index", "count"):
                yield Sink("test", call, f"tested with .{name}()", call.args[0].value if call.args else None)
            elif name in ("append", "items", "keys", "values", "isdigit"):
                return
            else:
                yield Sink("leak", call, f".{name}() of it is called")

    def _sliced(self, subscript: cst.Subscript) -> Iterator[Sink | Place]:
        part = subscript.slice[0].slice if len(subscript.slice) == 1 else None
        if isinstance(part, cst.Slice):
            if part.lower is not None:
                yield Sink("index", subscript, "its end is cut out")
            yield from self.forward(subscript)
        elif isinstance(part, cst.Index) and isinstance(part.value, (cst.Integer, cst.UnaryOperation)):
            yield from self.forward(subscript)

    def _index(self, index: cst.Index, node: cst.CSTNode) -> Iterator[Sink]:
        subscript = self.cx.index.enclosing(index, cst.Subscript)
        if subscript is None:
            return
        base = self.cx.origin(subscript.value).name
        if base in ("typing.Literal", "typing_extensions.Literal"):
            if any(
                (self.cx.string(e.slice.value) or "") in _ACCELERATORS
                for e in subscript.slice
                if isinstance(e.slice, cst.Index)
            ):
                yield Sink("multi", subscript, "one of several accelerators")
            else:
                yield Sink("choice", subscript, "member of a Literal")
            return
        yield Sink("key", subscript, "subscript", subscript.value)

    def is_probe(self, test: cst.CSTNode) -> bool:
        """Whether a condition asks that an accelerator is available (negations excluded)."""
        if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
            return self.is_probe(test.left) or self.is_probe(test.right)
        if isinstance(test, cst.Call):
            return self.cx.origin(test.func).name in (
                "torch.cuda.is_available",
                "torch.neuron.is_available",
                "torch.accelerator.is_available",
            )
        if isinstance(test, cst.Name):
            found = self.cx.names.bindings(test.value, self.cx.names.scope(test))
            return bool(found) and all(isinstance(b.value, (cst.Call, cst.BooleanOperation)) and self.is_probe(b.value) for b in found)
        return False

    # backward ---------------------------------------------------------------------------------------------------

    def backward(self, node: cst.CSTNode) -> Iterator[Origin | Place]:
        """Where the value of an expression can come from."""
        if isinstance(node, (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)):
            yield Origin("literal", node, "a literal")
        elif isinstance(node, cst.Name):
            if self.cx.names.bindings(node.value, self.cx.names.scope(node)):
                yield self.variable(node)
        elif isinstance(node, cst.Attribute):
            yield from self._from_attribute(node)
        elif isinstance(node, cst.IfExp):
            yield from self.backward(node.body)
            yield from self.backward(node.orelse)
        elif isinstance(node, (cst.BooleanOperation, cst.BinaryOperation)):
            yield from self.backward(node.left)
            yield from self.backward(node.right)
        elif isinstance(node, cst.NamedExpr):
            yield from self.backward(node.value)
        elif isinstance(node, (cst.List, cst.Tuple, cst.Set)):
            for element in node.elements:
                yield from self.backward(element.value)
        elif isinstance(node, cst.Subscript):
            key = self._key(node)
            if key is not None:
                yield ("item", 0, key)
            else:
                yield from self.backward(node.value)
        elif isinstance(node, cst.Call):
            yield from self._from_call(node)
        elif isinstance(node, (cst.Integer, cst.Float)):
            yield Origin("other", node, "a number")

    def _from_attribute(self, node: cst.Attribute) -> Iterator[Origin | Place]:
        name = node.attr.value
        if self.cx.origin(node).names:
            return
        if name == "device":
            yield Origin("device", node, "a .device")
        if name in ("type", "value"):
            yield from self.backward(node.value)
            if name == "value":
                yield ("attr", 0, node.value.attr.value) if isinstance(node.value, cst.Attribute) else ("attr", 0, "")
            return
        yield ("attr", 0, name)

    def _from_call(self, node: cst.Call) -> Iterator[Origin | Place]:
        name = self.cx.origin(node.func).name
        method = node.func.attr.value if isinstance(node.func, cst.Attribute) else ""
        if name == "torch.device":
            yield Origin("device", node, "a torch.device")
            if node.args:
                yield from self.backward(node.args[0].value)
        elif name in ("torch.get_default_device", "torch.accelerator.current_accelerator"):
            yield Origin("device", node, f"{name}()")
        elif name == "builtins.str" and node.args:
            yield from self.backward(node.args[0].value)
        elif method in (*_STRING_METHODS, "split", "partition") and not name and isinstance(node.func, cst.Attribute):
            yield from self.backward(node.func.value)
        elif name in ("os.environ.get", "os.getenv", "builtins.getattr") or method in _GETTERS:
            place = 1 if name == "builtins.getattr" else 0
            key = self.cx.string(node.args[place].value) if len(node.args) > place else None
            if key is not None:
                yield ("attr" if name == "builtins.getattr" else "item", 0, key)
            if len(node.args) > place + 1:
                yield from self.backward(node.args[place + 1].value)
        elif name in ("typing.get_args", "typing_extensions.get_args") and node.args:
            yield from self.backward(node.args[0].value)
        else:
            for function, _ in self.called(node):
                yield ("return", id(function), function.name.value)


def _parameter(function: cst.FunctionDef, keyword: str, position: int) -> str | None:
    parameters = function.params
    if keyword:
        every = [*parameters.posonly_params, *parameters.params, *parameters.kwonly_params]
        return next((p.name.value for p in every if p.name.value == keyword), None)
    ordered = [*parameters.posonly_params, *parameters.params]
    return ordered[position].name.value if 0 <= position < len(ordered) else None


def option_destination(cx: Context, call: cst.Call) -> str:
    """The attribute that argparse (or click) stores an option in."""
    destination = cx.argument(call, "dest")
    if destination is not None:
        return cx.string(destination.value) or ""
    names = [text for a in call.args if not a.keyword and (text := cx.string(a.value)) is not None]
    long = next((n for n in names if n.startswith("--")), names[0] if names else "")
    return long.lstrip("-").replace("-", "_")
