"""Trees: functions, their recordings, and their memory.

>>> import graphtree
>>> def double(call):
...     out, x = call.array(0), call.array(1)
...     for i in range(call.block[0]):
...         out[i] = 2 * x[i]
>>> kernel = graphtree.Kernel("double", ["*i32", "const *i32"], host=double)
>>> with graphtree.Device("host") as device, graphtree.Tree(device) as tree:
...     @tree.function
...     def twice(on, x):
...         out = on.empty_like(x)
...         on.launch(kernel, graphtree.Out(out), graphtree.In(x), block=x.shape[0])
...         return out
...
...     x = device.tensor_from([1, 2, 3], "i32")
...     for _ in range(3):
...         tree.begin_step()
...         y = twice(x)
...         print(y.tolist(), tree.last_call.route.name)
...     del x, y
[2, 4, 6] WARMED_UP
[2, 4, 6] RECORDED
[2, 4, 6] REPLAYED
"""

from __future__ import annotations

import ctypes
import json
from typing import Any, Callable, List, NamedTuple, Optional, Union, overload

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._handles import Owned, Rank
from ._integers import integer
from ._library import lib, text_of, untyped
from ._snapshots import read_snapshot
from ._wanted import AnyPath
from .devices import Device
from .errors import check
from .functions import Function, input_names
from .options import FunctionOptions, TreeOptions
from .reasons import Contents, LastCall, PoolStats, Route, TreeStats, reason_name
from .streams import Stream, stream_or_none
from .tensors import Tensor
from .tree_parts import GraphEvent, Observer

_begin_step = untyped("gt_tree_begin_step")


def _native(stream: int) -> Optional[int]:
    """The number of a cudaStream_t, as C takes it."""
    return integer(stream, ctypes.c_uint64, "native") or None


class Pointer(NamedTuple):
    """A place where a recording holds an address."""

    recording: int
    address: int
    op: int
    argument: int
    byte: int


