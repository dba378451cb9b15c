"""TN111: seeds and states of random number generators."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.index import below
from transforms.engine.model import Rule, Safety
from transforms.engine.statements import simple_statements
from transforms.engine.transform import Transform
from transforms.flow.device_arguments import device_argument
from transforms.flow.effects import HARMLESS
from transforms.flow.renames import called, missing, nearest, rename
from transforms.flow.uses import Use
from transforms.tables.cuda_rng import RNG_API, RNG_MISSING
from transforms.tables.rows import Row, by_name

RNG = Rule(
    code="TN111",
    name="rng",
    summary="Seeds and random states of the device",
    best=Safety.SAFE,
    argument=(
        "The functions exist on torch.neuron and are called by accelerate; the streams of numbers differ, as "
        "documented. A seed of the device goes where `torch.manual_seed` has the same number just before; without "
        "that or a test around it the level is review, for the new call raises where torch-neuronx is missing."
    ),
    source=(
        "torch 2.13 (torch.manual_seed seeds the registered device); torch-neuronx sources of April 2026; "
        "accelerate 1.15"
    ),
    why="`torch.cuda.manual_seed` does nothing without CUDA, and states saved on CUDA do not load on Trainium.",
    silent=(
        "`torch.manual_seed`, which seeds the device as well; `fork_rng` of the CPU's generator alone, of another "
        "device type, or switched off; methods of generators; keys of checkpoints keep their names."
    ),
    examples=(
        (
            "import torch\n\n\ndef f(seed):\n    torch.manual_seed(seed)\n    torch.cuda.manual_seed_all(seed)\n",
            "import torch\n\n\ndef f(seed):\n    torch.manual_seed(seed)\n",
        ),
        (
            "import torch\n\n\ndef f():\n    torch.cuda.manual_seed_all(1)\n",
            "import torch\n\n\ndef f():\n    torch.neuron.manual_seed_all(1)\n",
        ),
        (
            "import torch\n\n\ndef f():\n    with torch.random.fork_rng(devices=[0]):\n        return 1\n",
            'import torch\n\n\ndef f():\n    with torch.random.fork_rng(devices=[0], device_type="neuron"):\n'
            "        return 1\n",
        ),
    ),
)
_ROWS = by_name(RNG_API)
_MISSING = by_name(RNG_MISSING)
_SEEDS = frozenset({"manual_seed", "manual_seed_all", "seed", "seed_all"})
"""Functions that CUDA's module puts off until it is initialised, so that they do nothing without a GPU."""
_SEEDS_ALL = frozenset({"torch.manual_seed", "torch.random.manual_seed"})
_SEEDING = (".seed", ".manual_seed", ".manual_seed_all", ".use_deterministic_algorithms", ".Random")
_PLAIN = (cst.Name, cst.Attribute, cst.Integer, cst.BinaryOperation, cst.BaseBinaryOp)
_DEVICE = re.compile(r"cuda|gpu|neuron|accelerator|device", re.I)
_RESTORES = ("set_rng_state", "set_rng_state_all")
_LISTS = (cst.List, cst.Tuple)
_FORK = ("torch.random.fork_rng", "torch.cuda.random.fork_rng")


class Rng(Transform):
    """Renames seeds and states."""

    rules = (RNG,)
    triggers = (b"seed", b"rng", b"default_generators", b"_get_generator")
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in a file."""
        for use in cx.uses.under("torch.cuda"):
            if row := _ROWS.get(use.name):
                self._function(use, row, cx)
            elif row := nearest(_MISSING, use.name):
                missing(cx, use, row)
        for name in _FORK:
            for use in cx.uses.of(name):
                self._fork(use, cx)

    def _function(self, use: Use, row: Row, cx: Context) -> None:
        call = called(cx, use.node)
        if call is None:
            rename(cx, use, row)
            return
        given = device_argument(cx, call, row)
        if given.problem:
            cx.report(use.node, given.problem, Safety.MANUAL, evidence=given.evidence)
            return
        safety, evidence = given.safety, list(given.evidence)
        if use.name.rpartition(".")[2] in _SEEDS and not _guarded(call, cx):
            first = _seeds_all(call, use, cx)
            if first is not None:
                fix = cx.fix(f"{use.name} is no longer called", cx.remove_statement(_statement(call, cx)))
                message = "torch.manual_seed with the same number seeds the device as well: the call goes"
                cx.report(use.node, message, Safety.SAFE, fix=fix, evidence=[(first, "seeds every device")])
                return
            safety = Safety.REVIEW
            why = f"{row.new} raises where torch-neuronx is not installed; {use.name} did nothing there"
            evidence.append((use.node, why))
        if use.name.endswith(_RESTORES) and call.args and (source := _saved(call.args[0].value, cx)) is not None:
            safety = Safety.REVIEW
            evidence.append(
                (source, "the state may come from a checkpoint: one that was saved on CUDA is refused on neuron")
            )
        rename(cx, use, row, *given.changes, safety=safety, evidence=evidence)

    def _fork(self, use: Use, cx: Context) -> None:
        """fork_rng forks CUDA's generators unless it is told another device type."""
        call = called(cx, use.node)
        if call is None or any(a.star for a in call.args) or cx.argument(call, "device_type") is not None:
            return
        if _is_false(cx.argument(call, "enabled", 1)):
            return  # nothing is forked
        devices = cx.argument(call, "devices", 0)
        if devices is not None and isinstance(devices.value, _LISTS) and not devices.value.elements:
            return  # the CPU's generator alone
        if devices is not None and (text := _text_in(devices.value, cx)) is not None:
            message = 'the functions of torch.neuron take no text: give indexes, and device_type="neuron"'
            cx.report(use.node, message, Safety.MANUAL, evidence=[(text, "a device as text")])
            return
        change = cx.arguments(call).append(f"device_type={cx.literal('neuron', call)}")
        fix = cx.fix("the generators of neuron are forked", change)
        every = devices is None or (isinstance(devices.value, cst.Name) and devices.value.value == "None")
        level = Safety.OFFER if every else Safety.REVIEW
        cx.report(use.node, "fork_rng forks CUDA's generators unless device_type says otherwise", level, fix=fix)


