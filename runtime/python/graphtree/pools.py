"""Pools of one's own: blocks at addresses that never move, with checkpoints.

>>> import graphtree
>>> with graphtree.Device("host") as device, graphtree.Pool(device) as pool:
...     with device.stream() as stream:
...         before = pool.take_checkpoint()
...         block = pool.allocate(1000, stream)
...         pool.restore(before)
...         print(block.bytes >= 1000, pool.stats.live_blocks)
True 0
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

from . import _interface as c
from . import _wanted
from ._handles import Owned, Rank
from ._library import lib
from ._snapshots import read_snapshot
from ._wanted import AnyPath
from .devices import Device
from .errors import check
from .reasons import Contents, PoolStats
from .streams import Stream
from .tree_parts import SharedBytes


class Block(NamedTuple):
    """Bytes of a pool."""

    id: int
    """Names the block, and never another one."""
    address: int
    bytes: int


def _checkpoint(given: Any) -> c.gt_checkpoint:
    if not isinstance(given, c.gt_checkpoint):
        raise _wanted.wrong_type(given, "the checkpoint", "what take_checkpoint returns")
    return given


class Pool(Owned):
    """Beside those that trees have. Threads: one at a time; a second one gets an error. `free` may
    be called on any. Closing it is an error while blocks are live."""

    rank = Rank.TREE

    def __init__(self, device: Device, name: str = "pool", *, limit_bytes: int = 0,
                 address_bytes: int = 0, initial_bytes: int = 0, wished_base: int = 0,
                 poison_on_free: bool = False, canaries: bool = False,
                 shared_bytes: Optional[SharedBytes] = None) -> None:
        _wanted.thing(device, Device, "the device")
        options = c.gt_pool_options(
            name=_wanted.text(name, "the pool's name"), limit_bytes=limit_bytes,
            address_bytes=address_bytes, initial_bytes=initial_bytes, wished_base=wished_base,
            poison_on_free=poison_on_free, canaries=canaries,
            shared_bytes=0 if shared_bytes is None else _wanted.thing(
                shared_bytes, SharedBytes, "shared_bytes").handle)
        handle = ctypes.c_uint64()
        check(lib.gt_pool_new(device.handle, ctypes.byref(options), ctypes.byref(handle)))
        self.device = device
        self._own(handle.value)

    def allocate(self, size: int, stream: Stream, *, alignment: int = 0,
                 lasting: bool = False) -> Block:
        """Bytes that may be used on the stream at once. `lasting`: no restore touches them."""
        out = c.gt_block()
        check(lib.gt_pool_allocate(self._handle, size, alignment, lasting,
                                   _wanted.thing(stream, Stream, "the stream").handle,
                                   ctypes.byref(out)))
        return Block(out.id, out.address, out.bytes)

    def free(self, block: Block) -> None:
        """The bytes may be another's."""
        check(lib.gt_pool_free(self._handle, _wanted.thing(block, Block, "the block").id))

    def use_on(self, block: Block, stream: Stream) -> None:
        """Work of `stream` uses the block, too."""
        check(lib.gt_pool_use_on(self._handle, _wanted.thing(block, Block, "the block").id,
                                 _wanted.thing(stream, Stream, "the stream").handle))

    def take_checkpoint(self) -> c.gt_checkpoint:
        """Which blocks are live now. It copies nothing."""
        out = c.gt_checkpoint()
        check(lib.gt_pool_take_checkpoint(self._handle, ctypes.byref(out)))
        return out

    def restore(self, checkpoint: c.gt_checkpoint) -> None:
        """Goes back to it."""
        check(lib.gt_pool_restore(self._handle, _checkpoint(checkpoint)))

    def drop_checkpoint(self, checkpoint: c.gt_checkpoint) -> None:
        """Forgets it."""
        check(lib.gt_pool_drop_checkpoint(self._handle, _checkpoint(checkpoint)))

    @property
    def stats(self) -> PoolStats:
        """What it has."""
        found = PoolStats()
        check(lib.gt_pool_look(self._handle, ctypes.byref(found)))
        return found

    def trim(self, goal_bytes: int = 0) -> int:
        """Gives memory back that nobody uses, until at most so much is mapped; returns how much."""
        out = ctypes.c_uint64()
        check(lib.gt_pool_trim(self._handle, goal_bytes, ctypes.byref(out)))
        return out.value

    def set_limit(self, size: int) -> None:
        """The most physical memory that it may have."""
        check(lib.gt_pool_set_limit(self._handle, size))

    def park(self, contents: Contents = Contents.KEEP) -> None:
        """Its memory leaves the device, and comes back under the same addresses."""
        check(lib.gt_pool_park(self._handle, contents))

    def wake(self) -> None:
        """It comes back."""
        check(lib.gt_pool_wake(self._handle))

    def write_snapshot(self, path: AnyPath) -> None:
        """As `Tree.write_snapshot`."""
        check(lib.gt_pool_write_snapshot(self._handle, _wanted.path(path, "the path")))

    def snapshot(self) -> Any:
        """As `Tree.snapshot`."""
        return read_snapshot(self.write_snapshot)
