"""complete_test.py LIST: what the package reaches of the C interface, and what it exports."""

import glob
import os
import re
import sys
import unittest

import graphtree
from graphtree import _interface

list_path = sys.argv.pop(1)

# Reached otherwise, and by what.
_NOT_CALLED = {
    "gt_code_name": "classes of exceptions",
    "gt_foreign_free": "whoever loads the library as an allocator",
    "gt_foreign_malloc": "likewise",
    "gt_foreign_record_stream": "likewise",
    "gt_launcher_input": "gt_launcher_any_input",
    "gt_launcher_integer": "likewise",
    "gt_storage_range": "a tensor's address and size",
    "gt_version": "gt_version_string",
}


class CompleteTest(unittest.TestCase):
    """Nothing is left out by oversight."""

    def test_every_function_is_reached(self):
        code = ""
        for path in glob.glob(os.path.join(os.path.dirname(graphtree.__file__), "*.py")):
            if not path.endswith("_interface.py"):
                with open(path, encoding="utf-8") as file:
                    code += file.read()
        with open(list_path, encoding="utf-8") as file:
            names = file.read().split()
        called = set(re.findall(r"(?:lib\.|library\.|untyped\(\")(gt_\w+)", code))
        self.assertEqual(set(names) - called - set(_NOT_CALLED), set())
        self.assertEqual(called & set(_NOT_CALLED), set())
        self.assertEqual(set(names), set(_interface.FUNCTIONS))

    def test_what_is_exported_has_words(self):
        for name in graphtree.__all__:
            thing = getattr(graphtree, name)
            if isinstance(thing, type) or callable(thing):
                self.assertTrue(thing.__doc__, name)
        public = {name for name, thing in vars(graphtree).items()
                  if not name.startswith("_") and not isinstance(thing, type(os))}
        self.assertEqual(public - set(graphtree.__all__), {"annotations"} & public)

    def test_methods_have_words(self):
        for name in graphtree.__all__:
            thing = getattr(graphtree, name)
            if not isinstance(thing, type) or not thing.__module__.startswith("graphtree"):
                continue
            for method, value in vars(thing).items():
                if not method.startswith("_") and callable(value):
                    self.assertTrue(value.__doc__, "%s.%s" % (name, method))


if __name__ == "__main__":
    unittest.main()
