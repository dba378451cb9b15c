"""From paths to a ledger and new texts: discover, analyse, group, compose, recheck."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from migrate.decisions import carry
from migrate.discover import Entry, discover
from migrate.identity import digest, finding_keys
from migrate.ledger import APPLIED, OPEN, SUPPRESSED, FixState, Item, group_fixes, make_item
from migrate.lockfile import Lockfile
from migrate.settings import Settings
from migrate.suppression import Suppressions
from transforms.engine.model import ERROR, WARNING, Analysis, Edit, ImportTable, Safety
from transforms.engine.source import Source, Unreadable
from transforms.flow.repository import Repository, scan

MOST_ROUNDS = 6
MOST_SEARCHED = 1000
"""Sites listed of one file that can't be parsed; the rest is counted."""
LEVELS = {"safe": Safety.SAFE, "review": Safety.REVIEW, "offer": Safety.OFFER}


class InternalError(Unreadable):
    """The analysis of a file failed through a fault of the tool."""


@dataclass(eq=False)
class FileState:
    """One file of the run."""

    path: str
    kind: str
    test: bool
    status: str = "unchanged"
    reason: str | None = None
    hits: int = 0
    data: bytes = b""
    source: Source | None = None
    new_source: Source | None = None
    items: list[Item] = field(default_factory=list)
    fixes: list[FixState] = field(default_factory=list)
    import_edits: list[Edit] = field(default_factory=list)
    analysis: Analysis = field(default_factory=Analysis)

    @property
    def changed(self) -> bool:
        """Whether the run would write, or wrote, other bytes."""
        return self.new_source is not None and self.new_source.data != self.data


@dataclass
class Result:
    """What a run found, and what it would write."""

    root: Path
    settings: Settings
    files: list[FileState] = field(default_factory=list)
    seconds: float = 0.0
    errors: list[str] = field(default_factory=list)
    repository: Repository | None = None

    def items(self, tests: bool | None = None) -> Iterable[Item]:
        """Findings of all files, of the tests, or of the others."""
        for file in self.files:
            if tests is None or file.test is tests:
                yield from file.items

    @property
    def changes(self) -> dict[str, tuple[bytes, bytes]]:
        """Old and new bytes of the files that change."""
        return {f.path: (f.data, f.new_source.data) for f in self.files if f.new_source is not None and f.changed}

    @property
    def counted(self) -> list[Item]:
        """Findings that decide the exit code: those of tests only when tests are edited."""
        return [i for f in self.files if not f.test or self.settings.tests for i in f.items]

    @property
    def runnable(self) -> bool:
        """Whether no required finding is open, and no file failed through a fault of the tool."""
        return not any(item.needed for item in self.counted) and not any(f.status == "failed" for f in self.files)


def run_pipeline(
    root: Path,
    paths: Sequence[Path],
    settings: Settings,
    progress: Callable[[int, int, str], None] | None = None,
    lock: Lockfile | None = None,
    compose: bool = True,
    settle: bool = True,
) -> Result:
    """Look at everything below `paths` and work out the new texts. Writes nothing.

    `lock` holds the decisions to go by (default: those of the lock file). With `compose=False` the work ends with the
    groups of fixes; `compose_accepted` goes on from there. `settle=False` leaves out the look at the new texts that
    shows that nothing more comes up. Raises discover.UsageError and lockfile.LockfileError.
    """
    from migrate import lockfile
    from transforms.engine.parse import on_big_stack

    started = time.monotonic()
    result = Result(root, settings)
    lock = lockfile.read(root) if lock is None else lock
    entries = [e for e in discover(root, paths, settings.exclude) if e.path != lockfile.NAME]
    result.files = [_read(root, entry) for entry in entries]
    result.repository = _survey(root, result, entries)
    whole = any(path.resolve() == root.resolve() for path in paths)
    on_big_stack(lambda: _work(result, progress, lock, whole, compose, settle))
    result.seconds = time.monotonic() - started
    return result


def compose_accepted(result: Result, accepted: Callable[[FixState], bool]) -> None:
    """Work out the new texts of a result that was made with `compose=False`, from the accepted fixes alone."""
    from transforms.engine.parse import on_big_stack

    assert result.repository is not None
    files = [f for f in result.files if f.fixes and any(accepted(x) for x in f.fixes)]
    composer = _Composer(result, result.repository, accepted)
    on_big_stack(lambda: composer.run(files))


