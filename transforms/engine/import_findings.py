"""Findings for imported names: an import of something specific to CUDA or XLA follows its uses, all of them."""

from __future__ import annotations

import libcst as cst

from transforms.engine.changes import Change
from transforms.engine.context import PendingFinding
from transforms.engine.import_nodes import PLAIN, ImportNodes
from transforms.engine.model import ERROR, WARNING, Safety
from transforms.engine.names import Binding, dotted_name
from transforms.engine.residue import is_fatal
from transforms.engine.words import is_specific


class ImportFindings:
    """What happens to the imported names of one file."""

    def __init__(self, nodes: ImportNodes) -> None:
        self.nodes = nodes
        self.cx = nodes.cx

    def findings(self, found: list[PendingFinding]) -> list[PendingFinding]:
        """What happens to each imported name that is specific to CUDA or XLA: it follows its uses, all of them."""
        by_use: dict[int, PendingFinding] = {}
        for finding in found:
            inner = finding.site
            while isinstance(inner, cst.Attribute):
                inner = inner.value
            held = by_use.get(id(inner))
            if held is None or (held.safety is None and finding.safety is not None):
                by_use[id(inner)] = finding
        self._stop_rebound(by_use, found)
        spoken = {id(f.site) for f in found}
        result = []
        for statement in self.nodes.statements:
            for alias in self.nodes.aliases(statement):
                if self._speaks_of(alias) and id(alias.name) not in spoken:
                    result.append(self._finding(alias, self.cx.names.imported_name(alias), by_use))
        return result

    def _stop_rebound(self, by_use: dict[int, PendingFinding], found: list[PendingFinding]) -> None:
        """Nothing is changed where an imported name is used that the file gives another meaning, too."""
        stopped: dict[int, Binding] = {}
        for alias in self.cx.index.nodes(cst.ImportAlias):
            if not self._speaks_of(alias) or (other := self.nodes.bound_again(alias)) is None:
                continue
            for use in self._specific_uses(alias, self.nodes.uses(alias)):
                owner = by_use.get(id(use))
                if owner is not None and owner.fix is not None:
                    stopped.setdefault(id(owner.fix), other)
        for finding in found:
            if finding.fix is None or (again := stopped.get(id(finding.fix))) is None:
                continue
            deleted = again.kind == "del"
            finding.message += f"; {again.name} is {'deleted' if deleted else 'bound again'} in this file"
            finding.evidence.append((again.node, f"{again.name} {'goes' if deleted else 'gets another meaning'} here"))
            finding.fix, finding.safety, finding.severity = None, Safety.MANUAL, ERROR

    def _speaks_of(self, alias: cst.ImportAlias) -> bool:
        """Whether an import is of something of torch that is specific to CUDA or XLA."""
        qualified = self.cx.names.imported_name(alias)
        return qualified.split(".")[0] in ("torch", "torch_xla") and is_specific(qualified)

    def _finding(self, alias: cst.ImportAlias, qualified: str, by_use: dict[int, PendingFinding]) -> PendingFinding:
        statement = self.cx.parent(alias)
        uses = self.nodes.uses(alias)
        severity = ERROR if qualified.split(".")[0] == "torch_xla" else WARNING
        if isinstance(statement, PLAIN) and alias.asname is None and not self._specific_uses(alias, uses):
            return _manual(alias.name, f"{qualified} is imported; nothing in the file uses it", WARNING, "TN003")
        if importers := self._importers(alias, [o for use in uses if (o := by_use.get(id(use))) is not None]):
            message = f"{', '.join(importers[:3])} imports {qualified} from here: import it there from where it lives"
            return _manual(alias.name, message, ERROR, "TN003")
        if not uses:
            message = f"{qualified} is imported and not used here"
            if self.nodes.in_types(alias):
                message = f"{qualified} is used here in types that are written as text"
            elif isinstance(self.cx.names.scope(alias), cst.ClassDef):
                message += ": it is an attribute of a class"
            return _manual(alias.name, message, severity, "TN003")
        owners = [by_use.get(id(use)) for use in self._specific_uses(alias, uses)]
        known = [o for o in owners if o is not None]
        if len(known) < len(owners) or any(o.fix is None for o in known):
            blocked = next((o for o in known if o.fix is None), None)
            rule = blocked.rule if blocked else "TN003"
            worst = blocked.severity if blocked and blocked.severity else severity
            if not known and not blocked:
                worst = ERROR if is_fatal(qualified) else WARNING
                message = f"{qualified} has no known counterpart on neuron, and this file uses it"
                return _manual(alias.name, message, worst, rule)
            return _manual(alias.name, f"{qualified} is still used in this file", worst, rule)
        safety = Safety.SAFE
        for owner in known:
            assert owner.safety is not None
            safety = safety.at_most(owner.safety)
        fix = self.cx.fix(
            f"the import of {qualified} follows its uses", *self._shortened(alias), requires=[o.site for o in known]
        )
        return PendingFinding(
            known[0].rule, alias.name, f"the import of {qualified} follows its uses", safety, None, [], fix, None
        )

    def _importers(self, alias: cst.ImportAlias, known: list[PendingFinding]) -> tuple[str, ...]:
        """Files that import the name from this one, where the fixes of its uses do not keep it."""
        bound = self.nodes.bound(alias)
        if bound is None or not isinstance(self.cx.names.scope(bound), cst.Module):
            return ()
        if isinstance(self.cx.parent(alias), PLAIN) and alias.asname is None:
            return ()
        if any(m.local == bound.value for o in known if o.fix is not None for m in o.fix.moves):
            return ()
        return self.cx.facts.importers.get(bound.value, ())

    def _shortened(self, alias: cst.ImportAlias) -> list[Change]:
        """`import torch.cuda.amp` binds torch: that stays, unless another import of the scope binds it as well."""
        statement = self.cx.parent(alias)
        if not isinstance(statement, PLAIN) or alias.asname is not None or not isinstance(alias.name, cst.Attribute):
            return []
        bound = self.nodes.bound(alias)
        if bound is None or bound.value != "torch":
            return []
        scope = self.cx.names.scope(bound)
        others = [b for b in self.cx.names.bindings("torch", scope) if b.node is not bound and b.scope is scope]
        again = any(self._plainly(b.node, "torch") for b in others)
        if again and len(statement.names) == 1 and isinstance(statement, cst.Import):
            return [self.cx.remove_statement(statement)]
        return [self.cx.replace(alias.name, "torch")]

    def _plainly(self, node: cst.Name, module: str) -> bool:
        """Whether a name is bound by `import module` at the top of the file."""
        alias = self.cx.parent(node)
        if not isinstance(alias, cst.ImportAlias) or alias.name is not node or node.value != module:
            return False
        line = self.cx.index.enclosing(alias, cst.SimpleStatementLine)
        return line is not None and isinstance(self.cx.parent(line), cst.Module)

    def _specific_uses(self, alias: cst.ImportAlias, uses: list[cst.Name]) -> list[cst.Name]:
        """Uses that mean the imported module: `import torch.cuda` binds `torch`, whose other uses say nothing of it."""
        statement = self.cx.parent(alias)
        if not isinstance(statement, PLAIN) or alias.asname is not None or isinstance(alias.name, cst.Name):
            return uses
        dotted = dotted_name(alias.name)
        result = []
        for use in uses:
            top: cst.CSTNode = use
            while isinstance(above := self.cx.parent(top), cst.Attribute) and above.value is top:
                top = above
            if any(n == dotted or n.startswith(dotted + ".") for n in self.cx.origin(top).names):
                result.append(use)
        return result


def _manual(site: cst.CSTNode, message: str, severity: str, rule: str) -> PendingFinding:
    return PendingFinding(rule, site, message, Safety.MANUAL, severity, [], None, None)
