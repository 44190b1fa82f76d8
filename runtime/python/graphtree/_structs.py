"""What all structs of the C interface have in common.

A struct that begins with its size has it set when it is made, and says in words what it holds.
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict


class Struct(ctypes.Structure):
    """A struct of graphtree.h. Fields that are not named are 0, which is their default."""

    def __init__(self, *fields: Any, **named: Any) -> None:
        super().__init__(*fields, **named)
        if self._fields_[0][0] == "size" and not fields:
            self.size = ctypes.sizeof(self)

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


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Struct):
        return value.as_dict()
    if isinstance(value, ctypes.Array):
        return list(value)
    return value