def _read(root: Path, entry: Entry) -> FileState:
    file = FileState(entry.path, entry.kind, entry.test, reason=entry.reason)
    if entry.status == "skipped":
        file.status = "skipped"
        return file
    try:
        file.data = (root / entry.path).read_bytes()
    except OSError as error:
        file.status, file.reason = "unreadable", f"can't be read: {error.strerror or error}"
    return file


def _survey(root: Path, result: Result, entries: Sequence[Entry]) -> Repository:
    """Facts of the whole root, also when only a part of it is to be looked at."""
    known = {f.path: f.data for f in result.files if f.kind == "python"}
    for entry in discover(root, [root], result.settings.exclude):
        if entry.path not in known and entry.kind == "python" and entry.status != "skipped":
            try:
                known[entry.path] = (root / entry.path).read_bytes()
            except OSError:
                continue
    return scan(known)


def _work(
    result: Result,
    progress: Callable[[int, int, str], None] | None,
    lock: Lockfile,
    whole: bool,
    compose: bool,
    settle: bool,
) -> None:
    from migrate.held import hold
    from transforms.engine.words import count
    from transforms.tables.requirements import CUDA_REQUIREMENTS, REQUIREMENT_KINDS

    assert result.repository is not None

    work = []
    for file in result.files:
        if file.status in ("skipped", "unreadable"):
            if file.status == "unreadable":
                _unreadable(file, file.reason or "can't be read", 1, result.settings)
            continue
        if file.kind == "python":
            work.append(file)
        else:
            file.hits = 0 if b"\0" in file.data[:8192] else count(file.data)
            if file.kind in REQUIREMENT_KINDS:
                file.hits += len(CUDA_REQUIREMENTS.findall(file.data))
            file.status = "not_read" if file.hits else "unchanged"
            if file.kind == "template" and file.hits:
                _unreadable(file, file.reason or "a template, not Python", 1, result.settings)
    for number, file in enumerate(work):
        if progress is not None:
            progress(number, len(work), file.path)
        _Analysis(result.settings, result.repository).first(file)
        if file.status == "failed":
            result.errors.append(f"{file.path}: {file.reason}; the file stays as it is")
    everything = [i for f in work for i in f.items]
    hold(result, lock, whole)
    group_fixes([x for f in work for x in f.fixes], everything)
    if compose:
        _Composer(result, result.repository, settle=settle).run(work)


