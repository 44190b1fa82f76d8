"""PyTorch on Graphtree: `torch.compile(mode="reduce-overhead")` replays on a tree of ours.

    import torch, graphtree.torch
    graphtree.torch.install()                    # or: python -m graphtree.torch program.py
    model = torch.compile(model, mode="reduce-overhead")

Nothing else in a program changes. What is not there is refused by name when it is asked for.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _why:
    raise ImportError("graphtree.torch needs PyTorch, and it cannot be imported here: %s. "
                      "The rest of the package works without it" % _why) from _why

from ._function import function
from ._install import Installed, install, installed, scope, uninstall
from ._native import CannotBeUsed
from ._report import dot, explain, snapshot, stats

__all__ = ["CannotBeUsed", "Installed", "dot", "explain", "function", "install", "installed",
           "scope", "snapshot", "stats", "uninstall"]
