"""Routes, reasons and modes: the numbers of the library, with their names.

>>> reason_names()[0]
'excluded'
"""

from __future__ import annotations

import enum
from typing import Dict, List, NamedTuple, Optional, Sequence

from . import _interface as c
from ._library import lib


class Route(enum.IntEnum):
    """What became of a call."""

    NONE = c.GT_ROUTE_NONE
    REPLAYED = c.GT_ROUTE_REPLAYED
    RECORDED = c.GT_ROUTE_RECORDED
    WARMED_UP = c.GT_ROUTE_WARMED_UP
    EAGER = c.GT_ROUTE_EAGER


class LastCall(NamedTuple):
    """What the last call came to."""

    route: Route
    reason: Optional[str]
    """Its name, or None."""


class Moving(enum.IntEnum):
    """What is done about an input that was recorded at one address and comes at another."""

    PATCH = c.GT_MOVING_PATCH
    COPY = c.GT_MOVING_COPY
    EAGER = c.GT_MOVING_EAGER


class PlaceOnPath(enum.IntEnum):
    """Where a call would be."""

    ON_PATH = c.GT_ON_PATH
    IN_NEW_STEP = c.GT_IN_NEW_STEP
    FIRST_OP = c.GT_FIRST_OP


class Parity(enum.IntEnum):
    """What comparing a replay with its body has shown."""

    NOT_COMPARED = c.GT_NOT_COMPARED
    SAME = c.GT_SAME
    DIFFERS = c.GT_DIFFERS


class Contents(enum.IntEnum):
    """What becomes of the bytes of memory that is parked."""

    DROP = c.GT_DROP
    KEEP = c.GT_KEEP
    PINNED = c.GT_PINNED


def reason_name(number: int) -> Optional[str]:
    """The name that a reason has; None for no reason."""
    return None if number < 0 else lib.gt_reason_name(number).decode()


def reason_names() -> List[str]:
    """Of all reasons."""
    return [lib.gt_reason_name(number).decode() for number in range(lib.gt_reason_count())]


def reason_sentence(name: str) -> str:
    """What a reason means.

    >>> print(reason_sentence("excluded"))
    the function was excluded from recording by its options
    """
    sentence: str = lib.gt_reason_sentence(reason_names().index(name)).decode()
    return sentence


def why_name(number: int) -> str:
    """The name of a step's reason, "hit" or "cover" for those that were replayed."""
    name: str = lib.gt_why_name(number).decode()
    return name


def why_names() -> List[str]:
    """Of all reasons of steps."""
    return [why_name(number) for number in range(lib.gt_why_count())]


def why_sentence(name: str) -> str:
    """What a step's reason means."""
    sentence: str = lib.gt_why_sentence(why_names().index(name)).decode()
    return sentence


def counted(names: Sequence[str], counts: Sequence[int]) -> Dict[str, int]:
    """Counts by name, without those that never came."""
    return {name: count for name, count in zip(names, counts) if count}


class TreeStats(c.gt_tree_stats):
    """What a tree has counted."""

    @property
    def by_reason(self) -> Dict[str, int]:
        """Calls that no recording served, by reason."""
        return counted(reason_names(), list(self.reasons))


class FunctionStats(c.gt_function_stats):
    """What a tree has counted of one function."""

    @property
    def by_reason(self) -> Dict[str, int]:
        """Its calls that no recording served, by reason."""
        return counted(reason_names(), list(self.reasons))


class PoolStats(c.gt_pool_stats):
    """What a pool has."""


class RuntimeStats(c.gt_runtime_stats):
    """What a runtime has counted."""

    @property
    def by_why(self) -> Dict[str, int]:
        """Steps by how they ran."""
        return counted(why_names(), list(self.whys))
