"""Graphs of one's own: captured from a stream, instantiated, launched, patched."""

from __future__ import annotations

import ctypes
import enum
import json
from typing import Any, Sequence, Union

from . import _interface as c
from . import _wanted
from ._handles import Owned, Rank
from ._integers import element
from ._library import lib, text_of
from .devices import Device
from .errors import check
from .kernels import Kernel
from .streams import Stream


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

    def __init__(self, device: Device, handle: int) -> None:
        self.device = device
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
        return Executable(self.device, handle.value)


class Executable(Owned):
    """Made from a graph, and launched. Threads: one at a time."""

    rank = Rank.GRAPH

    def __init__(self, device: Device, handle: int) -> None:
        self.device = device
        self._own(handle)

    def launch(self, stream: Stream) -> None:
        """Launches it."""
        on = _wanted.thing(stream, Stream, "the stream")
        check(lib.gt_executable_launch(self._handle, on.handle))

    def upload(self, stream: Stream) -> None:
        """Takes the first launch's set-up off it."""
        on = _wanted.thing(stream, Stream, "the stream")
        check(lib.gt_executable_upload(self._handle, on.handle))

    def update(self, graph: Graph) -> UpdateResult:
        """The next launch runs the other graph."""
        out = ctypes.c_int32()
        other = _wanted.thing(graph, Graph, "the graph")
        check(lib.gt_executable_update(self._handle, other.handle, ctypes.byref(out)))
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

    def patch_copy(self, op: int, target: int, source: int, size: int) -> None:
        """Likewise for a copy."""
        check(lib.gt_executable_patch_copy(self._handle, op, target, source, size))

    def patch_fill(self, op: int, target: int, value: int, width: int, count: int) -> None:
        """Likewise for a fill."""
        check(lib.gt_executable_patch_fill(self._handle, op, target, element(value, width), width,
                                           count))
