"""Tensors of others: DLPack, `__cuda_array_interface__`, `__array_interface__`.

What comes in stays its owner's. A Tensor of it keeps it, and copies nothing.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Tuple

from ._copying import Uncopied
from .layouts import DType, Layout
from .tensors import Tensor

if TYPE_CHECKING:
    from .devices import Device

# DLPack's numbers for where bytes lie.
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_PLACES = {CPU: "the host's memory", CUDA: "the memory of GPU", CUDA_HOST: "page-locked memory",
           CUDA_MANAGED: "managed memory"}

# (code, bits) of DLPack's types.
DTYPES: Dict[Tuple[int, int], DType] = {
    (1, 8): DType.U8, (6, 8): DType.BOOL, (0, 32): DType.I32, (0, 64): DType.I64,
    (2, 16): DType.F16, (4, 16): DType.BF16, (2, 32): DType.F32, (2, 64): DType.F64,
}
# The same of array interfaces.
TYPESTRS: Dict[str, DType] = {
    "u1": DType.U8, "b1": DType.BOOL, "i4": DType.I32, "i8": DType.I64, "f2": DType.F16,
    "f4": DType.F32, "f8": DType.F64,
}


class DLTensor(ctypes.Structure):
    """A tensor, as DLPack lays it out."""

    data: Optional[int]
    device_type: int
    device_id: int
    rank: int
    code: int
    bits: int
    lanes: int
    sizes: Any
    strides: Any
    byte_offset: int
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """A tensor that is handed over, before DLPack 1.0."""

    tensor: DLTensor
    deleter: Optional[int]
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class VersionedManaged(ctypes.Structure):
    """The same, since DLPack 1.0."""

    major: int
    flags: int
    tensor: DLTensor
    deleter: Optional[int]
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


READ_ONLY = 1  # of the flags

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

python: Any = ctypes.pythonapi
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
python.PyCapsule_IsValid.restype = ctypes.c_int
python.PyCapsule_IsValid.argtypes = (ctypes.py_object, ctypes.c_char_p)
python.PyCapsule_SetName.restype = ctypes.c_int
python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)

# A capsule holds a pointer to its name.
USED, USED_VERSIONED = b"used_dltensor", b"used_dltensor_versioned"


class Foreign(Uncopied):
    """Keeps memory of somebody else's, and tells where it lies.

    Work may use it when its last tensor goes, since calls ask nothing of such tensors: then the
    device's streams hold it until they are done.
    """

    __slots__ = ("owner", "home", "device", "is_read_only", "may_be_in_use", "_closed", "_deleter",
                 "_managed")

    closed = False
    is_somebodys = True

    def __init__(self, owner: Any, home: Tuple[int, int], deleter: Optional[int] = None,
                 managed: int = 0, is_read_only: bool = False) -> None:
        self.owner = owner
        self.is_read_only = is_read_only
        self._closed = is_read_only  # calls look again at what must not be written
        self.home = home
        self.device: Optional[Device] = None
        self.may_be_in_use = False
        self._deleter = deleter
        self._managed = managed

    def __del__(self, _call: Any = DELETER) -> None:
        if self.may_be_in_use:
            device = self.device
            if device is not None and not device.closed:
                last = Foreign(self.owner, self.home, self._deleter, self._managed)
                self._deleter = None
                device.hold_for_work([last])
                return
        if self._deleter:
            _call(self._deleter)(self._managed)


def _dense_or(strides: Optional[Sequence[int]], sizes: Sequence[int]) -> Optional[Sequence[int]]:
    """None where the strides say nothing but that there are no gaps."""
    if strides is None:
        return None
    wanted = 1
    for size, stride in zip(reversed(sizes), reversed(strides)):
        if size != 1 and stride != wanted:
            return strides
        wanted *= size
    return None


def _capsule(owner: Any, stream: Optional[int]) -> Any:
    try:
        return owner.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a producer from before DLPack 1.0
        return owner.__dlpack__(stream=stream)


def _by_dlpack(owner: Any, stream: Optional[int]) -> Tuple[int, Layout, Foreign]:
    capsule = _capsule(owner, stream)
    versioned = bool(python.PyCapsule_IsValid(capsule, b"dltensor_versioned"))
    name = b"dltensor_versioned" if versioned else b"dltensor"
    pointer = python.PyCapsule_GetPointer(capsule, name)
    managed: Any = (VersionedManaged if versioned else Managed).from_address(pointer)
    if versioned and managed.major != 1:
        raise BufferError("a DLPack capsule of version %d; 1 is understood" % managed.major)
    python.PyCapsule_SetName(capsule, USED_VERSIONED if versioned else USED)
    tensor = managed.tensor
    keeps = Foreign(owner, (tensor.device_type, tensor.device_id), managed.deleter, pointer,
                    versioned and bool(managed.flags & READ_ONLY))
    dtype = DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise TypeError("a tensor of DLPack's type %d with %d bits and %d lanes; there are %s"
                        % (tensor.code, tensor.bits, tensor.lanes,
                           ", ".join(kind.name.lower() for kind in DType)))
    sizes = tensor.sizes[:tensor.rank]
    strides = tensor.strides[:tensor.rank] if tensor.strides else None
    return (tensor.data or 0) + tensor.byte_offset, Layout(dtype, sizes,
                                                           _dense_or(strides, sizes)), keeps


def _by_interface(owner: Any, described: Dict[str, Any],
                  home: Tuple[int, int]) -> Tuple[int, Layout, Foreign]:
    typestr = described["typestr"]
    dtype = TYPESTRS.get(typestr[1:]) if typestr[0] in "<|" else None
    if dtype is None:
        raise TypeError("an array of type %r; there are %s"
                        % (typestr, ", ".join(kind.name.lower() for kind in DType)))
    sizes = described["shape"]
    strides = described.get("strides")
    if strides is not None:
        if any(stride % dtype.bytes for stride in strides):
            raise ValueError("an array whose strides %r are no multiples of %d bytes"
                             % (tuple(strides), dtype.bytes))
        strides = _dense_or([stride // dtype.bytes for stride in strides], sizes)
    data = described["data"]
    if not isinstance(data, tuple):
        raise TypeError("an array that does not say where it lies")
    keeps = Foreign(owner, home, is_read_only=bool(data[1]))
    return data[0], Layout(dtype, sizes, strides), keeps


def _cuda_home(owner: Any) -> Tuple[int, int]:
    """Where an array of CUDA's lies: its interface does not say."""
    device = getattr(owner, "device", None)
    number = getattr(device, "id", getattr(device, "index", None))
    return CUDA, number if isinstance(number, int) else 0


