"""What owns a handle: closing, dropping, and the end of the interpreter.

    close()   releases the handle, once; what cannot be released now raises, and stays open
    dropped   the same, on whatever thread; what cannot be released yet (a device of which something
              is left) is released as soon as that has gone
    at exit   what is open is closed, in the order of `Rank`: what uses something before what it
              uses. After that no callback reaches Python any more

A handle that was closed stays in its object, and the library tells that it is a dead one: there is
no second book about what is open.
"""

from __future__ import annotations

import atexit
import enum
import os
import weakref
from types import TracebackType
from typing import Any, List, Optional, Set, Type, TypeVar

from ._copying import Uncopied
from ._library import lib
from .errors import check

_Self = TypeVar("_Self", bound="Owned")


class Rank(enum.IntEnum):
    """In which order things are closed when the interpreter ends."""

    USER = 0      # what is looked at, lent or prepared
    RUNTIME = 1
    TREE = 2
    GRAPH = 3
    MEMORY = 4
    STREAM = 5
    KERNEL = 6
    DEVICE = 7


# Weak: who drops a thing has it closed then.
_open: "Set[weakref.ref[Owned]]" = set()
# Devices that were dropped while something of theirs was left.
_left_devices: List[int] = []
_pid = os.getpid()


def _forget(ref: "weakref.ref[Owned]") -> None:
    _open.discard(ref)


def _close_left_devices() -> None:
    for device in list(_left_devices):
        error = lib.gt_release(device)
        if error:
            lib.gt_release(error)
        else:
            _left_devices.remove(device)


class Owned(Uncopied):
    """Owns a handle of the library's, alone."""

    rank = Rank.USER
    _handle = 0
    _closed = False

    def _own(self, handle: int) -> None:
        self._handle = handle
        _open.add(weakref.ref(self, _forget))

    @property
    def handle(self) -> int:
        """The handle, for functions of graphtree.h that have no method here."""
        return self._handle

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    def close(self) -> None:
        """Releases it. A second time is fine. Where something that is left stands against it, that
        is an error, and nothing changes."""
        if not self._closed and self._handle:
            check(lib.gt_release(self._handle))
        self._closed = True
        if _left_devices:
            _close_left_devices()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        try:
            self.close()
        except Exception:
            # What went wrong inside says more than what it has left open.
            if value is None:
                raise

    def __del__(self, _lib: Any = lib, _left: List[int] = _left_devices) -> None:
        # The defaults are there when the module's own names are gone, at the interpreter's end.
        if self._closed or not self._handle:
            return
        self._closed = True
        error = _lib.gt_release(self._handle)
        if error:
            _lib.gt_release(error)
            if self.rank is Rank.DEVICE:
                _left.append(self._handle)
        elif _left and _close_left_devices is not None:
            _close_left_devices()


def _close_all() -> None:
    """Everything that is open, users first. What fails here has nobody left to be told."""
    if os.getpid() != _pid:
        return  # a forked child: the threads and the driver's context stayed with its parent
    things = [thing for thing in (ref() for ref in list(_open)) if thing is not None]
    for thing in sorted(things, key=lambda thing: thing.rank):
        try:
            thing.close()
        except Exception:
            pass
    _close_left_devices()


atexit.register(_close_all)
