"""Types and layouts of tensors.

>>> import graphtree
>>> rows = graphtree.Layout("bf16", (4, 128))
>>> rows.strides, rows.extent_bytes
((128, 1), 1024)
>>> rows is graphtree.Layout(graphtree.DType.BF16, (4, 128))
True
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _interface as c
from . import _wanted
from ._integers import array_of
from ._library import lib
from .errors import check


class DType(enum.IntEnum):
    """The type of an element."""

    U8 = c.GT_U8
    BOOL = c.GT_BOOL
    I32 = c.GT_I32
    I64 = c.GT_I64
    F16 = c.GT_F16
    BF16 = c.GT_BF16
    F32 = c.GT_F32
    F64 = c.GT_F64

    @property
    def bytes(self) -> int:
        """Of one element."""
        return _BYTES[self]


_BYTES = {DType.U8: 1, DType.BOOL: 1, DType.I32: 4, DType.I64: 8, DType.F16: 2, DType.BF16: 2,
          DType.F32: 4, DType.F64: 8}

_NAMES = {
    "u8": DType.U8, "uint8": DType.U8,
    "bool": DType.BOOL, "bool_": DType.BOOL,
    "i32": DType.I32, "int32": DType.I32,
    "i64": DType.I64, "int64": DType.I64,
    "f16": DType.F16, "float16": DType.F16,
    "bf16": DType.BF16, "bfloat16": DType.BF16,
    "f32": DType.F32, "float32": DType.F32,
    "f64": DType.F64, "float64": DType.F64,
}

AnyDType = Union[DType, str, Any]


def dtype_of(dtype: AnyDType) -> DType:
    """The DType for a name, "i32" or "int32", or for a dtype of numpy, torch or ml_dtypes.

    >>> dtype_of("int32")
    <DType.I32: 2>
    """
    if isinstance(dtype, DType):
        return dtype
    name = dtype if isinstance(dtype, str) else (getattr(dtype, "name", None) or
                                                 getattr(dtype, "__name__", None) or str(dtype))
    found = _NAMES.get(str(name).rpartition(".")[2])
    if found is None:
        raise TypeError("%r is no type of tensors here; there are %s"
                        % (dtype, ", ".join(kind.name.lower() for kind in DType)))
    return found


class Layout:
    """A tensor's type, sizes and strides, in elements. Equal ones are one object, which stays."""

    __slots__ = ("handle", "dtype", "sizes", "strides", "elements", "extent_bytes", "is_dense")

    handle: int
    dtype: DType
    sizes: Tuple[int, ...]
    strides: Tuple[int, ...]
    elements: int
    extent_bytes: int
    """From the first to the last byte of an element."""
    is_dense: bool

    def __new__(cls, dtype: AnyDType, sizes: Sequence[int],
                strides: Optional[Sequence[int]] = None) -> "Layout":
        try:
            key = (dtype_of(dtype), tuple(sizes), None if strides is None else tuple(strides))
        except TypeError:
            _check_rows(sizes, strides)
            raise
        found = _by_key.get(key)
        if found is None:
            found = _by_key[key] = _make(*key)
        return found

    def __reduce__(self) -> Any:
        return Layout, (self.dtype, self.sizes, self.strides)

    def __repr__(self) -> str:
        strides = "" if self.is_dense else ", strides=%r" % (self.strides,)
        return "Layout(%r, %r%s)" % (self.dtype.name.lower(), self.sizes, strides)


_by_key: Dict[Any, Layout] = {}
_by_handle: Dict[int, Layout] = {}


def _check_rows(sizes: Any, strides: Any) -> None:
    for given, what in ((sizes, "sizes"), (() if strides is None else strides, "strides")):
        if not hasattr(given, "__iter__"):
            raise _wanted.wrong_type(given, what, "a row of integers")


def numbers(values: Sequence[int], name: str = "sizes") -> Any:
    """An array of int64."""
    return array_of(ctypes.c_int64, values, name)


def _make(dtype: DType, sizes: Tuple[int, ...], strides: Optional[Tuple[int, ...]]) -> Layout:
    if strides is not None and len(strides) != len(sizes):
        raise ValueError("%d sizes and %d strides" % (len(sizes), len(strides)))
    handle = ctypes.c_uint64()
    check(lib.gt_layout_new(dtype, len(sizes), numbers(sizes),
                            None if strides is None else numbers(strides, "strides"),
                            ctypes.byref(handle)))
    return layout_at(handle.value)


def layout_at(handle: int) -> Layout:
    """The layout that has this handle."""
    found = _by_handle.get(handle)
    return found if found is not None else _look(handle)


def _look(handle: int) -> Layout:
    info = c.gt_layout_info()
    check(lib.gt_layout_look(handle, ctypes.byref(info)))
    made = object.__new__(Layout)
    made.handle = handle
    made.dtype = DType(info.dtype)
    made.sizes = tuple(info.sizes[:info.rank])
    made.strides = tuple(info.strides[:info.rank])
    made.elements = info.elements
    made.extent_bytes = info.extent_bytes
    made.is_dense = bool(info.is_dense)
    return _by_handle.setdefault(handle, made)
