"""TN411: code that starts one process per device, or counts devices by NVIDIA's tools."""

from __future__ import annotations

import re

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import ERROR, WARNING, Rule, Safety
from transforms.engine.text_roles import is_docstring
from transforms.engine.transform import Transform
from transforms.flow.conditions import conditions
from transforms.flow.groups import starts_on_host

LAUNCH_CODE = Rule(
    code="TN411",
    name="launch-code",
    summary="Launching in Python: mp.spawn, torchrun arguments, nvidia-smi",
    best=Safety.MANUAL,
    argument="It never edits: how many processes run, and who sets their ranks, is the deployment's decision.",
    source=(
        "TorchNeuron documentation 2.33: torchrun --nproc_per_node $NEURON_RT_NUM_CORES; core of a rank from LOCAL_RANK"
    ),
    why=(
        "A TorchNeuron process finds its core by LOCAL_RANK, which torchrun sets and mp.spawn does not. "
        "nvidia-smi does not "
        "exist on a Trainium host; neuron-ls and neuron-monitor do."
    ),
    silent=(
        "Workers that set LOCAL_RANK themselves, or whose process group is on gloo and that use no device; torchrun "
        "with a number of processes; `shutil.which`; texts for people."
    ),
)
_SPAWN = frozenset(("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"))
_RUNNERS = ("subprocess.", "os.system", "os.popen", "pexpect.", "asyncio.create_subprocess")
_BY_GPU = re.compile(r"--nproc[-_]per[-_]node[ =](gpu|auto)\b")


class LaunchCode(Transform):
    """Reports launch code."""

    rules = (LAUNCH_CODE,)
    triggers = (b"spawn", b"start_processes", b"nvidia-smi", b"nproc")
    nodes = (cst.Call, cst.SimpleString)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at one call or string."""
        if isinstance(node, cst.Call):
            if cx.origin(node.func).names & _SPAWN and "LOCAL_RANK" not in cx.source.text and not _needs_no_core(cx):
                message = (
                    "mp.spawn sets no LOCAL_RANK, by which a process finds its core: start with torchrun, or set "
                    "it in the worker"
                )
                cx.report(node.func, message, Safety.MANUAL, severity=WARNING)
            return
        assert isinstance(node, cst.SimpleString)
        text = cx.string(node) or ""
        if "nvidia-smi" in text and not is_docstring(cx, node):
            self._tool(node, cx)
        elif _BY_GPU.search(text) or (text in ("gpu", "auto") and self._after_option(node, cx)):
            message = "torchrun counts CUDA devices for this value: give the number of cores (NEURON_RT_NUM_CORES)"
            cx.report(node, message, Safety.MANUAL, severity=WARNING)

    def _tool(self, node: cst.SimpleString, cx: Context) -> None:
        for above in cx.index.ancestors(node):
            if isinstance(above, cst.Call):
                if cx.origin(above.func).name.startswith(_RUNNERS):
                    tried = cx.index.enclosing(above, cst.Try) is not None
                    survives = tried or self._ignored(above, cx) or self._asked(above, cx)
                    message = "nvidia-smi does not exist on a Trainium host: neuron-ls and neuron-monitor do"
                    cx.report(node, message, Safety.MANUAL, severity=WARNING if survives else ERROR)
                return
            if isinstance(above, cst.BaseSmallStatement):
                return

    def _asked(self, call: cst.Call, cx: Context) -> bool:
        """Whether the command runs only where `shutil.which` finds it."""
        return any(self._finds(test, holds, cx) for test, holds in conditions(call, cx))

    def _finds(self, node: cst.CSTNode, holds: bool, cx: Context) -> bool:
        """Whether an expression is true (false, where it does not hold) only where the tool is there."""
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            target = node.comparisons[0]
            none = isinstance(target.comparator, cst.Name) and target.comparator.value == "None"
            there = isinstance(target.operator, (cst.IsNot, cst.NotEqual) if holds else (cst.Is, cst.Equal))
            return none and there and self._finds(node.left, True, cx)
        if not holds:
            return False
        if isinstance(node, cst.NamedExpr):
            return self._finds(node.value, True, cx)
        if isinstance(node, cst.Name):
            found = cx.names.bindings(node.value, cx.names.scope(node))
            value = found[0].value if len(found) == 1 else None
            return isinstance(value, cst.Call) and self._finds(value, True, cx)
        which = isinstance(node, cst.Call) and cx.origin(node.func).name == "shutil.which"
        return which and isinstance(node, cst.Call) and bool(node.args) and "nvidia-smi" in cx.code(node.args[0].value)

    def _ignored(self, call: cst.Call, cx: Context) -> bool:
        """Whether a shell runs the command and nobody looks whether it worked."""
        name = cx.origin(call.func).name
        if name in ("os.system", "os.popen"):
            return True
        if name not in ("subprocess.run", "subprocess.call", "subprocess.Popen"):
            return False
        shell, check = (cx.argument(call, k) for k in ("shell", "check"))
        return shell is not None and cx.code(shell.value) == "True" and check is None

    def _after_option(self, node: cst.SimpleString, cx: Context) -> bool:
        """Whether the string follows `--nproc_per_node` in a list of arguments."""
        element = cx.parent(node)
        holder = cx.parent(element) if isinstance(element, cst.Element) else None
        if not isinstance(holder, (cst.List, cst.Tuple)):
            return False
        place = next(i for i, e in enumerate(holder.elements) if e is element)
        before = cx.string(holder.elements[place - 1].value) if place else None
        return before is not None and before.replace("-", "_") == "__nproc_per_node"


def _needs_no_core(cx: Context) -> bool:
    """Whether the workers talk over gloo alone, in a file that names no device."""
    data = cx.source.data.lower()
    return b"cuda" not in data and b"neuron" not in data and starts_on_host(cx)
