"""The part of the stand-in that lives in the user's process, loaded as `_neuron_migrate_standin`.

Everything here may import torch; nothing here may be imported by the tool's own process. Modules import
one another relatively, so that no common name of ours is ever looked up on the user's path.
"""

from __future__ import annotations


def start(session_folder: str) -> None:
    """Arrange that the stand-in is installed as soon as this process imports torch.

    TorchNeuron too is loaded at the end of `import torch` (autoload through the entry point group
    `torch.backends`), so a script sees the device at the same moment.
    """
    from . import importhook, settings, workingcopy

    session = settings.load(session_folder)
    if session.moved:
        workingcopy.enter(*session.moved)
    if session.seed is not None:
        import random

        random.seed(session.seed)
        importhook.after_import("numpy", lambda module: module.random.seed(session.seed))

    def install(_module: object) -> None:
        from . import install

        install.install(session)

    importhook.after_import("torch", install)
