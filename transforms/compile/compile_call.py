"""TN301 to TN306: the arguments of torch.compile."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import Arguments, unpacks
from transforms.engine.context import Context, PendingFix
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.tables.compile import BACKENDS_KEPT, BACKENDS_REPLACED, COMPILE_NAMES, OPTIONS_KEPT

_SOURCE = "TorchNeuron documentation 2.33, torch.compile reference and best practices; torch 2.13 signature of torch.compile"

COMPILE_BACKEND = Rule(
    code="TN301",
    name="compile-backend",
    summary='torch.compile receives `backend="neuron"`, and always `dynamic=False`',
    best=Safety.SAFE,
    argument=(
        "Without a backend torch picks inductor, which has no code for the device. The backend named neuron takes the same "
        "graphs; static shapes are what it compiles."
    ),
    source=_SOURCE,
    why="The neuron backend compiles whole graphs for Trainium; inductor would generate Triton for a GPU.",
    silent="Backends that are there for debugging (`eager`), and callables, which are reported.",
    examples=(
        (
            "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2))\n",
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
)
COMPILE_MODE = Rule(
    code="TN302",
    name="compile-mode",
    summary="The argument `mode` is dropped",
    best=Safety.SAFE,
    argument="The neuron backend knows the default mode only: it warns about any other and goes on with the default.",
    source=_SOURCE,
    why="Modes choose between Inductor's and CUDA graphs' strategies; none of them exists on Trainium.",
    examples=(
        (
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), mode="max-autotune")\n',
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
)
COMPILE_OPTIONS = Rule(
    code="TN303",
    name="compile-options",
    summary="Keys of `options` that configure Inductor are dropped",
    best=Safety.SAFE,
    argument="The neuron backend ignores all keys but model_name, fallback_execution and torch's own guard_filter_fn, which stay.",
    source=_SOURCE,
    why="Compiler flags for Trainium go into NEURON_CC_FLAGS.",
    examples=(
        (
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), options={"triton.cudagraphs": True})\n',
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
)
COMPILE_DYNAMIC = Rule(
    code="TN304",
    name="compile-dynamic",
    summary="Shapes are static: `dynamic=True` becomes `dynamic=False`",
    best=Safety.REVIEW,
    argument="dynamic=True is rejected by the neuron backend; with False every new shape is one more compilation.",
    source=_SOURCE,
    why="The second distinct shape of an unset `dynamic` turns symbolic in Dynamo, and the backend refuses symbolic shapes.",
    examples=(
        (
            "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), dynamic=True)\n",
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), dynamic=False, backend="neuron")\n',
        ),
    ),
)
COMPILE_FULLGRAPH = Rule(
    code="TN305",
    name="compile-fullgraph",
    summary="`fullgraph=True` shows graph breaks at once",
    best=Safety.OFFER,
    argument="It turns a graph break into an error, so a program that ran may stop.",
    source=_SOURCE,
    why="Each graph break is a separate compilation and a trip through eager code.",
    examples=(
        (
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False, fullgraph=True)\n',
        ),
    ),
)
COMPILE_SHAPES_SPEC = Rule(
    code="TN306",
    name="compile-shapes-spec",
    summary="The argument `shapes_spec` is dropped",
    best=Safety.SAFE,
    argument="It describes dynamic sizes, and the backend takes static shapes only.",
    source=_SOURCE,
    why="A description of dynamic sizes has no meaning for static graphs.",
    examples=(
        (
            "import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), shapes_spec=None)\n",
            'import torch\n\nnet = torch.compile(torch.nn.Linear(2, 2), backend="neuron", dynamic=False)\n',
        ),
    ),
)


class CompileCall(Transform):
    """Rewrites the arguments of torch.compile where they are written in place."""

    rules = (COMPILE_BACKEND, COMPILE_MODE, COMPILE_OPTIONS, COMPILE_DYNAMIC, COMPILE_FULLGRAPH, COMPILE_SHAPES_SPEC)
    triggers = (b"compile",)
    nodes = (cst.Call, cst.Decorator)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call or bare decorator."""
        if isinstance(node, cst.Decorator):
            origin = cx.origin(node.decorator)
            if origin.names & COMPILE_NAMES:
                text = f"{cx.code(node.decorator)}(backend={cx.literal('neuron', node)}, dynamic=False)"
                fix = cx.fix("compile for neuron", cx.replace(node.decorator, text))
                safety = Safety.REVIEW if origin.ambiguous else Safety.SAFE
                cx.report(node.decorator, 'torch.compile needs backend="neuron", dynamic=False', safety, fix=fix)
            return
        assert isinstance(node, cst.Call)
        origin = cx.origin(node.func)
        if origin.names & COMPILE_NAMES:
            CompileArguments(node, node.func, cx, Safety.REVIEW if origin.ambiguous else Safety.SAFE).check()


