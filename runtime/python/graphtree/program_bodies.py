"""What the bodies of a program see, and how the library calls them."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional, Sequence

from . import _callbacks
from . import _interface as c
from ._library import lib
from .errors import check
from .keys import Key, Mode
from .launchers import Launcher, run_in_body
from .parameters import Range
from .slots import Slot
from .tensors import Tensor, from_value


class ProgramLauncher(Launcher):
    """What the body of a program launches through."""

    @property
    def key(self) -> Key:
        """The padded key of the shape."""
        key = c.gt_key()
        self._check(lib.gt_launcher_key(self.handle, ctypes.byref(key), None))
        return Key.of(key)

    @property
    def mode(self) -> Mode:
        """The mode of the shape."""
        mode = ctypes.c_int32()
        self._check(lib.gt_launcher_key(self.handle, None, ctypes.byref(mode)))
        return Mode(mode.value)

    def slot(self, place: int) -> Tensor:
        """A slot, as large as the shape says."""
        out = c.gt_value()
        self._check(lib.gt_launcher_slot(self.handle, place, ctypes.byref(out)))
        return self._tensor(out)

    def dependency(self, place: int) -> Range:
        """The memory of a dependency, by its place in the program's."""
        out = c.gt_range()
        self._check(lib.gt_launcher_dependency(self.handle, place, ctypes.byref(out)))
        return Range(out.address, out.bytes)

    def prepared(self, index: int) -> Any:
        """What `prepare` has handed out."""
        out = c.gt_value()
        self._check(lib.gt_launcher_prepared(self.handle, index, ctypes.byref(out)))
        return from_value(out, self)

    def slots_are_free(self) -> None:
        """From here on the slots may be written for the next step. Once in a body."""
        self._check(lib.gt_launcher_slots_are_free(self.handle))


class Bodies:
    """What a program's callbacks run."""

    def __init__(self, device: Any, slots: Sequence[Slot], body: Callable[..., Any],
                 prepare: Optional[Callable[..., Any]], most_outputs: int) -> None:
        self.device = device
        self.slots = slots
        self.body = body
        self.prepare = prepare
        self.most_outputs = most_outputs

    def run(self, function: Callable[..., Any], on: int, most: Optional[int]) -> int:
        """Runs one of the bodies, with the slots."""
        def call(launcher: Launcher) -> Any:
            assert isinstance(launcher, ProgramLauncher)
            given = [launcher.slot(place) for place in range(len(self.slots))]
            return function(launcher, *given)
        return run_in_body(call, on, self.device, most, ProgramLauncher)

    def run_fill(self, place: int, on: int, key: Key, slot: c.gt_value) -> int:
        """Fills a slot."""
        fill = self.slots[place].fill
        assert fill is not None

        def call(launcher: Launcher) -> None:
            copy = c.gt_value()
            check(lib.gt_value_copy(ctypes.byref(slot), ctypes.byref(copy)))
            assert fill is not None
            fill(launcher, key, Tensor.of_value(copy, launcher))
        return run_in_body(call, on, self.device, None, ProgramLauncher)


def _run_body(context: Any, on: Any, _find: Any = _callbacks.find) -> int:
    bodies = _find(context)
    run: int = bodies.run(bodies.body, on, bodies.most_outputs)
    return run


def _run_prepare(context: Any, on: Any, _find: Any = _callbacks.find) -> int:
    bodies = _find(context)
    run: int = bodies.run(bodies.prepare, on, None)
    return run


run_body_in_c = _callbacks.immortal(c.gt_body(_run_body))
run_prepare_in_c = _callbacks.immortal(c.gt_body(_run_prepare))
