"""Whether memory is there, asked without touching it.

A body of Python that touched memory which is not there would be ended by the host device in the
middle of the interpreter, which nothing survives. The system answers instead: it takes a byte from
the place into a pipe, or says that it cannot.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Optional, Tuple

_write: Any = ctypes.CDLL(None).write
_write.restype = ctypes.c_ssize_t
_write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)

_lock = threading.Lock()
_pipe: Optional[Tuple[int, int]] = None


def is_accessible(address: int, size: int) -> bool:
    """Whether the first and the last of these bytes can be read."""
    global _pipe
    if size <= 0:
        return True
    with _lock:
        if _pipe is None:
            _pipe = os.pipe()
        for place in (address, address + size - 1):
            if _write(_pipe[1], place, 1) != 1:
                return False
            os.read(_pipe[0], 1)
    return True