class CompileArguments:
    """The arguments of one call that has torch.compile's keywords."""

    def __init__(self, call: cst.Call, site: cst.CSTNode, cx: Context, best: Safety) -> None:
        self.call = call
        self.site = site
        self.cx = cx
        self.best = best
        self.change: Arguments = cx.arguments(call)
        self.found: list[tuple[cst.CSTNode, str, Rule, Safety]] = []

    def check(self) -> None:
        """Report every argument that has to change; all of them are one fix."""
        cx, call = self.cx, self.call
        if unpacks(call):
            cx.report(
                self.site,
                'arguments are unpacked into torch.compile: it needs backend="neuron" and dynamic=False, and no mode or options',
                Safety.MANUAL,
            )
            return
        if not self._backend():
            return
        self._dropped("mode", COMPILE_MODE, "the neuron backend has no modes")
        self._options()
        self._dropped("shapes_spec", COMPILE_SHAPES_SPEC, "shapes are static on Trainium")
        migrated = self._already()
        self._dynamic()
        fix = cx.fix("compile for neuron", self.change)
        if self.change and not any(site is self.site for site, _, _, _ in self.found) and not migrated:
            self.found.append((self.site, 'torch.compile needs backend="neuron" and dynamic=False', COMPILE_BACKEND, self.best))
        for site, message, rule, safety in self.found:
            self._report(site, message, rule, safety, fix)
        self._fullgraph()

    def _report(self, site: cst.CSTNode, message: str, rule: Rule, safety: Safety, fix: PendingFix) -> None:
        self.cx.report(site, message, safety.at_most(self.best) if safety is not Safety.OFFER else safety, rule=rule, fix=fix)

    def _already(self) -> bool:
        backend = self.cx.argument(self.call, "backend")
        return backend is not None and self.cx.string(backend.value) == "neuron"

    def _backend(self) -> bool:
        """Set the backend. False when the call is to be left alone."""
        cx = self.cx
        arg = cx.argument(self.call, "backend")
        if arg is None or _is_none(arg.value):
            self.change.set("backend", cx.literal("neuron", self.call))
            self.found.append((self.site, 'torch.compile needs backend="neuron", dynamic=False', COMPILE_BACKEND, self.best))
            return True
        name = cx.string(arg.value)
        if name == "neuron":
            return True
        if name in BACKENDS_REPLACED:
            self.change.value(arg, cx.literal("neuron", arg))
            self.found.append((arg, f'backend="{name}" becomes "neuron"', COMPILE_BACKEND, self.best))
            return True
        if name in BACKENDS_KEPT:
            cx.report(arg, f'backend="{name}" is a debugging backend and stays', Safety.NOTE, rule=COMPILE_BACKEND)
            return False
        cx.report(
            arg,
            'the backend is not a literal here: it has to be "neuron" on Trainium',
            Safety.MANUAL,
            rule=COMPILE_BACKEND,
            severity=WARNING if name else None,
        )
        return False

    def _dropped(self, keyword: str, rule: Rule, why: str) -> None:
        arg = self.cx.argument(self.call, keyword)
        if arg is not None:
            self.change.drop(arg)
            self.found.append((arg, f"{keyword} is dropped: {why}", rule, self.best))

    def _options(self) -> None:
        arg = self.cx.argument(self.call, "options")
        if arg is None:
            return
        if _is_none(arg.value):
            self.change.drop(arg)
            self.found.append((arg, "options=None is dropped", COMPILE_OPTIONS, self.best))
            return
        if not isinstance(arg.value, cst.Dict) or any(not isinstance(e, cst.DictElement) for e in arg.value.elements):
            self.cx.report(
                arg,
                "options are not written in place: only model_name, fallback_execution and guard_filter_fn mean something",
                Safety.MANUAL,
                rule=COMPILE_OPTIONS,
                severity=WARNING,
            )
            return
        elements = [e for e in arg.value.elements if isinstance(e, cst.DictElement)]
        kept = [e for e in elements if self.cx.string(e.key) in OPTIONS_KEPT]
        if len(kept) == len(elements) and elements:
            return
        gone = ", ".join(self.cx.code(e.key) for e in elements if e not in kept)
        if kept:
            inside = ", ".join(f"{self.cx.code(e.key)}: {self.cx.code(e.value)}" for e in kept)
            self.change.value(arg, "{" + inside + "}")
        else:
            self.change.drop(arg)
        self.found.append((arg, f"options for Inductor are dropped: {gone or 'empty'}", COMPILE_OPTIONS, self.best))

    def _dynamic(self) -> None:
        cx = self.cx
        arg = cx.argument(self.call, "dynamic")
        if arg is None:
            if self._already():
                fix = cx.fix("static shapes are said", cx.arguments(self.call).append("dynamic=False"))
                cx.report(
                    self.site,
                    "without dynamic=False the second shape turns symbolic, which the backend refuses",
                    Safety.OFFER,
                    rule=COMPILE_DYNAMIC,
                    fix=fix,
                )
                return
            self.change.append("dynamic=False")
            self.found.append((self.site, "dynamic=False is said: shapes are static on Trainium", COMPILE_DYNAMIC, self.best))
            return
        if isinstance(arg.value, cst.Name) and arg.value.value == "False":
            return
        if _is_none(arg.value):
            self.change.value(arg, "False")
            self.found.append((arg, "dynamic=None becomes dynamic=False", COMPILE_DYNAMIC, self.best))
            return
        self.change.value(arg, "False")
        literal = isinstance(arg.value, cst.Name) and arg.value.value == "True"
        message = "dynamic=True is rejected" if literal else "dynamic may be true, which is rejected"
        self.found.append((arg, f"{message}: each shape is compiled on its own", COMPILE_DYNAMIC, Safety.REVIEW))

    def _fullgraph(self) -> None:
        if self.cx.argument(self.call, "fullgraph") is None:
            fix = self.cx.fix("graph breaks become errors", self.cx.arguments(self.call).append("fullgraph=True"))
            self.cx.report(
                self.site, "fullgraph=True shows graph breaks at once", Safety.OFFER, rule=COMPILE_FULLGRAPH, fix=fix
            )


def _is_none(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"
