"""Plans: which shapes are to be recorded within a budget, what that takes, and recording them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

from . import _interface as c
from . import _wanted
from ._handles import Owned
from ._library import lib, text_of
from .errors import check
from .keys import Key, Mode
from .streams import Stream, stream_or_none

if TYPE_CHECKING:
    from .programs import Program
    from .runtimes import Runtime


class Shape(NamedTuple):
    """A shape of a program."""

    program: Program
    key: Key
    mode: Mode = Mode.FULL


def shapes_to_c(shapes: Optional[Sequence[Shape]]) -> Any:
    """(array, count), as the C interface takes them; None is all."""
    given = _wanted.things(shapes or (), Shape, "the shapes")
    return (c.gt_shape * max(len(given), 1))(*(
        c.gt_shape.of(shape.program.handle, shape.key.to_c(), shape.mode, 0) for shape in given))


class PlanInfo(c.gt_plan_info):
    """What a plan says."""


class PlanResult(c.gt_plan_result):
    """What recording a plan has come to."""


class Readiness(c.gt_readiness):
    """How many shapes there are, and how many serve."""


class ProgressReport(c.gt_progress_report):
    """What one go at recording has done."""


_AFTER: Any = c.FUNCTIONS["gt_plan_record"][1][2]


class Plan(Owned):
    """What is to be recorded, and what that takes: made by `Runtime.plan`."""

    def __init__(self, runtime: Runtime, shapes: Optional[Sequence[Shape]], budget: int) -> None:
        handle = ctypes.c_uint64()
        check(lib.gt_plan_new(runtime.handle, shapes_to_c(shapes), len(shapes or ()), budget,
                              ctypes.byref(handle)))
        self.runtime = runtime
        self._own(handle.value)

    @property
    def info(self) -> PlanInfo:
        """In numbers."""
        found = PlanInfo()
        check(lib.gt_plan_look(self._handle, ctypes.byref(found)))
        return found

    def __str__(self) -> str:
        out = ctypes.c_uint64()
        check(lib.gt_plan_describe(self._handle, ctypes.byref(out)))
        return text_of(out.value)

    def record(self, stream: Optional[Stream] = None) -> PlanResult:
        """Records what the plan says. A shape that fails is left out."""
        on = stream_or_none(stream) or self.runtime.stream_of(self.runtime.devices[0])
        found = PlanResult()
        check(lib.gt_plan_record(self._handle, on.handle, _AFTER(), None, ctypes.byref(found)))
        return found
