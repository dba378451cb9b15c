"""Run by the user's interpreter: prints what it is and has, as JSON. Imports nothing heavy."""

import importlib.util
import json
import os
import platform
import shutil
import sys
import sysconfig


def torch_version():
    """Version and commit of torch, from the file that its wheel writes, without importing torch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None, None
    facts = {}
    try:
        with open(os.path.join(next(iter(spec.submodule_search_locations)), "version.py"), encoding="utf-8") as file:
            exec(compile(file.read(), "version.py", "exec"), facts)
    except (OSError, SyntaxError):
        return None, None
    return facts.get("__version__"), facts.get("git_version")


def missing():
    """What a build of a C++ extension needs and this machine lacks."""
    found = []
    compiler = os.environ.get("CXX", "c++").split()[0]
    if not shutil.which(compiler) and ("CXX" in os.environ or not shutil.which("g++")):
        found.append("a C++ compiler (g++; Debian and Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++)")
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    if not shutil.which("ninja", path=path):
        found.append(f"ninja ({sys.executable} -m pip install ninja)")
    if importlib.util.find_spec("setuptools") is None:
        found.append(f"setuptools ({sys.executable} -m pip install setuptools)")
    if not os.path.isfile(os.path.join(sysconfig.get_path("include"), "Python.h")):
        found.append("the headers of Python (Debian and Ubuntu: apt-get install python3-dev)")
    return found


if __name__ == "__main__":
    version, commit = torch_version()
    print(
        json.dumps(
            {
                "python": platform.python_version(),
                "cache_tag": sys.implementation.cache_tag,
                "torch": version and str(version),
                "torch_commit": commit or "",
                "missing": missing(),
            }
        )
    )
