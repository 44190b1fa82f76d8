"""Frameworks of their own, for tests: tensors that go out by DLPack, and who takes them."""

import ctypes

from graphtree import _foreign
from world import WORDS


class Producer:
    """A tensor of a framework of its own, that hands itself out as frameworks do."""

    def __init__(self, home=(1, 0), dtype=(0, 32), sizes=(WORDS,), strides=None, versioned=False,
                 major=1, flags=0):
        self.words = (ctypes.c_int32 * WORDS)(*range(WORDS))
        self.home = home
        self.asked = []
        kind = _foreign.VersionedManaged if versioned else _foreign.Managed
        self.managed = kind()
        if versioned:
            self.managed.major = major
            self.managed.flags = flags
        tensor = self.managed.tensor
        tensor.data = ctypes.addressof(self.words)
        tensor.device_type, tensor.device_id = home
        tensor.rank = len(sizes)
        tensor.code, tensor.bits, tensor.lanes = dtype + (1,)
        tensor.sizes = (ctypes.c_int64 * len(sizes))(*sizes)
        if strides is not None:
            tensor.strides = (ctypes.c_int64 * len(strides))(*strides)
        self.deleted = []
        self.deleter = _foreign.DELETER(self.deleted.append)
        self.managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def __dlpack_device__(self):
        return self.home

    def __dlpack__(self, *, stream=None):
        self.asked.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                ctypes.c_void_p)(("PyCapsule_New", ctypes.pythonapi))
        return new(ctypes.addressof(self.managed), self.name, None)


class Consumer:
    """A framework that takes a capsule, and drops it without any lock of Python's."""

    def __init__(self, capsule):
        python = ctypes.pythonapi
        versioned = python.PyCapsule_IsValid(ctypes.py_object(capsule), b"dltensor_versioned")
        name = b"dltensor_versioned" if versioned else b"dltensor"
        kind = _foreign.VersionedManaged if versioned else _foreign.Managed
        self.address = _foreign.python.PyCapsule_GetPointer(capsule, name)
        self.managed = kind.from_address(self.address)
        self.name = b"used_" + name
        _foreign.python.PyCapsule_SetName(capsule, self.name)

    def words(self):
        tensor = self.managed.tensor
        return list((ctypes.c_int32 * WORDS).from_address(tensor.data))

    def drop(self):
        _foreign.DELETER(self.managed.deleter)(self.address)
