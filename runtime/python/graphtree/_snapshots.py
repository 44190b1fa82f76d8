"""Snapshots of memory as Python objects: written to a file by the library, and read back."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable


def read_snapshot(write: Callable[[str], None]) -> Any:
    """What `write` writes, as dicts and lists."""
    with tempfile.TemporaryDirectory(prefix="graphtree") as folder:
        path = os.path.join(folder, "snapshot.json")
        write(path)
        with open(path, encoding="utf-8") as file:
            return json.load(file)
