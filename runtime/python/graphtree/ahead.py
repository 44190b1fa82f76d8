"""Preparing ahead: a program of its own prepares the next step of another one while that runs."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Optional, Tuple

from . import _interface as c
from . import _wanted
from ._handles import Owned
from ._integers import integer
from ._library import lib
from .errors import check
from .keys import Key, key_to_c
from .programs import Program
from .slots import as_double, place_of, rows_of
from .steps import outputs_from
from .streams import Stream


class AheadStats(c.gt_ahead_stats):
    """How often what was prepared was used."""


class Ahead(Owned):
    """Runs a program, in a lane of its own, that keeps all of its outputs, on a side stream. What
    was prepared is used only if key, rows and values are the same, byte for byte, and no dependency
    was touched meanwhile; else it is prepared anew."""

    def __init__(self, program: Program) -> None:
        handle = ctypes.c_uint64()
        check(lib.gt_ahead_new(_wanted.thing(program, Program, "the program").handle,
                               ctypes.byref(handle)))
        self.program = program
        self._own(handle.value)

    def _rows(self, staged: Dict[Any, Any], versions: Dict[Any, int]) -> Tuple[Any, Any]:
        array, keeps = (c.gt_ahead_rows * max(len(staged), 1))(), []
        for place, (slot, data) in zip(array, staged.items()):
            place.slot = place_of(self.program.slots, slot)
            place.version = integer(versions.get(slot, 0), ctypes.c_uint64, "version")
            if isinstance(data, (int, float)):
                place.is_number = 1
                place.number = as_double(data, self.program.slots[place.slot])
            else:
                rows = rows_of(data, self.program.slots[place.slot])
                place.rows = rows.rows
                keeps.append(rows)
        return array, keeps

    def prepare(self, key: Key, staged: Dict[Any, Any], side: Stream,
                versions: Optional[Dict[Any, int]] = None) -> None:
        """Runs the program on `side`, and keeps its outputs for `take`. Host rows are copied;
        `versions`: of rows on the device, the same version, the same bytes."""
        as_c, (rows, keeps) = key_to_c(key), self._rows(staged, versions or {})
        check(lib.gt_ahead_prepare(self._handle, ctypes.byref(as_c), rows, len(staged),
                                   _wanted.thing(side, Stream, "side").handle))
        del keeps

    def take(self, key: Key, staged: Dict[Any, Any], stream: Stream,
             versions: Optional[Dict[Any, int]] = None) -> Any:
        """The program's outputs for these rows: prepared, or made now on `stream`."""
        as_c, (rows, keeps) = key_to_c(key), self._rows(staged, versions or {})
        on = _wanted.thing(stream, Stream, "the stream")
        most, found = self.program.most_outputs, ctypes.c_size_t()
        outputs = (c.gt_value * most)()
        check(lib.gt_ahead_take(self._handle, ctypes.byref(as_c), rows, len(staged), on.handle,
                                outputs, most, ctypes.byref(found)))
        del keeps
        return outputs_from(outputs, min(found.value, most), stream)

    @property
    def stats(self) -> AheadStats:
        """How often what was prepared was used."""
        out = AheadStats()
        check(lib.gt_ahead_look(self._handle, ctypes.byref(out)))
        return out
