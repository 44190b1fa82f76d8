"""The part that is compiled on the user's machine against the installed torch, and kept.

    sources, torch, Python, compiler --hash--> CACHE/graphtree_torch-2.11.0-HASH.so --> a module

The cache is $GRAPHTREE_TORCH_CACHE, or graphtree/torch in the user's folder for caches. Processes
share it: a file is written under a name of its own and renamed when it is whole. Which methods
torch's allocator has is asked of its header, and not of its version.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Dict, List, Optional

import torch

from .. import LIBRARY_PATH

_SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")
# Names that newer versions of torch have; their headers say whether they are there.
_ASKED = {
    "c10/cuda/CUDACachingAllocator.h": (
        "markCaptureBegin", "getContextForPointer", "supportsUserMetadata", "annotateMemory",
        "attachOomRejectionObserver", "allocateWithAddress"),
    "ATen/cuda/CUDAGeneratorImpl.h": ("capture_states_",),
}
_LIBRARIES = ("torch_python", "torch_cuda", "torch_cpu", "c10_cuda", "c10")


class CannotBeUsed(RuntimeError):
    """Graphtree cannot stand under this torch here; torch runs as it did before."""


def _torch_folder() -> str:
    return os.path.dirname(os.path.abspath(torch.__file__))


def cache_folder() -> str:
    """Where compiled files are kept."""
    named = os.environ.get("GRAPHTREE_TORCH_CACHE")
    if named:
        return named
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "graphtree", "torch")


def sources() -> List[str]:
    """All files that are compiled, from the sources' folder on."""
    found = []
    for folder, _, names in os.walk(_SOURCES):
        found += [os.path.relpath(os.path.join(folder, name), _SOURCES) for name in names
                  if name.endswith((".h", ".cc"))]
    return sorted(found)


def _cuda_includes() -> List[str]:
    """CUDA's headers: a toolkit's, or those that come with torch's and Triton's wheels."""
    site = os.path.dirname(_torch_folder())
    major = (torch.version.cuda or "13").split(".")[0]
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [os.path.join(home, "include") for home in homes if home]
    places += [os.path.join(site, "nvidia", "cu" + major, "include"),
               os.path.join(site, "nvidia", "cuda_runtime", "include")]
    for place in places:
        if os.path.exists(os.path.join(place, "cuda_runtime_api.h")):
            return [place, os.path.join(site, "triton", "backends", "nvidia", "include")]
    raise CannotBeUsed("CUDA's headers (cuda_runtime_api.h) are neither in $CUDA_HOME nor beside "
                       "torch: install a CUDA toolkit, or nvidia-cuda-runtime")


def _definitions() -> List[str]:
    found = ["-D_GLIBCXX_USE_CXX11_ABI=%d" % int(torch._C._GLIBCXX_USE_CXX11_ABI)]
    for header, names in _ASKED.items():
        with open(os.path.join(_torch_folder(), "include", header), encoding="utf-8") as file:
            text = file.read()
        found += ["-DGRAPHTREE_TORCH_HAS_" + name for name in names
                  if re.search(r"\b%s\b" % name, text)]
    return found


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "g++", "c++"):
        if name and shutil.which(name):
            return name
    raise CannotBeUsed("there is no C++ compiler (g++) here to build Graphtree's part of torch: "
                       "install one, or name it in $CXX")


def _command(to: str) -> List[str]:
    root = _torch_folder()
    systems = [os.path.join(root, "include"),
               os.path.join(root, "include", "torch", "csrc", "api", "include"),
               sysconfig.get_paths()["include"], *_cuda_includes()]
    command = [_compiler(), "-O2", "-std=c++20", "-fPIC", "-shared", "-fvisibility=hidden",
               *_definitions(), "-I" + _SOURCES]
    for system in systems:
        command += ["-isystem", system]
    command += [os.path.join(_SOURCES, "runtime", "torch", "module.cc"), "-o", to,
                "-L" + os.path.join(root, "lib")]
    return command + ["-l" + name for name in _LIBRARIES] + ["-Wl,--exclude-libs,ALL"]


def _key() -> str:
    hashed = hashlib.sha256()
    for name in sources():
        with open(os.path.join(_SOURCES, name), "rb") as file:
            hashed.update(name.encode() + b"\0" + file.read())
    version = subprocess.run([_compiler(), "--version"], capture_output=True, text=True,
                             check=False).stdout.partition("\n")[0]
    for text in (torch.__version__, str(torch.version.git_version), sys.version, version,
                 " ".join(_definitions())):
        hashed.update(text.encode() + b"\0")
    return hashed.hexdigest()[:20]


def _build(path: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(suffix=".so", dir=folder)
    os.close(handle)
    try:
        done = subprocess.run(_command(unfinished), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            words = [line for line in done.stderr.splitlines() if "error" in line] or ["?"]
            raise CannotBeUsed("Graphtree's part could not be compiled against torch %s: %s"
                               % (torch.__version__, words[0]))
        os.chmod(unfinished, 0o755)
        os.replace(unfinished, path)
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise


_loaded: Dict[str, Any] = {}


def check_torch() -> None:
    """Raises, in a sentence, where this torch has no GPU for us."""
    if torch.version.cuda is None:
        raise CannotBeUsed("this torch (%s) is built without CUDA, and Graphtree stands under "
                           "torch on CUDA alone" % torch.__version__)
    if not torch.cuda.is_available():
        raise CannotBeUsed("torch (%s) finds no GPU here" % torch.__version__)


def native(path: Optional[str] = None) -> Any:
    """The compiled module; compiled now if it never was. Raises CannotBeUsed, in a sentence."""
    if "module" in _loaded:
        return _loaded["module"]
    if not sources():
        raise CannotBeUsed("this installation of graphtree lacks its sources for torch (%s)"
                           % _SOURCES)
    if path is None:
        path = os.path.join(cache_folder(), "graphtree_torch-%s-%s.so" % (
            torch.__version__.replace("+", "_"), _key()))
    if not os.path.exists(path):
        _build(path)
    loader = importlib.machinery.ExtensionFileLoader("graphtree_torch", path)
    spec = importlib.util.spec_from_file_location("graphtree_torch", path, loader=loader)
    assert spec is not None
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        module.load_library(LIBRARY_PATH)
    except ImportError as why:
        raise CannotBeUsed("what was compiled for torch %s cannot be loaded: %s"
                           % (torch.__version__, why)) from why
    _loaded["module"] = module
    return module
