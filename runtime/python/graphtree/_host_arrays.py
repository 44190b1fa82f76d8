"""Numbers on the host: lists and arrays in, lists out. NumPy is not needed for either."""

from __future__ import annotations

import array
import ctypes
import struct
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from ._foreign import CPU, CUDA_HOST, look
from .layouts import AnyDType, DType, Layout, dtype_of

_CODES = {DType.U8: "B", DType.BOOL: "?", DType.I32: "i", DType.I64: "q", DType.F16: "e",
          DType.F32: "f", DType.F64: "d"}
_OF_FORMAT = dict({code: dtype for dtype, code in _CODES.items()}, l=DType.I64)


class HostArray(NamedTuple):
    """Numbers without gaps in the host's memory."""

    address: int
    layout: Layout
    keeps: Any


def _flat(data: Any) -> Tuple[List[Any], Tuple[int, ...]]:
    if not isinstance(data, (list, tuple)):
        return [data], ()
    parts = [_flat(part) for part in data]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise ValueError("lists of different lengths: %s" % sorted(shapes))
    inner = shapes.pop() if shapes else ()
    return [number for numbers, _ in parts for number in numbers], (len(data),) + inner


def pack(dtype: DType, numbers: Sequence[Any]) -> bytes:
    """The bytes of these numbers."""
    try:
        return _pack(dtype, numbers)
    except (OverflowError, TypeError, struct.error):
        for place, number in enumerate(numbers):
            _check_number(dtype, number, place)
        raise


def _check_number(dtype: DType, number: Any, place: int) -> None:
    try:
        _pack(dtype, [number])
    except (OverflowError, TypeError, struct.error):
        is_whole = isinstance(number, int) or dtype in (DType.F16, DType.BF16, DType.F32)
        kind = OverflowError if is_whole and isinstance(number, (int, float)) else TypeError
        raise kind("element %d is %r, which no %s holds"
                   % (place, number, dtype.name.lower())) from None


def _pack(dtype: DType, numbers: Sequence[Any]) -> bytes:
    if dtype is DType.BF16:
        words = struct.unpack("<%dI" % len(numbers), struct.pack("<%df" % len(numbers), *numbers))
        # To the nearest, ties to even; a NaN stays one.
        return struct.pack("<%dH" % len(words), *(
            (word >> 16) | 0x40 if word & 0x7FFFFFFF > 0x7F800000 else
            (word + 0x7FFF + ((word >> 16) & 1)) >> 16 for word in words))
    return struct.pack("<%d%s" % (len(numbers), _CODES[dtype]), *numbers)


def unpack(dtype: DType, content: bytes) -> List[Any]:
    """The numbers that these bytes are."""
    if dtype is DType.BF16:
        words = struct.unpack("<%dH" % (len(content) // 2), content)
        return list(struct.unpack("<%df" % len(words), b"".join(
            struct.pack("<I", word << 16) for word in words)))
    return list(struct.unpack("<%d%s" % (len(content) // dtype.bytes, _CODES[dtype]), content))


def host_array(data: Any, dtype: Optional[AnyDType] = None) -> HostArray:
    """What `data` is, without gaps: an array of somebody's on the host, or nested lists."""
    if isinstance(data, (list, tuple, int, float)):
        if dtype is None:
            raise TypeError("numbers in lists need a dtype")
        numbers, sizes = _flat(data)
        content = pack(dtype_of(dtype), numbers)
        buffer = ctypes.create_string_buffer(content, max(len(content), 1))
        return HostArray(ctypes.addressof(buffer), Layout(dtype, sizes), buffer)
    if isinstance(data, array.array):
        data = memoryview(data)
    if isinstance(data, memoryview):
        return _of_buffer(data)
    address, layout, keeps = look(data)
    if keeps.home[0] not in (CPU, CUDA_HOST):
        raise ValueError("a %s on a GPU, where an array on the host is wanted"
                         % type(data).__name__)
    if not layout.is_dense:
        raise ValueError("an array with gaps: make it contiguous first")
    if dtype is not None and dtype_of(dtype) is not layout.dtype:
        raise TypeError("an array of %s where %s is wanted: convert it first"
                        % (layout.dtype.name.lower(), dtype_of(dtype).name.lower()))
    return HostArray(address, layout, keeps)


def _of_buffer(view: memoryview) -> HostArray:
    dtype = _OF_FORMAT.get(view.format)
    if dtype is None or view.shape is None or not view.c_contiguous:
        raise TypeError("a buffer of format %r" % view.format)
    if view.readonly:
        kept: Any = ctypes.create_string_buffer(view.tobytes(), max(view.nbytes, 1))
    else:
        kept = (ctypes.c_char * view.nbytes).from_buffer(view) if view.nbytes else \
            ctypes.create_string_buffer(1)
    return HostArray(ctypes.addressof(kept), Layout(dtype, view.shape), kept)


def nested(content: bytes, layout: Layout) -> Any:
    """The elements of a tensor whose bytes these are, as nested lists."""
    numbers = unpack(layout.dtype, content[:len(content) // layout.dtype.bytes *
                                           layout.dtype.bytes])

    def part(place: int, sizes: Sequence[int], strides: Sequence[int]) -> Any:
        if not sizes:
            return numbers[place]
        return [part(place + i * strides[0], sizes[1:], strides[1:]) for i in range(sizes[0])]

    return part(0, layout.sizes, layout.strides)
