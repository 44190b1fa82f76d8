"""A framework of its own, whose tensors hand themselves out by DLPack, for tests."""

import ctypes

from graphtree import _foreign
from world import WORDS


class Producer:
    """A tensor of a framework of its own, that hands itself out as frameworks do."""

    def __init__(self, home=(1, 0), dtype=(0, 32), sizes=(WORDS,), strides=None, versioned=False,
                 major=1):
        self.words = (ctypes.c_int32 * WORDS)(*range(WORDS))
        self.home = home
        self.asked = []
        kind = _foreign.VersionedManaged if versioned else _foreign.Managed
        self.managed = kind()
        if versioned:
            self.managed.major = major
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
