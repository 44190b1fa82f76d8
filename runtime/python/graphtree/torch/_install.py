"""Putting our manager in the place of torch's, and back.

    install()      torch._inductor.cudagraph_trees.CUDAGraphTreeManager is ours; the allocator's
                   shim is in front of torch's
    uninstall()    both are torch's again. What was handed out stays valid; functions that were
                   compiled meanwhile go on replaying, and need the shim until the last of them goes
"""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Dict, Iterator, NamedTuple, Optional

import torch
from torch._inductor import cudagraph_trees as _trees

from . import _native
from ._manager import TreeManager, cudagraphify_impl, live_managers
from ._options import Options, check_torch_options

_lock = threading.RLock()
_before: Dict[str, Any] = {}


class Installed(NamedTuple):
    """What was replaced, and what goes on as it was."""

    replaced: str
    torch_version: str
    notes: str

    def __str__(self) -> str:
        return "%s (torch %s)%s" % (self.replaced, self.torch_version,
                                    ": " + self.notes if self.notes else "")


def _recorded_before() -> str:
    """Trees of torch's own that this thread has."""
    containers = getattr(_trees.local, "tree_manager_containers", {})
    theirs = [index for index, container in containers.items()
              if container.tree_manager is not None
              and not isinstance(container.tree_manager, TreeManager)]
    if not theirs:
        return ""
    return ("torch's own trees are in use already on device %s: what they have recorded goes on "
            "as it is, and so does what is compiled for that device until torch.compiler.reset()"
            % ", ".join(map(str, theirs)))


def install(**options: Any) -> Installed:
    """Puts our manager in the place of torch's. Says what it replaced.

    Options: pool_bytes, initial_bytes, strict. Raises CannotBeUsed, in a sentence, where it cannot
    be: torch runs as before then. Installing twice is an error.
    """
    wanted = Options.of(options)
    with _lock:
        if _before:
            raise RuntimeError("graphtree.torch is installed already: uninstall() it first, to "
                               "install it with other options")
        _native.check_torch()
        check_torch_options()
        module = _native.native()
        module.set_hooks(_trees.MarkStepBox, _generation_tracker(),
                         torch._C._cuda_clearCublasWorkspaces)
        module.install_allocator()
        notes = _recorded_before()
        _before["manager"] = _trees.CUDAGraphTreeManager
        _before["impl"] = _trees.cudagraphify_impl
        TreeManager.options = wanted
        _trees.CUDAGraphTreeManager = TreeManager  # type: ignore[misc,assignment]
        _trees.cudagraphify_impl = functools.partial(  # type: ignore[assignment]
            cudagraphify_impl, _before["impl"])
    return Installed("torch._inductor.cudagraph_trees.CUDAGraphTreeManager, and an allocator in "
                     "front of torch's", torch.__version__, notes)


def _generation_tracker() -> Any:
    from torch._dynamo.mutation_guard import GenerationTracker
    return GenerationTracker


def uninstall() -> str:
    """Puts torch's manager back, and says what goes on. Not being installed is an error."""
    with _lock:
        if not _before:
            raise RuntimeError("graphtree.torch is not installed")
        _trees.CUDAGraphTreeManager = _before["manager"]  # type: ignore[misc]
        _trees.cudagraphify_impl = _before["impl"]
        _before.clear()
        left = len(live_managers())
        if left:
            return ("torch's manager is back; %d tree%s of Graphtree's %s replaying what was "
                    "compiled on %s, until torch.compiler.reset(), and the allocator's shim stays "
                    "for that" % (left, "s"[:left > 1], "go on" if left > 1 else "goes on",
                                  "them" if left > 1 else "it"))
        _native.native().uninstall_allocator()
        return "torch's manager and allocator are back"


def installed() -> bool:
    """Whether our manager is in the place of torch's."""
    return bool(_before)


@contextlib.contextmanager
def scope(**options: Any) -> Iterator[Installed]:
    """For one region of a program: what is compiled in it is on Graphtree, and stays so."""
    made = install(**options)
    try:
        yield made
    finally:
        uninstall()


def install_or_say() -> Optional[Installed]:
    """For `python -m graphtree.torch`: where it cannot be, one sentence, and torch as before."""
    import sys
    try:
        return install()
    except _native.CannotBeUsed as why:
        print("graphtree.torch is not installed, and torch runs as before: %s" % why,
              file=sys.stderr)
        return None
