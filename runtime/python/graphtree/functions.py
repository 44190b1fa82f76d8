"""Functions of a tree, and what a call of one costs.

A call that replays is one call of the library and the making of one Tensor: everything else is made
before. A *frame* has the arrays that a call passes and Python's looks into them; a function keeps
the frames that nobody uses, so calls on several threads, and calls in bodies, have one each.

    frame   inputs   | kind | layout | address | storage | ...      written before the call
            outputs  | kind | layout | address | storage | ...      read after it
            found    | how many outputs there were |
"""

from __future__ import annotations

import ctypes
import inspect
import numbers
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Tuple

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._bodies import running, stream_here
from ._handles import Owned, Rank
from ._library import lib, text_of, untyped
from ._returned import returned
from ._written_inputs import WrittenInputs
from .errors import BadHandle, Error, check, error_of
from .launchers import Launcher, run_in_body
from .reasons import FunctionStats, Parity, PlaceOnPath
from .streams import Stream, stream_or_none
from .tensors import Given, Opaque, Tensor, from_value, integer_value

if TYPE_CHECKING:
    from .trees import Tree

_call = untyped("gt_call")
_new = object.__new__
_TENSOR = c.GT_TENSOR
_WORDS = 4  # of a gt_value


class _Frame:
    """The arrays of one call."""

    __slots__ = ("count", "inputs", "words", "outputs", "out_words", "found", "input_argument",
                 "count_argument", "output_argument", "room_argument", "found_argument", "has_more",
                 "given", "held")

    def __init__(self, count: int, room: int) -> None:
        self.count = count
        self.inputs = (c.gt_value * max(count, 1))()
        self.words: Any = memoryview(self.inputs).cast("B").cast("Q")
        self.clear()
        self.outputs = (c.gt_value * max(room, 1))()
        self.out_words: Any = memoryview(self.outputs).cast("B").cast("Q")
        found = ctypes.c_size_t()
        self.found: Any = memoryview(found).cast("B").cast("Q")
        self.input_argument = ctypes.byref(self.inputs)
        self.count_argument = ctypes.c_size_t(count)
        self.output_argument = ctypes.byref(self.outputs)
        self.room_argument = ctypes.c_size_t(room)
        self.found_argument = ctypes.byref(found)
        self.has_more = False          # some inputs are more than memory of the caller's
        self.given: List[Tensor] = []  # tensors that the call takes over
        self.held: List[Tensor] = []   # tensors that are somebody's

    def clear(self) -> None:
        """Every input is memory of the caller's: what calls write is a layout and an address."""
        for at in range(0, self.count * _WORDS, _WORDS):
            self.words[at] = _TENSOR
            self.words[at + 3] = 0


def _run_body(context: Any, on: Any, _find: Any = _callbacks.find) -> int:
    found = _find(context)
    if found is None:
        return 0
    body, device, room, written = found

    def run(launcher: Launcher) -> Any:
        inputs = launcher.inputs()
        launcher.watch(written.watch(inputs))
        return body(launcher, *inputs)

    return run_in_body(run, on, device, room)


_run_body_in_c = _callbacks.immortal(c.gt_body(_run_body))


