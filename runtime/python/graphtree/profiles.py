"""Profiles: what a running process does, as a trace in a file.

>>> import os, tempfile, graphtree
>>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
>>> with graphtree.Device("host") as device, graphtree.Tree(device) as tree:
...     @tree.function
...     def zeros(on, x):
...         out = on.empty_like(x)
...         on.fill(out, 0)
...         return out
...
...     x = device.tensor_from([1, 2], "i32")
...     with graphtree.Profile(device, path) as profile:
...         for _ in range(4):
...             tree.begin_step()
...             y = zeros(x)
...         y.tolist()
...     profile.report.mode, profile.report.dropped, os.path.getsize(path) > 0
...     del x, y
[0, 0]
('full', 0, True)
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _interface as c
from . import _wanted
from ._handles import Owned
from ._library import lib, text_of
from ._wanted import AnyPath
from .devices import Device
from .errors import check
from .runtimes import Runtime

_MODES = ("host", "light", "full")


def _set_cupti(options: c.gt_profile_options) -> None:
    """As the environment says, for this library alone or for PyTorch's profiler, too."""
    def said(*names: str) -> Optional[str]:
        return next((os.environ[name] for name in names if name in os.environ), None)

    options.cupti = os.fsencode(said("GRAPHTREE_CUPTI") or "")
    options.cuda_home = os.fsencode(said("CUDA_HOME") or "")
    options.never_finalizes = said("GRAPHTREE_CUPTI_TEARDOWN", "TEARDOWN_CUPTI") == "0"
    reinit = said("GRAPHTREE_CUPTI_REINIT")
    options.attaches_once = (reinit == "0" if reinit is not None
                             else said("DISABLE_CUPTI_LAZY_REINIT") == "1")


def leave_cupti(force: bool = False) -> bool:
    """Whether CUPTI has left, after a profile at whose end it could not, as others launched graphs.
    It leaves by itself once they rest; with `force` now, which may break their work."""
    lingering = ctypes.c_uint64()
    check(lib.gt_cupti_leave(force, ctypes.byref(lingering)))
    return lingering.value == 0


class ProfileReport(NamedTuple):
    """What a profile has come to."""

    mode: str              # that was in force at the end: "host", "light", "full"
    why_not_full: str      # "" where that was not asked for, or is in force
    remarks: Tuple[str, ...]
    launches: int          # that trees have told
    ops: int               # in the trace
    dropped: int           # of both that found no room
    untimed: int           # launches that a light profile could not time
    unnamed: int           # ops that have their launch, and were not recorded by name
    without_launch: int    # ops of nobody's launch
    mismatched: int        # ops that are not in the graph of their launch
    short_launches: int    # launches with less ops than their graph has
    cut_launches: int      # launches that the end has cut off
    drift_ppm: float       # of the device's clock
    lingers: int           # 1: CUPTI could not leave yet (leave_cupti)


