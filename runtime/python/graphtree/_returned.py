"""What a call has returned that is no memory of a tree's: an input, or a part of one.

    x = device.as_tensor(theirs)      x --> Foreign --> theirs
    y = f(x)                          y --> Returned --> the same Foreign
                                                     --> the stream whose work y comes after

So it is the caller's memory as the input was, and holds what the input held.
"""

from __future__ import annotations

from typing import Any, Iterable, Optional, Tuple

from . import _interface as c
from .layouts import layout_at
from .streams import Stream
from .tensors import Given, Tensor


class Returned:
    """Keeps what such a tensor lies in, and knows the stream of the call."""

    __slots__ = ("keeps", "stream", "device", "home")

    def __init__(self, keeps: Any, stream: Stream) -> None:
        self.keeps = keeps
        self.stream = stream
        self.device = stream.device
        # The body of a function, which keeps what it knows, says no home.
        self.home: Tuple[int, int] = getattr(keeps, "home", stream.home)

    @property
    def closed(self) -> bool:
        """Whether its memory is closed."""
        return bool(getattr(self.keeps, "closed", False))

    @property
    def _closed(self) -> bool:
        return self.closed or self.is_read_only  # calls look again at what must not be written

    @property
    def is_read_only(self) -> bool:
        """Whether it must not be written."""
        return bool(getattr(self.keeps, "is_read_only", False))

    @property
    def owner(self) -> Any:
        """Whose memory it is, where it is somebody else's."""
        return self.keeps.owner

    @property
    def is_somebodys(self) -> bool:
        """Whether it is memory of somebody else's."""
        return bool(getattr(self.keeps, "is_somebodys", False))

    @property
    def made_on(self) -> Optional[Stream]:
        """The stream, while that is there."""
        return None if self.stream.closed else self.stream


def _keeper(value: c.gt_value, inputs: Iterable[Any]) -> Any:
    """What keeps the input that the value lies in."""
    end = value.word + layout_at(value.layout).extent_bytes
    for given in inputs:
        tensor = given.tensor if type(given) is Given else given
        if type(tensor) is Tensor and not tensor._storage and \
                tensor._address <= value.word and end <= tensor._address + tensor.size_bytes:
            origin = tensor._origin
            return origin.keeps if type(origin) is Returned else origin
    return None


def returned(value: c.gt_value, stream: Stream, inputs: Iterable[Any], body: Any) -> Tensor:
    """The tensor of an output that is the caller's memory. What is no input's is what the body
    knows, and stays with that."""
    keeps = _keeper(value, inputs)
    if keeps is None:
        origin: Any = Returned(body, stream)
    else:
        # A body's stream ends with the body, and what runs there is in its order already.
        origin = keeps if stream.ends_with_body else Returned(keeps, stream)
    return Tensor.at(value.word, layout_at(value.layout), origin)
