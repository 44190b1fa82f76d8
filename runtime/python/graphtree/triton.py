"""Triton's compiled kernels.

    compiled = triton_function.warmup(..., grid=(1,))       # or what a launch of it returns
    kernel = graphtree.triton.kernel_of(compiled)
    on.launch(kernel, Out(y), In(x), n, grid=(blocks,))     # block and shared memory are known

The arguments are those that the compiled kernel still has: constants are compiled in. Which these
are is read from its PTX, since what Triton adds at the end differs between its versions.
"""

from __future__ import annotations

import re
from typing import Any, List, Optional, Sequence, Union

from .kernels import HostBody, Kernel
from .parameters import LaunchCall, ParameterSpec, make_arguments, make_shape

_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*\((?P<parameters>[^)]*)\)")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>[a-z]\d+)(?P<pointer>[\s.\w]*?)\s+"
    r"(?P<name>[\w$]+)(?:\[(?P<count>\d+)\])?\s*(?:,|$)")


def parameters_in_ptx(ptx: str, name: str) -> List[ParameterSpec]:
    """What a kernel takes, from its PTX.

    >>> parameters_in_ptx(".visible .entry f(.param .u64 .ptr .global .align 1 f_0,\\n"
    ...                   ".param .u32 f_1)", "f")
    ['*', 'word4']
    """
    for entry in _ENTRY.finditer(ptx):
        if entry["name"] == name:
            return [_spec(found) for found in _PARAMETER.finditer(entry["parameters"].strip())]
    raise ValueError("there is no .entry %s in the PTX" % name)


def _spec(found: Any) -> ParameterSpec:
    size = int(found["type"][1:]) // 8
    if found["count"]:
        return size * int(found["count"])
    return "*" if ".ptr" in found["pointer"] else "word%d" % size


class TritonKernel(Kernel):
    """A compiled kernel of Triton's, with its block and its shared memory."""

    def __init__(self, name: str, parameters: Sequence[ParameterSpec], cubin: bytes, *,
                 threads: int, shared_bytes: int, programmatic: bool = False,
                 added: int = 0, host: Optional[HostBody] = None) -> None:
        """`added`: how many of the last parameters are of Triton's own, and are null."""
        super().__init__(name, parameters, host, image=cubin)
        self.threads = threads
        self.shared_bytes = shared_bytes
        self.programmatic = programmatic
        self.added = added

    def call(self, arguments: Sequence[Any], grid: Union[int, Sequence[int]],
             block: Union[int, Sequence[int]], shared_bytes: int,
             programmatic: bool) -> LaunchCall:
        full = list(arguments) + [None] * self.added
        args, keeps = make_arguments(self.name, self.parameters, full)
        shape = make_shape(grid, (self.threads,), max(shared_bytes, self.shared_bytes),
                           programmatic or self.programmatic)
        return LaunchCall(shape, args, len(full), keeps)


def kernel_of(compiled: Any, host: Optional[HostBody] = None) -> TritonKernel:
    """The kernel of what Triton has compiled. `host`: a body for the host device."""
    metadata = compiled.metadata
    name: str = metadata.name
    _refuse(metadata, name)
    parameters = parameters_in_ptx(compiled.asm["ptx"], name)
    return TritonKernel(
        name, parameters, compiled.asm["cubin"],
        threads=metadata.num_warps * getattr(metadata, "warp_size", 32),
        shared_bytes=metadata.shared, programmatic=bool(getattr(metadata, "launch_pdl", False)),
        added=_added(metadata), host=host)


def _refuse(metadata: Any, name: str) -> None:
    if getattr(metadata, "num_ctas", 1) != 1:
        raise NotImplementedError("%s runs in clusters of %d blocks, which are not launched here"
                                  % (name, metadata.num_ctas))
    for field in ("global_scratch_size", "profile_scratch_size", "tensordesc_meta"):
        if getattr(metadata, field, None):
            raise NotImplementedError("%s needs %s, which is not given to it here" % (name, field))
    if getattr(metadata, "launch_cooperative_grid", False):
        raise NotImplementedError("%s is launched cooperatively, which is not done here" % name)


def _added(metadata: Any) -> int:
    """Triton's own pointers at the end: those to the scratch that its metadata has a size of."""
    return sum(1 for field in ("global_scratch_size", "profile_scratch_size")
               if hasattr(metadata, field))
