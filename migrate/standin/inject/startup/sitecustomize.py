"""Start-up hook of the CPU stand-in, for the processes of one `verify` run alone.

The folder of this file is on PYTHONPATH of those processes and holds nothing else. The user's own
`sitecustomize`, which it hides, runs first. The stand-in is loaded under a name that nobody else uses.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _run_hidden_sitecustomize(own_folder):
    """Run the `sitecustomize` that would have run without this one, if there is any."""
    others = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != own_folder]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _load_standin(runtime):
    name = "_neuron_migrate_standin"
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(runtime, "__init__.py"), submodule_search_locations=[runtime]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return package


def _main():
    session = os.environ.get("_NEURON_MIGRATE_STANDIN")
    own_folder = os.path.dirname(os.path.abspath(__file__))
    try:
        _run_hidden_sitecustomize(own_folder)
    finally:
        sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != own_folder]
        if session:
            runtime = os.path.join(os.path.dirname(own_folder), "runtime")
            _load_standin(runtime).start(session)


_main()