def look(owner: Any, stream: Optional[int] = None) -> Tuple[int, Layout, Foreign]:
    """Address, layout and keeper of somebody's tensor. TypeError for what is none."""
    if hasattr(owner, "__dlpack__"):
        try:
            return _by_dlpack(owner, stream)
        except (BufferError, RuntimeError):
            # NumPy hands no array out that must not be written; its interface says as much.
            if not hasattr(owner, "__array_interface__"):
                raise
    described = getattr(owner, "__cuda_array_interface__", None)
    if described is not None:
        return _by_interface(owner, described, _cuda_home(owner))
    described = getattr(owner, "__array_interface__", None)
    if described is not None:
        return _by_interface(owner, described, (CPU, 0))
    raise TypeError("a %s is no tensor: it has neither __dlpack__ nor an array interface"
                    % type(owner).__name__)


def _is_at_home(device: Device, home: Tuple[int, int]) -> bool:
    kind, number = home
    if device.is_host:
        return kind in (CPU, CUDA_HOST)
    return kind in (CUDA_HOST, CUDA_MANAGED) or (kind == CUDA and number == device.index)


def _check_home(device: Device, owner: Any, home: Tuple[int, int]) -> None:
    if _is_at_home(device, home):
        return
    kind, number = home
    place = _PLACES.get(kind, "memory of DLPack's device type %d, number" % kind)
    raise ValueError("a %s in %s%s is no tensor of device '%s'%s" % (
        type(owner).__name__, place, "" if kind in (CPU, CUDA_HOST) else " %d" % number,
        device.name, "; copy it there with device.tensor_from(...)" if kind == CPU else ""))


def as_tensor(device: Device, owner: Any, stream: Optional[int] = None) -> Tensor:
    """A Tensor of somebody's tensor, which is kept. One of another device is refused, before its
    owner is asked for it: streams of this device would mean nothing there."""
    where = getattr(owner, "__dlpack_device__", None)
    if where is not None:
        kind, number = where()
        _check_home(device, owner, (int(kind), number))
    address, layout, keeps = look(owner, stream)
    _check_home(device, owner, keeps.home)
    keeps.device = device
    return Tensor.at(address, layout, keeps)
