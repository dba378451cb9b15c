"""TN201: autocast for the neuron device, with bfloat16 written out."""

from __future__ import annotations

import libcst as cst

from transforms.engine.arguments import Arguments, unpacks
from transforms.engine.changes import Around, Change
from transforms.engine.context import Context
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.amp import AmpUses, Renaming, Use, is_constant
from transforms.flow.autocasts import Autocast, Autocasts
from transforms.flow.keyword_calls import seen_by_keyword
from transforms.tables.amp import AUTOCAST as PARAMETERS
from transforms.tables.amp import CUDA_AMP, CUDA_AUTOCAST

AUTOCAST = Rule(
    code="TN201",
    name="autocast",
    summary="Autocast is told the neuron device, and its dtype is written out, bfloat16 where there was none",
    best=Safety.SAFE,
    argument=(
        "With a dtype (or switched off) the same operators run in the same precision, because the lists of operators "
        "are PyTorch's own. A dtype that was left out becomes bfloat16, which changes numerics: review."
    ),
    source=(
        "TorchNeuron documentation 2.33, mixed precision; torch 2.13: the default autocast dtype of a PrivateUse1 "
        "device is float16, as that of CUDA"
    ),
    why="torch.cuda.amp.autocast casts CUDA tensors only. Trainium is built for bfloat16, which needs no loss scaling.",
    silent=(
        "Autocast for the CPU, and torch.autocast with a dtype: there only the device string changes. A dtype that is "
        "given stays, float16 too."
    ),
    examples=(
        (
            "import torch\n\nwith torch.cuda.amp.autocast():\n    x = torch.ones(2, 2).mm(torch.ones(2, 2))\n",
            "import torch\n\n"
            'with torch.autocast("neuron", dtype=torch.bfloat16):\n    x = torch.ones(2, 2).mm(torch.ones(2, 2))\n',
        ),
        (
            "from torch.cuda.amp import autocast\n\n\n@autocast(enabled=False)\ndef f(x):\n    return x\n",
            'from torch.amp import autocast\n\n\n@autocast("neuron", enabled=False)\ndef f(x):\n    return x\n',
        ),
    ),
)
_LACKS = "autocast without a dtype is float16; on Trainium it is bfloat16, written out"
_BFLOAT16 = {"autocast_dtype": "bfloat16"}


