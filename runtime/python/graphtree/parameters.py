"""What a kernel takes, and how Python's values become its arguments.

A kernel's parameters are named by short words:

    "*f32", "const *i32", "*"     a pointer: it gets a tensor
    "i32", "u64", "f32", ...      a number of that type
    24                            so many bytes by value: it gets a struct of ctypes, or bytes
    "word4", "word8"              whatever has 4 or 8 bytes: compilers that tell no more
"""

from __future__ import annotations

import ctypes
import numbers
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _interface as c
from . import _wanted
from ._integers import integer
from .errors import BadHandle
from .tensors import Tensor

ParameterSpec = Union[str, int]

_NUMBERS: Dict[str, Any] = {
    "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16, "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool,
}
# As others call them.
_ALIASES = {"fp32": "f32", "fp64": "f64", "fp16": "f16", "i1": "bool", "int": "i32",
            "float": "f32", "int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}
# What host bodies see behind a pointer; halves have no ctypes type of their own.
_POINTED = dict(_NUMBERS, f16=ctypes.c_uint16, bf16=ctypes.c_uint16)
_WORDS = {"word1": 1, "word2": 2, "word4": 4, "word8": 8}


class Parameter(NamedTuple):
    """One parameter of a kernel."""

    spec: ParameterSpec
    bytes: int
    number: Any            # the ctypes type of a number, or None
    is_pointer: bool
    is_const: bool         # a pointer to what is not written
    pointed: Any           # the ctypes type of what a pointer points to, or None
    is_word: bool          # anything of that many bytes


def parameter_of(spec: ParameterSpec) -> Parameter:
    """What a word, or a number of bytes, says.

    >>> parameter_of("const *f32").is_const, parameter_of("i64").bytes
    (True, 8)
    """
    if isinstance(spec, bool) or not isinstance(spec, (str, int)):
        raise _wanted.wrong_type(spec, "a parameter", "a str or an int")
    if isinstance(spec, int):
        return Parameter(spec, spec, None, False, False, None, False)
    words = spec.replace("*", " * ").split()
    is_const = "const" in words
    kind = [_ALIASES.get(word, word) for word in words if word not in ("const", "*")]
    if "*" in words:
        pointed = _POINTED.get(kind[0]) if kind else None
        return Parameter(spec, 8, None, True, is_const, pointed, False)
    if len(kind) == 1 and kind[0] in _NUMBERS:
        number = _NUMBERS[kind[0]]
        return Parameter(spec, ctypes.sizeof(number), number, False, False, None, False)
    if len(kind) == 1 and kind[0] in _WORDS:
        return Parameter(spec, _WORDS[kind[0]], None, False, False, None, True)
    raise ValueError("a parameter is '*', '*f32', 'const *f32', a number of bytes, or one of %s; "
                     "%r is none of these" % (", ".join(sorted(_NUMBERS)), spec))


class Access(NamedTuple):
    """A tensor, and what a kernel does with it."""

    access: int
    tensor: Tensor


def In(tensor: Tensor) -> Access:
    """The kernel reads it."""
    return Access(c.GT_READ, tensor)


def Out(tensor: Tensor) -> Access:
    """The kernel writes it."""
    return Access(c.GT_WRITE, tensor)


def InOut(tensor: Tensor) -> Access:
    """The kernel reads and writes it."""
    return Access(c.GT_READ_WRITE, tensor)


class Range(NamedTuple):
    """Memory without a layout, that is read and written. For launches outside of bodies."""

    address: int
    size: int


class Num:
    """A number, or struct, of ctypes whose equal values have equal bytes: checked mode compares
    it. Plain numbers of Python are such."""

    def __init__(self, data: Any) -> None:
        if not isinstance(data, (ctypes.Structure, ctypes.Union, ctypes.Array,
                                 ctypes._SimpleCData)):
            raise _wanted.wrong_type(data, "Num's data", "a number or struct of ctypes")
        self.data = data


def argument_value(tensor: Any, what: str) -> c.gt_value:
    """The value of what has to be a tensor."""
    if type(tensor) is not Tensor:
        raise TypeError("%s is a %s where a graphtree.Tensor is wanted"
                        % (what, type(tensor).__name__))
    if not tensor._storage and tensor._origin.closed:
        raise BadHandle("%s lies in memory that is closed" % what)
    return tensor.value()


class LaunchCall(NamedTuple):
    """One launch, as the C interface takes it."""

    shape: c.gt_launch_shape
    args: Any
    given: int         # how many arguments
    keeps: List[Any]   # what `args` points to


def _three(sizes: Union[int, Sequence[int]], name: str) -> Tuple[int, int, int]:
    if isinstance(sizes, (tuple, list)):
        given = tuple(sizes)
    elif hasattr(sizes, "__index__") or not hasattr(sizes, "__iter__"):
        given = (integer(sizes, ctypes.c_uint32, name),)
    else:
        given = tuple(sizes)
    if not 1 <= len(given) <= 3:
        raise ValueError("a %s has one to three sizes, and not %r" % (name, sizes))
    padded = given + (1, 1)
    return padded[0], padded[1], padded[2]


def make_shape(grid: Union[int, Sequence[int]], block: Union[int, Sequence[int]],
               shared_bytes: int, programmatic: bool) -> c.gt_launch_shape:
    """The shape of a launch."""
    return c.gt_launch_shape.of(_three(grid, "grid"), _three(block, "block"), shared_bytes,
                                programmatic)


def _data_of(given: Any, parameter: Optional[Parameter], what: str) -> Tuple[int, Any]:
    """(access, ctypes object) of an argument that is no tensor."""
    if isinstance(given, Num):
        return c.GT_NUMBER, given.data
    if isinstance(given, (ctypes.Structure, ctypes.Array, ctypes._SimpleCData)):
        return c.GT_BYTES, given
    if isinstance(given, (bytes, bytearray)):
        return c.GT_BYTES, (ctypes.c_char * len(given)).from_buffer_copy(given)
    if parameter is None:
        raise TypeError("%s is one too many" % what)
    if given is None and parameter.bytes == 8 and (parameter.is_pointer or parameter.is_word):
        return c.GT_BYTES, ctypes.c_uint64(0)
    if isinstance(given, numbers.Real):
        given = int(given) if isinstance(given, numbers.Integral) else float(given)
        kind = parameter.number
        if parameter.is_word:
            kind = _word_type(given, parameter.bytes)
        if kind is not None:
            return c.GT_NUMBER, _number(kind, given, what)
    raise TypeError("%s is %r where %r is wanted%s" % (
        what, given, parameter.spec,
        ": say In(tensor), Out(tensor) or InOut(tensor)" if parameter.is_pointer else ""))


def _word_type(given: Union[bool, int, float], size: int) -> Any:
    if isinstance(given, float):
        return {4: ctypes.c_float, 8: ctypes.c_double}.get(size)
    signed = {1: ctypes.c_int8, 2: ctypes.c_int16, 4: ctypes.c_int32, 8: ctypes.c_int64}
    unsigned = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}
    return (signed if given < 0 else unsigned).get(size)


