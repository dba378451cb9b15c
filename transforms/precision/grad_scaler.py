"""TN202: the gradient scaler, by the dtype that autocast computes in."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from transforms.engine.arguments import Arguments, unpacks
from transforms.engine.changes import Around
from transforms.engine.context import Context
from transforms.engine.model import WARNING, Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.amp import AmpUses, Use, is_constant
from transforms.flow.autocasts import Autocast, Autocasts
from transforms.flow.results import results
from transforms.flow.scaler import scaler_uses
from transforms.tables.amp import CUDA_AMP, CUDA_GRAD_SCALER

GRAD_SCALER = Rule(
    code="TN202",
    name="grad-scaler",
    summary="The gradient scaler is that of torch.amp for neuron, switched off where autocast computes in bfloat16",
    best=Safety.REVIEW,
    argument=(
        "bfloat16 has the range of float32, so its gradients need no scaling; that no other code depends on the scale "
        "can't be proved. torch.amp.GradScaler has the same code for every device."
    ),
    source="TorchNeuron documentation 2.33, mixed precision: bfloat16 needs no scaler; torch 2.13 source of GradScaler",
    why=(
        "torch.cuda.amp.GradScaler switches itself off, with a warning, where CUDA is absent: harmless with bfloat16, "
        "harmful with float16."
    ),
    silent=(
        "A scaler for neuron, the CPU, or a device that is given by a variable; one that is switched off already; own "
        "classes of the name. An `enabled=` that compares a dtype with float16 stays as it is."
    ),
    examples=(
        (
            "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n",
            'import torch\n\nscaler = torch.amp.GradScaler("neuron")\n',
        ),
        (
            "import torch\nfrom torch.cuda.amp import GradScaler\n\nscaler = GradScaler()\n"
            'auto = torch.autocast("cuda", dtype=torch.bfloat16)\n',
            'import torch\nfrom torch.amp import GradScaler\n\nscaler = GradScaler("neuron", enabled=False)\n'
            'auto = torch.autocast("neuron", dtype=torch.bfloat16)\n',
        ),
    ),
)
SCALER_REMOVAL = Rule(
    code="TN211",
    name="scaler-removal",
    summary="A gradient scaler that is off is taken out, with all its statements",
    best=Safety.OFFER,
    argument="The program runs with it: the methods of a scaler that is off do nothing, or pass on what they get.",
    source="torch 2.13 source of GradScaler: what each method does when it is not enabled",
    why="Four statements that do nothing are four to read.",
    silent=(
        "A scaler that is on, or may be; one that is stored in an attribute, passed on, given back, saved, exported, "
        "declared global, or asked for its scale: then none of its statements goes."
    ),
    examples=(
        (
            'import torch\n\nscaler = torch.amp.GradScaler("neuron", enabled=False)\n\n\n'
            "def step(loss, optimizer):\n    scaler.scale(loss / 2).backward()\n    scaler.step(optimizer)\n"
            "    scaler.update()\n",
            "import torch\n\n\ndef step(loss, optimizer):\n    (loss / 2).backward()\n    optimizer.step()\n",
        ),
    ),
)
_DISABLED = {"scaler": "disabled"}


@dataclass(frozen=True, eq=False)
class _Precision:
    """What the autocasts of the file say together: `bfloat16`, `float16`, or empty when there is no one answer."""

    dtype: str
    because: tuple[tuple[cst.CSTNode, str], ...]
    rests_on: tuple[cst.CSTNode, ...]


class GradScalerDevice(Transform):
    """Rewrites scalers, and offers to take them out."""

    rules = (GRAD_SCALER, SCALER_REMOVAL)
    triggers = (b"GradScaler",)
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every scaler of the file."""
        amp = cx.shared(AmpUses)
        uses = amp.of("GradScaler", "ShardedGradScaler")
        precision = _precision(cx.shared(Autocasts).active()) if uses else None
        for use in uses:
            assert precision is not None
            if use.call is not None:
                _Scaler(use, amp, precision, cx).check()
            elif use.cuda:
                _named(use, amp, cx)
            elif use.kind == "value" or (use.kind == "alias" and not _followed(use, cx)):
                message = f'{use.function} is passed on: a call without device="neuron" means CUDA, and is switched off'
                cx.report(use.node, message, Safety.MANUAL, severity=WARNING)


