"""Integers on their way to C, which hold to what C has room for.

ctypes cuts an integer that a C type does not hold, and says nothing: 2**64 + 4 becomes 4, and -1
becomes the greatest there is. So every integer of a caller's passes here:

    a field of a struct         SizedStruct(...), Struct.of(...)
    an argument of a function   lib.gt_...
    an array                    array_of(type, values, name)
    one that stands alone       integer(value, type, name)

What does not fit is an OverflowError with its name, its value and the range. What calls pass
millions of times is made once, and is checked then.
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Callable, Dict, Sequence, Tuple


def _range(kind: Any) -> Tuple[int, int]:
    bits = 8 * ctypes.sizeof(kind)
    return (-1 << (bits - 1), (1 << (bits - 1)) - 1) if kind(-1).value < 0 else (0, (1 << bits) - 1)


# By type. Some of these are one type by several names.
RANGES: Dict[Any, Tuple[int, int]] = {kind: _range(kind) for kind in (
    ctypes.c_uint8, ctypes.c_uint16, ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64,
    ctypes.c_uint64, ctypes.c_int, ctypes.c_size_t)}


def integer(value: Any, kind: Any, name: str) -> int:
    """The value as an int, which the C type holds.

    >>> integer(300, ctypes.c_uint8, "byte")
    Traceback (most recent call last):
    OverflowError: byte is 300, where an integer from 0 to 255 is wanted
    """
    low, high = RANGES[kind]
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError("%s is %r, where an integer is wanted" % (name, value)) from None
    if not low <= number <= high:
        raise OverflowError("%s is %d, where an integer from %d to %d is wanted"
                            % (name, number, low, high))
    return number


_OF_WIDTH = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32}


def element(value: Any, width: Any) -> int:
    """What elements of so many bytes are filled with."""
    kind = _OF_WIDTH.get(width)
    if kind is None:
        raise ValueError("width is %r, where 1, 2 or 4 is wanted" % (width,))
    return integer(value, kind, "value")


def array_of(kind: Any, values: Sequence[Any], name: str) -> Any:
    """A C array of these; of no values it has room for one, so that it lies somewhere."""
    return (kind * max(len(values), 1))(*(
        integer(value, kind, "%s[%d]" % (name, at)) for at, value in enumerate(values)))


def as_field(value: Any, kind: Any, name: str) -> Any:
    """What a struct's field of that type is set to."""
    if kind in RANGES:
        return integer(value, kind, name)
    if isinstance(value, tuple):
        return tuple(integer(one, kind._type_, "%s[%d]" % (name, at))
                     for at, one in enumerate(value))
    return value


def checking(name: str, function: Any,
             numbers: Sequence[Tuple[int, str, Any]]) -> Callable[..., Any]:
    """The function of C, with the integers that it takes checked: (place, name, type) of each.

    `unchecked` is the function itself, for callers who have checked their own.
    """
    ranges = tuple((place,) + RANGES[kind] for place, _, kind in numbers)

    def call(*given: Any) -> Any:
        for place, low, high in ranges:
            value = given[place]
            if type(value) is not int or not low <= value <= high:
                return function(*slowly(list(given)))
        return function(*given)

    def slowly(given: Any) -> Any:
        for place, word, kind in numbers:
            if not isinstance(given[place], kind):
                given[place] = integer(given[place], kind, "%s of %s" % (word, name))
        return given

    called: Any = call
    called.__name__ = name
    called.unchecked = function
    return call
