"""Slots: tensors at fixed places that are filled before each step; and what fills them."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple, Union

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._foreign import CPU, CUDA_HOST, look
from ._host_arrays import host_array
from .keys import Key, KeyField, Pad
from .layouts import AnyDType, DType, Layout, dtype_of, numbers
from .parameters import argument_value
from .tensors import Tensor

@dataclasses.dataclass
class Slot:
    """One slot of a program."""

    name: str
    dtype: AnyDType
    sizes: Sequence[int]
    """The greatest that any shape has."""
    rows: KeyField = KeyField.NONE
    """The field of the key that says how many rows it has."""
    axis: int = 0
    """Of the rows."""
    extra_rows: int = 0
    pad: Pad = Pad.ZERO
    pad_value: float = 0.0
    may_be_left_out: bool = False
    """A step that does not stage it keeps what it has."""
    fill: Optional[Callable[..., None]] = None
    """`fill(on, key, slot)` launches the kernels that compute the slot in every step: it is never
    staged then."""

    def to_c(self, place: int) -> Tuple[c.gt_slot, Any]:
        """As the C interface has it, and what it points to."""
        if not hasattr(self.sizes, "__iter__"):
            raise _wanted.wrong_type(self.sizes, "sizes", "a row of integers")
        sizes = numbers(self.sizes)
        made = c.gt_slot(
            name=_wanted.text(self.name, "a slot's name"), dtype=dtype_of(self.dtype),
            rank=len(self.sizes), sizes=sizes, rows=self.rows, axis=self.axis,
            extra_rows=self.extra_rows, pad=self.pad, may_be_left_out=self.may_be_left_out,
            pad_value=self.pad_value)
        if self.fill is not None:
            _wanted.function(self.fill, "fill")
            made.fill = _fill_in_c(place)
        return made, sizes


_FILL: Any = dict(c.gt_slot._fields_)["fill"]
_fills: Dict[int, Any] = {}


def _fill_in_c(place: int) -> Any:
    """The C function that fills slot `place` of whatever program: the library says no more than the
    program."""
    if place not in _fills:
        def fill(context: Any, on: Any, key: Any, slot: Any,
                 _find: Any = _callbacks.find) -> int:
            found = _find(context)
            run: int = found.run_fill(place, on, Key.of(key.contents), slot.contents)
            return run
        _fills[place] = _callbacks.immortal(_FILL(fill))
    return _fills[place]


class Rows(NamedTuple):
    """Rows as the C interface takes them, and what they lie in."""

    rows: c.gt_rows
    keeps: Any


def rows_of(data: Any, slot: Slot) -> Rows:
    """Rows of the caller's, for a slot: a tensor, an array of somebody's, or nested lists."""
    if type(data) is Tensor:
        argument_value(data, "what slot '%s' is staged with" % slot.name)
        on_device = data.home[0] not in (CPU, CUDA_HOST) or not getattr(data._origin,
                                                                        "on_host", True)
        return _rows(data.address, data.layout, on_device, data, slot)
    if hasattr(data, "__dlpack__") or hasattr(data, "__cuda_array_interface__"):
        address, layout, keeps = look(data)
        on_device = keeps.home[0] not in (CPU, CUDA_HOST)
        return _rows(address, layout, on_device, keeps, slot)
    array = host_array(data, slot.dtype if isinstance(data, (list, tuple)) else None)
    return _rows(array.address, array.layout, False, array, slot)


def _rows(address: int, layout: Layout, on_device: bool, keeps: Any, slot: Slot) -> Rows:
    if not layout.is_dense:
        raise ValueError("slot '%s' is staged with rows that have gaps: make them contiguous first"
                         % slot.name)
    if len(layout.sizes) != len(slot.sizes):
        raise ValueError("slot '%s' has %d dimensions, and what it is staged with %d"
                         % (slot.name, len(slot.sizes), len(layout.sizes)))
    for place, (size, given) in enumerate(zip(slot.sizes, layout.sizes)):
        if place != slot.axis and size != given:
            raise ValueError("slot '%s' is %r, and is staged with %r"
                             % (slot.name, tuple(slot.sizes), layout.sizes))
    count = layout.sizes[slot.axis] if layout.sizes else 1
    return Rows(c.gt_rows(layout.dtype, on_device, address, count, 0, 0), keeps)


def as_double(number: Union[int, float], slot: Slot) -> Union[int, float]:
    """The number that all elements of a slot are to have. It goes to C as a double, which holds
    fewer integers than an i64."""
    if isinstance(number, int) and not -2**53 <= number <= 2**53 \
            and -2**63 <= number < 2**63 and int(float(number)) != number \
            and dtype_of(slot.dtype) is DType.I64:
        raise OverflowError("slot '%s' is staged with %d, which is not exactly a double: stage a "
                            "row of it" % (slot.name, number))
    return number


def place_of(slots: Sequence[Slot], slot: Any) -> int:
    """The place of a slot that is named, or numbered."""
    if isinstance(slot, int) and 0 <= slot < len(slots):
        return slot
    for place, known in enumerate(slots):
        if known.name == slot:
            return place
    raise ValueError("there is no slot %r; there are %s"
                     % (slot, ", ".join(known.name for known in slots)))


def slot_array(slots: Sequence[Slot]) -> Tuple[Any, Any]:
    """All slots as the C interface has them, and what they point to."""
    array = (c.gt_slot * max(len(slots), 1))()
    keeps = []
    for place, slot in enumerate(slots):
        array[place], kept = slot.to_c(place)
        keeps.append(kept)
    return array, (keeps, ctypes.sizeof(array))
