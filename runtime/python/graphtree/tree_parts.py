"""What goes with trees: budgets, shared memory, random numbers, workspaces, observers of graphs."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._handles import Owned
from ._library import lib
from .errors import check
from .parameters import Range

if TYPE_CHECKING:
    from .trees import Tree


class Budget(Owned):
    """What several trees may hold together; 0 is no limit."""

    def __init__(self, nodes: int = 0, executables: int = 0, executable_bytes: int = 0) -> None:
        handle = ctypes.c_uint64()
        check(lib.gt_budget_new(nodes, executables, executable_bytes, ctypes.byref(handle)))
        self._own(handle.value)


class SharedBytes(Owned):
    """Physical memory that pools and trees which are given it have mapped together: never more than
    the limit.

    >>> SharedBytes(1 << 30).taken
    0
    """

    def __init__(self, limit: int) -> None:
        handle = ctypes.c_uint64()
        check(lib.gt_shared_bytes_new(limit, ctypes.byref(handle)))
        self.limit = limit
        self._own(handle.value)

    @property
    def taken(self) -> int:
        """How much of it is mapped now."""
        limit, taken = ctypes.c_uint64(), ctypes.c_uint64()
        check(lib.gt_shared_bytes_look(self._handle, ctypes.byref(limit), ctypes.byref(taken)))
        return taken.value


class Generator(Owned):
    """Random numbers: a seed and the position of the next one. Any number of trees may draw.

    >>> generator = Generator(7)
    >>> generator.position
    (7, 0)
    """

    def __init__(self, seed: int) -> None:
        handle = ctypes.c_uint64()
        check(lib.gt_generator_new(seed, ctypes.byref(handle)))
        self._own(handle.value)

    def seed(self, seed: int, offset: int = 0) -> None:
        """Starts another sequence, or goes to a position. Not while somebody draws."""
        check(lib.gt_generator_seed(self._handle, seed, offset))

    @property
    def position(self) -> "tuple[int, int]":
        """(seed, offset)."""
        seed, offset = ctypes.c_uint64(), ctypes.c_uint64()
        check(lib.gt_generator_look(self._handle, ctypes.byref(seed), ctypes.byref(offset)))
        return seed.value, offset.value


class Workspace(Owned):
    """Memory that a library keeps between calls and points its kernels to. Recordings that have it
    as it was are made again. It is the tree's until that is closed."""

    def __init__(self, tree: Tree, name: str, memory: Range) -> None:
        from .trees import Tree  # the import is late, as that module needs this one
        handle = ctypes.c_uint64()
        check(lib.gt_workspace_new(_wanted.thing(tree, Tree, "the tree").handle,
                                   _wanted.text(name, "the workspace's name"),
                                   c.gt_range.of(*memory), ctypes.byref(handle)))
        self.tree = tree
        self._own(handle.value)

    def move(self, memory: Range) -> None:
        """The library has other memory now."""
        check(lib.gt_workspace_move(self._handle, c.gt_range.of(*memory)))

    def touch(self) -> None:
        """What is there is another thing now."""
        check(lib.gt_workspace_touch(self._handle))


class GraphEvent(NamedTuple):
    """What has become of one of a tree's graphs."""

    moment: str      # "CAPTURE_BEGIN", "CAPTURE_END", "INSTANTIATE", "REPLAY_BEGIN", ...
    ok: bool
    function: str
    recording: int
    section: int


_MOMENTS = {c.GT_CAPTURE_BEGIN: "CAPTURE_BEGIN", c.GT_CAPTURE_END: "CAPTURE_END",
            c.GT_INSTANTIATE: "INSTANTIATE", c.GT_REPLAY_BEGIN: "REPLAY_BEGIN",
            c.GT_REPLAY_END: "REPLAY_END", c.GT_DESTROY: "DESTROY"}

# The name does not end with a 0, so it is read from where its pointer lies.
_NAME_AT: int = getattr(c.gt_graph_event, "function").offset

_SAW = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(c.gt_graph_event))


def _saw(context: Any, event: Any, _find: Any = _callbacks.find,
         _failures: Any = _callbacks.host_failures, _address: Any = ctypes.c_void_p.from_address,
         _name_at: int = _NAME_AT) -> None:
    found = _find(context)
    if found is None:
        return
    try:
        told = event.contents
        name = ctypes.string_at(_address(ctypes.addressof(told) + _name_at).value,
                                told.function_bytes)
        found(GraphEvent(_MOMENTS.get(told.moment, "?"), bool(told.ok),
                         name.decode("utf-8", "replace"), told.recording, told.section))
    except BaseException as failure:
        _failures.append(failure)


_saw_in_c = _callbacks.immortal(_SAW(_saw))

class Observer(Owned):
    """Is told what becomes of a tree's graphs, on the thread that acts. It must not call the tree.
    What it raises, the next wait for the device raises."""

    def __init__(self, tree: Tree, saw: Callable[[GraphEvent], None]) -> None:
        from .trees import Tree  # the import is late, as that module needs this one
        _wanted.thing(tree, Tree, "the tree")
        number, handle = _callbacks.note(_wanted.function(saw, "the observer")), ctypes.c_uint64()
        try:
            check(lib.gt_tree_observe(tree.handle, _saw_in_c, number, _callbacks.forget,
                                      ctypes.byref(handle)))
        except BaseException:
            _callbacks.strike(number)
            raise
        self.tree = tree
        self._own(handle.value)