class Tree(Owned):
    """Functions, their recordings, and their memory. Options are those of TreeOptions.

    Closing it waits for its work; its outputs stay good for as long as they are held. It holds the
    bodies of its functions, so one whose bodies know the tree is closed, not dropped. Threads: any,
    one caller at a time; a second one gets an error.
    """

    rank = Rank.TREE

    def __init__(self, device: Device, stream: Optional[Stream] = None,
                 options: Optional[TreeOptions] = None, **named: Any) -> None:
        """`stream`: where calls run that name none; without it, one of the tree's own."""
        _wanted.thing(device, Device, "the device")
        if options is not None and named:
            raise TypeError("options come as TreeOptions, or by name, and not both")
        if options is None:
            options = TreeOptions(**named)
        stream = stream_or_none(stream)
        made, number = _wanted.thing(options, TreeOptions, "the options").to_c()
        handle = ctypes.c_uint64()
        try:
            check(lib.gt_tree_new(device.handle, ctypes.byref(made), ctypes.byref(handle)))
        except BaseException:
            _callbacks.strike(number)
            raise
        self._set(device, handle.value, stream)

    def _set(self, device: Device, handle: int, stream: Optional[Stream]) -> None:
        self.device = device
        self._has_own_stream = stream is None
        self.stream = stream or Stream(device)
        self._argument = ctypes.c_void_p(handle)
        self._own(handle)

    @classmethod
    def of_handle(cls, device: Device, handle: int) -> Tree:
        """A tree that the library has made: a lane's."""
        made = cls.__new__(cls)
        made._set(device, handle, None)
        return made

    def close(self) -> None:
        """Closes it, with its functions, after its work."""
        super().close()
        if self._has_own_stream:
            self.stream.close()

    @overload
    def function(self, body: Callable[..., Any]) -> Function: ...

    @overload
    def function(self, *, name: Optional[str] = None,
                 **options: Any) -> Callable[[Callable[..., Any]], Function]: ...

    def function(self, body: Optional[Callable[..., Any]] = None, *, name: Optional[str] = None,
                 **options: Any) -> Union[Function, Callable[[Callable[..., Any]], Function]]:
        """Makes a function of this tree from a body: `body(on, *inputs)` returns its outputs.

            @tree.function(static_inputs=["weights"])
            def layer(on, x, weights): ...

        Options are those of FunctionOptions; the name is the body's own without another one.
        """
        if body is None:
            return lambda given: self._register(given, name, FunctionOptions(**options))
        return self._register(body, name, FunctionOptions(**options))

    def _register(self, body: Callable[..., Any], name: Optional[str],
                  options: FunctionOptions) -> Function:
        made, keeps = options.to_c(input_names(_wanted.function(body, "the function's body")))
        if name is None:
            name = str(getattr(body, "__name__", "function"))
        function = Function(self, body, name, made, options.most_outputs)
        del keeps  # the library has copied what they are
        return function

    def begin_step(self) -> None:
        """The caller's loop begins another pass: the path ends, and outputs of it that are held go
        stale, but for kept ones."""
        error = _begin_step(self._argument)
        if error:
            check(error)

    # ---- What a tree tells -----------------------------------------------------------------------

    @property
    def last_call(self) -> LastCall:
        """What the last call came to: for the thread that made it."""
        route, reason = ctypes.c_int32(), ctypes.c_int32()
        check(lib.gt_tree_last_call(self._handle, ctypes.byref(route), ctypes.byref(reason)))
        return LastCall(Route(route.value), reason_name(reason.value))

    @property
    def stats(self) -> TreeStats:
        """What was counted. It waits for a call that runs, as all of these do."""
        found = TreeStats()
        check(lib.gt_tree_look(self._handle, ctypes.byref(found)))
        return found

    @property
    def pool_stats(self) -> PoolStats:
        """What its memory is."""
        found = PoolStats()
        check(lib.gt_tree_pool_look(self._handle, ctypes.byref(found)))
        return found

    def _describe(self, what: int) -> str:
        out = ctypes.c_uint64()
        check(lib.gt_tree_describe(self._handle, what, ctypes.byref(out)))
        return text_of(out.value)

    def outline(self) -> str:
        """All recordings, as a drawing."""
        return self._describe(c.GT_OUTLINE)

    def outline_data(self) -> Any:
        """The same as dicts and lists."""
        return json.loads(self._describe(c.GT_OUTLINE_JSON))

    def outline_graphviz(self) -> str:
        """The same for Graphviz."""
        return self._describe(c.GT_OUTLINE_GRAPHVIZ)

    def edges(self) -> str:
        """What became of calls, by function and the one before it."""
        return self._describe(c.GT_EDGES)

    def functions(self) -> str:
        """What became of calls, by function."""
        return self._describe(c.GT_FUNCTIONS)

    def state(self) -> str:
        """The state that the tree is in, in a few words."""
        return self._describe(c.GT_STATE)

    def ops(self, recording: int) -> Any:
        """The ops of one recording, by its number in the outline, as dicts and lists."""
        return json.loads(self._ops(recording, c.GT_OPS_JSON))

    def ops_graphviz(self, recording: int) -> str:
        """The same for Graphviz."""
        return self._ops(recording, c.GT_OPS_GRAPHVIZ)

    def _ops(self, recording: int, form: int) -> str:
        out = ctypes.c_uint64()
        check(lib.gt_recording_describe(self._handle, recording, form, ctypes.byref(out)))
        return text_of(out.value)

    def pointers(self, recording: int, address: int, size: int) -> List[Pointer]:
        """Where a recording holds addresses in the range."""
        within, count = c.gt_range.of(address, size), ctypes.c_size_t()
        check(lib.gt_recording_pointers(self._handle, recording, within, None, 0,
                                        ctypes.byref(count), None))
        places = (c.gt_pointer * max(count.value, 1))()
        check(lib.gt_recording_pointers(self._handle, recording, within, places, count.value,
                                        ctypes.byref(count), None))
        return [Pointer(place.recording, place.address, place.op, place.argument, place.byte)
                for place in places[:count.value]]

    def write_snapshot(self, path: AnyPath) -> None:
        """The tree's memory as a file for `graphtree memory` and PyTorch's viewers; its ending
        chooses the form: .pickle, .json or .sqlite."""
        check(lib.gt_tree_write_snapshot(self._handle, _wanted.path(path, "the path")))

    def snapshot(self) -> Any:
        """The tree's memory, as dicts and lists: what PyTorch's memory snapshots are."""
        return read_snapshot(self.write_snapshot)

    @property
    def is_inside(self) -> bool:
        """Whether this thread is in the tree, in a body for example."""
        this, others = ctypes.c_int32(), ctypes.c_int32()
        check(lib.gt_tree_who(self._handle, ctypes.byref(this), ctypes.byref(others)))
        return bool(this.value)

    @property
    def is_others(self) -> bool:
        """Whether another thread is in the tree."""
        this, others = ctypes.c_int32(), ctypes.c_int32()
        check(lib.gt_tree_who(self._handle, ctypes.byref(this), ctypes.byref(others)))
        return bool(others.value)

    def made(self, tensor: Tensor) -> bool:
        """Whether a function of this tree made the tensor."""
        out = ctypes.c_int32()
        given = _wanted.thing(tensor, Tensor, "the tensor")
        check(lib.gt_tree_made(self._handle, ctypes.byref(given.value()), ctypes.byref(out)))
        return bool(out.value)

    def check_may_read(self, tensor: Tensor) -> None:
        """Raises if work of the tree's device may not read the tensor now."""
        given = _wanted.thing(tensor, Tensor, "the tensor")
        check(lib.gt_tree_may_read(self._handle, ctypes.byref(given.value())))

    def observe(self, saw: Callable[[GraphEvent], None]) -> Observer:
        """`saw` is told what becomes of the tree's graphs, until the observer is closed."""
        return Observer(self, saw)

    # ---- Its memory ------------------------------------------------------------------------------

    def give_up(self, nodes: int, executables: int, executable_bytes: int) -> None:
        """Evicts what is worth the least until the tree holds no more than that."""
        check(lib.gt_tree_give_up(self._handle, nodes, executables, executable_bytes))

    def give_memory(self, size: int, for_whom: str) -> int:
        """Unmaps what nobody uses, and gives recordings up, until the tree has so many bytes less.
        Returns how many were unmapped."""
        out = ctypes.c_uint64()
        check(lib.gt_tree_give_memory(self._handle, size, _wanted.text(for_whom, "for_whom"),
                                      ctypes.byref(out)))
        return out.value

    def trim(self, goal_bytes: int = 0) -> int:
        """Gives memory back that nobody uses, until at most so much is mapped; returns how much."""
        out = ctypes.c_uint64()
        check(lib.gt_tree_trim(self._handle, goal_bytes, ctypes.byref(out)))
        return out.value

    def set_limit(self, size: int) -> None:
        """The most physical memory that the tree may have."""
        check(lib.gt_tree_set_limit(self._handle, size))

    def park(self, contents: Contents = Contents.KEEP) -> None:
        """Its physical memory leaves the device, and comes back under the same addresses."""
        check(lib.gt_tree_park(self._handle, contents))

    def wake(self) -> None:
        """It comes back."""
        check(lib.gt_tree_wake(self._handle))

    def foreign_allocate(self, size: int, native: int) -> int:
        """Memory for an allocator of foreign code that runs inside bodies, on the stream with that
        number: a recording may go on using it. Returns its address."""
        out = ctypes.c_uint64()
        check(lib.gt_foreign_allocate(self._handle, size, _native(native), ctypes.byref(out)))
        return out.value

    def foreign_give_back(self, address: int, native: int) -> None:
        """Gives it back."""
        check(lib.gt_foreign_give_back(self._handle, address, _native(native)))

    def foreign_use_on(self, address: int, native: int) -> None:
        """Another stream uses it, too."""
        check(lib.gt_foreign_use_on(self._handle, address, _native(native)))

    def install_allocator(self, device: int) -> None:
        """The library's gt_foreign_malloc, _free and _record_stream take from this tree for GPU
        number `device`: for torch.cuda.memory.CUDAPluggableAllocator, with LIBRARY_PATH."""
        check(lib.gt_foreign_install(device, self._handle))
