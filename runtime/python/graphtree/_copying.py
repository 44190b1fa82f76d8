"""What is never copied: whatever stands for a handle of the library's.

A copy of an object would be a second owner of one handle, and whichever goes first would release
the other's. So copy.copy, copy.deepcopy and pickle are refused, all of which ask `__reduce__`. A
class of one's own that says there how it is made again is asked instead.
"""

from __future__ import annotations

from typing import Any


def refuse_copy(thing: Any, instead: str = "") -> TypeError:
    """The error that says why this is not copied, and what is done instead."""
    return TypeError("a graphtree.%s owns a handle of this process: it can be neither "
                     "copied nor pickled%s" % (type(thing).__name__, instead))


class Uncopied:
    """Base of what is neither copied nor pickled."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        raise refuse_copy(self)
