"""Streams and events.

>>> import graphtree
>>> with graphtree.Device("host") as device:
...     with device.stream() as stream, device.event() as event:
...         stream.record(event)
...         stream.synchronize()
...         event.is_done
True
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Union

from . import _interface as c
from . import _wanted
from ._callbacks import find, host_failures, immortal, note, raise_host_failure, strike
from ._handles import Owned, Rank
from ._integers import element, integer
from ._library import lib
from .errors import BadHandle, check

if TYPE_CHECKING:
    from .devices import Device
    from .graphs import Graph
    from .kernels import Kernel
    from .tensors import Tensor


def native_of(stream: Any) -> int:
    """The cudaStream_t of a stream of torch's, of CuPy's, of anything that has `__cuda_stream__`,
    or an integer.

    >>> native_of(17)
    17
    """
    if isinstance(stream, int):
        return stream
    if isinstance(stream, Stream):
        return stream.native
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, Numba
        native = getattr(stream, name, None)
        if native is not None:
            return int(getattr(native, "value", native) or 0)
    raise TypeError("a %s is no stream: a graphtree.Stream, one of torch or CuPy, or the number of "
                    "a cudaStream_t is wanted" % type(stream).__name__)


_CALL: Any = c.FUNCTIONS["gt_stream_call_host"][1][1]


def _call_once(context: Any, _find: Any = find, _strike: Any = strike,
               _failures: Any = host_failures) -> None:
    function = _find(context)
    _strike(context)
    if function is None:
        return
    try:
        function()
    except BaseException as failure:
        _failures.append(failure)


_call_once_in_c = immortal(_CALL(_call_once))


class Stream(Owned):
    """Work in order. `native` makes it a view of a stream of somebody else's, which stays theirs.

    Methods that put work on the stream return at once, but for `synchronize`.
    """

    rank = Rank.STREAM
    ends_with_body = False
    _held: Optional[HeldInputs] = None
    _captured: Optional[List[Any]] = None  # while it captures: what the graph is going to use

    def __init__(self, device: Device, native: Any = None) -> None:
        handle = ctypes.c_uint64()
        _check_device(device)
        if native is None:
            check(lib.gt_stream_new(device.handle, ctypes.byref(handle)))
        else:
            number = integer(native_of(native), ctypes.c_uint64, "a stream's number")
            check(lib.gt_stream_adopt(device.handle, number or None, ctypes.byref(handle)))
        self.device = device
        # What calls pass, made once.
        self._argument = ctypes.c_void_p(handle.value)
        self._own(handle.value)
        device.streams.add(self)

    def close(self) -> None:
        """Releases it, after its work if that uses somebody's tensors."""
        held = self._held
        if held is not None and not self.closed:
            held.let_go()
        super().close()
        if held is not None:  # what another thread's call has brought meanwhile
            self.device.keep(held.take())

    def __del__(self, *_: Any) -> None:
        if self._held is not None and not self._closed:
            try:
                self._held.let_go()
            except Exception:
                pass  # the device is lost, and nobody is here to be told
        super().__del__()

    def hold(self, tensors: List[Any]) -> None:
        """The work so far uses somebody's tensors: they stay until it is done, and in a capture
        they stay with the graph."""
        if not tensors:
            return
        held = self._held
        try:
            if held is None or self._closed or self._captured is not None:
                self._hold_first(tensors)
            else:
                held.add(tensors)
        except BadHandle:
            # It was closed while the work was put on it, and there is nothing left to wait for.
            self.device.keep(tensors)

    def _hold_first(self, tensors: List[Any]) -> None:
        if self._captured is not None:
            self._captured += tensors
            return
        if self._closed:
            raise BadHandle("this stream is closed")
        if self._held is None:
            self._held = HeldInputs(self)
        self._held.add(tensors)

    @property
    def home(self) -> "tuple[int, int]":
        """Where tensors that are made on it lie, in DLPack's numbers."""
        return (1, 0) if self.device.is_host else (2, self.device.index)

    @property
    def native(self) -> int:
        """The cudaStream_t. An error on the host device."""
        out = ctypes.c_void_p()
        check(lib.gt_stream_native(self._handle, ctypes.byref(out)))
        return out.value or 0

    def __cuda_stream__(self) -> "tuple[int, int]":
        return 0, self.native

    def launch(self, kernel: Kernel, *arguments: Any, grid: Sequence[int] = (1,),
               block: Sequence[int] = (1,), shared_bytes: int = 0,
               programmatic: bool = False) -> None:
        """Launches a kernel. Arguments as in `Launcher.launch`."""
        if not hasattr(kernel, "call"):
            raise _wanted.wrong_type(kernel, "the kernel", "a graphtree.Kernel")
        call = kernel.call(arguments, grid, block, shared_bytes, programmatic)
        check(lib.gt_stream_launch(self._handle, kernel.handle, ctypes.byref(call.shape), call.args,
                                   call.given))
        self.hold(somebodys(arguments))

    def copy(self, target: Union[int, Tensor], source: Union[int, Tensor],
             size: Optional[int] = None) -> None:
        """Copies bytes: between tensors of equal layouts, or `size` bytes between addresses."""
        _check_place(target, "the target")
        _check_place(source, "the source")
        if size is None:
            size = _whole(target, source)
        if not isinstance(target, int):
            target.check_writable("the target")
        check(lib.gt_stream_copy(self._handle, _address(target), _address(source), size))
        self.hold(somebodys((target, source)))

    def fill(self, target: Union[int, Tensor], value: int, width: int = 1,
             count: Optional[int] = None) -> None:
        """Fills with `count` elements of `width` bytes (1, 2 or 4): all of a tensor without it."""
        _check_place(target, "the target")
        value = element(value, width)
        if count is None:
            if isinstance(target, int):
                raise TypeError("fill(address, ...) needs a count")
            count, left = divmod(target.layout.extent_bytes, width)
            if left:
                raise ValueError("a fill of %d bytes, which are no elements of %d bytes"
                                 % (target.layout.extent_bytes, width))
        if not isinstance(target, int):
            target.check_writable("the target")
        check(lib.gt_stream_fill(self._handle, _address(target), value, width, count))
        self.hold(somebodys((target,)))

    def call_host(self, function: Callable[[], None]) -> None:
        """Calls `function` in the stream's order, on a thread of the device's. It must not call the
        device. What it raises, the next wait for the device raises."""
        number = note(_wanted.function(function, "the function"))
        try:
            check(lib.gt_stream_call_host(self._handle, _call_once_in_c, number))
        except BaseException:
            strike(number)
            raise

    def record(self, event: Event) -> None:
        """The event comes after all work so far."""
        check(lib.gt_stream_record(self._handle, _event(event)))

    def record_external(self, event: Event) -> None:
        """The same; while a capture is open, an op that sets the event in every launch."""
        check(lib.gt_stream_record_external(self._handle, _event(event)))

    def wait(self, event: Event) -> None:
        """Work from here on comes after the event."""
        check(lib.gt_stream_wait(self._handle, _event(event)))

    @property
    def is_done(self) -> bool:
        """Whether all work is done."""
        out = ctypes.c_int32()
        check(lib.gt_stream_is_done(self._handle, ctypes.byref(out)))
        return bool(out.value)

    def synchronize(self) -> None:
        """Waits for all work, and raises what a kernel's body for the host has raised."""
        if self._held is not None:
            self._held.wait()
        else:
            check(lib.gt_stream_synchronize(self._handle))
        raise_host_failure()

    def begin_capture(self, mode: int = c.GT_CAPTURE_THREAD_LOCAL) -> None:
        """What is put on the stream from here on is recorded, and does not run."""
        check(lib.gt_stream_begin_capture(self._handle, mode))
        self._captured = []

    def end_capture(self) -> Graph:
        """Ends the capture, on the thread that has begun it."""
        from .graphs import Graph
        handle = ctypes.c_uint64()
        error = lib.gt_stream_end_capture(self._handle, ctypes.byref(handle))
        captured = self._captured or []
        if not error or not self.device.open_captures:
            self._captured = None
        check(error)
        return Graph(self.device, handle.value, captured)


