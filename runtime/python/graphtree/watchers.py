"""Who watches trees: observers of all that they do, and names for stretches of launches.

>>> import graphtree
>>> with graphtree.Device("host") as device, graphtree.Tree(device) as tree:
...     @tree.function
...     def zeros(on, x):
...         out = on.empty_like(x)
...         with graphtree.scope("layer 3", on=on):
...             on.fill(out, 0)
...         return out
...
...     seen = []
...     with graphtree.Watcher(seen.append, tree, ops=True) as watcher:
...         x = device.tensor_from([1, 2], "i32")
...         for _ in range(3):
...             tree.begin_step()
...             y = zeros(x)
...     [event.op for event in seen if event.kind == "OP_BEGIN"]
...     sum(event.moment == "REPLAY_END" for event in seen), watcher.failures
...     del x, y
['fill', 'fill']
(2, 0)
"""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Callable, Dict, NamedTuple, Optional, Type, Union

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._copying import Uncopied
from ._handles import Owned
from ._library import lib
from .errors import check
from .launchers import Launcher
from .trees import Tree


def _names(prefix: str) -> Dict[int, str]:
    """What numbers that begin so are called, by number."""
    return {number: name[len(prefix):] for name, number in vars(c).items()
            if name.startswith(prefix) and isinstance(number, int)}


_KINDS = _names("GT_SAW_")
_PHASES = _names("GT_PHASE_")
_RUNS = _names("GT_RUN_")
_MOMENTS = ("CAPTURE_BEGIN", "CAPTURE_END", "INSTANTIATE", "REPLAY_BEGIN", "REPLAY_END", "DESTROY")
_NO_RECORDING = 2 ** 64 - 1


class Observed(NamedTuple):
    """What a watcher is told. What an event is not about is "", None or 0."""

    kind: str                  # "GRAPH", "OP_BEGIN", "OP_END", "PHASE_BEGIN", "PHASE_END"
    moment: str                # of a graph: "CAPTURE_BEGIN", ..., "REPLAY_END", "DESTROY"
    phase: str                 # "MATCH", "WARM_UP", "RECORD", ...
    run: str                   # of a graph or an op: "WARM_UP", "CAPTURE", "REPLAY", ...
    ok: bool
    function: str
    op: str
    recording: Optional[int]
    section: int
    tree: int                  # a number of the process, as the next
    launch: int
    op_count: int              # of a graph


class _Told:
    """What is told, and what it has raised."""

    def __init__(self, saw: Callable[[Observed], None]) -> None:
        self.saw = saw
        self.failures = 0
        self.last_failure: Optional[BaseException] = None


# Texts do not end with a 0, so they are read from where their pointers lie.
_FUNCTION_AT: int = getattr(c.gt_observed, "function").offset
_OP_AT: int = getattr(c.gt_observed, "op").offset


def _text_at(place: int, size: int, _address: Any = ctypes.c_void_p.from_address,
             _chars: Any = ctypes.string_at) -> str:
    text: bytes = _chars(_address(place).value, size) if size else b""
    return text.decode("utf-8", "replace")


def _event_of(told: Any, _kinds: Dict[int, str] = _KINDS, _phases: Dict[int, str] = _PHASES,
              _runs: Dict[int, str] = _RUNS, _moments: Any = _MOMENTS, _text: Any = _text_at,
              _made: Any = Observed, _place: Any = ctypes.addressof) -> Any:
    kind, at = _kinds.get(told.kind, "?"), _place(told)
    is_phase = kind.startswith("PHASE")
    return _made(kind, _moments[told.moment] if kind == "GRAPH" else "",
                 _phases.get(told.phase, "?") if is_phase else "",
                 "" if is_phase else _runs.get(told.run, "?"), bool(told.ok),
                 _text(at + _FUNCTION_AT, told.function_bytes), _text(at + _OP_AT, told.op_bytes),
                 None if told.recording == _NO_RECORDING else told.recording, told.section,
                 told.tree, told.launch, told.op_count)