class _Analysis:
    """Looks at single files and puts what they say into the ledger."""

    def __init__(self, settings: Settings, repository: Repository) -> None:
        self.settings = settings
        self.repository = repository

    def first(self, file: FileState) -> None:
        """The first look at a file."""
        try:
            file.source = Source.read(file.data)
            file.analysis = self.analyse(file.path, file.source)
        except InternalError as error:
            _unreadable(file, f"internal error: {error.reason}", 1, self.settings, failed=True)
            return
        except Unreadable as error:
            _unreadable(file, error.reason, error.line, self.settings)
            return
        file.items, file.fixes = self.enter(file.path, file.source, file.analysis)
        file.items += self._unused(file)
        file.items.sort(key=lambda i: (i.start, not i.owner, i.rule))

    def analyse(self, path: str, source: Source) -> Analysis:
        """One analysis with the settings and facts of a path. Raises Unreadable."""
        from transforms.engine.analyse import analyse
        from transforms.engine.transform import Options
        from transforms.registry import transforms

        options = Options(self.settings.probe, path)
        try:
            return analyse(source, transforms(), self.repository.facts(path), options)
        except (RecursionError, MemoryError):
            raise Unreadable("nested too deeply to be analysed") from None
        except Unreadable:
            raise
        except Exception as error:  # a fault of a rule must cost one file, not the run
            raise InternalError(f"{type(error).__name__}: {error}".rstrip(": ")) from error

    def enter(self, path: str, source: Source, analysis: Analysis) -> tuple[list[Item], list[FixState]]:
        """Findings and fixes of an analysis as items of the ledger, suppressions and selection applied."""
        from transforms.registry import by_code

        settings = self.settings.for_path(path)
        names = {code: rule.name for code, rule in by_code().items()}
        ids = finding_keys(path, source.text, analysis)
        fixes = [FixState(path, fix, edits=fix.edits) for fix in analysis.fixes]
        self.suppressions = Suppressions(source.text, names)
        chosen: dict[int, Item] = {}
        for n, (finding, identity) in enumerate(zip(analysis.findings, ids)):
            name = names[finding.rule]
            if not settings.enables(finding.rule, name):
                continue
            item = make_item(path, finding, identity.id, name)
            item.anywhere, item.content = identity.anywhere, identity.content
            first, last = source.position(finding.statement[0])[0], source.position(max(finding.statement))[0]
            held = self.suppressions.match(finding.rule, name, first, last) if item.status == OPEN else None
            if held is not None:
                item.status, item.reason = SUPPRESSED, held.reason or "neuron: keep"
            if finding.fix is not None:
                item.fix = fixes[finding.fix]
                fixes[finding.fix].items.append(item)
            chosen[n] = item
        for n, item in chosen.items():
            item.related = [chosen[m].id for m in analysis.findings[n].related if m in chosen]
            if not item.owner and not any(chosen[m].owner for m in analysis.findings[n].related if m in chosen):
                item.owner = all(m > n for m in analysis.findings[n].related if m in chosen)
        for state in fixes:
            state.missing = self._missing(state, list(chosen.values()), source, analysis)
        return list(chosen.values()), [f for f in fixes if f.items]

    def _missing(
        self, state: FixState, chosen: list[Item], source: Source, analysis: Analysis
    ) -> dict[tuple[int, int], str]:
        """What to do about the sites that a fix requires and that have no finding, by their ranges."""
        found: dict[tuple[int, int], str] = {}
        for start, end in set(state.fix.requires) - {(i.start, i.end) for i in chosen}:
            rules = sorted({f.rule for f in analysis.findings if (f.start, f.end) == (start, end)})
            place = "{}:{}".format(*source.position(start)) + f", {source.text[start:end]},"
            if rules:
                found[start, end] = f"it needs the change at {place} of {rules[0]}, which is not selected: select both"
            else:
                found[start, end] = f"it needs a change at {place} that no rule makes: change both by hand"
        return found

    def _unused(self, file: FileState) -> list[Item]:
        """Suppression comments that hold nothing back."""
        from transforms.registry import UNUSED_SUPPRESSION, by_code

        settings = self.settings.for_path(file.path)
        ran = [code for code, rule in by_code().items() if settings.enables(code, rule.name)]
        found: list[Item] = []
        for complaint in self.suppressions.unused(ran):
            item = tool_item(file, UNUSED_SUPPRESSION.code, complaint.message, complaint.start, complaint.end, WARNING)
            item.safety = Safety.NOTE
            item.id += f"-{n}" if (n := sum(i.message == item.message for i in found)) else ""
            found.append(item)
        return found


def tool_item(file: FileState, code: str, message: str, start: int, end: int, severity: str | None) -> Item:
    from transforms.registry import by_code

    return Item(
        file.path,
        digest(code, file.path, message),
        code,
        by_code()[code].name,
        message,
        start,
        end,
        (start, end),
        "",
        Safety.MANUAL,
        severity,
        OPEN,
        None,
        True,
    )


def _unreadable(file: FileState, reason: str, line: int, settings: Settings, failed: bool = False) -> None:
    """Report a file that can't be parsed, and the sites that a plain search of its text finds.

    `failed`: it is the tool's fault, so whatever the file needs is unknown and the program can't be called runnable.
    """
    from transforms.registry import UNREADABLE_FILE

    file.status, file.reason = "failed" if failed else "unreadable", reason
    severity = ERROR if failed else WARNING
    utf16 = file.data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = file.data.decode("utf-16" if utf16 else "utf-8", "replace") if file.source is None else file.source.text
    file.source = file.source or Source(file.data, text, "utf-8", b"")
    chosen = settings.for_path(file.path)
    start = file.source.line_start(min(line, file.source.position(len(text))[0]))
    if chosen.enables(UNREADABLE_FILE.code, UNREADABLE_FILE.name):
        end = file.source.line_bounds(start)[1]
        file.items.append(tool_item(file, UNREADABLE_FILE.code, f"{reason}; it is never edited", start, end, severity))
    if chosen.enables("TN003", "unknown-site"):
        _search(file, text, "in a file that could not be analysed" if failed else "in a file that can't be parsed")


def _search(file: FileState, text: str, where: str) -> None:
    """Put the names of a text without findings that speak of CUDA or XLA into the ledger."""
    import re

    from transforms.engine.words import is_specific

    seen: Counter[str] = Counter()
    for match in re.finditer(r"[A-Za-z_][\w.]*", text):
        if not is_specific(match.group()):
            continue
        file.hits += 1
        if file.hits > MOST_SEARCHED:
            continue
        message = f"{match.group()} {where}"
        item = tool_item(file, "TN003", message, match.start(), match.end(), WARNING)
        item.id += f"-{seen[message]}"
        seen[message] += 1
        file.items.append(item)
    if file.hits > MOST_SEARCHED:
        file.items[-1].message += f", as {file.hits - MOST_SEARCHED:,} more that are not listed"