def somebodys(arguments: Sequence[Any]) -> List[Any]:
    """The tensors among a launch's arguments whose memory is somebody else's, who does not wait for
    work when it goes."""
    found = []
    for argument in arguments:
        tensor = getattr(argument, "tensor", argument)  # of In(x), x
        if getattr(getattr(tensor, "_origin", None), "is_somebodys", False):
            found.append(tensor)
    return found


def _check_device(device: Any) -> None:
    from .devices import Device  # the import is late, as that module needs this one
    _wanted.thing(device, Device, "the device")


def stream_or_none(stream: Any) -> Optional[Stream]:
    """What a caller names as the stream, or None, for whichever is meant then."""
    return None if stream is None else _wanted.thing(stream, Stream, "the stream")


def _check_place(place: Any, what: str) -> None:
    if not isinstance(place, int) and not hasattr(place, "layout"):
        raise _wanted.wrong_type(place, what, "a graphtree.Tensor or an address")


def _address(place: Union[int, Tensor]) -> int:
    if isinstance(place, int):
        return place
    place.check()
    return place.address


def _whole(target: Union[int, Tensor], source: Union[int, Tensor]) -> int:
    if isinstance(target, int) or isinstance(source, int):
        raise TypeError("copy(address, address) needs a size")
    if target.layout is not source.layout:
        raise ValueError("a copy from %r to %r" % (source.layout, target.layout))
    return target.layout.extent_bytes


