"""How the library calls Python: one C function for each kind of callback, and a book of what it is
to call.

    gt_tree_register(..., body, context = 17, destroy)      17 --> the book --> the Python function
    the library --> body(17, launcher) --> the function
    the library --> destroy(17)        --> 17 is struck out

The C functions are made once and never freed, since the library may call one until the process
ends: numbers that are struck out find nothing, and that is an error or nothing at all. Nothing here
needs a name of this module once it is being called.
"""

from __future__ import annotations

import collections
import ctypes
import itertools
from typing import Any, Deque, Dict

_book: Dict[int, Any] = {}
_numbers = itertools.count(1)

# What host bodies of kernels have raised: they run on threads of the device's, whose work has no
# way to fail. The next wait for the device raises it.
host_failures: Deque[BaseException] = collections.deque(maxlen=16)


def note(thing: Any) -> int:
    """Writes it into the book: its number is a callback's context, until `forget` is called."""
    number = next(_numbers)
    _book[number] = thing
    return number


def strike(number: int) -> None:
    """It is called no more."""
    _book.pop(number, None)


def immortal(function: Any) -> Any:
    """Never freed, not even when the interpreter ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))
    return function


def find(number: int, _book: Dict[int, Any] = _book) -> Any:
    """What the number stands for; None if it was struck out."""
    return _book.get(number)


def _forget(context: Any, _book: Dict[int, Any] = _book) -> None:
    _book.pop(context, None)


# destroy(context), of everything that has one.
forget = immortal(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_forget))


def noted() -> int:
    """How many things the book has: 0 when the library holds nothing of Python's."""
    return len(_book)


def raise_host_failure() -> None:
    """Raises what a host body has raised since the last time, if any."""
    try:
        failure = host_failures.popleft()
    except IndexError:
        return
    raise failure