class AutocastDevice(Transform):
    """Rewrites the uses of autocast."""

    rules = (AUTOCAST,)
    triggers = (b"autocast",)
    nodes = (cst.Module,)
    needs = "values"

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in the file."""
        amp = cx.shared(AmpUses)
        for use in amp.of("autocast"):
            _Autocasting(use, amp, cx).check()


class _Autocasting:
    """What is to be said about one use."""

    def __init__(self, use: Use, amp: AmpUses, cx: Context) -> None:
        self.use = use
        self.amp = amp
        self.cx = cx
        self.safety = use.best
        self.evidence: list[tuple[cst.CSTNode, str]] = [(use.node, use.origin.why)] if use.origin.why else []

    def check(self) -> None:
        """Report the use."""
        if self.amp.stored(self.use):
            return
        if self.use.call is not None:
            if self.use.cuda:
                self._cuda(self.use.call)
            elif not self._dtype(self.use.call) and self.use.origin.names & CUDA_AMP.keys():
                self.cx.keep(self.use.node, "torch.amp is preferred where the name is imported")
        elif self.use.cuda:
            self._passed_on()
        elif self.use.kind == "value":
            self._chosen()

    def _chosen(self) -> None:
        """torch.autocast as a value: `scope = autocast if mixed else nullcontext`, called as `scope("cuda")` later."""
        cx, use = self.cx, self.use
        calls = _calls_of_choice(use, cx)
        devices = [c.args[0].value for c in calls if c.args and (cx.string(c.args[0].value) or "").startswith("cuda")]
        if not devices or any(len(c.args) != 1 for c in calls):
            message = "autocast is passed on: where it is called without dtype=torch.bfloat16 it computes in float16"
            cx.report(use.node, message, Safety.NOTE)
            return
        dtype, more = cx.spell("torch.bfloat16", use.node)
        text, requests = self.amp.bound(use, f"dtype={dtype}")
        fix = cx.fix(
            "autocast in bfloat16",
            cx.replace(use.node, text),
            requests=[*requests, *more],
            requires=devices,
            numerics=_BFLOAT16,
        )
        self.evidence.append((devices[0], "called here without a dtype"))
        cx.report(use.node, _LACKS, Safety.REVIEW, fix=fix, evidence=self.evidence)

    def _cuda(self, call: cst.Call) -> None:
        """A call with the signature of torch.cuda.amp: enabled, dtype, cache_enabled, and no device."""
        cx, use = self.cx, self.use
        if any(a.star == "*" for a in use.arguments):
            message = "arguments are unpacked: torch.autocast takes the device, then dtype, then enabled"
            cx.report(use.node, message, Safety.MANUAL)
            return
        if use.kind == "partial" and not seen_by_keyword(cx, call):
            message = "the partial function is called by position: torch.autocast takes the device, then dtype"
            cx.report(use.node, message, Safety.MANUAL)
            return
        arguments = cx.arguments(call)
        keywords = iter(CUDA_AUTOCAST)
        for arg in use.arguments:
            if arg.keyword is None and not arg.star:
                arguments.to_keyword(arg, next(keywords, "cache_enabled"))
        autocast = self.cx.shared(Autocasts).of(use)
        added = [cx.literal("neuron", call)]
        requests: list[str] = []
        numerics = None
        message = "autocast is told the device"
        if autocast is not None and autocast.lacks:
            text, requests = cx.spell("torch.bfloat16", use.node)
            self._bfloat16(autocast)
            numerics = _BFLOAT16
            message = _LACKS
            given = use.argument("dtype", CUDA_AUTOCAST)
            if given is not None:
                arguments.value(given, text)
            else:
                added.append(f"dtype={text}")
        changes, renaming = self._rename(arguments, added)
        fix = cx.fix(
            "autocast for neuron",
            *changes,
            requests=[*renaming.requests, *requests],
            moves=renaming.moves,
            numerics=numerics,
            group=renaming.group,
        )
        if unpacks(call):
            self.evidence.append((call, "the dtype is float16 unless the unpacked arguments hold another"))
        cx.report(use.node, message, self.safety, fix=fix, evidence=self.evidence)

    def _rename(self, arguments: Arguments, added: list[str]) -> tuple[list[Change], Renaming]:
        """The changes of one call: first arguments go behind the function where that is an argument of partial."""
        renaming = self.amp.renaming(self.use)
        changes = list(renaming.changes)
        if self.use.kind == "partial":
            return [*changes, Around(self.use.node, after="".join(f", {a}" for a in added)), arguments], renaming
        for text in added:
            arguments.prepend(text)
        return [*changes, arguments], renaming

    def _bfloat16(self, autocast: Autocast) -> None:
        self.safety = Safety.REVIEW
        self.evidence.append((autocast.use.node, "no dtype is given, which is float16 on CUDA and on neuron"))

    def _dtype(self, call: cst.Call) -> bool:
        """A call that has the device already; its string is another site. Gives whether there was anything to say."""
        cx, use = self.cx, self.use
        autocast = self.cx.shared(Autocasts).of(use)
        if autocast is None or autocast.device == "other" or unpacks(call):
            return False
        given = use.argument("dtype", PARAMETERS)
        if given is not None and not is_constant(given.value, "None"):
            return False
        text, requests = cx.spell("torch.bfloat16", use.node)
        arguments = cx.arguments(call)
        if given is not None:
            arguments.value(given, text)
        else:
            arguments.append(f"dtype={text}")
        device = use.argument("device_type", PARAMETERS)
        if device is None and use.kind != "partial":
            arguments.prepend(cx.literal("neuron", call))
        requires: list[cst.CSTNode] = []
        message, safety = "without a dtype autocast computes in float16", Safety.OFFER
        if autocast.lacks:
            self._bfloat16(autocast)
            message, safety = _LACKS, self.safety
            if device is not None and isinstance(device.value, cst.SimpleString):
                requires = [device.value]
        fix = cx.fix("autocast in bfloat16", arguments, requests=requests, numerics=_BFLOAT16, requires=requires)
        cx.report(use.node, message, safety, fix=fix, evidence=self.evidence)
        return True

    def _passed_on(self) -> None:
        """The function of torch.cuda.amp as a value: kept in a variable whose calls are all known, or out of reach."""
        cx, use = self.cx, self.use
        if use.kind == "alias" and self.amp.alias(use):
            renaming = self.amp.renaming(use)
            group = self.amp.alias_group(use)
            fix = cx.fix(
                "the stored function is that of torch.amp",
                *renaming.changes,
                requests=renaming.requests,
                moves=renaming.moves,
                group=group,
            )
            message = "the stored function takes a device first, as all its calls do then"
            cx.report(use.node, message, self.safety, fix=fix)
        elif self.amp.binds(use):
            torch_dtype, more = cx.spell("torch.bfloat16", use.node)
            text, requests = self.amp.bound(use, cx.literal("neuron", use.node), f"dtype={torch_dtype}")
            renaming = self.amp.renaming(use)
            fix = cx.fix(
                "autocast is passed on with its device and dtype",
                cx.replace(use.node, text),
                requests=[*requests, *more],
                moves=renaming.moves,
                numerics=_BFLOAT16,
                group=renaming.group,
            )
            message = "autocast is passed on: it gets device and dtype first, and its calls give the rest by keyword"
            cx.report(use.node, message, Safety.REVIEW, fix=fix, evidence=self.evidence)
        elif use.kind == "decorator":
            cx.report(use.node, "autocast decorates when it is called: @torch.autocast(...)", Safety.MANUAL)
        else:
            cx.report(
                use.node,
                'torch.cuda.amp.autocast as a value: torch.autocast takes "neuron" first, and dtype=torch.bfloat16',
                Safety.MANUAL,
            )


def _calls_of_choice(use: Use, cx: Context) -> list[cst.Call]:
    """Calls of the variable that holds autocast on one arm of a conditional, none when it is used otherwise as well."""
    assign = cx.parent(use.holder) if isinstance(use.holder, cst.IfExp) else None
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return []
    target = assign.targets[0].target
    if not isinstance(target, cst.Name) or len(cx.names.bindings(target.value, cx.names.scope(target))) != 1:
        return []
    uses = cx.names.uses(target.value, cx.names.scope(target))
    calls = [call for u in uses if isinstance(call := cx.parent(u), cst.Call) and call.func is u]
    return calls if len(calls) == len(uses) else []