class Event(Owned):
    """A point in a stream's work, done until it is recorded. `timing`: `elapsed` is to be asked."""

    rank = Rank.STREAM

    def __init__(self, device: Device, timing: bool = False) -> None:
        handle = ctypes.c_uint64()
        _check_device(device)
        check(lib.gt_event_new(device.handle, timing, ctypes.byref(handle)))
        self.device = device
        self._own(handle.value)

    @classmethod
    def of_handle(cls, device: Device, handle: int) -> "Event":
        """An event that the library has made."""
        made = cls.__new__(cls)
        made.device = device
        made._own(handle)
        return made

    @property
    def is_done(self) -> bool:
        """Whether the work before it is done."""
        out = ctypes.c_int32()
        check(lib.gt_event_is_done(self._handle, ctypes.byref(out)))
        return bool(out.value)

    def synchronize(self) -> None:
        """Waits for it."""
        check(lib.gt_event_synchronize(self._handle))
        raise_host_failure()

    def elapsed_ns(self, start: Event) -> float:
        """Nanoseconds since `start`, another event with timing."""
        out = ctypes.c_double()
        first = _wanted.thing(start, Event, "start")
        check(lib.gt_event_elapsed(first.handle, self._handle, ctypes.byref(out)))
        return out.value


def _event(event: Any) -> int:
    return _wanted.thing(event, Event, "the event").handle


class HeldInputs:
    """Somebody's tensors that a stream's work uses, so that one that is dropped after its call is
    not gone before its work.

        newer    those of the last calls
        older    those of the calls before, and an event behind these: when `newer` is full the
                 event is waited for, and most often is long done
    """

    MOST = 16

    def __init__(self, stream: Stream) -> None:
        self._stream = stream.handle
        self._event = stream.device.event()
        self._newer: List[Any] = []
        self._older: List[Any] = []
        self._lock = threading.RLock()

    def add(self, tensors: List[Any]) -> None:
        """More of them; their work is on the stream."""
        with self._lock:
            self._newer += tensors
            if len(self._newer) < self.MOST:
                return
            if self._older:
                check(lib.gt_event_synchronize(self._event.handle))
            check(lib.gt_stream_record(self._stream, self._event.handle))
            self._older, self._newer = self._newer, []

    def take(self) -> List[Any]:
        """All of them, which are the caller's to hold."""
        with self._lock:
            taken = self._older + self._newer
            self._newer, self._older = [], []
        return taken

    def wait(self) -> None:
        """Waits for the stream's work, and lets those go whose work was there by now. What another
        thread brings meanwhile stays."""
        taken = self.take()
        error = lib.gt_stream_synchronize(self._stream)
        if error:
            with self._lock:
                self._newer += taken
        check(error)

    def let_go(self) -> None:
        """Waits for their work."""
        if self._newer or self._older:
            self.wait()
        self._event.close()
