"""TN203: custom_fwd and custom_bwd."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context, PendingFix
from transforms.engine.model import Rule, Safety
from transforms.engine.transform import Transform
from transforms.flow.amp import AmpUses, Use

CUSTOM_FWD_BWD = Rule(
    code="TN203",
    name="custom-fwd-bwd",
    summary='`torch.cuda.amp.custom_fwd` and `custom_bwd` become those of torch.amp, with `device_type="neuron"`',
    best=Safety.REVIEW,
    argument="torch.amp has the same decorators for every device; that they are used with neuron is not documented.",
    source="torch 2.13 source of torch.amp.autocast_mode: `device_type` is a required keyword",
    why="The old decorators ask for the autocast state of CUDA, which is always off on Trainium.",
    silent="Decorators of torch.amp: there only the device string changes. Own functions and methods of the name.",
    examples=(
        (
            "import torch\n\n\nclass F(torch.autograd.Function):\n    @staticmethod\n"
            "    @torch.cuda.amp.custom_fwd\n    def forward(ctx, x):\n        return x\n",
            "import torch\n\n\nclass F(torch.autograd.Function):\n    @staticmethod\n"
            '    @torch.amp.custom_fwd(device_type="neuron")\n    def forward(ctx, x):\n        return x\n',
        ),
    ),
)


class CustomFwdBwd(Transform):
    """Rewrites the decorators of autograd functions."""

    rules = (CUSTOM_FWD_BWD,)
    triggers = (b"custom_fwd", b"custom_bwd")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at every use in the file."""
        amp = cx.shared(AmpUses)
        for use in amp.of("custom_fwd", "custom_bwd"):
            if use.cuda and not amp.stored(use):
                _Decorating(use, amp, cx).check()


class _Decorating:
    """What is to be said about one use."""

    def __init__(self, use: Use, amp: AmpUses, cx: Context) -> None:
        self.use, self.amp, self.cx = use, amp, cx

    def check(self) -> None:
        """Report the use."""
        cx, use = self.cx, self.use
        device = f"device_type={cx.literal('neuron', use.node)}"
        if use.kind == "decorator":
            self._bare(device)
        elif use.kind == "call" and use.call is not None:
            renaming = self.amp.renaming(use)
            positional = any(a.keyword is None for a in use.call.args)
            arguments = cx.arguments(use.call)
            changed = arguments.append(device) if positional else arguments.prepend(device)
            fix = cx.fix(
                "the decorator of torch.amp",
                *renaming.changes,
                changed,
                requests=renaming.requests,
                moves=renaming.moves,
                group=renaming.group,
            )
            self._report(fix=fix)
        elif use.kind in ("alias", "value", "partial"):
            self._value(device)

    def _bare(self, device: str) -> None:
        cx, use = self.cx, self.use
        renaming = self.amp.renaming(use)
        name = cx.code(use.node)
        requests = list(renaming.requests)
        if renaming.changes:
            name, requests = cx.spell(f"torch.amp.{use.function}", use.node)
        fix = cx.fix(
            "the decorator of torch.amp",
            cx.replace(use.node, f"{name}({device})"),
            requests=requests,
            moves=renaming.moves,
            group=renaming.group,
        )
        self._report(fix=fix)

    def _value(self, device: str) -> None:
        """The decorator as a value: with its device bound, it serves bare and called as before."""
        cx, use = self.cx, self.use
        if use.kind == "partial":
            cx.report(use.node, f"partial has to bind {device} as well, with torch.amp.{use.function}", Safety.MANUAL)
            return
        if use.origin.local:
            message = f"{cx.code(use.node)} is also a function of this file: bind {device} where it is torch's"
            cx.report(use.node, message, Safety.MANUAL)
            return
        if not self.amp.binds(use):
            cx.report(use.node, f"{use.function} is passed on: torch.amp.{use.function} takes {device}", Safety.MANUAL)
            return
        text, requests = self.amp.bound(use, device)
        renaming = self.amp.renaming(use)
        changed = cx.replace(use.node, text)
        fix = cx.fix(
            "the decorator of torch.amp", changed, requests=requests, moves=renaming.moves, group=renaming.group
        )
        self._report(fix=fix)

    def _report(self, fix: PendingFix) -> None:
        use = self.use
        evidence = [(use.node, use.origin.why)] if use.origin.why else []
        self.cx.report(
            use.node, f"{use.function} of torch.amp is told the device", Safety.REVIEW, fix=fix, evidence=evidence
        )