class Profile(Owned):
    """A trace of what all trees do, from here to `stop()` or the end of the `with`, beside threads
    that replay. One runs at a time in a process.

    "host" has each launch and phase on the host; "light" times one launch in so many on the device;
    "full" has every op of every launch by its name. Where the full mode cannot begin, as somebody
    else has CUPTI, the profile is a light one, says why, and tries again each second.
    """

    _report: Optional[ProfileReport] = None
    _last_figures: Optional[Tuple[str, str]] = None  # as JSON and as a table, once it is stopped

    def __init__(self, device: Device, path: Optional[AnyPath] = None, mode: str = "full", *,
                 light_in: int = 0, most_replays: Optional[int] = None,
                 most_seconds: Optional[float] = None, runtime: Optional[Runtime] = None,
                 figures: bool = False, force_out: bool = False) -> None:
        """The path ends in .json, as PyTorch's profiler writes it, or in .pftrace, for Perfetto;
        without one there is no file, but figures. After `most_replays` or `most_seconds` the window
        is over. `runtime`: whose pools' bytes are drawn as lines. `figures`: rows are counted, too
        (`figures()`, `table()`). `force_out`: at the end CUPTI leaves also while others launch
        graphs, which may break their work. The device is not closed before the profile."""
        if mode not in _MODES:
            raise ValueError("the mode is %r, and there are %s" % (mode, ", ".join(_MODES)))
        if most_replays is not None and most_replays < 1:
            raise ValueError("a profile of %r replays would show nothing" % most_replays)
        if most_seconds is not None and not most_seconds > 0:
            raise ValueError("a profile of %r seconds would show nothing" % most_seconds)
        chars = _wanted.path_or_none(path, "the path")
        options = c.gt_profile_options(
            mode=_MODES.index(mode), light_in=light_in, most_replays=most_replays or 0,
            most_ms=0 if most_seconds is None else max(1, round(most_seconds * 1000)),
            figures=figures or path is None, forces_out=force_out)
        options.path = chars
        _set_cupti(options)
        if runtime is not None:
            options.runtime = _wanted.thing(runtime, Runtime, "the runtime").handle
        out = ctypes.c_uint64()
        check(lib.gt_profile_start(_wanted.thing(device, Device, "the device").handle,
                                   ctypes.byref(options), ctypes.byref(out)))
        self.device = device
        self._has_figures = figures or path is None
        self._own(out.value)

    def _look(self) -> c.gt_profile_report:
        found = c.gt_profile_report()
        check(lib.gt_profile_look(self._handle, ctypes.byref(found)))
        return found

    def _describe(self, what: int) -> str:
        out = ctypes.c_uint64()
        check(lib.gt_profile_describe(self._handle, what, ctypes.byref(out)))
        return text_of(out.value)

    @property
    def mode(self) -> str:
        """The mode that is in force now, or was at the end."""
        return self._report.mode if self._report is not None else _MODES[self._look().mode]

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Waits for the end of the window, up to so long; returns whether it has come."""
        if seconds is not None and math.isnan(seconds):
            raise ValueError("waiting for a profile: the seconds are nan, which is no time")
        end = None if seconds is None else time.monotonic() + seconds
        over = ctypes.c_int32()
        while self._report is None and not over.value:
            left = 0.1 if end is None else min(0.1, end - time.monotonic())
            check(lib.gt_profile_wait(self._handle, max(0, round(left * 1000)),
                                      ctypes.byref(over)))
            if end is not None and time.monotonic() >= end:
                return bool(over.value)
        return True

    def stop(self) -> ProfileReport:
        """Ends the trace and its file. Where that could not be written whole, for a full disk, that
        is raised, and `report` is there all the same."""
        if self._report is None:
            error = lib.gt_profile_stop(self._handle, None)
            try:
                self._report = self._made_report()
                if self._has_figures:
                    self._last_figures = (self._describe(c.GT_PROFILE_FIGURES_JSON),
                                          self._describe(c.GT_PROFILE_TABLE))
            finally:
                check(error)
        assert self._report is not None
        return self._report

    def figures(self) -> List[Dict[str, Any]]:
        """For each function, node and op: how often it ran, how long (in nanoseconds), gaps, the
        time from the launch to the start, bytes a second. While the profile runs these are as of a
        second ago."""
        text = (self._describe(c.GT_PROFILE_FIGURES_JSON) if self._last_figures is None
                else self._last_figures[0])
        rows: List[Dict[str, Any]] = json.loads(text)
        return rows

    def table(self) -> str:
        """The same for people."""
        return (self._describe(c.GT_PROFILE_TABLE) if self._last_figures is None
                else self._last_figures[1])

    def _made_report(self) -> ProfileReport:
        found = self._look()
        figures = {name: getattr(found, name) for name in ProfileReport._fields
                   if name not in ("mode", "why_not_full", "remarks")}
        return ProfileReport(
            mode=_MODES[found.mode], why_not_full=self._describe(c.GT_PROFILE_WHY_NOT_FULL),
            remarks=tuple(self._describe(c.GT_PROFILE_REMARKS).splitlines()), **figures)

    @property
    def report(self) -> ProfileReport:
        """What it has come to: an error before it is stopped."""
        return self._report if self._report is not None else self._made_report()

    def close(self) -> None:
        """Stops it. The report stays."""
        if self._closed:
            return
        try:
            self.stop()
        finally:
            super().close()
