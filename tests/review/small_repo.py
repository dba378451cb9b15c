"""A small repository whose findings stay the same while rules are added: it names the rules that it means."""

from __future__ import annotations

from pathlib import Path

SETTINGS = 'select = ["TN101", "TN102", "TN103", "TN305", "TN003"]\n'
MODEL = """\
import torch


def place(model, x):
    x = x.cuda()
    y = x.cuda(0)
    return model.cuda(), y
"""
TRAIN = """\
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"


def main(model, batch):
    model.to("cuda")
    torch.cuda.quite_unknown()
    return batch.cuda()
"""


def make(folder: Path, **files: str) -> Path:
    """Write the repository; `files` replace or add modules by name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "neuron-migrate.toml").write_text(SETTINGS)
    for name, text in {"model": MODEL, "train": TRAIN, **files}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def text(folder: Path, name: str) -> str:
    """A module as it is now."""
    return (folder / f"{name}.py").read_bytes().decode()
