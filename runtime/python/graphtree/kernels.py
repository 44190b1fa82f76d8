"""Kernels: one computation, with a body for each kind of device.

>>> import graphtree
>>> def add(call):                       # what all threads compute together, on the host device
...     out, x = call.array(0), call.array(1)
...     for i in range(call.block[0]):
...         out[i] = x[i] + call[2]
>>> kernel = graphtree.Kernel("add", ["*i32", "const *i32", "i32"], host=add, source='''
...     extern "C" __global__ void add(int* out, const int* x, int by) {
...       out[threadIdx.x] = x[threadIdx.x] + by;
...     }''')
>>> with graphtree.Device("host") as device:
...     x = device.tensor_from([1, 2, 3], "i32")
...     out = device.empty((3,), "i32")
...     with device.stream() as stream:
...         stream.launch(kernel, graphtree.Out(out), graphtree.In(x), 10, block=3)
...         stream.synchronize()
...     print(out.tolist())
...     del x, out
[11, 12, 13]
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._handles import Owned, Rank
from ._integers import array_of, integer
from ._library import lib
from ._probe import is_accessible
from .errors import InvalidArgument, check
from .parameters import (LaunchCall, Parameter, ParameterSpec, make_arguments, make_shape,
                         parameter_of)


class HostCall:
    """What a kernel's body for the host device sees of a launch. Good while the body runs.

    `array` looks whether memory is there; an address of one's own must be right, since the process
    does not survive a body of Python that touches other memory, and ends with words that name it.
    """

    __slots__ = ("grid", "block", "shared_bytes", "_arguments", "_parameters")

    def __init__(self, call: c.gt_host_call, parameters: Sequence[Parameter]) -> None:
        shape = call.shape
        self.grid: Tuple[int, ...] = tuple(shape.grid)
        self.block: Tuple[int, ...] = tuple(shape.block)
        self.shared_bytes: int = shape.shared_bytes
        self._arguments = call.arguments
        self._parameters = parameters

    def __len__(self) -> int:
        return len(self._parameters)

    def __getitem__(self, index: int) -> Any:
        """A number; of a pointer the address; else the argument's bytes."""
        parameter = self._parameters[index]
        if parameter.number is not None:
            return parameter.number.from_address(self._arguments[index]).value
        if parameter.is_pointer:
            return ctypes.c_uint64.from_address(self._arguments[index]).value
        return ctypes.string_at(self._arguments[index], parameter.bytes)

    def array(self, index: int, count: Optional[int] = None) -> Any:
        """What pointer `index` points to: `count` elements, or as many as the launch has threads.

        A ctypes array, which numpy.frombuffer takes, too. Memory that is not there is an error.
        """
        pointed = self._parameters[index].pointed
        if pointed is None:
            raise TypeError("parameter %d is %r, which does not say what it points to"
                            % (index, self._parameters[index].spec))
        if count is None:
            count = 1
            for size in self.grid + self.block:
                count *= size
        address = self[index]
        if not is_accessible(address, ctypes.sizeof(pointed) * count):
            raise InvalidArgument("argument %d points to 0x%x, where %d bytes are not accessible"
                                  % (index, address, ctypes.sizeof(pointed) * count))
        return (pointed * count).from_address(address)


def _call_host(context: Any, call: Any, _find: Any = _callbacks.find,
               _failures: Any = _callbacks.host_failures, _HostCall: Any = HostCall) -> None:
    found = _find(context)
    if found is None:
        return
    try:
        body, parameters = found
        body(_HostCall(call.contents, parameters))
    except BaseException as failure:
        _failures.append(failure)


_call_host_in_c = _callbacks.immortal(c.gt_host_body(_call_host))

# What all functions of C are in ctypes.
_CFunction: Any = type(lib.gt_release).__mro__[1]

HostBody = Union[Callable[[HostCall], Any], int, Any]


