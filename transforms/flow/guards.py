"""Branches that a test of the device guards, and what they hold back.

A test may only be turned towards neuron when its branch runs there. A branch that launches CUDA kernels, calls a
package that is for CUDA alone, or needs a change by hand stays what it was, and so does its test: on Trainium the
other branch runs. Any other branch changes together with its test, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from transforms.engine.index import below, children
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.engine.names import dotted_name
from transforms.engine.text_roles import text_role
from transforms.engine.words import is_specific, words
from transforms.tables.cuda_only import CUDA_ONLY, CUDA_PROVIDERS, GPU_PARTS, KERNEL_COMPILERS, PORTABLE_HELPERS

if TYPE_CHECKING:
    from transforms.engine.context import Context, PendingFinding, PendingFix

_FLIPPED = (cst.NotEqual, cst.NotIn)
_TRANSPARENT = (
    *(cst.ComparisonTarget, cst.Arg, cst.GeneratorExp, cst.ListComp),
    *(cst.MatchValue, cst.MatchOr, cst.MatchOrElement),
)
_WHOLE = frozenset({"builtins.bool", "builtins.all", "builtins.any"})
_LEFT = "this test stays: the branch is for CUDA alone: its else branch runs on neuron"
_BY_HAND = "this test stays: its branch needs a change by hand, and until then its else branch runs on neuron"
_ONE_WORD = re.compile(r"[\w./-]+$")
_DEVICE = re.compile(r"cuda(:.*)?$")
_HELD = "; it stands in a branch that stays for CUDA"


@dataclass(eq=False)
class _Guard:
    """A fix of a test and the nodes that run where the test holds: its own branch, branches on a variable that keeps
    its result, and code after an early return where it does not hold."""

    fix: PendingFix
    branch: list[cst.CSTNode]
    stored: list[cst.CSTNode]
    rest: list[cst.CSTNode]

    @property
    def nodes(self) -> list[cst.CSTNode]:
        """All of them."""
        return [*self.branch, *self.stored, *self.rest]


class Guards:
    """The tests of one file that some transform wants to turn."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self._guards: list[_Guard] = []
        self._names: dict[str, str] | None = None

    def add(self, fix: PendingFix, test: cst.CSTNode) -> None:
        """Note that `fix` turns the test of which `test` is a part."""
        guard = _Guard(fix, [], [], [])
        for node, kind in self._guarded(test, True, "branch"):
            {"branch": guard.branch, "stored": guard.stored, "rest": guard.rest}[kind].append(node)
        if guard.nodes:
            self._guards.append(guard)

    def branch(self, test: cst.CSTNode) -> list[cst.CSTNode]:
        """What runs where a test holds."""
        return [node for node, kind in self._guarded(test, True, "branch") if kind == "branch"]

    # branches ---------------------------------------------------------------------------------------------------

    def _guarded(self, node: cst.CSTNode, holds: bool, kind: str) -> Iterator[tuple[cst.CSTNode, str]]:
        """What runs where the test that `node` is part of says CUDA, with the kind that it is for a guard."""
        child = node
        for above in self.cx.index.ancestors(node):
            if isinstance(above, cst.Comparison):
                holds = holds != isinstance(above.comparisons[0].operator, _FLIPPED)
            elif isinstance(above, cst.UnaryOperation):
                if not isinstance(above.operator, cst.Not):
                    return
                holds = not holds
            elif isinstance(above, cst.BooleanOperation):
                if child is above.left and holds == isinstance(above.operator, cst.And):
                    yield above.right, kind
            elif isinstance(above, cst.IfExp):
                if child is above.test:
                    yield (above.body if holds else above.orelse), kind
                return
            elif isinstance(above, cst.If):
                if child is above.test:
                    yield from self._arms(above, holds, kind)
                return
            elif isinstance(above, cst.While):
                if child is above.test and holds:
                    yield above.body, kind
                return
            elif isinstance(above, cst.MatchCase):
                if child is above.pattern:
                    yield above.body, kind
                return
            elif isinstance(above, cst.Assign):
                target = above.targets[0].target
                if kind == "branch" and len(above.targets) == 1 and isinstance(target, cst.Name):
                    for use in self.cx.names.uses(target.value, self.cx.names.scope(target)):
                        yield from self._guarded(use, holds, "stored")
                return
            elif not self._passes_on(above):
                return
            child = above

    def _passes_on(self, above: cst.CSTNode) -> bool:
        """Whether a node has the truth of its part."""
        if isinstance(above, cst.Call):
            method = above.func.attr.value if isinstance(above.func, cst.Attribute) else ""
            return method == "startswith" or self.cx.origin(above.func).name in _WHOLE
        return isinstance(above, _TRANSPARENT)

    def _arms(self, above: cst.If, holds: bool, kind: str) -> Iterator[tuple[cst.CSTNode, str]]:
        if holds:
            yield above.body, kind
            return
        if above.orelse is not None:
            yield above.orelse, kind
            return
        last = above.body.body[-1] if above.body.body else None
        block = self.cx.parent(above)
        if not _returns(last) or not isinstance(block, cst.IndentedBlock):
            return
        after = False
        for line in block.body:
            if after:
                yield line, "rest"
            after = after or line is above

    # settling ---------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Leave the tests whose branches stay, and tie the others to the changes in their branches."""
        if not self._guards:
            return
        inside = self._findings_inside()
        left: set[int] = set()
        order = self.cx.index.order
        for guard in sorted(self._guards, key=lambda g: -min(order(n) for n in g.nodes)):
            others = left - {id(node) for node in guard.nodes}  # two tests may guard one branch
            message, reason = _LEFT, self._cuda_only(guard.nodes, others) or self._named_for_cuda(guard)
            found = self._inside(inside, [*guard.branch, *guard.stored], guard.fix, others)
            if reason is None:
                own = self._inside(inside, guard.branch, guard.fix, others)
                wrong = next((f for f in own if f.safety is Safety.MANUAL and f.severity == ERROR), None)
                reason = (wrong.site, f"needs a change by hand ({wrong.rule})") if wrong is not None else None
                message = _BY_HAND
            if reason is not None:
                self._leave(guard.fix, message, reason)
                branch = guard.nodes if message is _LEFT else guard.branch
                self.cx.hold(*branch, why=_HELD)
                left |= {id(node) for node in branch}
                continue
            guard.fix.requires += [
                f.site
                for f in found
                if f.fix is not None and f.safety in (Safety.SAFE, Safety.REVIEW) and f.site not in guard.fix.requires
            ]

    def _inside(
        self, inside: dict[int, list[PendingFinding]], nodes: list[cst.CSTNode], fix: PendingFix, left: set[int]
    ) -> list[PendingFinding]:
        """Findings in some nodes that are no part of `fix` and stand outside of `left`."""
        found = [f for node in nodes for f in inside.get(id(node), [])]
        return [f for f in found if f.fix is not fix and not self._within(f.site, left)]

    def _findings_inside(self) -> dict[int, list[PendingFinding]]:
        """Findings by the guarded node that they stand in."""
        nodes = {id(node) for guard in self._guards for node in guard.nodes}
        found: dict[int, list[PendingFinding]] = {}
        for finding in self.cx.findings:
            for above in (finding.site, *self.cx.index.ancestors(finding.site)):
                if id(above) in nodes:
                    found.setdefault(id(above), []).append(finding)
        return found

    def _within(self, node: cst.CSTNode, blocks: set[int]) -> bool:
        return bool(blocks) and any(id(above) in blocks for above in (node, *self.cx.index.ancestors(node)))

    def _leave(self, fix: PendingFix, message: str, reason: tuple[cst.CSTNode, str]) -> None:
        for finding in self.cx.findings:
            if finding.fix is fix:
                finding.fix, finding.safety, finding.severity = None, Safety.MANUAL, WARNING
                finding.message = message
                finding.evidence = [*finding.evidence, reason]

    # what is for CUDA alone -------------------------------------------------------------------------------------

    def _cuda_only(self, nodes: list[cst.CSTNode], left: set[int]) -> tuple[cst.CSTNode, str] | None:
        """A launch of a kernel, or a use of a package for CUDA, among these nodes but outside of `left`."""
        work = list(reversed(nodes))
        while work:
            node = work.pop()
            if id(node) in left:
                continue
            if isinstance(node, cst.Name):
                package = self._imported().get(node.value)
                if package is not None and self._uses(node, package):
                    return node, f"{package} is for CUDA alone"
            elif isinstance(node, cst.Call) and isinstance(node.func, cst.Subscript) and self._launches(node.func):
                return node, "launches a kernel"
            elif isinstance(node, cst.SimpleString) and self.cx.string(node) in CUDA_PROVIDERS:
                return node, "names a provider of ONNX Runtime that needs CUDA"
            elif isinstance(node, cst.ImportAlias):
                name = self.cx.names.imported_name(node)
                if self._for_cuda(name):
                    return node, f"{name} is for CUDA alone"
                continue
            work += reversed(list(children(node)))
        return None

    def _named_for_cuda(self, guard: _Guard) -> tuple[cst.CSTNode, str] | None:
        """A text that a conditional chooses by the test, and that names a file or a part made for CUDA:
        `"ops_cuda.so" if is_available() else "ops_cpu.so"`."""
        for node in guard.branch:
            text = self.cx.string(node) if isinstance(node, cst.SimpleString) else None
            if not text or not _ONE_WORD.match(text) or _DEVICE.match(text) or not is_specific(text):
                continue
            if not any(f.site is node for f in self.cx.findings) and not text_role(self.cx, node):
                return node, "names something that is made for CUDA"
        return None

    def _imported(self) -> dict[str, str]:
        """Names of this file that an import binds to something that is, or may hold something, for CUDA alone."""
        if self._names is None:
            self._names = {}
            for alias in self.cx.index.nodes(cst.ImportAlias):
                name = self.cx.names.imported_name(alias)
                if self._for_cuda(name) or name.split(".")[0] in GPU_PARTS:
                    bound: cst.CSTNode = alias.asname.name if alias.asname is not None else alias.name
                    while isinstance(bound, cst.Attribute):
                        bound = bound.value
                    if isinstance(bound, cst.Name):
                        self._names[bound.value] = name
        return self._names

    def _uses(self, node: cst.Name, package: str) -> bool:
        """Whether an identifier is a use of the imported thing (a part of it that needs CUDA)."""
        above = self.cx.parent(node)
        if (isinstance(above, cst.Attribute) and above.attr is node) or (
            isinstance(above, cst.Arg) and above.keyword is node
        ):
            return False
        names = self.cx.origin(node).names
        if package.split(".")[0] not in GPU_PARTS:
            return any(self._for_cuda(n) or package.startswith(n + ".") for n in names)
        top: cst.CSTNode = node
        while isinstance(above, cst.Attribute) and above.value is top:
            top, above = above, self.cx.parent(above)
        return any(self._for_cuda(n) for n in self.cx.origin(top).names)

    def _for_cuda(self, name: str) -> bool:
        parts = name.split(".")
        root, last = parts[0], parts[-1]
        if any(".".join(parts[:n]) in CUDA_ONLY for n in range(1, len(parts) + 1)):
            return True
        if root in GPU_PARTS:
            return "gpu" in last.lower()
        own = not root or root in self.cx.facts.modules or root in PORTABLE_HELPERS or root.startswith("torch")
        return not own and len(parts) > 1 and root != "builtins" and "cuda" in words(last)

    def launch(self, block: cst.CSTNode) -> cst.CSTNode | None:
        """The first launch of a kernel below a node."""
        for call in below(block):
            if isinstance(call, cst.Call) and isinstance(call.func, cst.Subscript) and self._launches(call.func):
                return call
        return None

    def _launches(self, launched: cst.Subscript) -> bool:
        """Whether `name[...]` is a kernel with its grid, and no element of a container of functions."""
        name = dotted_name(launched.value)
        if not name:
            return False
        if "kernel" in words(name.rpartition(".")[2]) or len(launched.slice) > 1:
            return True
        part = launched.slice[0].slice
        if isinstance(part, cst.Index) and isinstance(part.value, (cst.Tuple, cst.Lambda)):
            return True
        if isinstance(part, cst.Index) and "grid" in words(dotted_name(part.value).rpartition(".")[2]):
            return True
        if not isinstance(launched.value, cst.Name):
            return False
        for binding in self.cx.names.bindings(name, self.cx.names.scope(launched.value)):
            made = self.cx.parent(binding.node)
            for decorator in made.decorators if isinstance(made, cst.FunctionDef) else ():
                code = decorator.decorator
                called = dotted_name(code.func if isinstance(code, cst.Call) else code)
                if called.split(".")[0] in KERNEL_COMPILERS:
                    return True
        return False


def _returns(line: cst.CSTNode | None) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[-1], cst.Return)
