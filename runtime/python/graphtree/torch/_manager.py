"""What stands in the place of torch._inductor.cudagraph_trees.CUDAGraphTreeManager.

    torch's containers --one for each device and thread--> TreeManager --> a tree of Graphtree's
    compile_fx --add_function(model, inputs, ...)--> a Function (compiled), and its first outputs

Torch keeps its containers, locks, keys by size and alignment. A call of a Function does not come by
here; this module hears of it where the model itself ran, and says what torch would have said, by
torch's own functions and counters.

Threads: as torch's manager, one at a time for each device and thread; others only look.
"""

from __future__ import annotations

import itertools
import os
import warnings
import weakref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch._inductor import config as inductor_config
from torch._inductor import cudagraph_trees as _trees
from torch._inductor.cudagraph_utils import (FunctionID, WrappedFunction,
                                             get_mutation_stack_trace,
                                             log_cudagraph_skip_and_bump_counter)

import graphtree

from . import _native
from ._nodes import Node, roots_of
from ._options import Options, check_torch_options, rerecord_limit

log = torch._logging.getArtifactLogger("torch._inductor.cudagraph_trees", "cudagraphs")
_MODES = {"FORWARD": 0, "BACKWARD": 1, "INFERENCE": 2}
_STATES = ("NONE", "WARMUP", "RECORDING", "EXECUTION")
_PENDING = ("Unable to hit fast path of CUDAGraphs because of pending, uninvoked backwards. "
            "Consider running with torch.no_grad() or using "
            "torch.compiler.cudagraph_mark_step_begin() before each model invocation")

_managers: "weakref.WeakSet[TreeManager]" = weakref.WeakSet()
_devices: Dict[int, graphtree.Device] = {}


# What stands for torch's wrapper of a model, by the model's identity; the wrapper holds the model.
_fronts: "Dict[int, weakref.ref[Any]]" = {}


def cudagraphify_impl(theirs: Callable[..., Any], model: Callable[..., Any], inputs: List[Any],
                      static_input_idxs: Sequence[int], *rest: Any, **named: Any) -> Any:
    """In the place of torch's function of that name: torch's own wrapper, and in front of it, where
    no size is dynamic, a compiled callable that calls the tree once the model is known."""
    slow = theirs(model, inputs, static_input_idxs, *rest, **named)
    if any(isinstance(value, int) for value in inputs):
        return slow
    looked_at = _trees.get_input_idxs_to_check(inputs, static_input_idxs)
    front = _native.native().new_front(slow, list(looked_at))
    number = id(model)
    _fronts[number] = weakref.ref(front, lambda _: _fronts.pop(number, None))
    return front


def live_managers() -> List["TreeManager"]:
    """Of all devices and threads."""
    return [manager for manager in list(_managers) if not manager.is_shut_down]


def _device(index: int) -> graphtree.Device:
    """One for each GPU, for as long as the process lives: storages of torch's may outlive all."""
    if index not in _devices:
        _devices[index] = graphtree.Device("cuda:%d" % index)
    return _devices[index]


class Told(NamedTuple):
    """What the last call came to that was no replay."""

    route: graphtree.Route
    reason: Optional[str]


class FunctionNotes:
    """What Python knows of one function."""

    def __init__(self, wrapped: WrappedFunction, name: str, mode: Any,
                 stack_traces: Sequence[Optional[str]], compile_id: Any) -> None:
        self.wrapped = wrapped
        self.name = name
        self.mode = mode
        self.stack_traces = stack_traces
        self.compile_id = compile_id
        self.compiled: "Optional[weakref.ref[Any]]" = None
        self.told: Dict[Told, int] = {}
        self.skipped = ""        # why it is never recorded, in torch's words


def _body_of(model: Callable[..., Any]) -> Callable[..., Any]:
    def body(inputs: List[Any]) -> Any:
        # A search for a fast convolution would free torch's cache, which a capture forbids.
        with _trees.disable_conv_cache_emptying():
            return model(inputs)
    body.__name__ = getattr(model, "__name__", "function")
    return body


def _input_names(placeholders: Sequence[Any], count: int) -> List[str]:
    names = [str(getattr(placeholder, "name", "")) for placeholder in placeholders]
    return [names[i] if i < len(names) else "input %d" % i for i in range(count)]