class _Composer:
    """Applies groups of fixes, round by round, until nothing is deferred and nothing new comes up.

    Without `settle`, a text is looked at again only where a fix had to wait: enough for a report, at half the cost.
    """

    def __init__(
        self,
        result: Result,
        repository: Repository,
        accepted: Callable[[FixState], bool] | None = None,
        settle: bool = True,
    ) -> None:
        self.result = result
        self.analysis = _Analysis(result.settings, repository)
        self.accepted = accepted
        self.settle = settle
        self.waiting: set[str] = set()

    def run(self, files: list[FileState]) -> None:
        """Work out the new text of every file."""
        editable = [f for f in files if f.source is not None and (not f.test or self.result.settings.tests)]
        states = {f.path: _Text(f) for f in editable if f.fixes}
        fixes = [x for f in editable for x in f.fixes]
        for _ in range(MOST_ROUNDS):
            taken = self._choose(fixes, states)
            if not taken:
                return
            for path, chosen in _by_path(taken).items():
                self._write(states[path], chosen)
            touched = {x.path for x in taken}
            fixes = self._next(states, touched if self.settle else touched & self.waiting)
        rules = sorted({i.rule for x in fixes for i in x.items})
        for path in {x.path for x in fixes}:
            file = states[path].file
            file.status, file.reason, file.new_source = "failed", f"fixes of {' and '.join(rules)} never settle", None
            self.result.errors.append(f"{path}: internal error: {file.reason}; the file stays as it was")

    def _level(self, path: str) -> Safety:
        return LEVELS[self.result.settings.for_path(path).level]

    def _choose(self, fixes: list[FixState], states: dict[str, _Text]) -> list[FixState]:
        """Fixes that go in this round: whole groups, within the level, without overlaps."""
        from transforms.engine.compose import Taken

        taken: dict[str, Taken] = defaultdict(Taken)
        chosen: list[FixState] = []
        self.waiting = set()
        groups = list({id(x.group): x.group for x in fixes if x.group is not None}.values())
        for group in sorted(groups, key=lambda g: g.level.rank):
            if group.blocked or not all(self._wanted(x, states, group.level) for x in group.fixes):
                continue
            if any(taken[x.path].clash(x.edits) for x in group.fixes):
                self.waiting |= {x.path for x in group.fixes}
                continue
            for state in group.fixes:
                taken[state.path].add(state.edits)
                chosen.append(state)
        return chosen

    def _wanted(self, state: FixState, states: dict[str, _Text], level: Safety) -> bool:
        return (
            not state.applied
            and state.path in states
            and not states[state.path].broken
            and (level.rank <= self._level(state.path).rank if self.accepted is None else self.accepted(state))
            and any(i.status == OPEN for i in state.items)
        )

    def _write(self, text: _Text, chosen: list[FixState]) -> None:
        """Apply fixes to a file's current text; roll back those that break it."""
        while chosen:
            edits, imports = text.edits(chosen)
            if text.take(edits, imports):
                for state in chosen:
                    state.applied = True
                return
            guilty = [x for x in chosen if not text.would_hold([x])] or chosen
            for state in guilty:
                chosen = [x for x in chosen if x is not state]
                for item in state.items:
                    item.safety, item.severity, item.fix = Safety.MANUAL, ERROR, None
                    item.reason = "rolled back: the text after the change does not compile"
                    self.result.errors.append(f"{state.path}: internal error: a fix of {item.rule} was rolled back")
                if state.group is not None:
                    state.group.blocked = "rolled back"

    def _next(self, states: dict[str, _Text], touched: set[str]) -> list[FixState]:
        """Look at the changed files again: what was deferred, and what the changes brought up."""
        found: list[FixState] = []
        for path in touched:
            text = states[path]
            source = text.source
            try:
                analysis = self.analysis.analyse(path, source)
            except Unreadable as error:
                text.file.status, text.file.reason = "failed", f"after the change: {error.reason}"
                text.file.new_source = None
                text.broken = True
                self.result.errors.append(f"{path}: internal error: {text.file.reason}; the file stays as it was")
                continue
            items, fixes = self.analysis.enter(path, source, analysis)
            text.analysis = analysis
            carry([i for i in text.file.items if i.fix is None or not i.fix.applied], items)
            group_fixes(fixes, items)
            text.merge(items, offers=self._level(path) is Safety.OFFER)
            found += fixes
        return found


