"""TN101, TN104, TN105, TN124: strings that name the CUDA device, and what is compared with them."""

from __future__ import annotations

import libcst as cst

from transforms.device._rules import (
    DEVICE_INDEX,
    DEVICE_STRING,
    DEVICE_TEST,
    MULTI_BACKEND,
    THIRD_PARTY_ACCELERATOR_NAME,
)
from transforms.engine.changes import Change, StringPart
from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.engine.text_roles import is_docstring, text_role
from transforms.engine.transform import Transform
from transforms.flow.devices import Verdict, device_text
from transforms.flow.indexes import several_devices
from transforms.flow.libraries import instead_of_torch, made_elsewhere
from transforms.flow.library_parameters import library_value
from transforms.flow.storages import map_location_dict
from transforms.tables.frameworks import rows_for

_NO_PLACEMENT = frozenset({"torch.device", "torch.autocast", "torch.amp.autocast", "torch.amp.GradScaler"})
_ASKED = "; the answer decides a choice between several accelerators, which stays"
_SPOKEN = frozenset({"log text", "error text", "help text", "name for people", "name of a column"})
_AWARE = "the branch for CUDA, beside one for neuron"
_PATHS = frozenset({"os.path.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.PurePosixPath"})
_FOLDER = "part of a path"
_EDITED = frozenset({"given", "test", "key", "choice"})


