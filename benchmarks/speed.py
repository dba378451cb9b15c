"""Speed and memory of the tool over trees of Python files, as ratios within one run on one machine.

    python benchmarks/speed.py TREE... [--codemods] [--commands]

Times are CPU seconds of this process (commands: of the child). The unit is `libcst.parse_module` of the same files.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

import libcst as cst

from benchmarks import codemods
from transforms.engine.analyse import analyse, concerned
from transforms.engine.compose import apply, clashes, keep_blocks
from transforms.engine.model import Analysis, Edit, Safety
from transforms.engine.parse import compiles, on_big_stack
from transforms.engine.source import Source, Unreadable
from transforms.engine.words import may_hold
from transforms.registry import transforms


def cpu(work: Callable[..., object], *arguments: object) -> float:
    """CPU seconds that a piece of work takes."""
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


def sources(trees: Sequence[Path]) -> list[Source]:
    """The readable files that reach the engine: those with a trigger of a rule."""
    found = []
    for tree in trees:
        for path in sorted(tree.rglob("*.py")):
            if not path.is_file() or path.stat().st_size > 1_000_000:
                continue
            data = path.read_bytes()
            if not concerned(data, transforms()) and not may_hold(data):
                continue
            try:
                source = Source.read(data)
                cst.parse_module(source.text)
            except (Unreadable, cst.ParserSyntaxError):
                continue
            found.append(source)
    return found


def edits_of(analysis: Analysis) -> list[Edit]:
    """Edits of all safe and review fixes that do not overlap."""
    levels: dict[int, Safety] = {}
    for finding in analysis.findings:
        if finding.fix is not None and finding.safety is not None:
            levels[finding.fix] = levels.get(finding.fix, Safety.SAFE).at_most(finding.safety)
    taken: list[Edit] = []
    for number, fix in enumerate(analysis.fixes):
        if levels.get(number, Safety.NOTE).rank <= Safety.REVIEW.rank and not clashes(fix.edits, taken):
            taken += fix.edits
    return keep_blocks(list(dict.fromkeys(taken)))


def with_edits(source: Source) -> None:
    """Everything that happens to a file that changes: analysis, composition, check and analysis of the new text."""
    analysis = analyse(source, transforms())
    text = apply(source.text, edits_of(analysis))
    compiles(source.text)
    compiles(text)
    analyse(Source.read(source.encode(text)), transforms())


def engine(files: list[Source]) -> None:
    """Ratios of the engine to the parse, for files without and with edits."""
    sums = {"no finding": [0.0, 0.0, 0], "findings, no edit": [0.0, 0.0, 0], "with edits": [0.0, 0.0, 0]}
    for source in files:
        parse = median(cpu(cst.parse_module, source.text) for _ in range(3))
        analysis = analyse(source, transforms())
        kind = "with edits" if edits_of(analysis) else "findings, no edit" if analysis.findings else "no finding"
        whole = (with_edits, source) if kind == "with edits" else (analyse, source, transforms())
        spent = median(cpu(*whole) for _ in range(3))
        row = sums[kind]
        row[0] += parse
        row[1] += spent
        row[2] += 1
    print(f"{'engine':24}{'files':>7}{'parse s':>10}{'engine s':>10}{'ratio':>8}{'limit':>8}")
    quiet = [sum(sums[k][i] for k in ("no finding", "findings, no edit")) for i in range(3)]
    for name, row, limit in [*((k, v, None) for k, v in sums.items()), ("without an edit", quiet, 1.9)]:
        bound = 4.0 if name == "with edits" else limit
        ratio = row[1] / row[0] if row[0] else 0.0
        print(f"{name:24}{row[2]:7.0f}{row[0]:10.2f}{row[1]:10.2f}{ratio:8.2f}{bound or '':>8}")


def against_codemods(files: list[Source], most: int = 60) -> None:
    """The five first rules: one engine pass against five LibCST codemods, CPU seconds on the same files."""
    codes = {"TN101", "TN102", "TN103", "TN301", "TN401"}
    five = [t for t in transforms() if t.rule.code in codes]
    chosen = [s for s in files if concerned(s.data, five)][:: max(1, len(files) // most)][:most]
    ours = sum(cpu(analyse, s, five) for s in chosen)
    theirs = sum(cpu(codemods.run, s.text.encode()) for s in chosen)
    print(f"five rules on {len(chosen)} files: engine {ours:.2f} s, successive codemods {theirs:.2f} s")
    print(f"gain over successive codemods: {theirs / ours:.1f} x (limit 6 x)")


def commands(trees: Sequence[Path], parse: float) -> None:
    """Whole commands in processes of their own: start-up, and `check` on a tree."""
    tool = [sys.executable, "-c", "from migrate.cli import main; main()"]

    def child(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*tool, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def clock(*arguments: str) -> float:
        started = time.monotonic()
        child(*arguments)
        return time.monotonic() - started

    print(f"--help: {median(child('--help') for _ in range(3)):.2f} s (limit 0.25)")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NEURON_MIGRATE_CACHE_DIR"] = f"{folder}/cache"
        os.environ["PYTHONPATH"] = str(Path(__file__).parent.parent)
        small = Path(folder) / "a.py"
        small.write_text('import torch\nx = torch.ones(1, device="cuda")\n')
        spent = median(child("check", "--no-cache", str(small)) for _ in range(3))
        print(f"check of one small file: {spent:.2f} s (limit 0.6)")
        copy = Path(folder) / "trees"
        for tree in trees:
            shutil.copytree(tree, copy / tree.name, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        one = ("check", "--jobs", "1", str(copy))
        spent = child(*one, "--no-cache")
        print(f"check of all trees: {spent:.2f} s CPU, {spent / parse:.2f} x the parse (limit 2)")
        first, second = child(*one), child(*one)
        print(f"first check {first:.2f} s CPU, second {second:.2f} s: {second / first:.1%} (limit 5 %)")
        alone = clock(*one, "--no-cache")
        both = clock("check", "--jobs", "2", "--no-cache", str(copy))
        print(f"one process {alone:.2f} s, two {both:.2f} s: {alone / both:.2f} x faster (limit 1.5)")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory: {peak:.0f} MiB (limit 1024 for a million lines)")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--codemods", action="store_true", help="compare with successive LibCST codemods")
    parser.add_argument("--commands", action="store_true", help="measure whole commands")
    options = parser.parse_args()
    files = sources(options.trees)
    lines = sum(s.text.count("\n") for s in files)
    parse = sum(cpu(cst.parse_module, s.text) for s in files)
    print(f"{len(files)} files reach the engine, {lines:,} lines, parse {parse:.2f} s")
    on_big_stack(lambda: engine(files))
    if options.codemods:
        on_big_stack(lambda: against_codemods(files))
    if options.commands:
        commands(options.trees, parse)


if __name__ == "__main__":
    main()
