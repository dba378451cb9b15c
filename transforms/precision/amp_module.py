"""TN201: the module torch.cuda.amp itself, and imports of it that are only a second choice."""

from __future__ import annotations

import libcst as cst

from transforms.engine.context import Context
from transforms.engine.model import Safety
from transforms.engine.transform import Transform
from transforms.flow.amp import AmpUses, root_of
from transforms.precision.autocast import AUTOCAST
from transforms.tables.amp import CUDA_AMP


class AmpModule(Transform):
    """Rewrites variables that hold the module, and reports what else is done with it."""

    rules = (AUTOCAST,)
    triggers = (b"cuda.amp", b"import amp", b"torch.cuda import")
    nodes = (cst.Module,)

    def check(self, node: cst.CSTNode, cx: Context) -> None:
        """Look at the imports and variables of the file."""
        amp = cx.shared(AmpUses)
        _second_choices(amp, cx)
        _stored_modules(amp, cx)


def _second_choices(amp: AmpUses, cx: Context) -> None:
    """Imports from torch.cuda.amp that are only tried when torch.amp has failed stay as they are."""
    for alias in cx.index.nodes(cst.ImportAlias):
        qualified = cx.names.imported_name(alias)
        bound = alias.asname.name if alias.asname is not None else alias.name
        if qualified not in CUDA_AMP or not isinstance(bound, cst.Name):
            continue
        bindings = cx.names.bindings(bound.value, cx.names.scope(bound))
        mine = [b for b in bindings if b.imported == qualified]
        first = any(b.imported.startswith("torch.") and b.imported not in CUDA_AMP for b in bindings)
        if first and mine and all(amp.is_second(b) for b in mine):
            cx.keep(alias.name, "only tried where torch.amp lacks the name")


def _stored_modules(amp: AmpUses, cx: Context) -> None:
    """`amp = torch.cuda.amp`, and uses of that module that none of the functions explains."""
    for node in cx.index.names.get("amp", []):
        chain = cx.parent(node)
        if not isinstance(chain, cst.Attribute) or chain.attr is not node or cx.origin(chain).name != "torch.cuda.amp":
            continue
        above = cx.parent(chain)
        if isinstance(above, cst.Attribute):
            longer = [n for n in cx.origin(above).names if n not in CUDA_AMP]
            if longer:
                cx.report(_top(above, cx), f"{longer[0]} has no counterpart on neuron", Safety.MANUAL)
        elif isinstance(above, cst.Assign) and len(above.targets) == 1:
            _stored(chain, above, amp, cx)
        elif not isinstance(above, (cst.ImportAlias, cst.ImportFrom)):
            cx.report(chain, "the module torch.cuda.amp is passed on: torch.amp takes its place", Safety.MANUAL)


def _stored(chain: cst.Attribute, above: cst.Assign, amp: AmpUses, cx: Context) -> None:
    target = above.targets[0].target
    uses = cx.names.uses(target.value, cx.names.scope(target)) if isinstance(target, cst.Name) else []
    first = next((u for u in amp.uses if any(n is use for use in uses for n in [root_of(u.node)])), None)
    renaming = amp.renaming(first) if first is not None else None
    if renaming is None or not renaming.group:
        cx.report(chain, "the module torch.cuda.amp is stored: torch.amp takes its place", Safety.MANUAL)
        return
    text, requests = cx.spell("torch.amp", chain)
    fix = cx.fix("the stored module is torch.amp", cx.replace(chain, text), requests=requests, group=renaming.group)
    cx.report(chain, "the stored module is torch.amp", Safety.SAFE, fix=fix)


def _top(node: cst.CSTNode, cx: Context) -> cst.CSTNode:
    while isinstance(above := cx.parent(node), cst.Attribute) and above.value is node:
        node = above
    return node
