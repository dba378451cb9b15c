"""What a file is, by its path and its first bytes."""

from __future__ import annotations

import fnmatch
import re

# Kinds that rules read; files of the other kinds are listed as not read.
READ_KINDS = frozenset({"python"})

_BY_SUFFIX = {
    "py": "python",
    "pyi": "python",
    "pyw": "python",
    "ipynb": "notebook",
    "yaml": "yaml",
    "yml": "yaml",
    "sh": "shell",
    "bash": "shell",
    "slurm": "shell",
    "sbatch": "shell",
    "dockerfile": "dockerfile",
    "toml": "toml",
    "json": "json",
    "jsonl": "json",
    "md": "markdown",
    "markdown": "markdown",
    "cu": "cuda",
    "cuh": "cuda",
    "j2": "template",
    "jinja": "template",
    "jinja2": "template",
}
# Formats without text; their bytes are no code, whatever they hold.
_BINARY = frozenset(
    {"7z", "bz2", "gz", "jar", "lz4", "rar", "tar", "tgz", "whl", "xz", "zip", "zst"}
    | {
        "avi",
        "bmp",
        "gif",
        "ico",
        "jpeg",
        "jpg",
        "mov",
        "mp3",
        "mp4",
        "pdf",
        "png",
        "tif",
        "tiff",
        "wav",
        "webm",
        "webp",
    }
    | {"bin", "ckpt", "db", "h5", "mat", "npy", "npz", "onnx", "parquet", "pickle", "pkl", "pt", "pth", "safetensors"}
    | {"sqlite", "tfrecord", "a", "dll", "dylib", "exe", "lib", "o", "pyc", "pyd", "pyo", "so"}
    | {"eot", "otf", "ttf", "woff", "woff2", "xls", "xlsx"}
)
_BY_NAME = (
    ("dockerfile*", "dockerfile"),
    ("containerfile*", "dockerfile"),
    ("*requirements*.txt", "requirements"),
    ("*requirements*.in", "requirements"),
    ("constraints*.txt", "requirements"),
)
_TEST_FOLDERS = frozenset({"tests", "test"})
_SHEBANG_PYTHON = re.compile(rb"#!.*\bpython[\d.]*(?:\s|$)")
_SHEBANG_SHELL = re.compile(rb"#!.*\b(?:ba|da|k|z)?sh(?:\s|$)")
HEAD = 2048


def kind_of(path: str) -> str:
    """The kind of a file by its path alone; empty when only its first line can tell (a name without a suffix)."""
    folder, _, name = path.rpartition("/")
    lower = name.lower()
    stem, dot, suffix = lower.rpartition(".")
    if dot and stem and suffix in _BINARY:
        return "binary"
    if "{{" in path or "{%" in path:
        return "template"
    for pattern, kind in _BY_NAME:
        if fnmatch.fnmatchcase(lower, pattern) and not lower.endswith(".py"):
            return kind
    if suffix == "txt" and folder.rpartition("/")[2] == "requirements":
        return "requirements"
    return _BY_SUFFIX.get(suffix, "other") if dot and stem else ""


def kind_of_script(head: bytes) -> str:
    """The kind of a file without a suffix by its first line, which may name an interpreter."""
    line = head.split(b"\n", 1)[0]
    if _SHEBANG_PYTHON.match(line):
        return "python"
    return "shell" if _SHEBANG_SHELL.match(line) else "other"


def is_test(path: str) -> bool:
    """Whether pytest would collect the file or read it for its tests: by its name, or below `tests/` or `test/`."""
    *folders, name = path.split("/")
    if not _TEST_FOLDERS.isdisjoint(folders):
        return True
    return name == "conftest.py" or (name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")))


def is_generated(head: bytes) -> bool:
    """Whether one of the first five lines says that a program writes the file (`@generated`, or both of "DO NOT EDIT"
    and "generated", as the generators of Go, protobuf and flatc put it)."""
    lower = b"\n".join(head.split(b"\n", 5)[:5]).lower()
    return b"@generated" in lower or (b"do not edit" in lower and b"generated" in lower)
