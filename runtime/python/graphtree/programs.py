"""Programs: a body with slots, the shapes that it is recorded for, and its steps.

>>> import graphtree
>>> from graphtree import In, Key, KeyField, Out, Slot
>>> def add_one(call):
...     out, x = call.array(0), call.array(1)
...     for i in range(call.block[0]):
...         out[i] = x[i] + 1
>>> kernel = graphtree.Kernel("add one", ["*i32", "const *i32"], host=add_one)
>>> with graphtree.Device("host") as device, graphtree.Runtime([device]) as runtime:
...     @runtime.program(slots=[Slot("ids", "i32", (8,), rows=KeyField.TOKENS)])
...     def decode(on, ids):
...         tokens = on.empty_like(ids)
...         on.launch(kernel, Out(tokens), In(ids), block=ids.shape[0])
...         return tokens
...
...     decode.add_shapes([Key(tokens=4), Key(tokens=8)])
...     decode.record()
...     with decode.step(Key(tokens=3)) as step:
...         step.stage("ids", [10, 20, 30])
...         tokens = step.run()
...         print(step.choice.why, step.choice.key.tokens, tokens.tolist()[:3])
...     tokens.close()
cover 4 [11, 21, 31]
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._handles import Owned, Rank
from ._integers import array_of, integer
from ._library import lib
from .errors import check
from .keys import FieldRule, Key, KeyField, Mode, Modes, key_to_c, modes_to_c, rules_to_c
from .program_bodies import Bodies, run_body_in_c, run_prepare_in_c
from .slots import Slot, place_of, slot_array
from .steps import Choice, Rooms, Step
from .streams import Event, Stream, stream_or_none
from .tensors import Tensor
from .trees import Pointer

if TYPE_CHECKING:
    from .runtimes import Runtime


class Agreement(NamedTuple):
    """What the votes of all ranks came to."""

    outcome: int
    """0: they agree on a graph."""
    sentence: str
    rank: int
    """The first that stands against a graph."""
    modes: Modes
    key: Key


class Program(Owned):
    """A body with slots, and its shapes: made by `Runtime.program`.

    Closed, or dropped, it goes with its shapes, recordings and slots.
    """

    rank = Rank.USER

    def __init__(self, runtime: Runtime, name: str, body: Callable[..., Any],
                 slots: Sequence[Slot], *, prepare: Optional[Callable[..., Any]] = None,
                 rules: Optional[Dict[KeyField, FieldRule]] = None, lane: int = 0,
                 device: int = 0, dependencies: Sequence[Dependency] = (),
                 tag: Optional[str] = None, needs: Sequence[str] = (),
                 kept_outputs: Sequence[int] = (), most_outputs: int = 16,
                 needs_commit: bool = False, tells_when_free: bool = False,
                 unseen_writes: bool = False, check_writes: bool = False) -> None:
        self.runtime = runtime
        self.name = name
        self.slots = _wanted.things(slots, Slot, "the slots")
        self.lane = lane
        self.device = runtime.device_at(device)
        self.most_outputs: int = integer(most_outputs, ctypes.c_uint32, "most_outputs")
        as_c, kept_slots = slot_array(self.slots)
        rules_in_c = rules_to_c(rules)
        places = array_of(ctypes.c_uint64, [one.handle for one in _wanted.things(
            dependencies, Dependency, "the dependencies")], "dependencies")
        needs = _wanted.row(needs, "needs")
        words = (ctypes.c_char_p * max(len(needs), 1))(
            *(_wanted.text(need, "one of needs") for need in needs))
        kept = array_of(ctypes.c_uint32, _wanted.row(kept_outputs, "kept_outputs"),
                        "kept_outputs")
        options = c.gt_program_options(
            name=_wanted.text(name, "the program's name"), slots=as_c,
            slot_count=len(self.slots), rules=ctypes.pointer(rules_in_c), body=run_body_in_c,
            destroy=_callbacks.forget, lane=lane, device=device, dependencies=places,
            dependency_count=len(dependencies), tag=_wanted.text_or_none(tag, "tag"), needs=words,
            need_count=len(needs), kept_outputs=kept, kept_output_count=len(kept_outputs),
            needs_commit=needs_commit, tells_when_free=tells_when_free,
            unseen_writes=unseen_writes, check=check_writes)
        _wanted.function(body, "the program's body")
        if prepare is not None:
            _wanted.function(prepare, "prepare")
            options.prepare = run_prepare_in_c
        number = _callbacks.note(Bodies(self.device, self.slots, body, prepare,
                                        self.most_outputs))
        options.context = number
        handle = ctypes.c_uint64()
        try:
            check(lib.gt_program_new(runtime.handle, ctypes.byref(options), ctypes.byref(handle)))
        except BaseException:
            _callbacks.strike(number)
            raise
        del kept_slots  # the library has copied what it was given
        self.argument: Any = ctypes.c_void_p(handle.value)
        self.rooms: Rooms = Rooms(self.most_outputs)
        self._keys: Dict[Key, Any] = {}
        self._own(handle.value)

    def key_argument(self, key: Key) -> Any:
        """A key as calls pass it. The last few hundred are kept: steps come with the same again."""
        known = self._keys.get(key)
        if known is None:
            if len(self._keys) >= 512:
                self._keys.clear()
            known = self._keys[key] = ctypes.byref(key_to_c(key))
        return known

    def __repr__(self) -> str:
        return "<graphtree.Program %r of %d slots>" % (self.name, len(self.slots))

    def _stream(self, stream: Optional[Stream]) -> Stream:
        if type(stream) is Stream:
            return stream
        return stream_or_none(stream) or self.runtime.stream_of(self.device)

    # ---- Shapes ----------------------------------------------------------------------------------

    def add_shapes(self, keys: Sequence[Key], mode: Mode = Mode.FULL) -> None:
        """All of them, or an error and none."""
        array = (c.gt_key * max(len(keys), 1))(*(
            key.to_c() for key in _wanted.things(keys, Key, "the keys")))
        check(lib.gt_program_add_shapes(self._handle, array, len(keys), mode))

    def exclude(self, key: Key, excluded: bool = True) -> None:
        """The shape serves no step; or serves again."""
        as_c = key_to_c(key)
        check(lib.gt_program_exclude(self._handle, ctypes.byref(as_c), excluded))

    def record(self, stream: Optional[Stream] = None) -> None:
        """Records all shapes that are not recorded. The first failure is raised after all were
        tried."""
        check(lib.gt_program_record(self._handle, self._stream(stream).handle))

    def slot(self, slot: Any) -> Tensor:
        """The whole slot, as it lies while the program is there: for work of one's own that fills
        it."""
        out = c.gt_value()
        check(lib.gt_program_slot(self._handle, place_of(self.slots, slot), ctypes.byref(out)))
        return Tensor.of_value(out, self)

    @property
    def home(self) -> Tuple[int, int]:
        """Where its slots lie, in DLPack's numbers."""
        return (1, 0) if self.device.is_host else (2, self.device.index)

    def when_free(self) -> Tuple[Event, Event]:
        """Events that say when the rows and the slots of the last step may be written again."""
        rows, slots = ctypes.c_uint64(), ctypes.c_uint64()
        check(lib.gt_program_when_free(self._handle, ctypes.byref(rows), ctypes.byref(slots)))
        return (Event.of_handle(self.device, rows.value),
                Event.of_handle(self.device, slots.value))

    def pointers(self, key: Key, address: int, size: int) -> List[Pointer]:
        """Where the recordings of a shape hold addresses in the range."""
        as_c, within, count = key_to_c(key), c.gt_range.of(address, size), ctypes.c_size_t()
        check(lib.gt_program_pointers(self._handle, ctypes.byref(as_c), within, None, 0,
                                      ctypes.byref(count), None))
        places = (c.gt_pointer * max(count.value, 1))()
        check(lib.gt_program_pointers(self._handle, ctypes.byref(as_c), within, places,
                                      count.value, ctypes.byref(count), None))
        return [Pointer(place.recording, place.address, place.op, place.argument, place.byte)
                for place in places[:count.value]]

    # ---- Steps -----------------------------------------------------------------------------------

    def choose(self, key: Key, allowed: Modes = Modes.ALL) -> Choice:
        """What a step would choose."""
        as_c, found = key_to_c(key), c.gt_choice()
        check(lib.gt_program_choose(self._handle, ctypes.byref(as_c), modes_to_c(allowed),
                                    ctypes.byref(found)))
        return Choice.of(found)

    def step(self, key: Key, stream: Optional[Stream] = None, *, forbidden: Modes = Modes.NONE,
             is_voted_down: bool = False, continues: bool = False) -> Step:
        """Begins a step. `continues`: it goes on where the lane's last step ended, whose outputs
        stay good."""
        options = None
        if forbidden or is_voted_down or continues:
            options = ctypes.byref(c.gt_step_options(
                forbidden=modes_to_c(forbidden), is_voted_down=is_voted_down, continues=continues))
        return Step(self, key, self._stream(stream), options)

    def run(self, key: Key, staged: Dict[Any, Any], stream: Optional[Stream] = None) -> Any:
        """A whole step: begun, staged with what `staged` has for each slot, and run."""
        with self.step(key, stream) as step:
            for slot, data in staged.items():
                step.stage(slot, data)
            return step.run()

    # ---- Ranks -----------------------------------------------------------------------------------

    def vote(self, key: Key, allowed: Modes, number: int) -> bytes:
        """This rank's vote, 16 bytes, for step `number`. The caller moves the votes of all."""
        as_c, out = key_to_c(key), c.gt_vote()
        check(lib.gt_program_vote(self._handle, ctypes.byref(as_c), modes_to_c(allowed), number,
                                  ctypes.byref(out)))
        return bytes(out.bytes)

    def agree(self, key: Key, allowed: Modes, number: int, votes: Sequence[bytes]) -> Agreement:
        """What the votes of all ranks, in their order, come to: begin the step with its key, and
        with what its modes leave out forbidden."""
        array = (c.gt_vote * max(len(votes), 1))()
        for place, vote in zip(array, votes):
            if len(vote) != 16:
                raise ValueError("a vote of %d bytes; 16 are wanted" % len(vote))
            place.bytes[:] = vote
        as_c, found = key_to_c(key), c.gt_agreement()
        check(lib.gt_program_agree(self._handle, ctypes.byref(as_c), modes_to_c(allowed), number,
                                   array, len(votes), ctypes.byref(found)))
        sentence = lib.gt_vote_outcome_sentence(found.outcome).decode()
        return Agreement(found.outcome, sentence, found.rank, Modes(found.modes),
                         Key.of(found.key))


class Dependency(Owned):
    """What recordings point to and a runtime owns not: weights, communicators, caches. Made by
    `Runtime.dependency`; closed, it stays declared."""

    def __init__(self, runtime: Runtime, handle: int) -> None:
        self.runtime = runtime
        self._own(handle)

    def touch(self) -> None:
        """Recordings that depend on it and were made before are made again."""
        check(lib.gt_dependency_touch(self._handle))

    def move(self, address: int, size: int) -> None:
        """It has other memory now."""
        check(lib.gt_dependency_move(self._handle, c.gt_range.of(address, size)))
