"""What callers bring that is no number: texts, paths, functions, and things of this package.

What is of another type is a TypeError that says what it is for, what it is, and what is wanted.

    Tree("host")     the device is 'host' (str), where a graphtree.Device is wanted
"""

from __future__ import annotations

import os
import reprlib
from typing import Any, Optional, Tuple, Type, TypeVar, Union

_Thing = TypeVar("_Thing")

AnyPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def wrong_type(given: Any, what: str, wanted: str) -> TypeError:
    """The error, to be raised."""
    return TypeError("%s is %s (%s), where %s is wanted"
                     % (what, reprlib.repr(given), type(given).__name__, wanted))


def thing(given: Any, kind: Type[_Thing], what: str) -> _Thing:
    """One of the package's own."""
    if not isinstance(given, kind):
        raise wrong_type(given, what, "a graphtree.%s" % kind.__name__)
    return given


def things(given: Any, kind: Type[_Thing], what: str) -> Tuple[_Thing, ...]:
    """Several of them."""
    if isinstance(given, kind) or not hasattr(given, "__iter__"):
        raise wrong_type(given, what, "a list of graphtree.%s" % kind.__name__)
    return tuple(thing(one, kind, "one of " + what) for one in given)


def row(given: Any, what: str) -> Tuple[Any, ...]:
    """Several of whatever: a text is one thing, and not its letters."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise wrong_type(given, what, "a list")
    return tuple(given)


def function(given: Any, what: str) -> Any:
    """What can be called."""
    if not callable(given):
        raise wrong_type(given, what, "a function")
    return given


def text(given: Any, what: str) -> bytes:
    """A text as C takes it: it would end at its first 0."""
    if not isinstance(given, str):
        raise wrong_type(given, what, "a str")
    return _without_zero(given.encode(), given, what)


def text_or_none(given: Any, what: str) -> Optional[bytes]:
    """Likewise; None is null."""
    return None if given is None else text(given, what)


def path(given: Any, what: str) -> bytes:
    """The path of a file or folder, as C takes it."""
    try:
        return _without_zero(os.fsencode(given), given, what)
    except TypeError:
        raise wrong_type(given, what, "a str or an os.PathLike") from None


def path_or_none(given: Any, what: str) -> Optional[bytes]:
    """Likewise; None is null."""
    return None if given is None else path(given, what)


def _without_zero(chars: bytes, given: Any, what: str) -> bytes:
    if b"\0" in chars:
        raise ValueError("%s is %r, where no character is 0" % (what, given))
    return chars
