"""Devices: the host, or one GPU, and memory of one's own on them.

>>> import graphtree
>>> with graphtree.Device("host") as device:
...     ids = device.tensor_from([[1, 2], [3, 4]], "i32")
...     print(device.architecture, ids.shape, ids.tolist())
...     del ids
host (2, 2) [[1, 2], [3, 4]]
"""

from __future__ import annotations

import ctypes
import enum
import weakref
from typing import Any, List, Optional, Sequence, Tuple

from . import _interface as c
from . import _wanted
from ._bodies import running
from ._handles import Owned, Rank
from ._integers import integer
from ._library import lib, text_of
from ._wanted import AnyPath
from .errors import BadHandle, check
from .kernels import Kernel
from .layouts import AnyDType, Layout
from .streams import Event, Stream, native_of
from .tensors import Tensor


class Scheduler(enum.IntEnum):
    """How the host device runs its work."""

    SEEDED = c.GT_SCHEDULER_SEEDED
    """Waiting work runs in an order that the seed picks."""
    IMMEDIATE = c.GT_SCHEDULER_IMMEDIATE
    """A call returns when its work is done."""
    THREADS = c.GT_SCHEDULER_THREADS
    """Each stream has a thread."""


class Capability(enum.IntEnum):
    """What a device may be able to do."""

    VIRTUAL_MEMORY = c.GT_CAN_VIRTUAL_MEMORY
    WISHED_BASE = c.GT_CAN_WISHED_BASE
    CAPTURE = c.GT_CAN_CAPTURE
    PATCH_OPS = c.GT_CAN_PATCH_OPS
    PROGRAMMATIC_EDGES = c.GT_CAN_PROGRAMMATIC_EDGES
    COMPILE_SOURCE = c.GT_CAN_COMPILE_SOURCE
    CONDITIONAL_NODES = c.GT_CAN_CONDITIONAL_NODES
    GRAPH_IDENTITY = c.GT_CAN_GRAPH_IDENTITY
    KERNEL_PARAMETER_COUNT = c.GT_CAN_KERNEL_PARAMETER_COUNT
    RECAPTURE = c.GT_CAN_RECAPTURE
    BATCH_COPY_NODE = c.GT_CAN_BATCH_COPY_NODE


def describe_devices() -> str:
    """The host device and every GPU, one to a line, with what each can do."""
    out = ctypes.c_uint64()
    check(lib.gt_devices_describe(ctypes.byref(out)))
    return text_of(out.value)


