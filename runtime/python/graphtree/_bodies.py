"""Which bodies run now, on which threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Dict, Optional

if TYPE_CHECKING:
    from .launchers import Launcher
    from .streams import Stream

running: "Dict[int, Launcher]" = {}


def stream_here() -> "Optional[Stream]":
    """The stream of the body that runs on this thread, if one does: calls in bodies go there."""
    on = running.get(threading.get_ident())
    return None if on is None else on.stream
