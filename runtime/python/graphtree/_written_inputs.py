"""Which inputs a body writes: what must not be written is no such input.

    the body runs     each input that it writes is noted, or refused if this call's must not be
    later calls       know it before anything runs, as a replay asks no body

Inputs are told by where they lie: a view of one in a body is one.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, List, Sequence, Set, Tuple

from .tensors import Tensor


class WrittenInputs:
    """Of one function. Threads: any."""

    def __init__(self) -> None:
        self._written: Set[int] = set()
        # thread --> what its call brings that must not be written, by the input's number
        self._read_only: Dict[int, Dict[int, Tensor]] = {}

    def bring(self, index: int, tensor: Tensor) -> None:
        """This thread's call brings what must not be written. Raises if the body writes it."""
        if index in self._written:
            tensor.check_writable("it")
        self._read_only.setdefault(threading.get_ident(), {})[index] = tensor

    def end(self) -> None:
        """This thread's call is over."""
        if self._read_only:
            self._read_only.pop(threading.get_ident(), None)

    def watch(self, inputs: Sequence[Any]) -> InputWatch:
        """What looks after the inputs of a body that runs now on this thread."""
        read_only = self._read_only.get(threading.get_ident(), {})
        return InputWatch(inputs, read_only, self._written)


class InputWatch:
    """While a body runs."""

    def __init__(self, inputs: Sequence[Any], read_only: Dict[int, Tensor],
                 written: Set[int]) -> None:
        self._places: List[Tuple[int, int, int]] = [
            (index, given._address, given._address + given.size_bytes)
            for index, given in enumerate(inputs) if type(given) is Tensor and not given._storage]
        self._read_only = read_only
        self._written = written

    def writes(self, tensor: Any) -> None:
        """The body is about to write the tensor."""
        if type(tensor) is not Tensor or tensor._storage:
            return
        tensor.check_writable("what a body knows")
        begin, end = tensor._address, tensor._address + tensor.size_bytes
        for index, first, last in self._places:
            if begin < last and first < end:
                if index in self._read_only:
                    self._read_only[index].check_writable("input %d" % index)
                self._written.add(index)