class DeviceString(Transform):
    """Rewrites device names where the flow of values proves what they are."""

    rules = (DEVICE_STRING, DEVICE_TEST, DEVICE_INDEX, MULTI_BACKEND)
    triggers = (b"cuda",)
    nodes = (cst.SimpleString, cst.FormattedString)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one string literal."""
        text = device_literal(cx, node)
        if text is None or is_docstring(cx, node):
            return
        verdict = cx.devices.literal(node)
        if verdict.kind in _EDITED:
            self._change(node, text, verdict, cx)
        elif verdict.kind == "multi" and (role := text_role(cx, node)) in _SPOKEN:
            cx.keep(node, role)
        elif verdict.kind == "multi":
            self._several(node, verdict, cx)
        elif verdict.kind == "aware":
            cx.keep(node, verdict.evidence[0][1], rule=MULTI_BACKEND)
            cx.hold(*_branch(node, cx), why=_AWARE, keep=True)
        elif verdict.kind == "pattern":
            message = (
                "a device name is matched with this pattern: match neuron there"
                if verdict.needed
                else "a pattern that names cuda"
            )
            severity = ERROR if verdict.needed else WARNING
            cx.report(node, message, Safety.MANUAL, rule=DEVICE_TEST, severity=severity, evidence=verdict.evidence)
        elif verdict.kind == "kernel":
            cx.report(node, "a kernel is registered for CUDA: neuron needs one of its own (NKI)", Safety.MANUAL)
        elif verdict.kind == "code":
            message = 'a device, and part of a name by which code is looked up: give torch "neuron" apart from it'
            severity = ERROR if verdict.needed else WARNING
            cx.report(node, message, Safety.MANUAL, severity=severity, evidence=verdict.evidence)
        elif verdict.kind == "foreign" and library_value(cx, node) is not None:
            return  # TN123 speaks, at this very place
        elif verdict.kind == "foreign":
            call = cx.index.enclosing(node, cst.Call)
            if verdict.needed:
                message = "the value goes to a library that has names of its own for accelerators"
                cx.report(node, message, Safety.MANUAL, rule=THIRD_PARTY_ACCELERATOR_NAME, evidence=verdict.evidence)
            elif call is not None and not rows_for(cx.origin(call.func).name):  # else TN123 speaks, at this very place
                message = f"{verdict.evidence[0][1]}: neuron means nothing to it"
                rule = THIRD_PARTY_ACCELERATOR_NAME
                cx.report(node, message, Safety.MANUAL, rule=rule, severity=WARNING, evidence=verdict.evidence)
        elif verdict.kind == "saved" and isinstance(verdict.subject, cst.Dict):
            return  # TN110 speaks about the whole dict
        elif verdict.kind == "saved":
            cx.keep(node, "device of tensors in files that were saved on CUDA")
        elif verdict.kind == "elsewhere":
            message = f"{verdict.evidence[0][1]}: change this text by hand if the value there becomes neuron"
            cx.report(
                node, message, Safety.MANUAL, rule=DEVICE_TEST, severity=WARNING, evidence=verdict.evidence
            )
        elif verdict.kind == "text":
            shown = verdict.evidence[0][1]
            cx.keep(node, text_role(cx, node) or (shown if shown.startswith("name of") else "text for people"))
        elif reason := text_role(cx, node) or _part_of_a_path(cx, node):
            cx.keep(node, reason)
        else:
            message = f"{cx.code(node)} may name a device: nothing in this file says how it is used"
            if verdict.needed:
                message = f"{cx.code(node)} reaches torch as a device, as do texts that name none: change it by hand"
            severity = ERROR if verdict.needed else WARNING
            cx.report(node, message, Safety.MANUAL, severity=severity, evidence=verdict.evidence)

    def _several(self, node: cst.CSTNode, verdict: Verdict, cx: Context) -> None:
        message = 'cuda is one of several accelerators here: add an entry for "neuron" beside it'
        if verdict.subject is not None:
            message = (
                'a chain of tests for several accelerators looks at this value: it needs an entry for "neuron"; change'
                " tests and values together, by hand"
            )
        cx.report(
            node,
            message,
            Safety.MANUAL,
            rule=MULTI_BACKEND,
            severity=ERROR if verdict.needed else WARNING,
            evidence=verdict.evidence,
        )
        branch = _branch(node, cx)
        cx.hold(*branch)
        if len(branch) > 1:
            cx.hold(*_asked(branch[0], cx), why=_ASKED)

    def _change(self, node: cst.CSTNode, text: str, verdict: Verdict, cx: Context) -> None:
        indexed = text.startswith("cuda:") and text[5:].isdigit()
        zero = indexed and int(text[5:]) == 0
        plain = zero and verdict.kind == "given" and not verdict.keeps_index
        safety = verdict.safety
        evidence = list(verdict.evidence)
        more = ""
        rule = DEVICE_STRING if verdict.kind == "given" else DEVICE_TEST
        requires: list[cst.CSTNode] = [verdict.probe.func] if isinstance(verdict.probe, cst.Call) else []
        changes: list[Change] = [_swap(node, text if plain else "cuda", "neuron")]
        bound = cut_of(verdict.subject, cx)
        if bound is not None:
            if cx.integer(bound) != len(text):
                message = "a cut of a device name is compared with cuda"
                cx.report(node, message, Safety.MANUAL, rule=DEVICE_TEST, evidence=evidence)
                return
            requires.append(bound)
        requires += [*_conditions(node, cx), *_saved_key(node, cx)] if verdict.kind == "given" else []
        if verdict.kind == "given":
            number = _index_beside(node, cx)
            index = cx.integer(number.value) if number is not None else None
            if number is not None and index == 0 and not verdict.keeps_index:
                call = cx.parent(number)
                assert isinstance(call, cst.Call)
                changes.append(cx.arguments(call).drop(number))
            if (indexed and not zero) or index:
                rule, safety = DEVICE_INDEX, Safety.REVIEW
            beside = [number.value] if number is not None else _written_in(node, cx)
            several = next((s for value in beside if (s := several_devices(cx, value)) is not None), None)
            if several is not None:
                rule, safety = DEVICE_INDEX, Safety.REVIEW
                evidence.append((several, "stands for several devices: under torchrun a process owns that of its rank"))
                more = "; it names several devices, of which a process owns one"
            elif constant := next((value for value in beside if _constant(value, cx)), None):
                rule, safety = DEVICE_INDEX, Safety.REVIEW
                evidence.append((constant, "a number other than 0 that stands in the code"))
        if safety is Safety.SAFE and _places_at_import(cx, node):
            safety = Safety.REVIEW
            evidence.append((node, "runs when the module is imported"))
        if safety is Safety.SAFE and _makes_generator(cx, node):
            safety = Safety.REVIEW
            evidence.append((node, "torch-neuronx sources have a generator for the device; it is not documented"))
        receiver = _moved(cx, node) if safety is Safety.SAFE else None
        if receiver is not None and (
            why := cx.own_method("to") or instead_of_torch(cx) or made_elsewhere(receiver, cx)
        ):
            safety = Safety.REVIEW
            evidence.append((node, why))
        new = text.replace("cuda:0" if plain else "cuda", "neuron", 1)
        fix = cx.fix(f'device "{text}" becomes "{new}"', *changes, requires=requires, group=verdict.group)
        if verdict.kind == "test":
            cx.guards(fix, node)
        cx.report(node, f'"{text}" is "{new}" on Trainium{more}', safety, rule=rule, fix=fix, evidence=evidence)


def _branch(node: cst.CSTNode, cx: Context) -> list[cst.CSTNode]:
    """Test and body of the arm of an `elif` chain that a site stands in: they go with the choice."""
    child = node
    entry = cx.parent(node)
    if isinstance(entry, cst.DictElement) and entry.key is node:
        return [entry.value]
    if isinstance(entry, cst.Element) and isinstance(row := cx.parent(entry), cst.Tuple):
        return [row] if isinstance(cx.parent(row), cst.Element) else []
    for above in cx.index.ancestors(node):
        if isinstance(above, cst.FunctionDef):
            break
        if isinstance(above, cst.MatchCase) and child is above.pattern:
            return [above.pattern, above.body]
        if isinstance(above, cst.If) and child in (above.test, above.body):
            chained = isinstance(above.orelse, cst.If) or isinstance(cx.parent(above), cst.If)
            chained |= child is above.test and isinstance(entry, (cst.Comparison, cst.ComparisonTarget))
            return [above.test, above.body] if chained else []
        child = above
    return []


def _asked(test: cst.CSTNode, cx: Context) -> list[cst.CSTNode]:
    """Probes whose answers the variables of a test keep."""
    found: list[cst.CSTNode] = []
    parts = [test]
    while parts:
        part = parts.pop()
        if isinstance(part, cst.BooleanOperation):
            parts += [part.left, part.right]
        elif isinstance(part, cst.Name):
            values = [b.value for b in cx.names.bindings(part.value, cx.names.scope(part))]
            found += [v for v in values if v is not None and cx.devices.places.is_probe(v)]
    return found


def _saved_key(node: cst.CSTNode, cx: Context) -> list[cst.CSTNode]:
    """The key of `map_location={"cuda:0": node}`: the dict goes when its one target changes."""
    entry = cx.index.enclosing(node, cst.DictElement)
    holder = cx.parent(entry) if entry is not None else None
    if not isinstance(entry, cst.DictElement) or not isinstance(holder, cst.Dict) or len(holder.elements) > 1:
        return []
    key = literal_of(entry.key, cx)
    return [key] if key is not None and key is not node and map_location_dict(holder, cx) else []


def literal_of(value: cst.BaseExpression, cx: Context) -> cst.CSTNode | None:
    """The literal of a device name in `"cuda:0"`, `"cuda:%d" % 0` or `"cuda:" + index`."""
    while isinstance(value, cst.BinaryOperation):
        value = value.left
    return value if device_literal(cx, value) is not None else None


def device_literal(cx: Context, node: cst.CSTNode) -> str | None:
    """The text of a literal that could be a CUDA device name (`{}` for what is formatted in), else None."""
    if isinstance(cx.parent(node), cst.ConcatenatedString):
        whole = cx.string(cx.parent(node))
        if whole is None or not device_text(whole):
            return None
    if isinstance(node, cst.SimpleString):
        text = cx.string(node)
        return text if text is not None and device_text(text) and "cuda" in node.value else None
    if isinstance(node, cst.FormattedString) and node.parts:
        first = node.parts[0]
        if not isinstance(first, cst.FormattedStringText):
            return None
        if len(node.parts) == 1 and device_text(first.value):
            return first.value
        if first.value == "cuda:" and len(node.parts) == 2 and isinstance(node.parts[1], cst.FormattedStringExpression):
            return "cuda:{}"
    return None


def _part_of_a_path(cx: Context, node: cst.CSTNode) -> str:
    """The reason to keep the name of a folder: `root / "cuda"`, `os.path.join(root, "cuda")`, `Path("cuda")`."""
    above = cx.parent(node)
    if isinstance(above, cst.BinaryOperation) and isinstance(above.operator, cst.Divide):
        return _FOLDER
    call = cx.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return ""
    joined = isinstance(call.func, cst.Attribute) and call.func.attr.value == "joinpath"
    return _FOLDER if joined or cx.origin(call.func).name in _PATHS else ""


def cut_of(subject: cst.CSTNode | None, cx: Context) -> cst.BaseExpression | None:
    """The upper bound of `name[:4]`, None when the subject is no such cut."""
    if isinstance(subject, cst.Subscript) and len(subject.slice) == 1:
        part = subject.slice[0].slice
        if isinstance(part, cst.Slice) and (part.lower is None or cx.integer(part.lower) == 0):
            return part.upper
    return None


def _swap(node: cst.CSTNode, old: str, new: str) -> StringPart:
    if isinstance(node, cst.FormattedString):
        return StringPart(node.parts[0], 0, old, new)
    assert isinstance(node, cst.SimpleString)
    return StringPart(node, node.value.index(old), old, new)


def _index_beside(node: cst.CSTNode, cx: Context) -> cst.Arg | None:
    """The index argument of `torch.device("cuda", index)`."""
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if isinstance(call, cst.Call) and cx.origin(call.func).name == "torch.device":
        return cx.argument(call, "index", 1)
    return None


def _written_in(node: cst.CSTNode, cx: Context) -> list[cst.BaseExpression]:
    """What is put into a device name behind its colon: `f"cuda:{i}"`, `"cuda:%d" % i`, `"cuda:" + i`, `.format(i)`."""
    if isinstance(node, cst.FormattedString):
        return [p.expression for p in node.parts if isinstance(p, cst.FormattedStringExpression)]
    above = cx.parent(node)
    if isinstance(above, cst.BinaryOperation) and above.left is node:
        return [above.right]
    call = cx.parent(above) if isinstance(above, cst.Attribute) and above.attr.value == "format" else None
    return [a.value for a in call.args] if isinstance(call, cst.Call) else []


def _constant(index: cst.BaseExpression, cx: Context) -> bool:
    """Whether an index is a number other than 0 that stands in the code, there or in the one value of a variable."""
    if isinstance(index, cst.Call) and len(index.args) == 1 and cx.origin(index.func).name == "builtins.str":
        index = index.args[0].value
    value: cst.CSTNode | None = index
    if isinstance(index, cst.Name):
        found = cx.names.bindings(index.value, cx.names.scope(index))
        value = found[0].value if len(found) == 1 and found[0].kind == "assign" else None
    text = cx.string(value)
    return bool(int(text) if text is not None and text.isdigit() else cx.integer(value))


def _conditions(node: cst.CSTNode, cx: Context) -> list[cst.CSTNode]:
    """Device names in the test that decides whether this one is taken: `"cuda" if "cuda" in name else "cpu"`."""
    statement = cx.index.statement(node)
    holder: cst.CSTNode | None = cx.index.enclosing(node, cst.IfExp)
    if holder is None or cx.index.statement(holder) is not statement:
        holder = cx.index.enclosing(statement, cst.If, cst.FunctionDef, cst.ClassDef, cst.For, cst.While, cst.With)
        if not isinstance(statement, (cst.Assign, cst.AnnAssign)):
            return []
    if not isinstance(holder, (cst.IfExp, cst.If)):
        return []
    found: list[cst.CSTNode] = []
    tests: list[cst.CSTNode] = [holder.test]
    while tests:
        test = tests.pop()
        if isinstance(test, cst.BooleanOperation):
            tests += [test.left, test.right]
        elif isinstance(test, cst.UnaryOperation):
            tests.append(test.expression)
        elif isinstance(test, cst.Call):
            tests += [a.value for a in test.args]
        elif isinstance(test, cst.Comparison):
            tests += [test.left, *(c.comparator for c in test.comparisons)]
        elif isinstance(test, cst.SimpleString) and test is not node and _decides(test, cx):
            found.append(test)
    return found


def _decides(node: cst.CSTNode, cx: Context) -> bool:
    """Whether a text in a test changes, or has to: one of unknown use holds back what it decides about."""
    return device_literal(cx, node) is not None and cx.devices.literal(node).kind in _EDITED | {"unknown", "code"}


def _places_at_import(cx: Context, node: cst.CSTNode) -> bool:
    """Whether the literal is an argument of a call that puts something on the device when the module is imported."""
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or cx.origin(call.func).name in _NO_PLACEMENT:
        return False
    keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword else ""
    placement = keyword in ("device", "map_location") or _moved(cx, node) is not None
    return placement and cx.at_import_time(call)


def _makes_generator(cx: Context, node: cst.CSTNode) -> bool:
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and cx.origin(call.func).name == "torch.Generator"


def _moved(cx: Context, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The receiver of `.to()` when the literal is an argument of it."""
    arg = cx.parent(node)
    call = cx.parent(arg) if isinstance(arg, cst.Arg) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "to":
        return call.func.value
    return None
