"""Tensors for others: DLPack and the two array interfaces.

    tensor --gt_dlpack_new--> the library's struct, a handle of its own --> a capsule
                                                                             |
      whoever takes it has the struct, and ends it without Python  <---------|
      nobody takes it: the capsule ends the struct                 <---------'
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Optional, Tuple

from ._foreign import CPU, CUDA, DTYPES, TYPESTRS, Foreign, Managed
from ._foreign import python as _python
from ._handles import Owned
from ._library import lib
from ._returned import Returned
from .errors import check
from .layouts import DType
from .tensors import Tensor

_NAME, _VERSIONED_NAME = b"dltensor", b"dltensor_versioned"

_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

# In C: a capsule may end while an exception is on its way, which no Python may see to.
_end_unused = ctypes.cast(lib.gt_dlpack_end_capsule, ctypes.c_void_p)


def _wait(tensor: Tensor, consumer: Optional[int]) -> None:
    """What the consumer does next comes after what has made the tensor."""
    made_on = tensor.made_on
    if made_on is None or consumer == -1:
        return
    if made_on.device.is_host:
        made_on.synchronize()
        return
    # DLPack's 1 is the legacy stream, which is CUDA's null; so is None.
    with made_on.device.event() as event:
        made_on.record(event)
        with made_on.device.stream(0 if consumer in (None, 1) else consumer) as other:
            other.wait(event)


def capsule_of(tensor: Tensor, stream: Optional[int], max_version: Optional[Tuple[int, int]],
               dl_device: Any, copy: Optional[bool]) -> Any:
    """A DLPack capsule of the tensor, without a copy."""
    home = tensor.home
    if copy or (dl_device is not None and tuple(dl_device) != home):
        raise BufferError("a tensor of a tree is handed out where it lies, %r, without a copy"
                          % (home,))
    tensor.check()
    keeps = tensor._origin.keeps if isinstance(tensor._origin, Returned) else tensor._origin
    if isinstance(keeps, Foreign):
        _wait(tensor, stream)
        return _pass_on(tensor, keeps, stream)
    versioned = max_version is not None and max_version[0] >= 1
    memory = keeps.handle if not tensor._storage and isinstance(keeps, Owned) else 0
    out = ctypes.c_void_p()
    check(lib.gt_dlpack_new(ctypes.byref(tensor.value()), memory, home[0], home[1], versioned,
                            ctypes.byref(out)))
    _wait(tensor, stream)
    return _python.PyCapsule_New(out, _VERSIONED_NAME if versioned else _NAME, _end_unused)


def _pass_on(tensor: Tensor, keeps: Foreign, stream: Optional[int]) -> Any:
    """Somebody else's tensor goes out as its owner hands it out."""
    owner = keeps.owner
    if not hasattr(owner, "__dlpack__"):
        raise BufferError("this tensor is of a %s, which has no __dlpack__" % type(owner).__name__)
    capsule = owner.__dlpack__() if stream is None else owner.__dlpack__(stream=stream)
    if _python.PyCapsule_IsValid(capsule, _NAME):
        kind: Any = Managed.from_address(_python.PyCapsule_GetPointer(capsule, _NAME))
        given = kind.tensor
        if ((given.data or 0) + given.byte_offset == tensor.address and
                tuple(given.sizes[:given.rank]) == tensor.shape and
                DTYPES.get((given.code, given.bits)) is tensor.dtype):
            return capsule
    raise BufferError("this is a view of a %s: hand that out, and have the view taken there"
                      % type(owner).__name__)


def _typestr(dtype: DType) -> str:
    for name, known in TYPESTRS.items():
        if known is dtype:
            return ("|" if dtype.bytes == 1 else "<") + name
    raise AttributeError("array interfaces know no %s; DLPack does" % dtype.name.lower())


def _interface(tensor: Tensor) -> Dict[str, Any]:
    layout = tensor.layout
    strides = None if layout.is_dense else tuple(
        stride * layout.dtype.bytes for stride in layout.strides)
    return {"shape": layout.sizes, "typestr": _typestr(layout.dtype), "strides": strides,
            "data": (tensor.address, tensor.is_read_only), "version": 3}


def cuda_array_interface(tensor: Tensor) -> Dict[str, Any]:
    """Of a tensor on a GPU. The stream is named: whoever takes it orders its work after that."""
    if tensor.home[0] != CUDA:
        raise AttributeError("a tensor in the host's memory has no __cuda_array_interface__")
    tensor.check()
    made = _interface(tensor)
    if tensor.made_on is not None:
        made["stream"] = tensor.made_on.native or 1
    return made


def array_interface(tensor: Tensor) -> Dict[str, Any]:
    """Of a tensor that the host can read, once what has made it is done."""
    if tensor.home[0] == CUDA:
        raise AttributeError("a tensor on a GPU has no __array_interface__")
    tensor.check()
    if tensor.made_on is not None:
        tensor.made_on.synchronize()
    return _interface(tensor)


__all__ = ["CPU", "array_interface", "capsule_of", "cuda_array_interface"]
