"""What trees and functions may be told when they are made."""

from __future__ import annotations

import collections.abc
import ctypes
import dataclasses
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _callbacks
from . import _interface as c
from . import _wanted
from ._integers import array_of
from .reasons import Moving
from .tree_parts import Budget, SharedBytes

_WARN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


def _warn(context: Any, text: Any, _find: Any = _callbacks.find,
          _failures: Any = _callbacks.host_failures) -> None:
    found = _find(context)
    if found is None:
        return
    try:
        found(text.decode("utf-8", "replace"))
    except BaseException as failure:
        _failures.append(failure)


_warn_in_c = _callbacks.immortal(_WARN(_warn))


@dataclasses.dataclass
class TreeOptions:
    """Of a tree; 0 in a field is the library's default, which graphtree.h says."""

    pool_bytes: int = 0
    """Of the device, for all that the tree does."""
    initial_bytes: int = 0
    off: bool = False
    """Every call runs eagerly."""
    strict: bool = False
    """A call that cannot be recorded is an error."""
    check: bool = False
    """Checked mode, which waits for the device in every call."""
    compare_replays: bool = False
    skip_varying_sizes: bool = False
    rerecord_limit: int = 0
    patch_bytes: int = 0
    spare_after: int = 0
    kept_bytes: int = 0
    pad_room_bytes: int = 0
    shape_warn_limit: int = 0
    warm_up_limit: int = 0
    nodes: int = 0
    executables: int = 0
    executable_bytes: int = 0
    siblings: int = 0
    shapes_of_function: int = 0
    shapes: int = 0
    half_life: int = 0
    retry_after: int = 0
    budget: Optional[Budget] = None
    shared_bytes: Optional[SharedBytes] = None
    """Of which the pool takes what it maps."""
    warn: Optional[Callable[[str], None]] = None
    """Called with each warning, once for each function and reason."""

    def to_c(self) -> Tuple[c.gt_tree_options, int]:
        """As the C interface has them, and the number of the callback in the book, or 0."""
        named = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                 if field.name not in ("budget", "shared_bytes", "warn")}
        made = c.gt_tree_options(**named)
        if self.budget is not None:
            made.budget = _wanted.thing(self.budget, Budget, "budget").handle
        if self.shared_bytes is not None:
            made.shared_bytes = _wanted.thing(self.shared_bytes, SharedBytes,
                                              "shared_bytes").handle
        number = 0
        if self.warn is not None:
            number = _callbacks.note(_wanted.function(self.warn, "warn"))
            made.warn = _warn_in_c
            made.context = number
            made.destroy = _callbacks.forget
        return made, number


_Inputs = Sequence[Union[int, str]]


@dataclasses.dataclass
class FunctionOptions:
    """What the caller promises of a function. Inputs are named, or numbered from 0 on."""

    static_inputs: _Inputs = ()
    """Whose address seldom changes: weights, caches."""
    mutated_inputs: _Inputs = ()
    """That opaque work writes to."""
    alignments: Mapping[Union[int, str], int] = dataclasses.field(default_factory=dict)
    kept_outputs: Sequence[int] = ()
    """That outlive their step, for as long as they are held."""
    recorded_sizes: Sequence[Sequence[int]] = ()
    """The only sizes to record."""
    most_outputs: int = 16
    moving: Moving = Moving.PATCH
    unseen_writes: bool = False
    """Ops write through addresses that no launch shows."""
    exclude: bool = False
    """Never record it."""
    recorded_apart: bool = False
    """`Function.record` alone records it."""
    skip_varying_sizes: bool = False
    check: bool = False
    """Look for undeclared writes in its calls."""

    def to_c(self, names: List[str]) -> Tuple[c.gt_function_options, List[Any]]:
        """As the C interface has them, and what they point to."""
        made = c.gt_function_options(
            most_outputs=self.most_outputs, moving=self.moving, unseen_writes=self.unseen_writes,
            exclude=self.exclude, recorded_apart=self.recorded_apart,
            skip_varying_sizes=self.skip_varying_sizes, check=self.check)
        keeps: List[Any] = []

        def numbers(field: str, count_field: str, given: Sequence[Union[int, str]]) -> None:
            places = [_number(x, names) for x in _wanted.row(given, field)]
            array = array_of(ctypes.c_uint32, places, field)
            keeps.append(array)
            setattr(made, field, array)
            setattr(made, count_field, len(given))

        numbers("static_inputs", "static_input_count", self.static_inputs)
        numbers("mutated_inputs", "mutated_input_count", self.mutated_inputs)
        numbers("kept_outputs", "kept_output_count", self.kept_outputs)
        self._set_rest(made, names, keeps)
        return made, keeps

    def _set_rest(self, made: c.gt_function_options, names: List[str], keeps: List[Any]) -> None:
        if not isinstance(self.alignments, collections.abc.Mapping):
            raise _wanted.wrong_type(self.alignments, "alignments", "a dict")
        aligned = (c.gt_alignment * max(len(self.alignments), 1))(
            *(c.gt_alignment.of(_number(x, names), 0, size)
              for x, size in self.alignments.items()))
        made.alignments, made.alignment_count = aligned, len(self.alignments)
        words = (ctypes.c_char_p * max(len(names), 1))(*(name.encode() for name in names))
        made.input_names, made.input_name_count = words, len(names)
        rows = [_wanted.row(sizes, "one of recorded_sizes")
                for sizes in _wanted.row(self.recorded_sizes, "recorded_sizes")]
        length = len(rows[0]) if rows else 0
        if any(len(row) != length for row in rows):
            raise ValueError("rows of recorded_sizes are of different lengths: %r" % (rows,))
        flat = [size for row in rows for size in row]
        sizes = array_of(ctypes.c_int64, flat, "recorded_sizes")
        made.recorded_sizes, made.recorded_size_count = sizes, len(rows)
        made.recorded_size_length = length
        keeps += [aligned, words, sizes]


def _number(given: Union[int, str], names: List[str]) -> int:
    if isinstance(given, int):
        return given
    if given not in names:
        raise ValueError("the body has no input %r; it has %s" % (given, ", ".join(names)))
    return names.index(given)
