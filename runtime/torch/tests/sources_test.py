"""The sources are whole, and call nothing but the C interface."""

import glob
import os
import re
import unittest

FOLDER = "runtime/torch"
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def files():
    return sorted(glob.glob(FOLDER + "/*.cc") + glob.glob(FOLDER + "/*.h"))


class SourcesTest(unittest.TestCase):

    def test_every_include_of_ours_is_there(self):
        for path in files():
            for name in _INCLUDE.findall(read(path)):
                self.assertTrue(os.path.exists(name), "%s includes %s" % (path, name))

    def test_nothing_of_the_inside_is_included(self):
        for path in files():
            for name in _INCLUDE.findall(read(path)):
                self.assertTrue(name.startswith(FOLDER + "/") or name == "runtime/c/graphtree.h",
                                "%s includes %s" % (path, name))

    def test_the_one_file_that_is_compiled_has_all_the_others(self):
        within = set(_INCLUDE.findall(read(FOLDER + "/module.cc")))
        others = {path for path in files() if path.endswith(".cc")} - {FOLDER + "/module.cc"}
        self.assertEqual(others - within, set())

    def test_functions_that_are_looked_up_are_in_the_header(self):
        declared = set(re.findall(r"\b(gt_\w+)\(", read("runtime/c/graphtree.h")))
        looked_up = set(re.findall(r"X\((gt_\w+)\)", read(FOLDER + "/library.h")))
        self.assertGreater(len(looked_up), 10)
        self.assertEqual(looked_up - declared, set())

    def test_functions_that_are_called_are_looked_up(self):
        looked_up = set(re.findall(r"X\((gt_\w+)\)", read(FOLDER + "/library.h")))
        for path in files():
            called = set(re.findall(r"Gt\(\)\.(gt_\w+)", read(path)))
            self.assertEqual(called - looked_up, set(), path)


if __name__ == "__main__":
    unittest.main()
