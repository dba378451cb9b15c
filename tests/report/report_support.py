"""Small repositories that hold everything a report can meet, and ways to check them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import migrate
from migrate.pipeline import run_pipeline
from migrate.result import Result
from migrate.settings import Settings

ROOT = Path(migrate.__file__).parent.parent

DEVICE = b'import torch\n\n\ndef f():\n    return torch.ones(2, device="cuda")\n'
WITHOUT_COUNTERPART = b"import torch\n\ntorch.cuda.no_such_call()\n"
COMPILED = b"import torch\n\n\ndef f(x):\n    return x\n\n\ng = torch.compile(f)\n"

REPOSITORY: Mapping[str, bytes] = {
    "my pkg/gr\u00f6\u00dfe.py": DEVICE,
    "bad.py": b"import torch\ndef broken(:\n    return torch.ones(1).cuda()\n",
    "nul.py": b"x = 1\n\0\n",
    "latin.py": b"x = '\xe9'\n",
    "empty.py": b"",
    "clean.py": b"import torch\n\nx = torch.ones(2)\n",
    "kept.py": b'import argparse\n\nargparse.ArgumentParser().add_argument("-d", help="cuda or cpu")\n',
    "held.py": DEVICE.rstrip() + b"  # neuron: keep[TN101] the reference run\n\n\ny = 1  # neuron: keep[TN101]\n",
    "people.py": WITHOUT_COUNTERPART + b'label = "cuda"\nrun(label)\n',
    "offers.py": COMPILED,
    "crlf.py": DEVICE.replace(b"\n", b"\r\n"),
    "wide.py": 'import torch\n\nx = "\U0001f600", torch.ones(2, device="cuda")\n'.encode(),
    "lines.py": b'import torch\n\nx = torch.ones(\n    2,\n    device="cuda",\n).cuda(\n    non_blocking=True,\n)\n',
    "tests/test_it.py": DEVICE,
    "Dockerfile": b"FROM scratch\nENV NCCL_DEBUG=INFO\nENV CUDA_HOME=/usr/local/cuda\n",
    "run.sh": b"echo hello\n",
    "third_party/other.py": DEVICE,
    "{{cookiecutter.name}}/train.py": b'import {{cookiecutter.name}}\nx.to("cuda")\n',
}
"""Unreadable, kept, suppressed, manual of both kinds, offers, tests, files that are not read or skipped, and a note."""

TREES: dict[str, Mapping[str, bytes]] = {
    "everything": REPOSITORY,
    "no file at all": {},
    "nothing to do": {"clean.py": REPOSITORY["clean.py"]},
    "unreadable files only": {name: REPOSITORY[name] for name in ("bad.py", "nul.py", "latin.py")},
    "no python": {"Dockerfile": REPOSITORY["Dockerfile"]},
    "tests only": {"tests/test_it.py": DEVICE},
    "suppressed and unused suppression": {"held.py": REPOSITORY["held.py"]},
    "offers only": {"offers.py": COMPILED.replace(b"(f)", b'(f, backend="neuron", dynamic=False)')},
}


@dataclass(frozen=True)
class Done:
    """What a command gave."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The standard output."""
        return self.out.decode()

    @property
    def json(self) -> Any:
        """The standard output, parsed."""
        return json.loads(self.out)


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Put the files into a folder."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def command(folder: Path, *arguments: str, **environment: str) -> Done:
    """Run the tool in a folder, as a process of its own. A traceback is never right."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "NO_COLOR"))}
    where = {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder.parent / "cache"), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "migrate.cli", *arguments],
        cwd=folder,
        env={**base, **where, **environment},
        capture_output=True,
        check=False,
    )
    err = done.stderr.decode()
    assert "Traceback" not in err, err
    return Done(done.returncode, done.stdout, err)


def result_of(files: Mapping[str, bytes], **settings: Any) -> Result:
    """Run the pipeline in this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name).resolve(), files)
        return run_pipeline(folder, [folder], Settings(**settings))


def fixture_tree() -> dict[str, bytes]:
    """The inputs of all fixtures as one repository."""
    folder = ROOT / "fixtures"
    cases = {c: f"{c.parent.parent.name}/{c.parent.name}/{c.name}" for c in sorted(folder.glob("*/*/*.in.py"))}
    return {path: case.read_bytes() for case, path in cases.items()}


def repositories() -> list[Path]:
    """The whole repositories among the fixtures."""
    return sorted(p for p in (ROOT / "fixtures/repos").iterdir() if p.is_dir())


def edited(text: str, edits: list[tuple[dict[str, int], str]]) -> str:
    """A text after replacements of regions, given as SARIF gives them."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + column - 1

    spans = sorted(
        (offset(r["startLine"], r["startColumn"]), offset(r["endLine"], r["endColumn"]), new) for r, new in edits
    )
    for start, end, new in reversed(spans):
        text = text[:start] + new + text[end:]
    return text
