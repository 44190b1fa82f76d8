"""Graphtree: record kernels into CUDA graphs once, and replay them at the price of a launch.

    device = graphtree.Device("cuda:0")        # or "host"
    tree = graphtree.Tree(device)

    @tree.function
    def twice(on, x):                          # the work, whatever the run
        out = on.empty_like(x)                 # from the tree's memory
        on.launch(kernel, Out(out), In(x), grid=..., block=...)
        return out

    while serving:
        tree.begin_step()                      # the last step ends
        y = twice(x)                           # eager once, recorded once, then one launch

This is the C interface (graphtree.h) in Python's clothes: owners that close, exceptions, functions
as decorators, tensors by DLPack. What a docstring does not say, that header does.
"""

from . import triton
from ._library import PATH as LIBRARY_PATH
from ._library import lib as _lib
from ._library import version
from .ahead import Ahead, AheadStats
from .devices import Capability, Device, Memory, Scheduler, describe_devices
from .errors import (Aborted, AlreadyExists, BadHandle, Cancelled, DataLoss, DeadlineExceeded,
                     Error, FailedPrecondition, InternalError, InvalidArgument, NotFound,
                     OutOfRange, PermissionDenied, ResourceExhausted, Unavailable, Unimplemented,
                     Unknown)
from .functions import Function
from .graphs import Executable, Graph, UpdateResult
from .kernels import HostCall, Kernel
from .keys import (ANY, Covers, FieldRule, Key, KeyField, Mode, Modes, Pad, Serving, ServingMode)
from .launchers import Launcher
from .layouts import DType, Layout, dtype_of
from .options import FunctionOptions, TreeOptions
from .parameters import Access, In, InOut, Num, Out, Range
from .plans import Plan, PlanInfo, PlanResult, ProgressReport, Readiness, Shape
from .pools import Block, Pool
from .profiles import Profile, ProfileReport, leave_cupti
from .program_bodies import ProgramLauncher
from .programs import Agreement, Dependency, Program
from .reasons import (Contents, FunctionStats, LastCall, Moving, Parity, PlaceOnPath, PoolStats,
                      Route, RuntimeStats, TreeStats, reason_names, reason_sentence, why_names,
                      why_sentence)
from .runtime_memory import Loan, TaggedMemory
from .runtimes import History, Runtime
from .slots import Slot
from .steps import Choice, Step
from .streams import Event, Stream
from .tensors import Given, Opaque, Tensor
from .tree_parts import Budget, Generator, GraphEvent, Observer, SharedBytes, Workspace
from .trees import Pointer, Tree
from .watchers import Observed, Watcher, label, scope

__version__ = version()


def live_handles() -> int:
    """How many handles there are in the library now, of all kinds but layouts."""
    count: int = _lib.gt_live_handles()
    return count


__all__ = [
    "ANY", "Aborted", "Access", "Agreement", "Ahead", "AheadStats", "AlreadyExists", "BadHandle",
    "Block", "Budget", "Cancelled", "Capability", "Choice", "Contents", "Covers", "DType",
    "DataLoss", "DeadlineExceeded", "Dependency", "Device", "Error", "Event", "Executable",
    "FailedPrecondition", "FieldRule", "Function", "FunctionOptions", "FunctionStats", "Generator",
    "Given", "Graph", "GraphEvent", "History", "HostCall", "In", "InOut", "InternalError",
    "InvalidArgument", "Kernel", "Key", "KeyField", "LIBRARY_PATH", "LastCall", "Launcher",
    "Layout", "Loan", "Memory", "Mode", "Modes", "Moving", "NotFound", "Num", "Observed",
    "Observer", "Opaque", "Out", "OutOfRange", "Pad", "Parity", "PermissionDenied", "PlaceOnPath",
    "Plan", "PlanInfo", "PlanResult", "Pointer", "Pool", "PoolStats", "Profile", "ProfileReport",
    "Program", "ProgramLauncher", "ProgressReport", "Range", "Readiness", "ResourceExhausted",
    "Route", "Runtime", "RuntimeStats", "Scheduler", "Serving", "ServingMode", "Shape",
    "SharedBytes", "Slot", "Step", "Stream", "TaggedMemory", "Tensor", "Tree", "TreeOptions",
    "TreeStats", "Unavailable", "Unimplemented", "Unknown", "UpdateResult", "Watcher", "Workspace",
    "__version__", "describe_devices", "dtype_of", "label", "leave_cupti", "live_handles",
    "reason_names", "reason_sentence", "scope", "triton", "version", "why_names", "why_sentence",
]