class Kernel(Owned):
    """A kernel belongs to no device. Recordings that launch it hold it.

    `parameters`: as in `graphtree.parameters`. `host`: a Python function of a HostCall, a C
    function of ctypes, or the address of one (gt_host_body). Of CUDA one of `image` (a cubin, PTX
    or a fatbin), `source` (CUDA C++, compiled when it is first loaded; `options` are NVRTC's) and
    `symbol` (the address of a __global__ function of the program); `entry` is its name there.
    """

    rank = Rank.KERNEL

    def __init__(self, name: str, parameters: Sequence[ParameterSpec],
                 host: Optional[HostBody] = None, *, image: Union[bytes, str, None] = None,
                 source: Optional[str] = None, symbol: int = 0, entry: Optional[str] = None,
                 options: Sequence[str] = ()) -> None:
        self.name = name
        self.parameters = tuple(parameter_of(spec)
                                for spec in _wanted.row(parameters, "parameters"))
        options = _wanted.row(options, "options")
        count = len(self.parameters)
        # What the struct points to stays in these until the call is over.
        sizes = array_of(ctypes.c_uint32, [p.bytes for p in self.parameters], "parameters")
        writable = self._writable()
        texts = (ctypes.c_char_p * max(len(options), 1))(
            *(_wanted.text(text, "one of the options") for text in options))
        kind, content = _cuda_body(image, source, symbol)
        made = c.gt_kernel_options(
            name=_wanted.text(name, "the kernel's name"), parameter_count=count,
            parameter_bytes=sizes, cuda_kind=kind, cuda_bytes=len(content),
            entry=_wanted.text(entry or name, "entry"), option_count=len(options),
            options=texts)
        if writable is not None:
            made.parameter_writable = writable
        held = ctypes.create_string_buffer(content, len(content) + 1)
        made.cuda = symbol if kind == c.GT_CUDA_SYMBOL else ctypes.addressof(held)
        self._c_host = host if isinstance(host, _CFunction) else None
        number = self._set_host(made, host)
        handle = ctypes.c_uint64()
        try:
            check(lib.gt_kernel_new(ctypes.byref(made), ctypes.byref(handle)))
        except BaseException:
            _callbacks.strike(number)
            raise
        self._own(handle.value)

    def _writable(self) -> Any:
        """Which pointers may be written through, if any parameter says so."""
        if not any(p.is_const for p in self.parameters):
            return None
        flags = [p.is_pointer and not p.is_const for p in self.parameters]
        return (ctypes.c_uint8 * len(flags))(*flags)

    def _set_host(self, made: c.gt_kernel_options, host: Optional[HostBody]) -> int:
        if host is None:
            return 0
        if isinstance(host, (int, _CFunction)) and not isinstance(host, bool):
            if isinstance(host, int):
                integer(host, ctypes.c_uint64, "host")
            made.host = ctypes.cast(host, c.gt_host_body)
            return 0
        _wanted.function(host, "host")
        number = _callbacks.note((host, self.parameters))
        made.host = _call_host_in_c
        made.host_is_interpreted = 1
        made.context = number
        made.destroy = _callbacks.forget
        return number

    def __repr__(self) -> str:
        return "<graphtree.Kernel %r of %d parameters>" % (self.name, len(self.parameters))

    def call(self, arguments: Sequence[Any], grid: Union[int, Sequence[int]],
             block: Union[int, Sequence[int]], shared_bytes: int,
             programmatic: bool) -> LaunchCall:
        """A launch of it, as the C interface takes it."""
        args, keeps = make_arguments(self.name, self.parameters, arguments)
        return LaunchCall(make_shape(grid, block, shared_bytes, programmatic), args,
                          len(arguments), keeps)


def _cuda_body(image: Union[bytes, str, None], source: Optional[str],
               symbol: int) -> Tuple[int, bytes]:
    given: List[Tuple[int, bytes]] = []
    if image is not None:
        if not isinstance(image, (bytes, bytearray, memoryview, str)):
            raise _wanted.wrong_type(image, "image", "bytes or a str")
        given.append((c.GT_CUDA_IMAGE, image.encode() if isinstance(image, str) else bytes(image)))
    if source is not None:
        given.append((c.GT_CUDA_SOURCE, _wanted.text(source, "source")))
    if symbol:
        integer(symbol, ctypes.c_uint64, "symbol")
        given.append((c.GT_CUDA_SYMBOL, b""))
    if len(given) > 1:
        raise TypeError("a kernel has one of image, source and symbol")
    return given[0] if given else (c.GT_CUDA_NONE, b"")
