"""Who may include what: the direction between folders, and native headers where they belong."""

import os
import re

import source

# A folder's libraries include only from these.
_BELOW = {
    "device": ("device",),
    "allocator": ("device", "allocator"),
    "graphs": ("device", "allocator", "graphs"),
    "runtime": ("device", "allocator", "graphs", "profiler", "runtime"),
    "profiler": ("device", "profiler"),
    "tests": source.FOLDERS,
    "tools": source.FOLDERS,
}

# The folders with rooms. Their order is from the lowest to the highest: a room takes of its folder
# from itself, from the rooms that stand below it, and from the headers of the door that rooms may
# see. The door is what stands directly in the folder.
class _Rooms:

    def __init__(self, folder, rooms, seen=None, door=r"[a-z_]+\.h", door_sees_rooms=True,
                 tests_too=True):
        self.folder = folder
        self.door = re.compile(folder + door + "$")
        self.seen = re.compile(folder + seen + "$") if seen else self.door
        self.rooms = {folder + room: tuple(folder + other for other in below + (room,))
                      for room, below in rooms.items()}
        self.door_sees_rooms = door_sees_rooms
        self.tests_too = tests_too

    def room_of(self, path):
        return next((room for room in self.rooms if path.startswith(room)), None)


def _stack(*rooms):
    return {room: rooms[:number] for number, room in enumerate(rooms)}


_NOTHING = r"$"

_FOLDERS = (
    # Headers that a user of the tree includes need nothing of the inside.
    _Rooms("graphs/",
           _stack("history/", "listen/", "match/", "inputs/", "memory/", "check/", "recording/",
                  "budget/", "run/"),
           door=r"(body/|pad/|random/|reports/)?[a-z_]+\.h", door_sees_rooms=False,
           tests_too=False),
    _Rooms("allocator/",
           _stack("snapshot/", "placement/", "books/", "memory/", "order/", "reports/", "pool/"),
           seen=r"(ids|pool_types|shared_bytes|snapshot_nodes)\.h"),
    _Rooms("runtime/", _stack("shapes/", "plan/", "park/", "slots/", "watch/", "core/"),
           seen=r"(why|program|progress|recording_plan|runtime_options|explain|metrics|"
                r"serving|parking|lending|loan_state)\.h"),
    _Rooms("device/host/", _stack("ops/", "checks/", "graph/", "engine/", "objects/"),
           seen=r"(host_options|work_watch)\.h", door_sees_rooms=False),
    _Rooms("tools/",
           {"snapshot/read/": (), "snapshot/analysis/": ("snapshot/read/",),
            "snapshot/replay/": ("snapshot/read/", "snapshot/analysis/"),
            "snapshot/fuzz/": ("snapshot/read/",)},
           seen=_NOTHING),
)

# What tests and benches may add to that.
_FOR_CHECKS = ("tests/", "tools/benching/")

_FROM_OUTSIDE = re.compile(
    r"^(graphtree/|absl/|gtest/|gmock/|benchmark/|sqlite3\.h|cuda|nvrtc|cupti|nvtx3/|"
    r"cooperative_groups)")

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

_CUDA = re.compile(
    r"^(cuda[\w/]*\.(h|hpp|cuh)|cuda/.*|nvrtc\.h|driver_types\.h|vector_types\.h|"
    r"cooperative_groups.*)$")
_MADE_BY_THE_BUILD = ".inc"
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


def _check_rooms(file, target):
    for rooms in _FOLDERS:
        if not (file.path.startswith(rooms.folder) and target.startswith(rooms.folder)):
            continue
        if file.is_check and (not rooms.tests_too or target.startswith(_FOR_CHECKS)):
            continue
        room = rooms.room_of(file.path)
        if room:
            below = rooms.rooms[room]
            if not target.startswith(below) and not rooms.seen.match(target):
                return "%s may not include %s: of its folder it includes from %s" % (
                    room, target, ", ".join(below))
        elif rooms.door.match(file.path) and not rooms.door_sees_rooms:
            if not rooms.door.match(target):
                return "%s is a public header, and %s is not" % (file.path, target)
    return None


# What a user includes leads into no room, of whichever folder.
def _check_door(file, target):
    for own in _FOLDERS:
        if own.door_sees_rooms or not own.door.match(file.path) or own.room_of(file.path):
            continue
        for other in _FOLDERS:
            if other is not own and other.room_of(target):
                return "%s is a public header, and %s is not" % (file.path, target)
    return None


# The C interface stands on what C++ programs include, and on nothing inside.
_C_INTERFACE = "runtime/c/"
_C_INTERFACE_SEES = re.compile(
    r"(device/([a-z_]+|base/[a-z_]+|host/host_(device|options)|cuda/cuda_(device|options))|"
    r"allocator/(pool|pool_types|pool_snapshot|foreign|shared_bytes)|"
    r"graphs/((body|random|pad|reports)/)?[a-z_]+|"
    r"profiler/([a-z_]+|cupti/cupti_source)|"
    r"runtime/(c/)?[a-z_]+|"
    r"runtime/(shapes/(key|mode|vote|shape_table|launch_history)|"
    r"slots/(slot|rows|free_events|host_runs)|plan/(ledger|guess|estimate)))\.h(pp)?$")


def _check_c_interface(file, target):
    if not file.path.startswith(_C_INTERFACE) or file.is_check or _C_INTERFACE_SEES.match(target):
        return None
    return "%s may include public C++ headers only, and %s is none" % (_C_INTERFACE, target)


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
            wrong = (_check_folder(file, target) or _check_rooms(file, target) or
                     _check_door(file, target) or _check_c_interface(file, target))
            if wrong:
                yield source.Finding("include-direction", file.path, number, wrong)
            elif target not in paths and not target.endswith(_MADE_BY_THE_BUILD):
                yield source.Finding("include-path", file.path, number, "there is no " + target)
        elif bracket == '"' and not _FROM_OUTSIDE.match(target):
            beside = os.path.join(os.path.dirname(file.path), target)
            yield source.Finding("include-path", file.path, number,
                                 'write it from the root: "%s"' % os.path.normpath(beside))
