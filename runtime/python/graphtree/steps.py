"""Steps of a program: begun, staged, run."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, List, NamedTuple

from . import _interface as c
from ._handles import Owned
from ._library import lib, text_of, untyped
from .errors import check
from .keys import Key, KeyField
from .layouts import dtype_of
from .parameters import argument_value
from .reasons import why_name
from .slots import Slot, as_double, place_of, rows_of
from .streams import Stream
from .tensors import Tensor, from_value

if TYPE_CHECKING:
    from .programs import Program

_begin_step = untyped("gt_step_begin")
_run_step = untyped("gt_step_run")
_stage = untyped("gt_step_stage")
# The place of a slot is one that there is.
_stage_number = lib.gt_step_stage_number.unchecked
_stage_value = lib.gt_step_stage_value.unchecked


class Room:
    """Where the outputs of a step go."""

    __slots__ = ("outputs", "size", "found", "found_argument")

    def __init__(self, size: int) -> None:
        self.outputs = (c.gt_value * max(size, 1))()
        self.size = ctypes.c_size_t(size)
        self.found = ctypes.c_size_t()
        self.found_argument = ctypes.byref(self.found)


class Rooms:
    """Those of a program that no step has now."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: List[Room] = []

    def take(self) -> Room:
        """One for a step."""
        try:
            return self._free.pop()
        except IndexError:
            return Room(self._size)

    def give_back(self, room: Room) -> None:
        """Its outputs have their owners."""
        self._free.append(room)


class Choice(NamedTuple):
    """How a step is going to run, or how it ran."""

    why: str
    """"hit" and "cover" were replayed."""
    field: KeyField
    """What stands against every shape."""
    shape: int
    """Its place in the program's table; -1: it runs eagerly."""
    better: int
    """A cheaper shape that could not serve it now; -1: none."""
    key: Key
    """What the call is padded to."""

    @classmethod
    def of(cls, choice: c.gt_choice) -> Choice:
        """From the C interface."""
        return cls(why_name(choice.why), KeyField(choice.field), choice.shape, choice.better,
                   Key.of(choice.key))


class Step(Owned):
    """One step of a program. It has its lane until it is run, or closed."""

    def __init__(self, program: Program, key: Key, stream: Stream, options: Any) -> None:
        handle = ctypes.c_uint64()
        error = _begin_step(program.argument, program.key_argument(key), stream._argument, options,
                            ctypes.byref(handle))
        if error:
            check(error)
        self.program = program
        self.stream = stream
        self._argument = handle
        self._handle = handle.value  # nothing is left of it when the interpreter ends
        self._staged: List[Any] = []

    def stage(self, slot: Any, data: Any) -> None:
        """What a slot, by its name or place, has in this step: a number for every element, rows of
        the host's (copied, and converted, before this returns), rows on the device (which stay as
        they are until the step's first op), or a tensor that a tree made."""
        place = place_of(self.program.slots, slot)
        if isinstance(data, (int, float)):
            known = self.program.slots[place]
            check(_stage_number(self._handle, place, as_double(data, known)))
        elif type(data) is Tensor and data.is_made_by_a_tree:
            check(_stage_value(self._handle, place,
                               ctypes.byref(argument_value(data, "the tensor"))))
        else:
            rows = rows_of(data, self.program.slots[place])
            error = _stage(self._argument, ctypes.c_uint32(place), ctypes.byref(rows.rows))
            if error:
                check(error)
            if rows.rows.on_device:
                self._staged.append(rows)  # read by the step's first op

    def buffer(self, slot: Any, rows: int) -> Any:
        """Memory for so many rows of the slot's own type, as a ctypes array of bytes, which the
        caller writes before the step runs."""
        place = place_of(self.program.slots, slot)
        known = self.program.slots[place]
        out = ctypes.c_void_p()
        check(lib.gt_step_buffer(self._handle, place, rows, ctypes.byref(out)))
        size = _row_bytes(known) * rows
        return (ctypes.c_uint8 * size).from_address(out.value or 0) if size else \
            (ctypes.c_uint8 * 0)()

    def run(self) -> Any:
        """Runs the step and ends it, also where it fails. Outputs as those of a call."""
        room = self.program.rooms.take()
        error = _run_step(self._argument, room.outputs, room.size, room.found_argument)
        if error:
            check(error)
        result = outputs_from(room.outputs, min(room.found.value, room.size.value), self.stream)
        if self._staged:
            self.stream.hold(self._staged)
        self.program.rooms.give_back(room)
        return result

    def cancel(self) -> None:
        """Ends it without running it."""
        check(lib.gt_step_cancel(self._handle))

    @property
    def choice(self) -> Choice:
        """How it is going to run, and after `run` how it ran."""
        found = c.gt_choice()
        check(lib.gt_step_look(self._handle, ctypes.byref(found)))
        return Choice.of(found)

    def describe(self) -> str:
        """The same for people."""
        out = ctypes.c_uint64()
        check(lib.gt_step_describe(self._handle, ctypes.byref(out)))
        return text_of(out.value)


def _row_bytes(slot: Slot) -> int:
    """Of one row of a slot."""
    size = dtype_of(slot.dtype).bytes
    for place, length in enumerate(slot.sizes):
        if place != slot.axis:
            size *= length
    return size


def outputs_from(outputs: Any, count: int, stream: Stream) -> Any:
    """What a call has returned, in Python."""
    made = tuple(from_value(c.gt_value.from_buffer_copy(outputs[i]), stream) for i in range(count))
    if not made:
        return None
    return made[0] if len(made) == 1 else made
