"""Pickles a snapshot as PyTorch's C++ writer does: torch::CUDACachingAllocator's own dump, and
_dump_snapshot of a process without Python.

It writes protocol 2. A text is memoised by what it says; a list or dictionary behind its content,
and only if something else still holds it when it is written: rows with a stack, stacks, frames of
several stacks, and the lists that the root names.
"""
import collections
import struct


class CppPickler:
    def __init__(self, frames_are_shared):
        self.bytes = bytearray(b"\x80\x02")
        self.texts = {}
        self.objects = {}
        self.memo = 0
        self.frames_are_shared = frames_are_shared
        self.uses = collections.Counter()

    def dump(self, snapshot):
        self.count_frames(snapshot, set())
        self.value(snapshot, "")
        self.bytes += b"."
        return bytes(self.bytes)

    def count_frames(self, value, seen):
        if isinstance(value, dict):
            for key, item in value.items():
                if key != "frames":
                    self.count_frames(item, seen)
                elif id(item) not in seen:
                    seen.add(id(item))
                    self.uses.update(id(frame) for frame in item)
        elif isinstance(value, list):
            for item in value:
                self.count_frames(item, seen)

    def put(self):
        number = self.memo
        self.memo += 1
        self.bytes += b"q%c" % number if number < 256 else b"r" + struct.pack("<I", number)
        return number

    def get(self, number):
        self.bytes += b"h%c" % number if number < 256 else b"j" + struct.pack("<I", number)

    def text(self, text):
        if text in self.texts:
            return self.get(self.texts[text])
        written = text.encode()
        self.bytes += b"X" + struct.pack("<I", len(written)) + written
        self.texts[text] = self.put()

    def integer(self, number):
        if 0 <= number < 1 << 8:
            self.bytes += b"K%c" % number
        elif 0 <= number < 1 << 16:
            self.bytes += b"M" + struct.pack("<H", number)
        elif -1 << 31 <= number < 1 << 31:
            self.bytes += b"J" + struct.pack("<i", number)
        else:
            self.bytes += b"\x8a\x08" + struct.pack("<Q", number % (1 << 64))

    def is_shared(self, value, key):
        if isinstance(value, list):
            return key not in (None, "blocks")
        is_frame = "filename" in value
        return (key is not None or bool(value.get("frames")) or
                is_frame and (self.frames_are_shared or self.uses[id(value)] > 1))

    def container(self, value, key):
        if id(value) in self.objects:
            return self.get(self.objects[id(value)])
        if isinstance(value, list):
            self.bytes += b"]("
            for item in value:
                self.value(item)
            self.bytes += b"e"
        else:
            self.bytes += b"}("
            for name, item in value.items():
                self.text(name)
                self.value(item, name)
            self.bytes += b"u"
        if self.is_shared(value, key):
            self.objects[id(value)] = self.put()

    def value(self, value, key=None):
        if isinstance(value, bool):
            self.bytes += b"\x88" if value else b"\x89"
        elif value is None:
            self.bytes += b"N"
        elif isinstance(value, int):
            self.integer(value)
        elif isinstance(value, float):
            self.bytes += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, tuple):
            for item in value:
                self.value(item)
            self.bytes += {1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(value)]
        else:
            self.container(value, key)


def dumps(snapshot, frames_are_shared=False):
    """`snapshot` as Python loads it; `frames_are_shared`: all of them count as held elsewhere."""
    return CppPickler(frames_are_shared).dump(snapshot)
