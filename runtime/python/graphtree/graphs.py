"""Graphs of one's own: captured from a stream, instantiated, launched, patched."""

from __future__ import annotations

import ctypes
import enum
import json
from typing import Any, Dict, Sequence, Union

from . import _interface as c
from . import _wanted
from ._handles import Owned, Rank
from ._integers import element
from ._library import lib, text_of
from .devices import Device
from .errors import check
from .kernels import Kernel
from .streams import Stream, somebodys


class UpdateResult(enum.IntEnum):
    """What became of an update."""

    UPDATED = c.GT_UPDATED
    TOPOLOGY_DIFFERS = c.GT_TOPOLOGY_DIFFERS
    """Other ops or edges: the executable is unchanged."""
    OP_NOT_UPDATABLE = c.GT_OP_NOT_UPDATABLE
    """Likewise."""


class Graph(Owned):
    """What a capture recorded (`Stream.begin_capture`); it never changes."""

    rank = Rank.GRAPH

    def __init__(self, device: Device, handle: int, keeps: Sequence[Any] = ()) -> None:
        self.device = device
        self.keeps = tuple(keeps)  # somebody's tensors that it uses
        self._own(handle)

    def _describe(self, form: int) -> str:
        out = ctypes.c_uint64()
        check(lib.gt_graph_describe(self._handle, form, None, ctypes.byref(out)))
        return text_of(out.value)

    def __len__(self) -> int:
        count = ctypes.c_size_t()
        check(lib.gt_graph_describe(self._handle, c.GT_OPS_JSON, ctypes.byref(count), None))
        return count.value

    def ops(self) -> Any:
        """Its ops, as dicts and lists."""
        return json.loads(self._describe(c.GT_OPS_JSON))

    def graphviz(self) -> str:
        """The same for Graphviz."""
        return self._describe(c.GT_OPS_GRAPHVIZ)

    def instantiate(self) -> Executable:
        """An executable, which may outlive the graph."""
        handle = ctypes.c_uint64()
        check(lib.gt_graph_instantiate(self._handle, ctypes.byref(handle)))
        return Executable(self.device, handle.value, self.keeps)


class Executable(Owned):
    """Made from a graph, and launched. Threads: one at a time.

    It keeps somebody's tensors that its launches use, and each launch keeps them until it is done.
    """

    rank = Rank.GRAPH

    def __init__(self, device: Device, handle: int, keeps: Sequence[Any] = ()) -> None:
        self.device = device
        self._of_graph = tuple(keeps)
        self._of_ops: Dict[int, Sequence[Any]] = {}  # what patches have brought
        self._keeps: Sequence[Any] = self._of_graph
        self._own(handle)

    def launch(self, stream: Stream) -> None:
        """Launches it."""
        on = _wanted.thing(stream, Stream, "the stream")
        check(lib.gt_executable_launch(self._handle, on.handle))
        if self._keeps:
            on.hold([self._keeps])

    def upload(self, stream: Stream) -> None:
        """Takes the first launch's set-up off it."""
        on = _wanted.thing(stream, Stream, "the stream")
        check(lib.gt_executable_upload(self._handle, on.handle))

    def update(self, graph: Graph) -> UpdateResult:
        """The next launch runs the other graph."""
        out = ctypes.c_int32()
        other = _wanted.thing(graph, Graph, "the graph")
        check(lib.gt_executable_update(self._handle, other.handle, ctypes.byref(out)))
        if out.value == UpdateResult.UPDATED:
            self._keeps = self._of_graph = other.keeps
            self._of_ops.clear()
        return UpdateResult(out.value)

    def patch_kernel(self, op: int, kernel: Kernel, *arguments: Any,
                     grid: Union[int, Sequence[int]] = 1, block: Union[int, Sequence[int]] = 1,
                     shared_bytes: int = 0) -> None:
        """New arguments for one op, by its number in the graph; launches in flight do not see
        them."""
        _wanted.thing(kernel, Kernel, "the kernel")
        call = kernel.call(arguments, grid, block, shared_bytes, False)
        check(lib.gt_executable_patch_kernel(self._handle, op, kernel.handle,
                                             ctypes.byref(call.shape), call.args, call.given))
        self._of_ops[op] = somebodys(arguments)
        self._keeps = self._of_graph + tuple(tensor for tensors in self._of_ops.values()
                                             for tensor in tensors)

    def patch_copy(self, op: int, target: int, source: int, size: int) -> None:
        """Likewise for a copy."""
        check(lib.gt_executable_patch_copy(self._handle, op, target, source, size))

    def patch_fill(self, op: int, target: int, value: int, width: int, count: int) -> None:
        """Likewise for a fill."""
        check(lib.gt_executable_patch_fill(self._handle, op, target, element(value, width), width,
                                           count))
