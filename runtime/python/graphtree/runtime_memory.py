"""Memory of a runtime that is not its programs' own: what is parked by a tag, and what is lent."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Optional, Tuple

from . import _interface as c
from . import _wanted
from ._copying import Uncopied
from ._handles import Owned
from ._integers import integer
from ._library import lib
from .errors import check
from .layouts import Layout
from .parameters import Range
from .reasons import Contents
from .streams import Stream
from .tensors import Tensor

if TYPE_CHECKING:
    from .runtimes import Runtime


class TaggedMemory(Uncopied):
    """Memory that leaves the device with its tag, and comes back under the same addresses. It stays
    until it is removed, or its runtime closed."""

    closed = _closed = False

    def __init__(self, runtime: Runtime, tag: str, name: str, size: int, device: int,
                 contents: Optional[Contents]) -> None:
        made = c.gt_tagged_memory(
            tag=_wanted.text(tag, "tag"), name=_wanted.text(name, "the memory's name"),
            bytes=size, device=device, has_contents=contents is not None,
            contents=contents or Contents.DROP)
        found = c.gt_range()
        check(lib.gt_runtime_add_memory(runtime.handle, ctypes.byref(made), ctypes.byref(found)))
        self.runtime = runtime
        self.device = runtime.devices[device]
        self.tag = tag
        self.name = name
        self.address: int = found.address
        self.size: int = found.bytes

    @property
    def home(self) -> Tuple[int, int]:
        """Where it lies, in DLPack's numbers."""
        return (1, 0) if self.device.is_host else (2, self.device.index)

    @property
    def on_host(self) -> bool:
        """It is the device's."""
        return False

    def tensor(self, layout: Layout, offset_bytes: int = 0) -> Tensor:
        """A tensor that looks into it."""
        offset_bytes = integer(offset_bytes, ctypes.c_int64, "offset_bytes")
        if offset_bytes < 0 or offset_bytes + layout.extent_bytes > self.size:
            raise ValueError("%r at byte %d lies beyond the %d bytes of '%s'"
                             % (layout, offset_bytes, self.size, self.name))
        return Tensor.at(self.address + offset_bytes, layout, self)

    def remove(self) -> None:
        """Gives it back. No work uses it any more."""
        check(lib.gt_runtime_remove_memory(self.runtime.handle, self.name.encode()))
        self.closed = self._closed = True


class Loan(Owned):
    """Idle memory of a lane, lent until it is closed; without `until_given_back` it ends when the
    lane's next step begins, at the latest."""

    def __init__(self, runtime: Runtime, size: int, stream: Stream, lane: int, device: int,
                 until_given_back: bool) -> None:
        handle = ctypes.c_uint64()
        check(lib.gt_runtime_lend(runtime.handle, lane, device, size, until_given_back,
                                  stream.handle, ctypes.byref(handle)))
        self.runtime = runtime
        self._own(handle.value)

    @property
    def range(self) -> Range:
        """Nothing once the loan is over."""
        out = c.gt_range()
        check(lib.gt_loan_range(self._handle, ctypes.byref(out)))
        return Range(out.address, out.bytes)

    def use_on(self, stream: Stream) -> None:
        """Work on this stream, too, uses the bytes."""
        check(lib.gt_loan_use_on(self._handle,
                                 _wanted.thing(stream, Stream, "the stream").handle))