def _is_false(arg: cst.Arg | None) -> bool:
    return arg is not None and isinstance(arg.value, cst.Name) and arg.value.value == "False"


def _text_in(devices: cst.BaseExpression, cx: Context) -> cst.CSTNode | None:
    """The first text in a list of devices."""
    elements = devices.elements if isinstance(devices, (cst.List, cst.Tuple)) else ()
    texts = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
    return next((e.value for e in elements if isinstance(e.value, texts)), None)


def _statement(call: cst.Call, cx: Context) -> cst.BaseSmallStatement:
    statement = cx.parent(call)
    assert isinstance(statement, cst.Expr)
    return statement


def _guarded(call: cst.Call, cx: Context) -> bool:
    """Whether the call stands behind some test of the device."""
    child: cst.CSTNode = call
    for above in cx.index.ancestors(call):
        if isinstance(above, (cst.FunctionDef, cst.Lambda)):
            break
        if isinstance(above, (cst.If, cst.IfExp)) and child is not above.test and _about_device(above.test, cx):
            return True
        if isinstance(above, cst.BooleanOperation) and child is above.right and _about_device(above.left, cx):
            return True
        if isinstance(above, cst.IndentedBlock) and any(_leaves(line, cx) for line in _before(above, child)):
            return True
        child = above
    return False


def _about_device(test: cst.CSTNode, cx: Context) -> bool:
    return _DEVICE.search(cx.code(test)) is not None


def _leaves(line: cst.CSTNode, cx: Context) -> bool:
    """Whether a line is `if not torch.cuda.is_available(): return`, or raises there."""
    if not isinstance(line, cst.If) or not line.test or not _about_device(line.test, cx):
        return False
    return cx.devices.places.is_negated_probe(line.test) and any(
        isinstance(s, (cst.Return, cst.Raise)) for s in simple_statements(line.body)
    )


def _before(block: cst.IndentedBlock, line: cst.CSTNode) -> list[cst.CSTNode]:
    place = next((i for i, s in enumerate(block.body) if s is line), 0)
    return list(block.body[:place])


def _seeds_all(call: cst.Call, use: Use, cx: Context) -> cst.Call | None:
    """The earlier `torch.manual_seed` of the same block with the same number, which seeds every device."""
    statement = cx.parent(call)
    number = _number(call)
    if not isinstance(statement, cst.Expr) or use.ambiguous or number is None:
        return None
    if not use.name.endswith(("manual_seed", "manual_seed_all")):
        return None
    line = cx.parent(statement)
    block = line if isinstance(line, cst.SimpleStatementSuite) else cx.parent(line) if line is not None else None
    if not isinstance(block, (cst.IndentedBlock, cst.Module, cst.SimpleStatementSuite)):
        return None
    first = None
    for small in simple_statements(block):
        if small is statement:
            break
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            origin = cx.origin(small.value.func)
            if origin.names <= _SEEDS_ALL and origin.names and not origin.ambiguous:
                first = small.value
    if first is None or (given := _number(first)) is None or not given.deep_equals(number):
        return None
    return first if _same_state(first, call, number, block, cx) else None


def _number(call: cst.Call) -> cst.BaseExpression | None:
    """The one argument of a seeding call, where it is a plain expression."""
    if len(call.args) != 1 or call.args[0].star or (call.args[0].keyword and call.args[0].keyword.value != "seed"):
        return None
    value = call.args[0].value
    return value if all(isinstance(n, _PLAIN) for n in below(value)) else None


def _same_state(
    first: cst.Call, last: cst.Call, number: cst.BaseExpression, block: cst.CSTNode, cx: Context
) -> bool:
    """Whether nothing between two calls can change what the number is, or use up random numbers."""
    order = cx.index.order
    start, end = order(first), order(last)
    within = [n for n in below(block) if start < order(n) < end]
    names = {n.value for n in below(number) if isinstance(n, cst.Name)}
    for name in names:
        scope = cx.names.scope(last)
        if any(start < order(b.node) < end for b in cx.names.bindings(name, scope)):
            return False
    for node in within:
        if isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign)):
            target = node.target
            if isinstance(target, cst.Attribute) and target.attr.value in names:
                return False
        elif isinstance(node, cst.Call) and node is not first:
            origins = cx.origin(node.func).names
            if not origins or not all(n in HARMLESS or n in _ROWS or n.endswith(_SEEDING) for n in origins):
                return False
    return True


def _saved(state: cst.BaseExpression, cx: Context, hops: int = 0) -> cst.CSTNode | None:
    """The part of a restored state that does not surely come from this run."""
    if isinstance(state, cst.Name) and hops < 4:
        bindings = cx.names.bindings(state.value, cx.names.scope(state))
        values = [b.value for b in bindings if b.kind == "assign" and b.value is not None]
        if not bindings or len(values) < len(bindings):
            return state
        return next((found for v in values if (found := _saved(v, cx, hops + 1)) is not None), None)
    if isinstance(state, cst.Call):
        name = cx.origin(state.func).name
        if name.rpartition(".")[2] in ("get_rng_state", "get_rng_state_all"):
            return None
        if isinstance(state.func, cst.Attribute) and state.func.attr.value in ("cpu", "clone", "to", "byte", "detach"):
            return _saved(state.func.value, cx, hops)
    return state
