"""The library: found, loaded, and its functions with their types.

It lies beside this file. GRAPHTREE_LIBRARY names another one, which must be of the same major
version, and not older than this package.

The library is loaded once, with its names kept to itself, and never unloaded: handles may be
dropped until the very end of the process.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from . import _interface as c
from ._integers import checking

PATH = os.environ.get("GRAPHTREE_LIBRARY") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "libgraphtree.so.1")


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(PATH)
    except OSError as why:
        raise ImportError("graphtree cannot load its library, %s: %s" % (PATH, why)) from why
    for name, (result, parameters) in c.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError("%s has no %s: it is older than this package, which is of "
                              "version %d.%d" % (PATH, name, c.GT_VERSION_MAJOR,
                                                 c.GT_VERSION_MINOR)) from None
        function.restype = result
        function.argtypes = parameters
        if name in c.NUMBERS:
            setattr(library, name, checking(name, function, c.NUMBERS[name]))
    error = library.gt_version_check(c.GT_VERSION_MAJOR, c.GT_VERSION_MINOR)
    if error:
        raise ImportError(library.gt_error_look(error).contents.text.decode())
    return library


lib: Any = _load()


def untyped(name: str) -> Any:
    """The function once more, for arguments that are ctypes objects already: nothing is converted.

    Any caller that is called millions of times takes its functions from here, and makes its
    arguments once.
    """
    function = ctypes.CDLL(PATH)[name]
    function.restype = ctypes.c_uint64
    return function


def text_of(handle: int) -> str:
    """What a text of the library says; the text is released."""
    size = ctypes.c_size_t()
    chars = lib.gt_text_chars(handle, ctypes.byref(size))
    words: str = chars[:size.value].decode("utf-8", "replace")
    lib.gt_release(handle)
    return words


def version() -> str:
    """Of the library, "1.0.0"."""
    words: str = lib.gt_version_string().decode()
    return words
