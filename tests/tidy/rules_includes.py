"""Who may include what: the direction between folders, and native headers where they belong."""

import os
import re

import source

# A folder's libraries include only from these.
_BELOW = {
    "device": ("device",),
    "allocator": ("device", "allocator"),
    "graphs": ("device", "allocator", "graphs"),
    "runtime": ("device", "allocator", "graphs", "runtime"),
    "profiler": ("device", "profiler"),
    "tests": source.FOLDERS,
    "tools": source.FOLDERS,
}

# The headers that a user of the tree includes, and what they need: nothing else of graphs.
_GRAPHS_DOOR = re.compile(r"^graphs/(random/)?[a-z_]+\.h$")

# The rooms of graphs, from the lowest to the highest: each takes from those before it.
_GRAPHS_ROOMS = ("graphs/history/", "graphs/listen/", "graphs/match/", "graphs/inputs/",
                 "graphs/memory/", "graphs/check/", "graphs/recording/", "graphs/budget/",
                 "graphs/run/")

# A room takes of its own folder only itself and these.
_ROOMS = {
    "allocator/snapshot/": (),
    "tools/snapshot/read/": (),
    "tools/snapshot/analysis/": ("tools/snapshot/read/",),
    "tools/snapshot/replay/": ("tools/snapshot/read/", "tools/snapshot/analysis/"),
    "tools/snapshot/fuzz/": ("tools/snapshot/read/",),
}

# What tests and benches may add to that.
_FOR_CHECKS = ("tests/", "tools/benching/")

_FROM_OUTSIDE = re.compile(
    r"^(absl/|gtest/|gmock/|benchmark/|sqlite3\.h|cuda|nvrtc|cupti|nvtx3/|cooperative_groups)")

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

_CUDA = re.compile(
    r"^(cuda[\w/]*\.(h|hpp|cuh)|cuda/.*|nvrtc\.h|driver_types\.h|vector_types\.h|"
    r"cooperative_groups.*)$")
_CUPTI = re.compile(r"^(cupti.*\.h|generated_cuda\w*\.h)$")

# Files outside device/cuda/ that need CUDA's own headers, each with its reason.
CUDA_ALLOWED = {}


def _cuda_is_allowed(file):
    return (file.path.startswith(("device/cuda/", "profiler/cupti/", "tests/gpu/")) or
            file.name.endswith(".cu") or file.path in CUDA_ALLOWED)


def _check_folder(file, target):
    folder = target.split("/")[0]
    if folder in _BELOW[file.folder]:
        return None
    if file.is_check and target.startswith(_FOR_CHECKS):
        return None
    return "%s may not include from %s: it includes from %s" % (
        file.folder, folder, ", ".join(_BELOW[file.folder]))


def _check_room(file, target):
    for room, below in _ROOMS.items():
        if (file.path.startswith(room) and target.startswith(file.folder + "/") and
                not target.startswith((room,) + below) and
                not (file.is_check and target.startswith(_FOR_CHECKS))):
            return "%s may not include %s: of its folder it includes from %s" % (
                room, target, ", ".join((room,) + below))
    return None


def _check_graphs(file, target):
    if not target.startswith("graphs/") or _GRAPHS_DOOR.match(target) or file.is_check:
        return None
    if _GRAPHS_DOOR.match(file.path):
        return "%s is a public header, and %s is not" % (file.path, target)
    for number, room in enumerate(_GRAPHS_ROOMS):
        below = _GRAPHS_ROOMS[:number + 1]
        if file.path.startswith(room) and not target.startswith(below):
            return "%s may not include %s: of graphs it includes from the public headers and %s" % (
                room, target, ", ".join(below))
    return None


def check(file, paths):
    """Yields a finding for each include that points the wrong way."""
    if not file.is_cpp or file.folder not in _BELOW:
        return
    for number, line in enumerate(file.lines, 1):
        match = _INCLUDE.match(line)
        if not match:
            continue
        bracket, target = match.groups()
        top = target.split("/")[0]
        if _CUDA.match(target) and not _cuda_is_allowed(file):
            yield source.Finding("cuda-header", file.path, number,
                                 "%s belongs in device/cuda/" % target)
        elif _CUPTI.match(target) and not file.path.startswith("profiler/cupti/"):
            yield source.Finding("cupti-header", file.path, number,
                                 "%s belongs in profiler/cupti/" % target)
        elif top in source.FOLDERS and "/" in target:
            wrong = (_check_folder(file, target) or _check_room(file, target) or
                     _check_graphs(file, target))
            if wrong:
                yield source.Finding("include-direction", file.path, number, wrong)
            elif target not in paths:
                yield source.Finding("include-path", file.path, number, "there is no " + target)
        elif bracket == '"' and not _FROM_OUTSIDE.match(target):
            beside = os.path.join(os.path.dirname(file.path), target)
            yield source.Finding("include-path", file.path, number,
                                 'write it from the root: "%s"' % os.path.normpath(beside))