class Function(Owned):
    """A function of a tree: made by `Tree.function`, and called like any other.

    It goes with its tree. Closed earlier, it forgets its recordings.
    """

    rank = Rank.USER

    def __init__(self, tree: Tree, body: Callable[..., Any], name: str,
                 options: c.gt_function_options, room: int) -> None:
        _wanted.function(body, "the function's body")
        name_in_c = _wanted.text(name, "the function's name")
        written = WrittenInputs()
        number = _callbacks.note((body, tree.device, room, written))
        handle = ctypes.c_uint64()
        try:
            check(lib.gt_tree_register(tree.handle, name_in_c, ctypes.byref(options),
                                       _run_body_in_c, number, _callbacks.forget,
                                       ctypes.byref(handle)))
        except BaseException:
            _callbacks.strike(number)
            raise
        self.tree = tree
        self.name = name
        self.body = body
        self.__doc__ = body.__doc__
        self.__wrapped__ = body
        self._room = room
        self._written = written
        self._stream = tree.stream
        self._argument = ctypes.c_void_p(handle.value)
        self._frames: List[_Frame] = []
        self._own(handle.value)

    def __repr__(self) -> str:
        return "<graphtree.Function %r>" % self.name

    def __call__(self, *inputs: Any, stream: Optional[Stream] = None) -> Any:
        """Runs the function: eagerly once, recorded once, and then replayed at the price of a
        launch. One output is returned as it is, several as a tuple. Without a stream it runs on
        the tree's, or, in a body, on the body's.

        Inputs are tensors, ints, Opaque objects, and tensors of torch, CuPy, NumPy and so on.
        Tensors stay the caller's, unless they are given (`Tensor.give`). Threads: any, one at a
        time for each tree.
        """
        if stream is None:
            stream = self._stream if not running else stream_here() or self._stream
        elif not isinstance(stream, Stream):
            raise _wanted.wrong_type(stream, "the stream", "a graphtree.Stream")
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(len(inputs), self._room)
        if frame.count != len(inputs):
            frame = _Frame(len(inputs), self._room)
        words = frame.words
        at = 0
        for given in inputs:
            if type(given) is Tensor and not given._storage and not given._origin._closed:
                words[at + 1] = given._layout
                words[at + 2] = given._address
            else:
                self._bring(frame, at // _WORDS, given, stream)
            at += _WORDS
        error = _call(self._argument, frame.input_argument, frame.count_argument,
                      stream._argument, frame.output_argument, frame.room_argument,
                      frame.found_argument)
        if error:
            raise self._failed(frame, error)
        held = self._after(frame, stream) if frame.has_more else ()
        out = frame.out_words
        if frame.found[0] == 1 and out[0] == _TENSOR:
            storage = out[3]
            if storage:
                made: Tensor = _new(Tensor)
                made._layout = out[1]
                made._address = out[2]
                made._storage = storage
                made._origin = stream
                self._frames.append(frame)
                return made
        result = self._outputs(frame, stream, (*inputs, *held))
        self._frames.append(frame)
        return result

    def _outputs(self, frame: _Frame, stream: Stream, inputs: Sequence[Any]) -> Any:
        made = tuple(self._output(c.gt_value.from_buffer_copy(frame.outputs[i]), stream, inputs)
                     for i in range(min(frame.found[0], self._room)))
        if not made:
            return None
        return made[0] if len(made) == 1 else made

    def _output(self, value: c.gt_value, stream: Stream, inputs: Sequence[Any]) -> Any:
        if value.kind == _TENSOR and not value.storage:
            return returned(value, stream, inputs, self.body)
        return from_value(value, stream)

    def _bring(self, frame: _Frame, index: int, given: Any, stream: Stream) -> None:
        """An input that is not simply memory of the caller's."""
        frame.has_more = True
        try:
            frame.inputs[index] = self._value_of(frame, index, given, stream)
        except BaseException as wrong:
            self._give_up(frame, index)
            if isinstance(wrong, (TypeError, ValueError)):
                wrong.args = ("input %d of '%s': %s" % (index, self.name, wrong),)
            if isinstance(wrong, Error):
                wrong.input, wrong.function = index, self.name
            raise

    def _value_of(self, frame: _Frame, index: int, given: Any, stream: Stream) -> c.gt_value:
        if type(given) is Tensor:
            if not given._storage:
                if given._origin.closed:
                    raise BadHandle("the tensor, or its memory, is closed")
                if given.is_read_only:
                    self._written.bring(index, given)
                return given.value()
            out = c.gt_value()
            check(lib.gt_value_copy(ctypes.byref(given.value()), ctypes.byref(out)))
            return out
        if type(given) is Given:
            if not given.tensor.is_made_by_a_tree:
                return self._value_of(frame, index, given.tensor, stream)
            frame.given.append(given.tensor)
            return given.tensor.value()
        if isinstance(given, bool):
            return c.gt_value(c.GT_INTEGER, 0, 0, int(given), 0)
        if isinstance(given, numbers.Integral):
            return integer_value(int(given))
        if given is None:
            return c.gt_value()
        if isinstance(given, Opaque):
            out = c.gt_value()
            check(lib.gt_value_copy(ctypes.byref(given.value()), ctypes.byref(out)))
            return out
        device = self.tree.device
        brought = device.as_tensor(given, None if device.is_host else stream)
        frame.held.append(brought)
        if brought.is_read_only:
            self._written.bring(index, brought)
        return brought.value()

    def _give_up(self, frame: _Frame, count: int) -> None:
        """Drops the handles that were made for a call that has not consumed them."""
        self._written.end()
        kept = {tensor._storage for tensor in frame.given}
        for value in frame.inputs[:count]:
            if value.storage and value.storage not in kept:
                lib.gt_release(lib.gt_release(value.storage))

    def _failed(self, frame: _Frame, error: int) -> BaseException:
        # A call that fails consumes nothing. Its frame is not used again.
        if frame.has_more:
            self._give_up(frame, frame.count)
        return error_of(error)

    def _after(self, frame: _Frame, stream: Stream) -> List[Tensor]:
        """What was given is the tree's now, what is somebody's stays until the work is done, and
        what the call has not consumed of its own is dropped. Returns what is somebody's."""
        self._written.end()
        left = {value.storage for value in frame.inputs[:frame.count]}
        for tensor in frame.given:
            if tensor._storage not in left:
                tensor._storage = 0
            left.discard(tensor._storage)
            tensor.close()
        for storage in left - {0}:
            lib.gt_release(lib.gt_release(storage))
        frame.given.clear()
        frame.clear()
        frame.has_more = False
        held, frame.held = frame.held, []
        try:
            stream.hold(held)
        except BaseException:
            for value in frame.outputs[:min(frame.found[0], self._room)]:
                lib.gt_release(lib.gt_release(value.storage))
            raise
        return held

    # ---- Other ways to call ----------------------------------------------------------------------

    def _on(self, stream: Optional[Stream]) -> Stream:
        return stream_or_none(stream) or stream_here() or self.tree.stream

    def _prepare(self, inputs: Tuple[Any, ...], stream: Stream) -> _Frame:
        frame = _Frame(len(inputs), self._room)
        for index, given in enumerate(inputs):
            if type(given) is Tensor and not given._storage and not given._origin._closed:
                frame.inputs[index] = given.value()
            else:
                self._bring(frame, index, given, stream)
        return frame

    def replay(self, *inputs: Any, stream: Optional[Stream] = None) -> Any:
        """A call, but only as a replay: where no recording serves it, that is an error, and nothing
        runs."""
        on = self._on(stream)
        frame = self._prepare(inputs, on)
        error = lib.gt_call_replay(self._handle, frame.inputs, frame.count, on.handle,
                                   frame.outputs, self._room, frame.found_argument)
        if error:
            raise self._failed(frame, error)
        held = self._after(frame, on)
        return self._outputs(frame, on, (*inputs, *held))

    def compare(self, *inputs: Any, stream: Optional[Stream] = None, absolute: float = 0.0,
                relative: float = 0.0) -> Tuple[Any, Parity, str]:
        """Calls it, and compares a replay with two runs of the body, within the tolerances: what
        the call returns, what was found, and that in words. The host waits."""
        on = self._on(stream)
        frame = self._prepare(inputs, on)
        parity, text = ctypes.c_int32(), ctypes.c_uint64()
        error = lib.gt_call_compared(
            self._handle, frame.inputs, frame.count, on.handle, frame.outputs, self._room,
            frame.found_argument, absolute, relative, ctypes.byref(parity), ctypes.byref(text))
        if error:
            raise self._failed(frame, error)
        words = text_of(text.value)
        held = self._after(frame, on)
        return self._outputs(frame, on, (*inputs, *held)), Parity(parity.value), words

    def record(self, *inputs: Any, stream: Optional[Stream] = None) -> None:
        """Records it after the path in force, and launches nothing."""
        on = self._on(stream)
        frame = self._prepare(inputs, on)
        try:
            check(lib.gt_record(self._handle, frame.inputs, frame.count, on.handle))
        finally:
            self._give_up(frame, frame.count)

    def would_replay(self, *inputs: Any, stream: Optional[Stream] = None,
                     where: PlaceOnPath = PlaceOnPath.ON_PATH) -> bool:
        """Whether a call would replay a recording."""
        on, out = self._on(stream), ctypes.c_int32()
        frame = self._prepare(inputs, on)
        try:
            check(lib.gt_would_replay(self._handle, frame.inputs, frame.count, on.handle, where,
                                      ctypes.byref(out)))
        finally:
            self._give_up(frame, frame.count)
        return bool(out.value)

    # ---- What is known of it ---------------------------------------------------------------------

    @property
    def stats(self) -> FunctionStats:
        """What was counted. It waits for a call that runs."""
        found = FunctionStats()
        check(lib.gt_function_look(self._handle, ctypes.byref(found)))
        return found

    @property
    def recordings(self) -> List[int]:
        """The numbers that its recordings have in the outline."""
        count = ctypes.c_size_t()
        check(lib.gt_function_recordings(self._handle, None, 0, ctypes.byref(count)))
        numbers = (ctypes.c_uint64 * max(count.value, 1))()
        check(lib.gt_function_recordings(self._handle, numbers, count.value, ctypes.byref(count)))
        return list(numbers[:count.value])

    def end_pause(self) -> None:
        """What pauses, as its recording has failed, is recorded by the next calls."""
        check(lib.gt_function_end_pause(self._handle))


def input_names(body: Callable[..., Any]) -> List[str]:
    """The names of a body's inputs, which errors say."""
    try:
        parameters = list(inspect.signature(body).parameters.values())[1:]
    except (TypeError, ValueError):
        return []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in plain]
