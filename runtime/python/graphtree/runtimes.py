"""Runtimes: what an inference server links. Programs, how their steps are served, and their memory.

Threads: one at a time in each lane. Programs, shapes and dependencies are added while no step is
under way in any lane.
"""

from __future__ import annotations

import ctypes
import json
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._handles import Owned, Rank
from ._integers import array_of
from ._library import lib, text_of
from ._wanted import AnyPath
from .devices import Device
from .errors import check
from .keys import Key, Mode, Serving, ServingMode
from .options import TreeOptions
from .plans import Plan, ProgressReport, Readiness, Shape, shapes_to_c
from .programs import Dependency, Program
from .reasons import Contents, RuntimeStats
from .runtime_memory import Loan, TaggedMemory
from .slots import Slot
from .streams import Stream, stream_or_none
from .trees import Tree

_LOG: Any = dict(c.gt_runtime_options._fields_)["log"]
_CLOCK: Any = dict(c.gt_runtime_options._fields_)["clock_ns"]


def _log(context: Any, level: int, text: Any, _find: Any = _callbacks.find,
         _failures: Any = _callbacks.host_failures) -> None:
    found = _find(context)
    if found is None:
        return
    try:
        found[0](level, text.decode("utf-8", "replace"))
    except BaseException as failure:
        _failures.append(failure)


def _clock(context: Any, _find: Any = _callbacks.find,
           _failures: Any = _callbacks.host_failures) -> int:
    found = _find(context)
    if found is None:
        return 0
    try:
        return int(found[1]())
    except BaseException as failure:
        _failures.append(failure)
        return 0


_log_in_c = _callbacks.immortal(_LOG(_log))
_clock_in_c = _callbacks.immortal(_CLOCK(_clock))


def _mode_to_c(mode: ServingMode) -> c.gt_serving_mode:
    return _wanted.thing(mode, ServingMode, "the serving mode").to_c()


class History(NamedTuple):
    """The steps of a lane that went well, and a digest of them in their order."""

    steps: int
    digest: int


