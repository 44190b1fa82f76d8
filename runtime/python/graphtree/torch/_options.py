"""What a user may ask for, and which of torch's own options are honoured.

An unknown option is an error that names those there are. Options of torch's that ask for what is
not there are refused by name, when a tree is made: a program finds out at once, and not by figures.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Dict

import torch
import torch._inductor.config

from ._native import CannotBeUsed


@dataclasses.dataclass(frozen=True)
class Options:
    """Of every tree that is made for torch."""

    pool_bytes: int = 0
    """The most device memory of a tree; 0: as much as there is."""
    initial_bytes: int = 0
    """Mapped when a tree is made."""
    strict: bool = False
    """A call that cannot be recorded is an error."""

    @classmethod
    def of(cls, named: Dict[str, Any]) -> "Options":
        """Raises TypeError for a name that is none."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in named:
            if name not in known:
                raise TypeError("graphtree.torch.install has no option %r; it has %s"
                                % (name, ", ".join(known)))
        return cls(**named)


# Of torch._inductor.config.triton, each with what to do instead.
_REFUSED = {
    "skip_cudagraph_warmup": "every function of a tree is warmed up once before it is recorded",
    "cudagraph_trees_history_recording":
        "the tree's history is always kept: graphtree.torch.snapshot(path) writes it",
    "fast_path_cudagraph_asserts": "its assertions are about torch's own allocator",
}


def check_torch_options() -> None:
    """Raises for an option of torch's that is set and not honoured."""
    triton = torch._inductor.config.triton
    for name, why in _REFUSED.items():
        if getattr(triton, name, False):
            raise CannotBeUsed("torch._inductor.config.triton.%s is set, and Graphtree does not "
                               "honour it: %s" % (name, why))


def rerecord_limit() -> int:
    """Torch's, as far as torch itself holds to it."""
    if getattr(torch._dynamo.config, "inline_inbuilt_nn_modules", True):
        return 1 << 30
    return int(torch._inductor.config.triton.cudagraph_unexpected_rerecord_limit)
