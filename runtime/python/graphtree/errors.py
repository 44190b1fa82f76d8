"""Errors: one class for each code of the C interface, with all that the library knows of it.

    try:
        twice(x)
    except graphtree.ResourceExhausted as error:
        print(error.text, error.function, error.op_name)

An exception that a body raises is no error of these: it comes back as itself.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, Optional, Type

from . import _interface as c
from ._library import lib


class Error(Exception):
    """What went wrong. Each code has a class of its own."""

    code: int = c.GT_UNKNOWN
    cuda_code: int = 0
    """cudaError_t's number, on the host device too; 0: it is no device's error."""
    call: str = ""
    """The function of the C interface that failed; "" for an error of a body's."""
    function: str = ""
    """The recorded function or program that is at fault; "" if none is."""
    input: Optional[int] = None
    """Which input or slot, from 0 on."""
    op: Optional[int] = None
    """Which op of the function's body, from 1 on."""
    op_name: str = ""

    @property
    def text(self) -> str:
        """What was tried, with which values, and what stood against it."""
        return str(self)


class Cancelled(Error):
    """Somebody has cancelled it."""

    code = c.GT_CANCELLED


class Unknown(Error):
    """A callback failed without saying more."""

    code = c.GT_UNKNOWN


class InvalidArgument(Error, ValueError):
    """What was asked for makes no sense."""

    code = c.GT_INVALID_ARGUMENT


class DeadlineExceeded(Error):
    """It took too long."""

    code = c.GT_DEADLINE_EXCEEDED


class NotFound(Error):
    """There is no such thing."""

    code = c.GT_NOT_FOUND


class AlreadyExists(Error):
    """There is such a thing already."""

    code = c.GT_ALREADY_EXISTS


class PermissionDenied(Error):
    """It is not allowed."""

    code = c.GT_PERMISSION_DENIED


class ResourceExhausted(Error, MemoryError):
    """No memory, or no budget."""

    code = c.GT_RESOURCE_EXHAUSTED


class FailedPrecondition(Error):
    """Not now, or not any more."""

    code = c.GT_FAILED_PRECONDITION


class Aborted(Error):
    """It was given up on the way."""

    code = c.GT_ABORTED


class OutOfRange(Error):
    """Beyond the end."""

    code = c.GT_OUT_OF_RANGE


class Unimplemented(Error, NotImplementedError):
    """This build, device or version has it not."""

    code = c.GT_UNIMPLEMENTED


class InternalError(Error):
    """The library or the driver failed."""

    code = c.GT_INTERNAL


class Unavailable(Error):
    """Not there now."""

    code = c.GT_UNAVAILABLE


class DataLoss(Error):
    """Bytes are lost or damaged."""

    code = c.GT_DATA_LOSS


class BadHandle(Error, ValueError):
    """What is used here was closed, has ended, or is another thing than is wanted."""

    code = c.GT_BAD_HANDLE


_CLASSES: Dict[int, Type[Error]] = {
    cls.code: cls for cls in (
        Cancelled, Unknown, InvalidArgument, DeadlineExceeded, NotFound, AlreadyExists,
        PermissionDenied, ResourceExhausted, FailedPrecondition, Aborted, OutOfRange,
        Unimplemented, InternalError, Unavailable, DataLoss, BadHandle)
}


class _Raised(threading.local):
    """The exception that a body on this thread has raised last, on its way to the body's caller."""

    exception: Optional[BaseException] = None
    text = ""


_raised = _Raised()


def to_error(exception: BaseException) -> int:
    """An error of the library's for an exception, which `error_of` turns back into it."""
    _raised.exception = exception
    code = c.GT_UNKNOWN
    if isinstance(exception, Error):
        # A bad handle in a body is the body's mistake, and no handle of its caller's.
        code = exception.code if exception.code != c.GT_BAD_HANDLE else c.GT_INVALID_ARGUMENT
    _raised.text = "%s: %s" % (type(exception).__name__, exception)
    error: int = lib.gt_error_new(code, _raised.text.replace("\0", "?").encode())
    return error


def forget_raised() -> None:
    """A body begins: what an earlier one raised, and the library got over, is let go."""
    _raised.exception = None


def _info_of(error: int) -> Any:
    return lib.gt_error_look(error).contents


def exception_of(error: int) -> Error:
    """What an error of the library's says. It is not released."""
    info = _info_of(error)
    made = _CLASSES.get(info.code, Unknown)(info.text.decode("utf-8", "replace"))
    made.cuda_code = info.cuda_code
    made.call = info.call.decode()
    made.function = info.function.decode("utf-8", "replace")
    made.input = None if info.input < 0 else info.input
    made.op = None if info.op < 0 else info.op
    made.op_name = info.op_name.decode("utf-8", "replace")
    return made


def error_of(error: int) -> BaseException:
    """The exception for an error of the library's, which is released: the one that a body has
    raised, if it is that."""
    made = exception_of(error)
    lib.gt_release(error)
    raised, _raised.exception = _raised.exception, None
    if raised is None:
        return made
    if _raised.text in made.text:
        return raised
    # The library's own words about what its launcher has refused say more than the body's.
    if isinstance(raised, Error) and raised.text in made.text:
        made.__cause__ = raised
    return made


def check(error: int) -> None:
    """Raises what the error says; 0 is none."""
    if error:
        raise error_of(error)