def _by_path(fixes: list[FixState]) -> dict[str, list[FixState]]:
    found: dict[str, list[FixState]] = {}
    for state in fixes:
        found.setdefault(state.path, []).append(state)
    return found


class _Text:
    """The text of one file as it changes from round to round."""

    def __init__(self, file: FileState) -> None:
        assert file.source is not None
        self.file = file
        self.source = file.source
        self.analysis = file.analysis
        self.broken = False
        self.rounds = 0
        self.shifts: list[tuple[list[Edit], int]] = []
        self._compiled: bool | None = None

    @property
    def imports(self) -> ImportTable:
        """Imports of the current text."""
        return self.analysis.imports

    def edits(self, chosen: list[FixState]) -> tuple[list[Edit], list[Edit]]:
        """Edits of some fixes, and those that the imports need for them."""
        from transforms.engine.compose import keep_blocks
        from transforms.engine.imports import resolve

        edits = keep_blocks(list(dict.fromkeys(e for x in chosen for e in x.edits)))
        imports = resolve(self.imports, [x.fix for x in chosen], self.source.text, self.source.newline)
        return edits, imports

    def would_hold(self, chosen: list[FixState]) -> bool:
        """Whether the text still compiles with just these fixes."""
        edits, imports = self.edits(chosen)
        return self._sound(edits + imports) is not None

    def take(self, edits: list[Edit], imports: list[Edit]) -> bool:
        """Make the edits, unless they break the file."""
        new = self._sound(edits + imports)
        if new is None:
            return False
        if not self.rounds:
            self.file.import_edits = imports
        self.shifts.append((edits + imports, self.rounds))
        self.rounds += 1
        self.source = new
        self.file.new_source = new
        self.file.status = "changed" if self.file.changed else "unchanged"
        return True

    def _sound(self, edits: list[Edit]) -> Source | None:
        from transforms.engine.compose import apply
        from transforms.engine.parse import compiles

        if self._compiled is None:
            self._compiled = compiles(self.source.text) is None
        try:
            text = apply(self.source.text, edits)
            source = Source.read(self.source.encode(text))
        except (UnicodeEncodeError, Unreadable, AssertionError):
            return None
        if self._compiled and compiles(text) is not None:
            return None
        return source

    def back(self, offset: int) -> int:
        """An offset of the current text in the text as it was read."""
        from transforms.engine.compose import Shift

        for edits, _ in reversed(self.shifts):
            offset = Shift.of(edits).back(offset)
        return offset

    def merge(self, items: list[Item], offers: bool = False) -> None:
        """Bring the findings of a later round into the ledger; those that were there already are the same finding.

        New offers come in where they are to be applied; on a site that has an owner already they are related to it.
        """
        waiting: Counter[str] = Counter()
        known: dict[str, list[Item]] = {}
        for item in self.file.items:
            if item.fix is None or not item.fix.applied:
                waiting[item.id] += 1
                known.setdefault(item.id, []).append(item)
        applied = [i.id for i in self.file.items if i.fix is not None and i.fix.applied]
        for item in items:
            start, end = item.start, item.end
            item.start, item.end = self.back(start), self.back(end)
            item.statement = (self.back(item.statement[0]), self.back(item.statement[1]))
            item.evidence = tuple(replace(e, start=self.back(e.start)) if not e.path else e for e in item.evidence)
            if waiting[item.id]:
                waiting[item.id] -= 1
                self._replace(known[item.id].pop(0), item)
            elif item.status == OPEN and item.safety is not Safety.NOTE and (offers or item.safety is not Safety.OFFER):
                item.after = applied[-5:]
                if item.safety is Safety.OFFER:
                    place = (item.start, item.end)
                    item.owner = not any(i.owner and (i.start, i.end) == place for i in self.file.items)
                self.file.items.append(item)
        self.file.items.sort(key=lambda i: (i.start, not i.owner, i.rule))

    def _replace(self, old: Item, new: Item) -> None:
        """The old entry goes on, with the fix as it is in the new text."""
        if old.fix is not None and new.fix is not None:
            new.fix.items = [old if i is new else i for i in new.fix.items]
            new.fix.edits = new.fix.fix.edits
            old.fix = new.fix


def mark_applied(result: Result, written: set[str]) -> None:
    """After the files were written: the findings of the applied fixes are closed."""
    for file in result.files:
        if file.path not in written:
            continue
        for item in file.items:
            if item.fix is not None and item.fix.applied and item.status == OPEN:
                item.status = APPLIED