class TreeManager:
    """One tree of Graphtree's, for one device and one thread of torch.compile's."""

    options = Options()

    def __init__(self, device_index: int, **more: Any) -> None:
        check_torch_options()
        self.device_index = device_index
        self._pid = os.getpid()
        gigabytes = float(more.get("initial_mempool_allocation_gb") or 0)
        initial = max(self.options.initial_bytes, int(gigabytes * (1 << 30)))
        with torch.cuda.device(device_index):
            torch.cuda.synchronize()
            self.tree = graphtree.Tree(
                _device(device_index), pool_bytes=self.options.pool_bytes, initial_bytes=initial,
                strict=self.options.strict, rerecord_limit=rerecord_limit(), warn=_warner(self))
        self._generator = graphtree.Generator(0)
        self._native = _native.native()
        self._state = self._native.new_tree(self.tree.device.handle, self.tree.handle,
                                            self._generator.handle, device_index)
        self.ids_to_funcs: Dict[FunctionID, WrappedFunction] = {}
        self.ids_to_stack_traces: Dict[FunctionID, Any] = {}
        self.id_to_mode: Dict[FunctionID, Any] = {}
        self.warned_functions: Set[FunctionID] = set()
        self.warned_mutation: Set[FunctionID] = set()
        self.notes: Dict[int, FunctionNotes] = {}
        self.warnings: List[str] = []
        self.graph_counter = itertools.count(0)
        self.func_counter = itertools.count(0)
        self.is_shut_down = False
        _managers.add(self)

    def _warn(self, text: str) -> None:
        self.warnings.append(text)
        log.info("graphtree: %s", text)

    # ---- What torch calls ------------------------------------------------------------------------

    def add_function(self, model: Callable[..., Any], inputs: List[Any],
                     static_input_idxs: Sequence[int], stack_traces: Optional[Sequence[Any]],
                     mode: Any, constants: Tuple[Any, ...], placeholders: Sequence[Any],
                     mutated_input_idxs: Sequence[int], *rest: Any) -> Tuple[Any, Any]:
        """Registers a function and calls it. What newer versions of torch say behind the mutated
        inputs, but for the compilation's id, changes nothing of what a call does."""
        number = next(self.func_counter)
        identity = FunctionID(number)
        held = tuple(t for t in constants if isinstance(t, torch.Tensor) and t.is_cuda)
        wrapped = WrappedFunction(model, list(static_input_idxs), identity, held, placeholders,
                                  list(mutated_input_idxs))
        notes = FunctionNotes(wrapped, getattr(model, "__name__", "function"), mode,
                              list(stack_traces or []), _compile_id_among(rest))
        self.ids_to_funcs[identity] = wrapped
        self.ids_to_stack_traces[identity] = stack_traces
        self.id_to_mode[identity] = mode
        self.notes[number] = notes
        made = self._native.new_function(
            self._state, _body_of(model), _teller(self), "%s #%d" % (notes.name, number),
            _MODES[mode.name], len(inputs), list(static_input_idxs), list(mutated_input_idxs), held,
            notes.stack_traces, _input_names(placeholders, len(inputs)),
            bool(inductor_config.triton.force_cudagraphs_warmup), number)
        notes.compiled = weakref.ref(made)
        front = _fronts.get(id(model))
        if front is not None and front() is not None:
            self._native.set_fast(front(), made)
        _trees.get_container(self.device_index).add_strong_reference(made)
        return made, made(inputs)

    def run(self, new_inputs: List[Any], function_id: FunctionID) -> Any:
        """Calls a function by its number."""
        notes = self.notes[function_id.id]
        made = notes.compiled() if notes.compiled is not None else None
        if made is None:
            raise RuntimeError("graphtree: '%s' is called, and nobody holds it any more"
                               % notes.name)
        return made(new_inputs)

    def set_to_running_backward(self) -> None:
        """A backward pass that is not compiled has begun."""
        self._native.set_awaits_backward(self._state, False)

    def mark_warmup_incomplete(self) -> None:
        """Newer versions of torch say so of a model that is not settled."""

    def shutdown(self) -> None:
        """Recordings go, and calls are errors from here on; outputs that are held stay good."""
        if self.is_shut_down:
            return
        self.is_shut_down = True
        self._native.close_tree(self._state)
        self.tree.close()
        self._generator.close()

    # ---- What is told of calls that were no replays ----------------------------------------------

    def _tell(self, number: int, what: str, route: graphtree.Route, reason: Optional[str],
              failed: Optional[str]) -> None:
        notes = self.notes[number]
        if what == "pending":
            self.warned_functions.add(notes.wrapped.id)
            warnings.warn(_PENDING)
        if what == "mutation":
            self._tell_mutation(notes)
            return
        told = Told(route, reason)
        notes.told[told] = notes.told.get(told, 0) + 1
        if route is graphtree.Route.RECORDED:
            graph = next(self.graph_counter)
            log.debug("[%s] Recording function=%s, cuda_graph_id=%d", notes.compile_id,
                      notes.name, graph)
        elif route is graphtree.Route.WARMED_UP:
            log.debug("[%s] Running warmup function=%s", notes.compile_id, notes.name)
        elif route is graphtree.Route.EAGER:
            self._tell_eager(notes, reason, failed)

    def _tell_mutation(self, notes: FunctionNotes) -> None:
        if notes.wrapped.id in self.warned_mutation:
            return
        self.warned_mutation.add(notes.wrapped.id)
        plain = [i for i in notes.wrapped.mutated_input_idxs
                 if i not in notes.wrapped.static_input_idxs]
        notes.skipped = get_mutation_stack_trace(notes.wrapped.placeholders, plain)
        log_cudagraph_skip_and_bump_counter(notes.skipped)

    def _tell_eager(self, notes: FunctionNotes, reason: Optional[str],
                    failed: Optional[str]) -> None:
        if reason in (None, "excluded", "long_step") or notes.skipped:
            return
        assert reason is not None
        notes.skipped = "skipping cudagraphs due to %s: '%s' runs eagerly, as %s%s" % (
            reason, notes.name, graphtree.reason_sentence(reason),
            " with: " + failed if failed else "")
        log_cudagraph_skip_and_bump_counter(notes.skipped)

    # ---- What tests and tools look at ------------------------------------------------------------

    def look(self) -> Dict[str, Any]:
        """What the compiled part has counted."""
        found: Dict[str, Any] = self._native.look_at_tree(self._state)
        return found

    @property
    def running_forwards_with_pending_backwards(self) -> bool:
        """Whether a forward pass waits for its backward pass."""
        return bool(self.look()["awaits_backward"])

    @running_forwards_with_pending_backwards.setter
    def running_forwards_with_pending_backwards(self, value: bool) -> None:
        self._native.set_awaits_backward(self._state, value)

    @property
    def path_state(self) -> Any:
        """Torch's ExecutionState."""
        return _trees.ExecutionState[_STATES[self.look()["path_state"]]]

    @property
    def current_gen(self) -> int:
        """Torch's generation at the last call."""
        return int(self.look()["generation"])

    @property
    def debug_checkpointing_counter(self) -> int:
        """How often the pool went back to a recording."""
        return int(self.tree.stats.restores)

    def new_graph_id(self) -> Any:
        """The next recording's; it takes the number."""
        return _trees.GraphID(next(self.graph_counter))

    @property
    def roots(self) -> Dict[FunctionID, List[Node]]:
        """Recordings that begin a path, by function."""
        found: Dict[FunctionID, List[Node]] = {}
        for node in self.get_roots():
            found.setdefault(node.function_id, []).append(node)
        return found

    def get_roots(self) -> Iterator[Node]:
        """Recordings that begin a path."""
        return iter(roots_of(self))


def _warner(manager: TreeManager) -> Callable[[str], None]:
    """What the tree warns with; it does not hold the manager, which holds the tree."""
    held = weakref.ref(manager)

    def warn(text: str) -> None:
        to = held()
        if to is not None:
            to._warn(text)
    return warn


def _compile_id_among(rest: Tuple[Any, ...]) -> Any:
    """Of what torch says behind the mutated inputs, whatever the version."""
    for value in rest:
        if type(value).__name__ == "CompileId":
            return value
    return None


def _teller(manager: TreeManager) -> Callable[..., None]:
    """What a Function calls; it does not hold the manager."""
    held = weakref.ref(manager)

    def tell(function: Any, what: str, route: int, reason: int, failed: Optional[str]) -> None:
        to = held()
        if to is None:
            return
        name = graphtree.reason_names()[reason] if reason >= 0 else None
        to._tell(function.number, what, graphtree.Route(route), name, failed)
    return tell
