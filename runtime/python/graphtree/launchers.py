"""Launchers: what a body launches its work through.

A body is a Python function of a launcher and its inputs, and returns its outputs. It is the same
for every run, may be called any number of times, and computes nothing on the host that depends on
data of the device. A replay does not call it.

What a body gets through its launcher ends with the body: a launcher, a stream and a tensor of the
tree's memory raise BadHandle when they are used later. An input that is memory of the caller's only
says where that lies: kept longer, it raises nothing, keeps nothing, and is good for as long as the
caller keeps the memory. A tensor that is dropped earlier makes room for what the body makes next.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple, Type, Union

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._bodies import running
from ._copying import Uncopied
from ._library import lib
from ._written_inputs import InputWatch
from .errors import check, exception_of, forget_raised, to_error
from .layouts import AnyDType, Layout, dtype_of
from .parameters import Access, Range, argument_value
from .streams import Event, Stream
from .tensors import Opaque, Tensor, from_value, integer_value, sizes_array

if TYPE_CHECKING:
    from .devices import Device
    from .kernels import Kernel
    from .tree_parts import Generator, Workspace


class BodyStream(Stream):
    """A body's stream, which is the launcher's, and ends with the body."""

    ends_with_body = True

    def __init__(self, device: Device, handle: int) -> None:
        self.device = device
        self._argument = ctypes.c_void_p(handle)
        self._handle = handle
        self._closed = True

    def hold(self, tensors: List[Any]) -> None:
        """Somebody's tensors that a body takes are used in each replay: whoever registers the body
        keeps them."""


class Launcher(Uncopied):
    """What the body of a function, of a program or of a part launches through."""

    closed = _closed = False

    def __init__(self, handle: int, device: Device) -> None:
        self.handle = handle
        self.device = device
        self._thread = threading.get_ident()
        self._has_ended = False
        self._failure: Optional[BaseException] = None
        self._watch: Optional[InputWatch] = None

    def _check(self, error: int) -> None:
        """Raises the launcher's failure: the first one sticks, and its error is the launcher's."""
        if not error:
            return
        if self._has_ended or self._thread != threading.get_ident():
            check(error)
        if self._failure is None:
            self._failure = exception_of(error)
        raise self._failure

    def end(self) -> None:
        """The body is over."""
        self._has_ended = True

    @property
    def home(self) -> Tuple[int, int]:
        """Where its tensors lie, in DLPack's numbers."""
        return (1, 0) if self.device.is_host else (2, self.device.index)

    def _tensor(self, value: c.gt_value) -> Tensor:
        return Tensor.of_value(value, self)

    def inputs(self) -> List[Any]:
        """What the body is called with: tensors, integers, objects, None."""
        count = ctypes.c_size_t()
        self._check(lib.gt_launcher_input_count(self.handle, ctypes.byref(count)))
        found = []
        for index in range(count.value):
            value = c.gt_value()
            self._check(lib.gt_launcher_any_input(self.handle, index, ctypes.byref(value)))
            found.append(from_value(value, self))
        return found

    def watch(self, watch: InputWatch) -> None:
        """The body's writes are told to it."""
        self._watch = watch

    def _writes(self, tensor: Any) -> None:
        if self._watch is not None:
            self._watch.writes(tensor)

    def _writes_all(self, arguments: Sequence[Any]) -> None:
        for argument in arguments:
            if type(argument) is Access and argument.access != c.GT_READ:
                self._writes(argument.tensor)

    def drop_input(self, index: int) -> None:
        """The body needs the input no more: its memory may be used for what comes next."""
        self._check(lib.gt_launcher_drop_input(self.handle, index))

    def output(self, value: Any) -> None:
        """The next output. What a body returns is handed out by this."""
        given = output_value(value)
        self._check(lib.gt_launcher_output(self.handle, ctypes.byref(given)))

    # ---- Memory ----------------------------------------------------------------------------------

    def empty(self, sizes: Sequence[int], dtype: AnyDType) -> Tensor:
        """A tensor of the tree's memory. What is in it first is anything."""
        return self._empty(Layout(dtype, sizes))

    def empty_like(self, tensor: Tensor) -> Tensor:
        """The same with the layout of another one."""
        return self._empty(_wanted.thing(tensor, Tensor, "the tensor").layout)

    def _empty(self, layout: Layout) -> Tensor:
        out = c.gt_value()
        self._check(lib.gt_launcher_empty(self.handle, layout.handle, ctypes.byref(out)))
        return self._tensor(out)

    def empty_with_room(self, sizes: Sequence[int], room: Sequence[int],
                        dtype: AnyDType) -> Tensor:
        """With room behind it, or behind its rows, for `pad` up to the sizes `room`."""
        rank, as_array = sizes_array(sizes)
        if len(room) != rank:
            raise ValueError("%d sizes, and room of %d" % (rank, len(room)))
        out = c.gt_value()
        self._check(lib.gt_launcher_empty_with_room(self.handle, dtype_of(dtype), rank, as_array,
                                                   sizes_array(room)[1], ctypes.byref(out)))
        return self._tensor(out)

    def pad(self, tensor: Tensor, sizes: Sequence[int], number: float = 0.0) -> Tensor:
        """The tensor padded to larger sizes. It takes the tensor's handle: where that is the only
        one, and there is room, only the tail is written."""
        rank, as_array = sizes_array(sizes)
        given, out = argument_value(tensor, "the tensor"), c.gt_value()
        self._check(lib.gt_launcher_pad(self.handle, ctypes.byref(given), rank, as_array, number,
                                       ctypes.byref(out)))
        if tensor._storage:
            tensor._storage = 0  # the library has it
            tensor.close()
        return self._tensor(out)

    def scratch(self, size: int) -> Tensor:
        """Bytes for the op that is launched next, and no longer."""
        out = c.gt_value()
        self._check(lib.gt_launcher_scratch(self.handle, size, ctypes.byref(out)))
        return self._tensor(out)

    def pin(self, tensor: Tensor) -> None:
        """Its memory is registered elsewhere: the tree never parks or unmaps it."""
        given = argument_value(tensor, "the tensor")
        self._check(lib.gt_launcher_pin(self.handle, ctypes.byref(given)))

    # ---- Work ------------------------------------------------------------------------------------

    def launch(self, kernel: Kernel, *arguments: Any, grid: Union[int, Sequence[int]] = 1,
               block: Union[int, Sequence[int]] = 1, shared_bytes: int = 0,
               programmatic: bool = False) -> None:
        """Launches a kernel. Tensors are said with what the kernel does with them: In(x), Out(y),
        InOut(z); numbers become what the kernel's parameters are."""
        if not hasattr(kernel, "call"):
            raise _wanted.wrong_type(kernel, "the kernel", "a graphtree.Kernel")
        call = kernel.call(arguments, grid, block, shared_bytes, programmatic)
        self._writes_all(arguments)
        self._check(lib.gt_launcher_launch(self.handle, kernel.handle, ctypes.byref(call.shape),
                                          call.args, call.given))

    def copy(self, target: Tensor, source: Tensor) -> None:
        """Copies a tensor."""
        to, since = argument_value(target, "the target"), argument_value(source, "the source")
        self._writes(target)
        self._check(lib.gt_launcher_copy(self.handle, ctypes.byref(to), ctypes.byref(since)))

    def fill(self, target: Tensor, byte: int = 0) -> None:
        """Sets each byte of a tensor."""
        to = argument_value(target, "the target")
        self._writes(target)
        self._check(lib.gt_launcher_fill(self.handle, ctypes.byref(to), byte))

    def run_eagerly(self, why: str, part: Callable[..., None], *accesses: Access) -> None:
        """Cuts the recording here: `part(on, *tensors)` runs at once, in its place, in every run,
        a replay, too. `accesses`, In(x) and so on, say what it reads and writes, and are what it is
        called with. What it launches goes through a launcher of its own."""
        values = [argument_value(access.tensor, "a tensor of the part")
                  for access in _wanted.things(accesses, Access, "the accesses")]
        self._writes_all(accesses)
        args = (c.gt_arg * max(len(values), 1))()
        for arg, access, value in zip(args, accesses, values):
            arg.access = access.access
            arg.data = ctypes.addressof(value)
        reason = _wanted.text(why, "why")
        number = _callbacks.note((_wanted.function(part, "the part"), self.device))
        self._check(lib.gt_launcher_break(self.handle, reason, args, len(values),
                                          _run_part_in_c, number, _callbacks.forget))

    def set_event(self, event: Event) -> None:
        """Sets the event after all that was launched so far, in every run, a replay, too."""
        given = _wanted.thing(event, Event, "the event")
        self._check(lib.gt_launcher_set_event(self.handle, given.handle))

    def random(self, generator: Generator, count: int) -> c.gt_random_state:
        """The next `count` numbers, for one op: an argument of 24 bytes by value."""
        out = c.gt_random_state()
        self._check(lib.gt_launcher_random(self.handle, generator.handle, count, ctypes.byref(out)))
        return out

    def workspace(self, workspace: Workspace) -> Range:
        """The memory of a workspace of the tree's."""
        out = c.gt_range()
        self._check(lib.gt_launcher_workspace(self.handle, workspace.handle, ctypes.byref(out)))
        return Range(out.address, out.bytes)

    def warm_up_again(self, why: str) -> None:
        """The body is not settled yet: the next call shall warm up again."""
        self._check(lib.gt_launcher_warm_up_again(self.handle, _wanted.text(why, "why")))

    def keep_alive(self, thing: Any) -> None:
        """Work that was launched needs the object: it stays while a run or recording needs it."""
        number = _callbacks.note(thing)
        self._check(lib.gt_launcher_keep_alive(self.handle, number, _callbacks.forget))

    # ---- Opaque work -----------------------------------------------------------------------------

    def reads(self, *tensors: Tensor) -> None:
        """Opaque work that comes now reads these."""
        for tensor in tensors:
            given = argument_value(tensor, "the tensor")
            self._check(lib.gt_launcher_reads(self.handle, ctypes.byref(given)))

    def writes(self, *tensors: Tensor) -> None:
        """Opaque work that comes now writes these."""
        for tensor in tensors:
            given = argument_value(tensor, "the tensor")
            self._writes(tensor)
            self._check(lib.gt_launcher_writes(self.handle, ctypes.byref(given)))

    @property
    def stream(self) -> Stream:
        """The body's stream, for opaque work."""
        out = ctypes.c_uint64()
        self._check(lib.gt_launcher_stream(self.handle, ctypes.byref(out)))
        return BodyStream(self.device, out.value)

    @property
    def native_stream(self) -> int:
        """Its cudaStream_t."""
        out = ctypes.c_void_p()
        self._check(lib.gt_launcher_native_stream(self.handle, ctypes.byref(out)))
        return out.value or 0

    def fork(self, side: Stream) -> None:
        """Work that is put on `side` from here on comes after the body's so far."""
        forked = _wanted.thing(side, Stream, "side")
        self._check(lib.gt_launcher_fork(self.handle, forked.handle))

    def join_forks(self) -> None:
        """The body goes on after what it has forked, which its end does, too."""
        self._check(lib.gt_launcher_join_forks(self.handle))

    def used_on(self, tensor: Tensor, side: Stream) -> None:
        """Opaque work on `side` uses the tensor: said after that work was put there."""
        given = argument_value(tensor, "the tensor")
        user = _wanted.thing(side, Stream, "side")
        self._check(lib.gt_launcher_used_on(self.handle, ctypes.byref(given), user.handle))

    def check_status(self) -> None:
        """Raises the launcher's first failure, if there is one."""
        self._check(lib.gt_launcher_status(self.handle))


