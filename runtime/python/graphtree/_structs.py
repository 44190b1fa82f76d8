"""What all structs of the C interface have in common.

A struct says in words what it holds. One that begins with its size has that set when it is made.
Integers that a caller gives are held to what their fields hold (`_integers.py`).
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Type, TypeVar

from ._integers import as_field

_Self = TypeVar("_Self", bound="Struct")


class Struct(ctypes.Structure):
    """A struct of graphtree.h."""

    @classmethod
    def of(cls: Type[_Self], *values: Any) -> _Self:
        """One with these values, in the order of the fields, which a caller has given."""
        fields: Any = cls._fields_
        if len(values) > len(fields):
            raise TypeError("%d values for a %s, which has %d"
                            % (len(values), cls.__name__, len(fields)))
        return cls(*(as_field(value, kind, name)
                     for value, (name, kind) in zip(values, fields)))

    def as_dict(self) -> Dict[str, Any]:
        """The fields by name; texts as str, nested structs as dicts, arrays as lists."""
        return {name: _plain(getattr(self, name)) for name in _types_of(type(self))
                if name not in ("size", "reserved")}

    def __repr__(self) -> str:
        fields = ", ".join("%s=%r" % item for item in self.as_dict().items())
        return "%s(%s)" % (type(self).__name__.replace("gt_", ""), fields)


class SizedStruct(Struct):
    """One that begins with its size. Fields that are not named are 0, which is their default."""

    size: int

    def __init__(self, **named: Any) -> None:
        if named:
            types = _types_of(type(self))
            named = {name: as_field(value, types.get(name), name)
                     for name, value in named.items()}
        super().__init__(**named)
        self.size = ctypes.sizeof(self)


def _types_of(cls: Any) -> Dict[str, Any]:
    """The types of a struct's fields, by name."""
    while not cls.__dict__.get("_fields_"):
        cls = cls.__base__
    return {name: kind for name, kind, *_ in cls._fields_}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Struct):
        return value.as_dict()
    if isinstance(value, ctypes.Array):
        return list(value)
    return value