_SAW = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(c.gt_observed))


def _saw(context: Any, event: Any, _find: Any = _callbacks.find, _event: Any = _event_of) -> None:
    found = _find(context)
    if found is None:
        return
    try:
        found.saw(_event(event.contents))
    except BaseException as failure:
        found.failures += 1
        found.last_failure = failure


_saw_in_c = _callbacks.immortal(_SAW(_saw))


class Watcher(Owned):
    """Is told what a tree does, or without a tree what all of them do, on the threads that act.

    It must not call a tree that tells it: that raises there. What it raises is counted in
    `failures`, and changes nothing. Within its own call, `end()` ends it; `close()` is for
    elsewhere, and waits for its calls on other threads.
    """

    def __init__(self, saw: Callable[[Observed], None], tree: Optional[Tree] = None, *,
                 graphs: bool = True, replays: bool = True, ops: bool = False,
                 phases: bool = False, replay_in: int = 1) -> None:
        """`replay_in`: of each tree's replays it hears of the first of so many."""
        handle = 0 if tree is None else _wanted.thing(tree, Tree, "the tree").handle
        wishes = c.gt_observe_options(no_graphs=not graphs, no_replays=not replays, ops=ops,
                                      phases=phases, replay_in=replay_in)
        self._told = _Told(_wanted.function(saw, "the watcher"))
        number, out = _callbacks.note(self._told), ctypes.c_uint64()
        try:
            check(lib.gt_observe(handle, ctypes.byref(wishes), _saw_in_c, number,
                                 _callbacks.forget, ctypes.byref(out)))
        except BaseException:
            _callbacks.strike(number)
            raise
        self.tree = tree
        self._own(out.value)

    def end(self) -> None:
        """It hears nothing any more."""
        check(lib.gt_observer_end(self._handle))

    @property
    def failures(self) -> int:
        """How often it has raised something."""
        return self._told.failures

    @property
    def last_failure(self) -> Optional[BaseException]:
        """What it has raised last."""
        return self._told.last_failure


class _Scope(Uncopied):
    """See `scope`."""

    def __init__(self, name: str, on: Union[Launcher, Tree]) -> None:
        self._name = _wanted.text(name, "the scope's name")
        if not isinstance(on, (Launcher, Tree)):
            raise _wanted.wrong_type(on, "on", "a graphtree.Launcher or a graphtree.Tree")
        self._on = on

    def __enter__(self) -> None:
        if isinstance(self._on, Tree):
            check(lib.gt_tree_push_scope(self._on.handle, self._name))
        else:
            self._on._check(lib.gt_launcher_push_scope(self._on.handle, self._name))

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if isinstance(self._on, Tree):
            check(lib.gt_tree_pop_scope(self._on.handle))
            return
        error = lib.gt_launcher_pop_scope(self._on.handle)
        # A launcher that has failed has told so already.
        if value is None:
            self._on._check(error)


def scope(name: str, on: Union[Launcher, Tree]) -> _Scope:
    """Names a stretch of launches for whoever looks at a trace: of a body's, on its launcher, or of
    a tree's calls. An op has the names of all that are around it, the inner first; a recording
    keeps those that were open when it was made.

        with graphtree.scope("layer 3", on=on):
            on.launch(...)
    """
    return _Scope(name, on)


class _Label:
    """A request's label, for as long as the `with`."""

    def __init__(self, name: str) -> None:
        self._name = _wanted.text(name, "the label")

    def __enter__(self) -> None:
        check(lib.gt_label_push(self._name))

    def __exit__(self, *_: object) -> None:
        check(lib.gt_label_pop())


def label(name: str) -> _Label:
    """Names what this thread works on, for whoever looks at a trace: a span around all that it does
    meanwhile. Labels nest.

        with graphtree.label("request 81"):
            step()
    """
    return _Label(name)