def output_value(value: Any) -> c.gt_value:
    """What a body hands out, as the C interface has it."""
    if type(value) is Tensor:
        return value.value()
    if value is None:
        return c.gt_value()
    if isinstance(value, bool) or not isinstance(value, (int, Opaque)):
        raise TypeError("a body returns graphtree tensors, ints, Opaque objects and None, and not "
                        "a %s" % type(value).__name__)
    if isinstance(value, Opaque):
        return value.value()
    return integer_value(value)


def outputs_of(result: Any) -> Sequence[Any]:
    """What a body has returned, as a row of outputs."""
    if result is None:
        return ()
    return result if isinstance(result, (tuple, list)) else (result,)


def run_in_body(run: Callable[[Launcher], Any], handle: int, device: Device,
                most_outputs: Optional[int] = None, kind: Type[Launcher] = Launcher) -> int:
    """Runs what a callback is to do, and hands out what it returns. An exception becomes the
    call's."""
    forget_raised()
    on = kind(handle, device)
    thread = threading.get_ident()
    around = running.get(thread)
    running[thread] = on
    try:
        outputs = outputs_of(run(on))
        if most_outputs is not None and len(outputs) > most_outputs:
            raise ValueError("the body returns %d outputs, and most_outputs is %d"
                             % (len(outputs), most_outputs))
        for value in outputs:
            on.output(value)
        return 0
    except BaseException as exception:
        return to_error(exception)
    finally:
        on.end()
        if around is None:
            del running[thread]
        else:
            running[thread] = around


def _run_part(context: Any, handle: Any, tensors: Any, count: int,
              _find: Any = _callbacks.find) -> int:
    part, device = _find(context)

    def run(on: Launcher) -> None:
        # The library's own handles, which end with the part.
        given = []
        for index in range(count):
            copy = c.gt_value()
            check(lib.gt_value_copy(ctypes.byref(tensors[index]), ctypes.byref(copy)))
            given.append(Tensor.of_value(copy, on))
        part(on, *given)

    return run_in_body(run, handle, device)


_run_part_in_c = _callbacks.immortal(c.gt_part(_run_part))