class Device(Owned):
    """"host", "cuda" or "cuda:N". Closing it is an error while things of it are left.

    Dropped while something is left, it is closed when that has gone.
    """

    rank = Rank.DEVICE

    def __init__(self, name: str = "cuda", *, nvrtc_folder: Optional[AnyPath] = None,
                 kernel_cache_folder: Optional[AnyPath] = None,
                 scheduler: Scheduler = Scheduler.SEEDED, queue_limit: int = 0, seed: int = 0,
                 memory_bytes: int = 0, poison: bool = True, race_check: bool = True) -> None:
        """All but the two folders is of the host device."""
        options = c.gt_device_options(
            nvrtc_folder=_wanted.path_or_none(nvrtc_folder, "nvrtc_folder"),
            kernel_cache_folder=_wanted.path_or_none(kernel_cache_folder, "kernel_cache_folder"),
            scheduler=scheduler, queue_limit=queue_limit, seed=seed, memory_bytes=memory_bytes,
            no_poison=not poison, no_race_check=not race_check)
        handle = ctypes.c_uint64()
        check(lib.gt_device_open(_wanted.text(name, "the device's name"), ctypes.byref(options),
                                 ctypes.byref(handle)))
        self._own(handle.value)
        self.streams: "weakref.WeakSet[Stream]" = weakref.WeakSet()
        self._dropped: List[int] = []  # memories that a capture has kept from being released
        self._kept: List[Any] = []
        info = c.gt_device_info()
        check(lib.gt_device_look(self._handle, ctypes.byref(info)))
        known = info.as_dict()
        self.name: str = known["name"]
        self.model: str = known["model"]
        self.architecture: str = known["architecture"]
        self.identity: str = known["identity"]
        self.driver_version: int = info.driver_version
        self.runtime_version: int = info.runtime_version
        self.multiprocessors: int = info.multiprocessors
        self.total_bytes: int = info.total_bytes
        self.is_host = self.architecture == "host"

    @property
    def index(self) -> int:
        """The GPU's number; 0 for the host."""
        number = self.name.partition(":")[2]
        return int(number) if number else 0

    def close(self) -> None:
        """Closes it. While things of it are left that is an error that says so."""
        self.release_dropped()
        super().close()
        self._kept.clear()

    def keep(self, things: Sequence[Any]) -> None:
        """Work uses them whose end nobody can wait for: they stay until the device is closed."""
        self._kept += things

    def finish(self) -> bool:
        """Waits for the work of all streams that this package knows. False, and nothing is waited
        for, while a capture is open: a wait would break it."""
        if self.closed or self.open_captures:
            return False
        for stream in list(self.streams):
            lib.gt_release(lib.gt_stream_synchronize(stream.handle))
        return True

    def hold_for_work(self, things: List[Any]) -> None:
        """The work of any stream that this package knows may use them: they stay until it is done.
        While a capture is open nobody may ask whether it is."""
        captures, done = self.open_captures, ctypes.c_int32()
        for stream in list(self.streams):
            if stream.closed:
                continue
            error = 0 if captures else lib.gt_stream_is_done(stream.handle, ctypes.byref(done))
            lib.gt_release(error)
            if captures or error or not done.value:
                stream.hold(things)

    def release_dropped(self, memory: int = 0) -> None:
        """Releases memories that were dropped, once no work uses them. What cannot be released now
        is released with the next one."""
        if memory:
            self._dropped.append(memory)
        # What a running body has launched is on a stream of its tree's, which nobody here knows.
        if self._dropped and not running and self.finish():
            while self._dropped:
                lib.gt_release(lib.gt_release(self._dropped.pop()))

    def __repr__(self) -> str:
        return "Device(%r, %r)" % (self.name, self.model)

    def can(self, capability: Capability) -> bool:
        """Whether it can do that."""
        return self.why_not(capability) is None

    def why_not(self, capability: Capability) -> Optional[str]:
        """Why it cannot do that; None if it can."""
        can, reason = ctypes.c_int32(), ctypes.c_char_p()
        check(lib.gt_device_can(self._handle, capability, ctypes.byref(can), ctypes.byref(reason)))
        return None if can.value else (reason.value or b"").decode()

    def check_health(self) -> None:
        """Raises the error that lost the device, if one has."""
        check(lib.gt_device_health(self._handle))

    @property
    def free_bytes(self) -> int:
        """Of its memory now. It asks the driver."""
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        check(lib.gt_device_free_bytes(self._handle, ctypes.byref(free), ctypes.byref(total)))
        return free.value

    def load(self, kernel: Kernel) -> None:
        """Loads, and if need be compiles, the kernel now and not at its first launch."""
        loaded = _wanted.thing(kernel, Kernel, "the kernel")
        check(lib.gt_device_load(self._handle, loaded.handle))

    @property
    def open_captures(self) -> int:
        """On any thread."""
        out = ctypes.c_int32()
        check(lib.gt_device_open_captures(self._handle, ctypes.byref(out)))
        return out.value

    def give_back_leftovers(self) -> None:
        """Gives back what trees and pools have left because of a capture, if none is open now."""
        check(lib.gt_device_give_back_leftovers(self._handle))

    def stream(self, native: Any = None) -> Stream:
        """A stream of one's own; or a view of one of torch's, CuPy's, or of a number."""
        return Stream(self, native)

    def event(self, timing: bool = False) -> Event:
        """An event."""
        return Event(self, timing)

    def memory(self, size: int, on_host: bool = False) -> Memory:
        """So many bytes: of the device, or page-locked ones of the host."""
        return Memory(self, size, on_host)

    def as_tensor(self, owner: Any, stream: Any = None) -> Tensor:
        """A tensor of somebody else's, of torch, CuPy, NumPy and so on: where it lies, without a
        copy. What has made it is waited for by `stream`, or else by CUDA's legacy stream. Memory
        of another device is refused."""
        from ._foreign import as_tensor
        made = as_tensor(self, owner, None if stream is None else native_of(stream))
        made._origin.may_be_in_use = True
        return made

    def empty(self, sizes: Sequence[int], dtype: AnyDType, on_host: bool = False) -> Tensor:
        """A tensor in memory of its own, which goes with the last tensor that looks into it."""
        layout = Layout(dtype, sizes)
        return self.memory(max(layout.extent_bytes, 1), on_host).tensor(layout)

    def tensor_from(self, data: Any, dtype: Optional[AnyDType] = None,
                    on_host: bool = False) -> Tensor:
        """A tensor in memory of its own with a copy of `data`: an array, or nested lists of numbers
        with their type. It waits until the bytes are there."""
        from ._host_arrays import host_array
        array = host_array(data, dtype)
        made = self.empty(array.layout.sizes, array.layout.dtype, on_host)
        with self.stream() as stream:
            stream.copy(made.address, array.address, array.layout.extent_bytes)
            stream.synchronize()
        return made


class Memory(Owned):
    """Bytes at one address until it is closed: for weights, caches and inputs.

    Tensors of it keep it. Closing it, or dropping the last tensor of it, waits for the device's
    work, as cudaFree does; while a capture is open that is put off. Nothing that was recorded from
    it as a static input, or launched by hand, may run again.
    """

    rank = Rank.MEMORY

    def __init__(self, device: Device, size: int, on_host: bool = False) -> None:
        _wanted.thing(device, Device, "the device").release_dropped()
        handle, found = ctypes.c_uint64(), c.gt_range()
        check(lib.gt_memory_new(device.handle, c.GT_ON_HOST if on_host else c.GT_ON_DEVICE, size,
                                ctypes.byref(handle)))
        self.device = device
        self.on_host = on_host
        self._own(handle.value)
        check(lib.gt_memory_range(handle.value, ctypes.byref(found)))
        self.address: int = found.address
        self.size: int = found.bytes

    def close(self) -> None:
        """Gives the bytes back, once no work uses them."""
        if not self._closed:
            self._closed = True
            self.device.release_dropped(self._handle)

    def __del__(self, *_: Any) -> None:
        if self._handle and not self._closed:
            self.close()

    @property
    def home(self) -> Tuple[int, int]:
        """The DLPack type and number of the device that it lies on."""
        if self.device.is_host:
            return 1, 0
        return (3 if self.on_host else 2), self.device.index

    def tensor(self, layout: Layout, offset_bytes: int = 0) -> Tensor:
        """A tensor that looks into it."""
        if self.closed:
            raise BadHandle("the memory is closed")
        _wanted.thing(layout, Layout, "the layout")
        offset_bytes = integer(offset_bytes, ctypes.c_int64, "offset_bytes")
        if offset_bytes < 0 or offset_bytes + layout.extent_bytes > self.size:
            raise ValueError("%r at byte %d lies beyond the %d bytes of this memory"
                             % (layout, offset_bytes, self.size))
        return Tensor.at(self.address + offset_bytes, layout, self)