def _precision(autocasts: list[Autocast]) -> _Precision:
    """The dtype that all autocasts of a file share, once those that name none have theirs."""
    found = {"bfloat16" if a.lacks else a.dtype for a in autocasts}
    dtype = found.pop() if len(found) == 1 else ""
    if not autocasts:
        return _Precision("", (), ())
    if dtype == "bfloat16":
        because = tuple((a.use.node, "autocast computes in bfloat16") for a in autocasts[:1])
        return _Precision(dtype, because, tuple(a.use.node for a in autocasts if a.lacks))
    unknown = next((a for a in autocasts if not a.lacks and a.dtype != "bfloat16"), autocasts[0])
    text = f"autocast computes in {unknown.dtype}" if unknown.dtype else "the dtype of autocast is not known here"
    return _Precision(dtype, ((unknown.use.node, text),), ())


class _Scaler:
    """What is to be said about one scaler that is made."""

    def __init__(self, use: Use, amp: AmpUses, precision: _Precision, cx: Context) -> None:
        assert use.call is not None
        self.use, self.amp, self.precision, self.cx = use, amp, precision, cx
        self.call: cst.Call = use.call
        self.parameters = CUDA_GRAD_SCALER if use.cuda else ("device", *CUDA_GRAD_SCALER)
        self.enabled = use.argument("enabled", self.parameters)
        self.device = None if use.cuda else use.argument("device", self.parameters)

    def check(self) -> None:
        """Report the scaler, the states that are saved of it, and the offer to take it out."""
        cx, use = self.cx, self.use
        kind = "cuda" if use.cuda else cx.shared(Autocasts).device(use)
        off = self.enabled is not None and is_constant(self.enabled.value, "False")
        if kind == "other":
            return
        disable = self._disable(kind, off)
        arguments = cx.arguments(self.call)
        if not use.cuda and (self.device is not None or kind == "unknown") and not disable:
            if off and kind in ("cuda", "neuron"):
                self._offer(off)
            elif unpacks(self.call) and self.device is None:
                message = 'arguments are unpacked: torch.amp.GradScaler means CUDA unless they hold device="neuron"'
                cx.report(use.node, message, Safety.MANUAL, severity=WARNING)
            elif use.origin.names & CUDA_AMP.keys():
                cx.keep(use.node, "torch.amp is preferred where the name is imported")
            return
        added = [] if self.device is not None else [cx.literal("neuron", self.call)]
        if disable and self.enabled is not None:
            arguments.value(self.enabled, "False")
        elif disable:
            arguments.append("enabled=False")
        self._report(arguments, added, disable, kind)
        if disable:
            self._states()
            self._scales()
        if off or (disable and not self.precision.rests_on):
            self._offer(off)

    def _disable(self, kind: str, off: bool) -> bool:
        """Whether the scaler is to be switched off."""
        if off or self.precision.dtype != "bfloat16" or unpacks(self.call):
            return False
        if kind not in ("cuda", "unknown") or (kind == "unknown" and not self.precision.rests_on):
            return False
        return self.enabled is None or not _tests_dtype(self.cx, self.enabled.value)

    def _report(self, arguments: Arguments, added: list[str], disable: bool, kind: str) -> None:
        cx, use = self.cx, self.use
        renaming = self.amp.renaming(use)
        changes = list(renaming.changes)
        if use.kind == "partial":
            changes.append(Around(use.node, after="".join(f", {a}" for a in added)))
        else:
            for text in added:
                arguments.prepend(text)
        requires: list[cst.CSTNode] = list(self.precision.rests_on) if disable else []
        if self.device is not None and kind == "cuda" and isinstance(self.device.value, cst.SimpleString):
            requires.append(self.device.value)
        fix = cx.fix(
            "the scaler is switched off: bfloat16 needs none" if disable else "the scaler of torch.amp",
            *changes,
            arguments,
            requires=requires,
            requests=renaming.requests,
            moves=renaming.moves,
            group=renaming.group,
            numerics=_DISABLED if disable else None,
        )
        evidence = list(self.precision.because)
        if use.origin.why:
            evidence.append((use.node, use.origin.why))
        cx.report(use.node, self._message(disable), Safety.REVIEW, fix=fix, evidence=evidence)

    def _message(self, disable: bool) -> str:
        if disable:
            return "bfloat16 needs no loss scaling: the scaler stays as an object, with enabled=False"
        if self.enabled is not None and _tests_dtype(self.cx, self.enabled.value):
            return "the scaler is that of torch.amp; its enabled= is right by itself"
        if self.precision.dtype == "float16":
            return "float16 needs loss scaling: the scaler is that of torch.amp for neuron"
        if not self.precision.because:
            return "no autocast in this file: the scaler is that of torch.amp; with bfloat16 it can have enabled=False"
        return "the scaler is that of torch.amp for neuron; where the dtype is bfloat16 it can have enabled=False"

    def _states(self) -> None:
        """A scaler that is off saves an empty state, which one that is on refuses to load."""
        for chain in scaler_uses(self.cx, self.call).states:
            saved = chain.attr.value == "state_dict"
            text = (
                "a scaler that is off saves an empty state: a later run with float16 can't go on from it"
                if saved
                else "a scaler that is off loads nothing: the scale in old checkpoints is passed over"
            )
            self.cx.report(chain, text, Safety.MANUAL, severity=WARNING)

    def _scales(self) -> None:
        """A scaler that is off has the scale 1.0 at all times, so that a test of it says nothing."""
        cx = self.cx
        for name in cx.index.names.get("get_scale", []):
            chain = cx.parent(name)
            call = cx.parent(chain) if isinstance(chain, cst.Attribute) and chain.attr is name else None
            if isinstance(call, cst.Call) and call.func is chain and not cx.origin(call.func).names:
                known = any(f.site is name for f in cx.findings)
                if not known and results(cx, call).comparisons:
                    message = "get_scale() of a scaler that is off is always 1.0, so the test of it says nothing"
                    evidence = [(self.use.node, "becomes enabled=False")]
                    cx.report(name, message, Safety.MANUAL, severity=WARNING, evidence=evidence)

    def _offer(self, off: bool) -> None:
        """All statements of the scaler go, or none."""
        removal = scaler_uses(self.cx, self.call).removal
        if removal:
            fix = self.cx.fix(
                "the scaler is taken out, with all its statements",
                *removal,
                numerics=None if off else _DISABLED,
            )
            message = "a scaler that is off can be taken out"
            self.cx.report(self.use.node, message, Safety.OFFER, rule=SCALER_REMOVAL, fix=fix)


