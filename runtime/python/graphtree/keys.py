"""Keys: what a step is asked to be, and the shapes that cover it.

>>> call, shape = Key(tokens=5, requests=2), Key(tokens=8, requests=ANY)
>>> Key.of(call.to_c()) == call
True
"""

from __future__ import annotations

import enum
from typing import Dict, NamedTuple, Optional

from . import _interface as c
from . import _wanted

ANY: int = c.GT_ANY
"""A shape's field that takes every value."""


class Key(NamedTuple):
    """Of a call: numbers from 0 on. Of a shape: a field may be ANY."""

    kind: int = 0
    """The caller's: prefill, decode, ..."""
    tokens: int = 0
    requests: int = 0
    query_length: int = 0
    """Tokens of one request, where all have as many."""
    context: int = 0
    """Tokens of the longest request."""
    adaptors: int = 0
    microbatches: int = 0
    speculation: int = 0
    """Tokens that are guessed ahead."""
    extra: int = 0
    """The caller's, always compared for equality."""
    any_extra: bool = False
    """Of a shape: it takes every value of `extra`."""

    def to_c(self) -> c.gt_key:
        """As the C interface has it."""
        return c.gt_key.of(*self)

    @classmethod
    def of(cls, key: c.gt_key) -> Key:
        """From the C interface."""
        return cls(key.kind, key.tokens, key.requests, key.query_length, key.context, key.adaptors,
                   key.microbatches, key.speculation, key.extra, bool(key.any_extra))


def key_to_c(key: Key) -> c.gt_key:
    """Of what a caller gives as a key."""
    return _wanted.thing(key, Key, "the key").to_c()


class KeyField(enum.IntEnum):
    """A field of a key, in the order in which shapes are compared."""

    NONE = c.GT_NO_FIELD
    TOKENS = c.GT_TOKENS
    REQUESTS = c.GT_REQUESTS
    QUERY_LENGTH = c.GT_QUERY_LENGTH
    CONTEXT = c.GT_CONTEXT
    ADAPTORS = c.GT_ADAPTORS
    MICROBATCHES = c.GT_MICROBATCHES
    SPECULATION = c.GT_SPECULATION
    KIND = c.GT_KIND
    EXTRA = c.GT_EXTRA


class Covers(enum.IntEnum):
    """When a shape's number covers a call's."""

    DEFAULT = c.GT_COVERS_DEFAULT
    """At most, for tokens, requests and context; else equal."""
    EQUAL = c.GT_COVERS_EQUAL
    AT_MOST = c.GT_COVERS_AT_MOST
    POWER_OF_TWO = c.GT_COVERS_POWER_OF_TWO


class FieldRule(NamedTuple):
    """Of one field."""

    covers: Covers = Covers.DEFAULT
    most_extra: int = 0
    """The shape's is at most so much more; 0: no limit; -1: no more at all."""
    most_ratio: float = 0.0
    """The shape's is at most so many times the call's; 0: no limit."""


def rules_to_c(rules: Optional[Dict[KeyField, FieldRule]]) -> c.gt_key_rules:
    """Rules by field, as the C interface has them."""
    made = c.gt_key_rules()
    if not isinstance(rules, (dict, type(None))):
        raise _wanted.wrong_type(rules, "rules", "a dict")
    for field, rule in (rules or {}).items():
        _wanted.thing(field, KeyField, "a rule's field")
        _wanted.thing(rule, FieldRule, "a rule")
        if field in (KeyField.NONE, KeyField.EXTRA):
            raise ValueError("%s has no rule" % field.name)
        setattr(made, field.name.lower(), c.gt_field_rule.of(*rule))
    return made


class Mode(enum.IntEnum):
    """How a step runs."""

    EAGER = c.GT_EAGER
    SEGMENTED = c.GT_SEGMENTED
    """A graph that is cut where parts run eagerly."""
    FULL = c.GT_FULL
    """One graph for all."""


class Modes(enum.IntFlag):
    """A set of modes that use graphs."""

    NONE = c.GT_ALLOW_NONE
    SEGMENTED = c.GT_ALLOW_SEGMENTED
    FULL = c.GT_ALLOW_FULL
    ALL = c.GT_ALLOW_ALL


def modes_to_c(modes: Modes) -> int:
    """As the C interface has them: before Python 3.11 `~Modes.FULL` is a negative number."""
    return int(modes & Modes.ALL) if isinstance(modes, Modes) and modes < 0 else modes


class Pad(enum.IntEnum):
    """What a slot has behind the rows that came."""

    ZERO = c.GT_PAD_ZERO
    VALUE = c.GT_PAD_VALUE
    LAST_ROW = c.GT_PAD_LAST_ROW
    KEEP = c.GT_PAD_KEEP
    FILL_ONCE = c.GT_PAD_FILL_ONCE


class Serving(enum.IntEnum):
    """How a runtime serves its steps."""

    REPLAY = c.GT_SERVE_REPLAY
    """What a graph serves is replayed, all else runs eagerly."""
    OFF = c.GT_SERVE_OFF
    """Everything runs eagerly."""
    SHADOW = c.GT_SERVE_SHADOW
    """Likewise, and what graphs would have served is counted."""
    STRICT = c.GT_SERVE_STRICT
    """A step that no graph serves is an error."""


class ServingMode(NamedTuple):
    """How steps are served, and which replays are compared."""

    serving: Serving = Serving.REPLAY
    parity_every: int = 0
    """One in so many replays is compared with runs of its body; 0: none."""
    tolerance_absolute: float = 0.0
    tolerance_relative: float = 0.0

    def to_c(self) -> c.gt_serving_mode:
        """As the C interface has it."""
        return c.gt_serving_mode(
            serving=self.serving, parity_every=self.parity_every,
            tolerance_absolute=self.tolerance_absolute,
            tolerance_relative=self.tolerance_relative)