def _number(kind: Any, given: Union[bool, int, float], what: str) -> Any:
    made = kind(given)
    # ctypes cuts integers that are too large.
    if isinstance(given, int) and kind not in (ctypes.c_float, ctypes.c_double, ctypes.c_bool) \
            and made.value != given:
        raise OverflowError("%s is %d, which a %s does not hold" % (what, given, kind.__name__))
    return made


def make_arguments(name: str, parameters: Sequence[Parameter], given: Sequence[Any]) -> Any:
    """(array of gt_arg, what it points to) for a kernel's launch."""
    if len(given) != len(parameters):
        raise TypeError("%s takes %d arguments, and is given %d"
                        % (name, len(parameters), len(given)))
    args = (c.gt_arg * max(len(given), 1))()
    keeps: List[Any] = []
    for index, argument in enumerate(given):
        what = "argument %d of %s" % (index, name)
        if isinstance(argument, Access):
            access, size = argument.access, 0
            data: Any = argument_value(argument.tensor, what)
            if access != c.GT_READ:
                argument.tensor.check_writable(what)
        elif isinstance(argument, Range):
            access, data, size = c.GT_RANGE, c.gt_range.of(argument.address, argument.size), 0
        else:
            access, data = _data_of(argument, parameters[index], what)
            size = ctypes.sizeof(data)
        keeps.append(data)
        args[index].access = access
        args[index].bytes = size
        args[index].data = ctypes.addressof(data)
    return args, keeps