def _tests_dtype(cx: Context, node: cst.CSTNode) -> bool:
    """Whether a condition compares a dtype with float16, so that it is right for any dtype."""
    if isinstance(node, cst.BooleanOperation):
        return _tests_dtype(cx, node.left) or _tests_dtype(cx, node.right)
    if isinstance(node, cst.Comparison):
        sides = [node.left, *(c.comparator for c in node.comparisons)]
        return any(word in cx.code(side) for side in sides for word in ("float16", "fp16", "half"))
    if isinstance(node, cst.Name):
        found = cx.names.bindings(node.value, cx.names.scope(node))
        return bool(found) and all(b.value is not None and _compares(cx, b.value) for b in found)
    return False


def _compares(cx: Context, node: cst.CSTNode) -> bool:
    return isinstance(node, (cst.Comparison, cst.BooleanOperation)) and _tests_dtype(cx, node)


def _followed(use: Use, cx: Context) -> bool:
    """Whether the variable that holds the class is a plain one, whose calls are uses of their own."""
    target = use.holder.targets[0].target if isinstance(use.holder, cst.Assign) else None
    if not isinstance(target, cst.Name):
        return False
    scope = cx.names.scope(target)
    exported = isinstance(scope, cst.Module) and bool(cx.facts.importers.get(target.value))
    return not exported and not isinstance(scope, cst.ClassDef)


def _named(use: Use, amp: AmpUses, cx: Context) -> None:
    """The class itself: as a type, stored, as a base, or passed on."""
    if use.kind == "base":
        message = "a subclass: torch.amp.GradScaler takes the device first, and so has its __init__"
        cx.report(use.node, message, Safety.MANUAL)
        return
    if use.kind not in ("type", "alias") or (use.kind == "alias" and not amp.alias(use)):
        message = 'the class is passed on: its calls have to become torch.amp.GradScaler("neuron")'
        cx.report(use.node, message, Safety.MANUAL)
        return
    renaming = amp.renaming(use)
    group = amp.alias_group(use) if use.kind == "alias" else renaming.group
    fix = cx.fix(
        "the scaler of torch.amp", *renaming.changes, requests=renaming.requests, moves=renaming.moves, group=group
    )
    cx.report(use.node, "the class is that of torch.amp, of which the old one is a subclass", Safety.REVIEW, fix=fix)
