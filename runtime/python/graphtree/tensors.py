"""Tensors and opaque objects: what goes into functions and comes out of them.

    tensor of the caller's    device.empty, device.as_tensor     keeps the memory that it looks into
    tensor that a tree made   out of a call, or in a body        good until its step ends
    opaque object             Opaque(thing)                      functions are handed it as it is

A tensor that a tree made is a handle of its bytes: `del`, leaving a scope, or close() drops it, on
any thread, and that is all the tree wants to know. Passing one to a call leaves it as it is;
`give()` hands it over, so that its memory may be used within the call.
"""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Sequence, Tuple

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._copying import Uncopied, refuse_copy
from ._integers import integer
from ._library import lib, text_of
from .errors import BadHandle, check
from .layouts import DType, Layout, layout_at, numbers
from .streams import Stream, stream_or_none

_release = lib.gt_release
_new = object.__new__


class _Closed:
    """Where a tensor that was closed comes from."""

    closed = _closed = True
    device = None


_CLOSED = _Closed()


class Tensor:
    """Bytes with a layout. Made by devices, memories, calls and launchers."""

    __slots__ = ("_layout", "_address", "_storage", "_origin", "__weakref__")

    _layout: int    # the layout's handle
    _address: int
    _storage: int   # 0: memory of the caller's
    _origin: Any    # the stream that it was made on, or what keeps its memory, or both

    def __init__(self) -> None:
        raise TypeError("tensors are made by Device.empty, Device.as_tensor, Memory.tensor, calls "
                        "and launchers")

    @classmethod
    def at(cls, address: int, layout: Layout, keeps: Any) -> Tensor:
        """A tensor of the caller's memory; `keeps` is what the memory stays for."""
        made: Tensor = _new(cls)
        made._layout = layout.handle
        made._address = address
        made._storage = 0
        made._origin = keeps
        return made

    @classmethod
    def of_value(cls, value: c.gt_value, origin: Any) -> Tensor:
        """A tensor that the library has made: on a stream, or in a body. The handle in it is the
        tensor's from here on."""
        made: Tensor = _new(cls)
        made._layout = value.layout
        made._address = value.word
        made._storage = value.storage
        made._origin = origin
        return made

    def __del__(self, _release: Any = _release) -> None:
        try:
            storage = self._storage
        except AttributeError:
            return
        if storage:
            error = _release(storage)
            if error:  # it has ended already, as what a body has got does with the body
                _release(error)

    @property
    def layout(self) -> Layout:
        """Its type, sizes and strides."""
        return layout_at(self._layout)

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self.layout.dtype

    @property
    def shape(self) -> Tuple[int, ...]:
        """Its sizes."""
        return self.layout.sizes

    @property
    def strides(self) -> Tuple[int, ...]:
        """In elements."""
        return self.layout.strides

    @property
    def address(self) -> int:
        """Of its first element."""
        return self._address

    @property
    def size_bytes(self) -> int:
        """From its first to its last byte."""
        return self.layout.extent_bytes

    @property
    def is_made_by_a_tree(self) -> bool:
        """Whether it is a handle of a tree's memory."""
        return bool(self._storage)

    @property
    def is_read_only(self) -> bool:
        """Whether it is somebody's who says that it must not be written."""
        return bool(getattr(self._origin, "is_read_only", False))

    def check_writable(self, what: str) -> None:
        """Raises if it must not be written."""
        if self.is_read_only:
            raise ValueError("%s is to be written, and is a tensor of a %s that must not be "
                             "written: write a copy, device.tensor_from(...)"
                             % (what, type(self._origin.owner).__name__))

    def value(self) -> c.gt_value:
        """As the C interface has it. The handle in it stays this tensor's."""
        return c.gt_value(c.GT_TENSOR, 0, self._layout, self._address, self._storage)

    def check(self) -> None:
        """Raises if its bytes may not be used any more, since its step has ended or its memory is
        closed."""
        if self._storage:
            check(lib.gt_value_check(ctypes.byref(self.value())))
        elif self._origin.closed:
            raise BadHandle("this tensor, or its memory, is closed")

    def close(self) -> None:
        """Drops the handle now; what was closed has no bytes. A second time is fine."""
        storage, self._storage = self._storage, 0
        self._layout, self._address = Layout(DType.U8, (0,)).handle, 0
        self._origin = _CLOSED
        if storage:
            check(_release(storage))

    @property
    def closed(self) -> bool:
        """Whether close() was called, or a call has taken it over."""
        return self._origin is _CLOSED

    def give(self) -> Given:
        """For a call: it takes this tensor over, so that its memory may be used within the call,
        and the tensor is closed then. A call that fails leaves it."""
        return Given(self)

    def copy_handle(self) -> Tensor:
        """Another handle of the same bytes."""
        if not self._storage:
            return Tensor.at(self._address, self.layout, self._origin)
        out = c.gt_value()
        check(lib.gt_value_copy(ctypes.byref(self.value()), ctypes.byref(out)))
        return Tensor.of_value(out, self._origin)

    def __copy__(self) -> Tensor:
        return self.copy_handle()

    def __reduce__(self) -> Any:
        raise refuse_copy(self, ". copy_handle() is another handle of the same bytes, and tolist() "
                          "and tobytes() are what they hold")

    def view(self, sizes: Sequence[int], dtype: Any = None, offset_bytes: int = 0,
             strides: Optional[Sequence[int]] = None) -> Tensor:
        """Another look at the same bytes, which has to stay inside of them."""
        layout = Layout(self.dtype if dtype is None else dtype, sizes, strides)
        if not self._storage:
            offset_bytes = integer(offset_bytes, ctypes.c_int64, "offset_bytes")
            end = offset_bytes + layout.extent_bytes
            if offset_bytes < 0 or end > self.size_bytes:
                raise ValueError("a view to byte %d of a tensor of %d bytes"
                                 % (end, self.size_bytes))
            return Tensor.at(self._address + offset_bytes, layout, self._origin)
        out = c.gt_value()
        check(lib.gt_value_view(ctypes.byref(self.value()), layout.handle, offset_bytes,
                                ctypes.byref(out)))
        return Tensor.of_value(out, self._origin)

    @property
    def home(self) -> Tuple[int, int]:
        """DLPack's type and number of the device that it lies on."""
        if self._origin is _CLOSED:
            raise BadHandle("this tensor is closed")
        home: Tuple[int, int] = self._origin.home
        return home

    def tobytes(self, stream: Optional[Stream] = None) -> bytes:
        """Its bytes, once what has made it is done: `stream`, or the stream that it was made on. A
        tensor with gaps comes with them."""
        self.check()
        target = ctypes.create_string_buffer(max(self.size_bytes, 1))
        on = stream_or_none(stream) or self.made_on or self._own_stream()
        on.copy(ctypes.addressof(target), self._address, self.size_bytes)
        on.synchronize()
        return target.raw[:self.size_bytes]

    @property
    def made_on(self) -> Optional[Stream]:
        """The stream whose work has made it, while that is there: what is closed has no work."""
        origin = self._origin
        if isinstance(origin, Stream):
            return None if origin.closed else origin
        made_on: Optional[Stream] = getattr(origin, "made_on", None)  # what a call has returned
        return made_on

    def _own_stream(self) -> Stream:
        device = self._origin.device
        if device is None:
            raise ValueError("this tensor has no stream: say which one its bytes come from")
        made: Stream = device.stream()
        return made

    def tolist(self, stream: Optional[Stream] = None) -> Any:
        """Its numbers, as nested lists."""
        from ._host_arrays import nested  # the import is late, as that module needs this one
        return nested(self.tobytes(stream), self.layout)

    def __dlpack__(self, *, stream: Optional[int] = None,
                   max_version: Optional[Tuple[int, int]] = None, dl_device: Any = None,
                   copy: Optional[bool] = None) -> Any:
        from ._dlpack_out import capsule_of
        return capsule_of(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.home

    @property
    def __cuda_array_interface__(self) -> Any:
        from ._dlpack_out import cuda_array_interface
        return cuda_array_interface(self)

    @property
    def __array_interface__(self) -> Any:
        from ._dlpack_out import array_interface
        return array_interface(self)

    def __repr__(self) -> str:
        layout = self.layout
        return "<graphtree.Tensor %s%r at 0x%x%s>" % (
            layout.dtype.name.lower(), list(layout.sizes), self._address,
            ", of a tree" if self._storage else "")

    def describe(self) -> str:
        """"a tensor of f32[4,128]"."""
        out = ctypes.c_uint64()
        check(lib.gt_value_describe(ctypes.byref(self.value()), ctypes.byref(out)))
        return text_of(out.value)


class Given:
    """A tensor that is handed over to a call: `f(y.give())`."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class Opaque(Uncopied):
    """An object that functions are handed and no kernel reads.

    Without a version it is never compared; else the version is part of a call's key. A body gets
    the object itself.
    """

    __slots__ = ("thing", "version", "_kind", "_storage", "_word")

    def __init__(self, thing: Any, version: Optional[int] = None) -> None:
        self._storage = 0
        out, known = c.gt_value(), None
        if version is not None:
            known = ctypes.byref(ctypes.c_uint64(integer(version, ctypes.c_uint64, "version")))
        number = _callbacks.note(thing)
        try:
            check(lib.gt_opaque_new(number, _callbacks.forget, known, ctypes.byref(out)))
        except BaseException:
            _callbacks.strike(number)
            raise
        self.thing = thing
        self.version = version
        self._kind = out.kind
        self._word = out.word
        self._storage = out.storage

    def value(self) -> c.gt_value:
        """As the C interface has it."""
        return c.gt_value(self._kind, 0, 0, self._word, self._storage)

    def __del__(self, _release: Any = _release) -> None:
        if getattr(self, "_storage", 0):
            error = _release(self._storage)
            if error:
                _release(error)


def opaque_thing(value: c.gt_value) -> Any:
    """The object of an opaque value."""
    out = ctypes.c_void_p()
    check(lib.gt_opaque_object(ctypes.byref(value), ctypes.byref(out)))
    return _callbacks.find(out.value or 0)


def from_value(value: c.gt_value, origin: Any) -> Any:
    """What a value of the library's is in Python: a tensor, an int, None, or an opaque object."""
    kind = value.kind
    if kind == c.GT_TENSOR:
        return Tensor.of_value(value, origin)
    if kind == c.GT_INTEGER:
        return ctypes.c_int64(value.word).value
    if kind in (c.GT_OPAQUE, c.GT_VERSIONED_OPAQUE):
        thing = opaque_thing(value)
        lib.gt_release(lib.gt_release(value.storage))
        return thing
    return None


def integer_value(given: int) -> c.gt_value:
    """The value of an integer, which goes into functions and comes out of them."""
    if not -2**63 <= given < 2**63:
        raise ValueError("%d is no integer of 64 bits" % given)
    return c.gt_value(c.GT_INTEGER, 0, 0, given & 0xFFFFFFFFFFFFFFFF, 0)


def sizes_array(sizes: Sequence[int]) -> Tuple[int, Any]:
    """A rank and its sizes, as the C interface takes them."""
    as_list: List[int] = list(sizes)
    return len(as_list), numbers(as_list)
