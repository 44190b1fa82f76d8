"""Files of PyTorch's C++ writer are read like those of Python's pickler.

There is one such file among the real ones. cpp_pickler.py writes it anew byte for byte, and then
all the others in its manner.
"""
import glob
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

import cpp_pickler

GRAPHTREE = sys.argv.pop(1)
DATA = "tools/snapshot/testdata/"
SYNTHETIC = "tools/memory/write_synthetic"


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def as_json(path):
    done = subprocess.run([GRAPHTREE, "memory", "convert", path, "-", "--to", "json"],
                          capture_output=True, check=True)
    return json.loads(done.stdout)


class CppPicklerTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "cpp.pickle")

    def write(self, written):
        with open(self.path, "wb") as file:
            file.write(written)

    def test_a_real_file_is_written_byte_for_byte(self):
        written = contents(DATA + "cpp_writer_2_11.pickle")
        self.assertEqual(cpp_pickler.dumps(pickle.loads(written)), written)

    def test_both_writers_files_hold_the_same(self):
        files = sorted(glob.glob(DATA + "*.pickle"))
        self.assertGreaterEqual(len(files), 8)
        for name in files:
            with self.subTest(name=name):
                written = cpp_pickler.dumps(pickle.loads(contents(name)))
                self.write(written)
                # Python reads the same from it, but for line numbers of 64 bits without a sign.
                self.assertEqual(as_json(self.path), json.loads(json.dumps(pickle.loads(written))))

    def test_synthetic_files_are_what_the_writer_writes(self):
        for shape in ((2000,), (1, 1, 1, 1), (400, 3, 2, 1), (334, 50, 1001, 2)):
            with self.subTest(shape=shape):
                subprocess.run([SYNTHETIC, self.path, "cpp", *map(str, shape)],
                               capture_output=True, check=True)
                written = contents(self.path)
                snapshot = pickle.loads(written)
                self.assertEqual(cpp_pickler.dumps(snapshot, frames_are_shared=True), written)
                self.assertEqual(as_json(self.path), json.loads(json.dumps(snapshot)))


if __name__ == "__main__":
    unittest.main()
