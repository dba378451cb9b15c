"""What becomes of an argument: a device position, a parameter, an option, a text, or a use that can't be followed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from transforms.engine.names import dotted_name
from transforms.engine.statements import simple_statements
from transforms.flow.locations import Locations, option_destination, parameter_at
from transforms.flow.steps import Place, Sink
from transforms.tables.devices import (
    CONVERSIONS,
    DEVICE_CALLS,
    DEVICE_KEYWORDS,
    DEVICE_METHODS,
    FIELDS,
    INDEX_CALLS,
    NEW_TENSORS,
    RECORDS,
)
from transforms.tables.frameworks import OTHER_ARRAYS, accelerator_argument

_GETTERS = frozenset("get pop setdefault getenv getattr".split())
_TESTS = frozenset("startswith endswith find rfind index count __contains__ removeprefix lstrip strip".split())
_SPLITS = frozenset("split rsplit partition rpartition".split())
_OPTIONS = frozenset({"add_argument", "add_option", "option", "argument"})
_ASSERTIONS = frozenset("assertEqual assertEquals assertNotEqual assertIn assertNotIn".split())
_NEUTRAL = frozenset("builtins.isinstance builtins.repr builtins.id builtins.type builtins.bool".split())
_TEMPLATE = re.compile(r"\{0?\}(:\{1?\})?$")


class Arguments(Locations):
    """Forward steps through calls."""

    def argument(self, arg: cst.Arg, node: cst.CSTNode) -> Iterator[Sink | Place]:
        """Where an argument goes."""
        call = self.cx.parent(arg)
        if isinstance(call, cst.ClassDef):
            return
        assert isinstance(call, cst.Call)
        if arg.star:
            yield Sink("leak", call, "unpacked into a call")
            return
        if any(a is not arg and self._is_tensors_device(a.value) for a in call.args):
            yield Sink("index", call, "given beside a .device, which has an index")
        keyword = arg.keyword.value if arg.keyword is not None else ""
        position = next((i for i, a in enumerate(call.args) if a is arg), -1)
        name, position = self._function(call, position)
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if self._speaks(call, method):
            yield Sink("text", call, "printed")
        elif name.rpartition(".")[2] in ("DEFINE_string", "DEFINE_enum"):
            yield from self._flag(call, keyword, position)
        elif name == "builtins.map" and position == 1 and DEVICE_CALLS.get(
            self.cx.origin(call.args[0].value).name, (-1,)
        )[0] == 0:
            yield Sink("device", call, "each is given to a function of torch that takes a device")
        elif method in _OPTIONS:
            yield from self._option(call, keyword)
        elif method == "parametrize" and position == 1:
            yield from self._parametrized(call)
        elif (taker := self._takes_device(call, name, keyword, position)) is not None:
            yield from self._taken(call, node, taker)
        elif keyword and (name in RECORDS or name == "builtins.dict" or method == "set_defaults"):
            yield ("item", 0, keyword) if name == "builtins.dict" else ("attr", 0, keyword)
        elif self.resolves(call):
            yield from self._into_own(call, keyword, position)
        elif accelerator_argument(name, keyword):
            yield Sink("foreign", arg, f"{keyword}= of {name}, which has names of its own for accelerators")
        elif (keyword == "device_types" and name.startswith("torch.library.")) or (
            position == (1 if name.startswith("torch.library.") else 0) and method == "register_kernel"
        ):
            yield Sink("kernel", call, "the device that a kernel is registered for")
        elif method == "cuda" and not name and (keyword == "device" or (not keyword and position == 0)):
            direct = isinstance(node, (cst.SimpleString, cst.FormattedString))
            yield Sink("device" if direct else "taken", call, "argument of .cuda()")
        elif keyword in DEVICE_KEYWORDS and name.split(".")[0] in OTHER_ARRAYS:
            yield Sink("foreign", arg, f"{keyword}= of {name}, whose devices are not torch's")
        elif keyword in DEVICE_KEYWORDS:
            known = name.startswith("torch.") or method in DEVICE_METHODS or method in NEW_TENSORS
            yield Sink("device" if known else "likely", arg, f"{keyword}= of a call")
            yield from self.into_function(call, keyword, position)
        else:
            yield from self._call(call, node, name, method, keyword, position)

    def _is_tensors_device(self, node: cst.CSTNode) -> bool:
        """Whether an expression is `x.device` or its text."""
        if isinstance(node, cst.Call) and len(node.args) == 1 and self.cx.origin(node.func).name == "builtins.str":
            node = node.args[0].value
        return isinstance(node, cst.Attribute) and node.attr.value == "device" and not self.cx.origin(node).names

    def _function(self, call: cst.Call, position: int) -> tuple[str, int]:
        """The function that an argument is for, and its position there: functools.partial passes them on.

        Of the places that a name is imported from by choice (torch.amp, else an older home), one with a device counts.
        """
        origin = self.cx.origin(call.func)
        if origin.name == "functools.partial" and position > 0 and not call.args[0].star:
            origin, position = self.cx.origin(call.args[0].value), position - 1
        return next((n for n in sorted(origin.names) if n in DEVICE_CALLS), origin.name), position

    def _takes_device(self, call: cst.Call, function: str, keyword: str, position: int) -> str | None:
        """The torch function that takes a device at this argument; `function`: the one that the call is for."""
        for name in (function, *self.callees(call)):
            known = DEVICE_CALLS.get(name)
            if known is not None and (keyword == known[1] or (not keyword and position == known[0])):
                return name
        return None

    def _taken(self, call: cst.Call, node: cst.CSTNode, name: str) -> Iterator[Sink | Place]:
        if not name.startswith(("torch.cuda.", "torch.neuron.")) or isinstance(
            node, (cst.SimpleString, cst.FormattedString)
        ):
            yield Sink("device", call, f"device of {name}")
        else:
            yield Sink("taken", call, f"argument of {name}")  # an index does as well
        if name in INDEX_CALLS:
            yield Sink("index", call, "its index is read")
        if name == "torch.device":
            yield from self.forward(call)

    def _call(
        self, call: cst.Call, node: cst.CSTNode, name: str, method: str, keyword: str, position: int
    ) -> Iterator[Sink | Place]:
        """Calls known by the name of their method or function."""
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        if name in ("builtins.getattr", "builtins.hasattr") and position == 1 and not keyword:
            if self.cx.origin(call.args[0].value).name == "torch":
                yield Sink("device", call, "names a device module of torch")
            elif self.cx.origin(call.args[0].value).name == "torch.version":
                yield Sink("text", call, "name of a version of torch")
            elif name == "builtins.getattr":
                yield Sink("leak", call, "name of an attribute")
        elif method in DEVICE_METHODS and position == 0 and not keyword and not name:
            yield Sink("device", call, f"first argument of .{method}()")
            yield from self.into_function(call, keyword, position)
        elif (
            receiver is not None
            and (not name or self._other_file(receiver))
            and position == 0
            and (method in _TESTS or method in _SPLITS or method == "replace")
        ):
            yield Sink("test", call, f"tested with .{method}()", receiver, node, False)
        elif name in CONVERSIONS or method == "join" or (method == "replace" and position == 1):
            yield from self.forward(call)
        elif method == "format":
            if position == 0 and receiver is not None and _TEMPLATE.match(self.cx.string(receiver) or ""):
                yield from self.forward(call)
            else:
                yield Sink("text", call, "part of a text")
        elif method in _ASSERTIONS and position in (0, 1) and not name and len(call.args) > 1:
            yield Sink("test", call, f"compared by {method}()", call.args[1 - position].value, node)
        elif name.startswith("re.") and position in (0, 1):
            text = "used as a regular expression" if position == 0 else "matched with a regular expression"
            yield Sink("pattern", call, text, call.args[1 - position].value if len(call.args) > 1 else None)
        elif name == "builtins.len":
            yield from self._measured(call, node)
        elif (method in _GETTERS or name in ("builtins.getattr", "os.getenv")) and (
            position >= 1 or keyword == "default"
        ):
            yield from self._default(call, name)
        elif method in ("get", "pop") and position == 0 and not keyword:
            yield Sink("key", call, "looked up", receiver)
        elif name in _NEUTRAL or name.endswith("typing.get_args"):
            return
        elif name == "builtins.int":
            yield Sink("index", call, "read as a number")
        elif name in FIELDS and keyword in ("default", ""):
            if position == 0 or keyword:
                yield from self.forward(call)
        elif method in ("append", "add", "insert", "extend") and receiver is not None and not name:
            if isinstance(receiver, cst.Name) and self.cx.names.bindings(receiver.value, self.cx.names.scope(receiver)):
                yield self.variable(receiver)
            else:
                yield Sink("leak", call, "put into a list")
        else:
            followed = False
            for place in self.into_function(call, keyword, position):
                followed = True
                yield place
            if not followed:
                known = f"argument {keyword} of" if keyword else "argument of"
                yield Sink("leak", call, f"{known} {dotted_name(call.func) or 'a call'}()")

    def _other_file(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a value of another file of the repository, so that its methods are a text's."""
        root = self.cx.origin(node).name.split(".")[0]
        return not root or (root in self.cx.facts.modules and root != "builtins")

    def _default(self, call: cst.Call, name: str) -> Iterator[Sink | Place]:
        """The default of a look-up, which is read where the key is."""
        key = self.cx.string(call.args[1 if name == "builtins.getattr" else 0].value)
        if key is not None:
            yield ("item", 0, key) if name != "builtins.getattr" else ("attr", 0, key)
        yield from self.forward(call)

    def _measured(self, call: cst.Call, node: cst.CSTNode) -> Iterator[Sink]:
        """`name[len("cuda:"):]`: the text is compared with what is cut."""
        subscript = self.cx.index.enclosing(call, cst.Subscript)
        part = subscript.slice[0].slice if subscript is not None else None
        if isinstance(part, cst.Slice) and subscript is not None and self.cx.string(node) is not None:
            yield Sink("test", call, "its length is where a device name is cut", subscript.value, node, False)

    def _speaks(self, call: cst.Call, method: str) -> bool:
        from transforms.engine.text_roles import SPEAKING

        spelled = dotted_name(call.func)
        return (method or spelled) in SPEAKING or spelled.endswith(("Error", "Exception", "Warning"))

    def _flag(self, call: cst.Call, keyword: str, position: int) -> Iterator[Sink | Place]:
        """absl: `DEFINE_string(name, default, help)`, `DEFINE_enum(name, default, values, help)`."""
        enum = self.cx.origin(call.func).name.endswith("DEFINE_enum")
        option = self.cx.string(call.args[0].value) if call.args else None
        if option and (keyword in ("default", "enum_values") or position == 1 or (enum and position == 2)):
            yield ("attr", 0, option)
        else:
            yield Sink("text", call, "help text")

    def _option(self, call: cst.Call, keyword: str) -> Iterator[Sink | Place]:
        if keyword in ("default", "choices", "const", "nargs"):
            yield from self._option_place(call)
        elif keyword == "type":
            yield from self._option_place(call)  # click.Choice([...])
        elif keyword:
            yield Sink("text", call, "help text")
        else:
            yield Sink("text", call, "name of an option")

    def _option_place(self, call: cst.Call) -> Iterator[Place]:
        destination = option_destination(self.cx, call)
        above = self.cx.parent(call)
        function = self.cx.parent(above) if isinstance(above, cst.Decorator) else None
        if isinstance(function, cst.FunctionDef):
            yield ("var", id(function), destination)
        else:
            yield ("attr", 0, destination)

    def _parametrized(self, call: cst.Call) -> Iterator[Sink | Place]:
        above = self.cx.parent(call)
        function = self.cx.parent(above) if isinstance(above, cst.Decorator) else None
        name = self.cx.string(call.args[0].value)
        if isinstance(function, cst.FunctionDef) and name and name.isidentifier():
            yield ("var", id(function), name)
        else:
            yield Sink("leak", call, "values of test parameters")

    def _into_own(self, call: cst.Call, keyword: str, position: int) -> Iterator[Sink | Place]:
        """An argument of a function or class of this file goes into its parameter or field, and nowhere else."""
        followed = False
        for place in self.into_function(call, keyword, position):
            followed = True
            yield place
        if followed:
            return
        holder = self.class_named(call.func)
        if holder is not None and self.is_enum(holder):
            yield from self._members(holder)
        elif holder is not None and self.is_record(holder):
            name = keyword or self._nth_field(holder, position)
            if name:
                yield self.field(holder, name)
        elif keyword in DEVICE_KEYWORDS:
            yield Sink("likely", call, f"{keyword}= of a call, handed on by it")
        else:
            yield Sink("leak", call, f"argument of {dotted_name(call.func) or 'a call'}()")

    def _members(self, holder: cst.ClassDef) -> Iterator[Place]:
        for name, value in self.fields(holder):
            if value is not None:
                yield self.field(holder, name)

    def _nth_field(self, holder: cst.ClassDef, position: int) -> str:
        names = [name for name, _ in self.fields(holder)]
        return names[position] if 0 <= position < len(names) else ""

    def fields(self, holder: cst.ClassDef) -> Iterator[tuple[str, cst.BaseExpression | None]]:
        """Names and values that a class body assigns."""
        for small in simple_statements(holder.body):
            if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                yield small.target.value, small.value
            elif isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Name):
                yield small.targets[0].target.value, small.value

    def into_function(self, call: cst.Call, keyword: str, position: int) -> Iterator[Place]:
        """The parameters of functions of this file that an argument is given for."""
        for function, bound in self.called(call):
            parameter = parameter_at(function, keyword, position + (1 if bound else 0))
            if parameter is not None:
                yield ("var", id(function), parameter.name.value)

    def forward(self, node: cst.CSTNode) -> Iterator[Sink | Place]:
        """Where the value of an expression goes next (see `Forward`)."""
        raise NotImplementedError
