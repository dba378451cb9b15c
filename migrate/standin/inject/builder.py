"""Run by the user's interpreter: compiles the sources (first argument) into a folder (second argument)."""

import glob
import os
import sys


def main():
    sources, folder = sys.argv[1:]
    from torch.utils import cpp_extension

    # torch looks for ninja on PATH; a virtual environment that is not active has it beside its python.
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    os.environ.setdefault("MAX_JOBS", str(min(os.cpu_count() or 1, 4)))
    cpp_extension.load(
        "neuron_standin_native",
        sorted(glob.glob(os.path.join(sources, "*.cpp"))),
        extra_cflags=["-O1", "-w"],
        build_directory=folder,
        verbose=True,
    )


main()