class Runtime(Owned):
    """Programs over one device or several. Closed, it ends with its programs, after its work.

    `log(level, text)` is told what a log should have (level 1: a warning); `clock_ns()` is a clock
    in nanoseconds that never goes back. `use_environment`: GRAPHTREE_... variables win over these
    options. `door`: a socket for tools.
    """

    rank = Rank.RUNTIME

    def __init__(self, devices: Sequence[Device], *, tree: Optional[TreeOptions] = None,
                 pool_bytes: int = 0, nodes: int = 0, executables: int = 0,
                 executable_bytes: int = 0, serving: Optional[ServingMode] = None,
                 no_recording_while_serving: bool = False, watch: bool = True,
                 use_environment: bool = False, door: Optional[AnyPath] = None,
                 log: Optional[Callable[[int, str], None]] = None,
                 clock_ns: Optional[Callable[[], int]] = None) -> None:
        devices = _wanted.things(devices, Device, "the devices")
        made = c.gt_runtime_options(
            pool_bytes=pool_bytes, nodes=nodes, executables=executables,
            executable_bytes=executable_bytes,
            no_recording_while_serving=no_recording_while_serving, no_watch=not watch,
            use_environment=use_environment, door=_wanted.path_or_none(door, "door"))
        if serving is not None:
            made.serving = ctypes.pointer(_mode_to_c(serving))
        handles = array_of(ctypes.c_uint64, [one.handle for one in devices], "devices")
        for given, word in ((log, "log"), (clock_ns, "clock_ns")):
            if given is not None:
                _wanted.function(given, word)
        numbers = []
        if tree is not None:
            tree_in_c, warn = _wanted.thing(tree, TreeOptions, "the tree's options").to_c()
            numbers.append(warn)
            made.tree = ctypes.pointer(tree_in_c)
        if log is not None or clock_ns is not None:
            numbers.append(_callbacks.note((log, clock_ns)))
            made.context, made.destroy = numbers[-1], _callbacks.forget
            if log is not None:
                made.log = _log_in_c
            if clock_ns is not None:
                made.clock_ns = _clock_in_c
        handle = ctypes.c_uint64()
        try:
            check(lib.gt_runtime_new(handles, len(devices), ctypes.byref(made),
                                     ctypes.byref(handle)))
        except BaseException:
            for number in numbers:
                _callbacks.strike(number)
            raise
        self.devices = devices
        self._streams: Dict[Device, Stream] = {}
        self._own(handle.value)

    def close(self) -> None:
        """Closes it, with its programs, after its work."""
        super().close()
        for stream in self._streams.values():
            stream.close()

    def device_at(self, place: int) -> Device:
        """One of its devices, by its place among them."""
        if isinstance(place, int) and 0 <= place < len(self.devices):
            return self.devices[place]
        raise ValueError("there is no device %r; the runtime has %d, from 0 on"
                         % (place, len(self.devices)))

    def stream_of(self, device: Device) -> Stream:
        """Where steps run that name no stream: one of the runtime's own for each device."""
        if device not in self._streams:
            self._streams[device] = Stream(device)
        return self._streams[device]

    # ---- Programs --------------------------------------------------------------------------------

    def program(self, *, name: Optional[str] = None, slots: Sequence[Slot] = (),
                **options: Any) -> Callable[[Callable[..., Any]], Program]:
        """Makes a program from a body: `body(on, *slots)` returns its outputs. Options are those of
        Program; the name is the body's own without another one."""
        return lambda body: Program(
            self, str(getattr(body, "__name__", "program")) if name is None else name, body, slots,
            **options)

    def dependency(self, name: str, address: int = 0, size: int = 0) -> Dependency:
        """What recordings point to. With memory, it is one that a library keeps between calls."""
        handle, name_in_c = ctypes.c_uint64(), _wanted.text(name, "the dependency's name")
        if size:
            check(lib.gt_dependency_new_workspace(self._handle, name_in_c,
                                                  c.gt_range.of(address, size),
                                                  ctypes.byref(handle)))
        else:
            check(lib.gt_dependency_new(self._handle, name_in_c, ctypes.byref(handle)))
        return Dependency(self, handle.value)

    @property
    def serving(self) -> ServingMode:
        """How steps are served; set it while no step is under way."""
        found = c.gt_serving_mode()
        check(lib.gt_runtime_serving(self._handle, ctypes.byref(found)))
        return ServingMode(Serving(found.serving), found.parity_every, found.tolerance_absolute,
                           found.tolerance_relative)

    @serving.setter
    def serving(self, mode: ServingMode) -> None:
        check(lib.gt_runtime_set_serving(self._handle, ctypes.byref(_mode_to_c(mode))))

    def tree(self, lane: int = 0, device: int = 0) -> Tree:
        """The tree of a lane, for what trees tell."""
        handle = ctypes.c_uint64()
        check(lib.gt_runtime_tree(self._handle, lane, device, ctypes.byref(handle)))
        return Tree.of_handle(self.devices[device], handle.value)

    def history(self, lane: int = 0, device: int = 0) -> History:
        """Ranks that differ here have parted."""
        count, digest = ctypes.c_uint64(), ctypes.c_uint64()
        check(lib.gt_lane_history(self._handle, lane, device, ctypes.byref(count),
                                  ctypes.byref(digest)))
        return History(count.value, digest.value)

    def cancel_step(self, lane: int = 0, device: int = 0) -> bool:
        """Cancels the step that was begun in a lane and is lost; whether there was one."""
        out = ctypes.c_int32()
        check(lib.gt_lane_cancel_step(self._handle, lane, device, ctypes.byref(out)))
        return bool(out.value)

    # ---- Epochs and plans ------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """Recordings of programs that need commits belong to one."""
        out = ctypes.c_uint64()
        check(lib.gt_runtime_epoch(self._handle, ctypes.byref(out)))
        return out.value

    def uncommitted(self, programs: Sequence[Program]) -> List[Shape]:
        """The shapes of this epoch, of these programs."""
        count = ctypes.c_size_t()
        check(lib.gt_runtime_uncommitted(self._handle, None, 0, ctypes.byref(count)))
        found = (c.gt_shape * max(count.value, 1))()
        check(lib.gt_runtime_uncommitted(self._handle, found, count.value, ctypes.byref(count)))
        by_handle = {program.handle: program
                     for program in _wanted.things(programs, Program, "the programs")}
        return [Shape(by_handle[shape.program], Key.of(shape.key), Mode(shape.mode))
                for shape in found[:count.value] if shape.program in by_handle]

    def commit(self, epoch: int) -> None:
        """Shapes of the epoch serve steps from here on."""
        check(lib.gt_runtime_commit(self._handle, epoch))

    def plan(self, shapes: Optional[Sequence[Shape]] = None, budget: int = 0) -> Plan:
        """Which of these shapes (None: all) are to be recorded within so many bytes of the device
        (0: no limit), and what they will take."""
        return Plan(self, shapes, budget)

    def progress(self, stream: Optional[Stream] = None, *, budget_ns: int = 0,
                 lanes: Sequence[int] = (), only: Sequence[Shape] = (),
                 ends_steps: bool = False) -> ProgressReport:
        """Records in an idle slot what steps have wanted most. Threads: the lanes'."""
        numbers = array_of(ctypes.c_uint32, _wanted.row(lanes, "lanes"), "lanes")
        options = c.gt_progress_options(
            budget_ns=budget_ns, lanes=numbers, lane_count=len(lanes), only=shapes_to_c(only),
            only_count=len(only), ends_steps=ends_steps)
        found = ProgressReport()
        on = stream_or_none(stream) or self.stream_of(self.devices[0])
        check(lib.gt_runtime_progress(self._handle, on.handle, ctypes.byref(options),
                                      ctypes.byref(found)))
        return found

    @property
    def readiness(self) -> Readiness:
        """How many shapes there are, and how many serve."""
        found = Readiness()
        check(lib.gt_runtime_readiness(self._handle, ctypes.byref(found)))
        return found

    # ---- Memory ----------------------------------------------------------------------------------

    def add_memory(self, tag: str, name: str, size: int, device: int = 0,
                   contents: Optional[Contents] = None) -> TaggedMemory:
        """Memory that leaves the device and comes back under the same addresses. `contents` holds
        whatever `park` says."""
        return TaggedMemory(self, tag, name, size, device, contents)

    def park(self, tag: str, contents: Contents = Contents.KEEP) -> None:
        """What has the tag leaves the device: lanes and slots of programs, and memory."""
        check(lib.gt_runtime_park(self._handle, _wanted.text(tag, "tag"), contents))

    def wake(self, tag: str) -> None:
        """It comes back."""
        check(lib.gt_runtime_wake(self._handle, _wanted.text(tag, "tag")))

    def lend(self, size: int, stream: Optional[Stream] = None, *, lane: int = 0, device: int = 0,
             until_given_back: bool = False) -> Loan:
        """Idle memory of a lane, for work of the caller's beside its steps."""
        on = stream_or_none(stream) or self.stream_of(self.device_at(device))
        return Loan(self, size, on, lane, device, until_given_back)

    # ---- What a runtime tells --------------------------------------------------------------------

    def describe(self, what: int, program: Optional[str] = None, steps: int = 0,
                 trees: bool = True) -> str:
        """One of the texts of GT_EXPLAIN and on."""
        options = c.gt_describe_options(program=_wanted.text_or_none(program, "program"),
                                        steps=steps, no_trees=not trees)
        out = ctypes.c_uint64()
        check(lib.gt_runtime_describe(self._handle, what, ctypes.byref(options),
                                      ctypes.byref(out)))
        return text_of(out.value)

    def explain(self, program: Optional[str] = None, steps: int = 0) -> str:
        """Why steps ran as they did, and what would make them replay."""
        return self.describe(c.GT_EXPLAIN, program, steps)

    def explain_data(self, program: Optional[str] = None, steps: int = 0) -> Any:
        """The same as dicts and lists."""
        return json.loads(self.describe(c.GT_EXPLAIN_JSON, program, steps))

    def metrics_text(self) -> str:
        """For Prometheus."""
        return self.describe(c.GT_METRICS_PROMETHEUS)

    def metrics(self) -> Any:
        """The same as dicts and lists."""
        return json.loads(self.describe(c.GT_METRICS_JSON))

    def ledger(self) -> str:
        """Who holds the memory."""
        return self.describe(c.GT_LEDGER)

    def ledger_data(self) -> Any:
        """The same as dicts and lists."""
        return json.loads(self.describe(c.GT_LEDGER_JSON))

    def settings(self) -> str:
        """What is in force, and where it came from."""
        return self.describe(c.GT_SETTINGS)

    def everything(self) -> Any:
        """All that there is to tell, as dicts and lists."""
        return json.loads(self.describe(c.GT_EVERYTHING_JSON))

    @property
    def stats(self) -> RuntimeStats:
        """What was counted. Threads: the one that steps."""
        found = RuntimeStats()
        check(lib.gt_runtime_look(self._handle, ctypes.byref(found)))
        return found

    def open_door(self, path: AnyPath) -> None:
        """A Unix socket at this path, for this user alone: `graphtree top PATH` looks in."""
        check(lib.gt_runtime_open_door(self._handle, _wanted.path(path, "the path")))

    def close_door(self) -> None:
        """Nobody looks in any more."""
        check(lib.gt_runtime_close_door(self._handle))
