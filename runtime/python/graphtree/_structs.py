"""What all structs of the C interface have in common.

A struct says in words what it holds. One that begins with its size has that set when it is made.
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict


class Struct(ctypes.Structure):
    """A struct of graphtree.h."""

    def as_dict(self) -> Dict[str, Any]:
        """The fields by name; texts as str, nested structs as dicts, arrays as lists."""
        cls: Any = type(self)
        while not cls.__dict__.get("_fields_"):
            cls = cls.__base__
        return {name: _plain(getattr(self, name)) for name, *_ in cls._fields_ if name not in
                ("size", "reserved")}

    def __repr__(self) -> str:
        fields = ", ".join("%s=%r" % item for item in self.as_dict().items())
        return "%s(%s)" % (type(self).__name__.replace("gt_", ""), fields)


class SizedStruct(Struct):
    """One that begins with its size. Fields that are not named are 0, which is their default."""

    size: int

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.size = ctypes.sizeof(self)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Struct):
        return value.as_dict()
    if isinstance(value, ctypes.Array):
        return list(value)
    return value
