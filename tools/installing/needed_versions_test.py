"""Which versions of symbols a binary needs, and which are too new."""

import importlib.util
import os
import sys
import unittest

_PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "needed_versions.py")
_SPEC = importlib.util.spec_from_file_location("needed_versions", _PLACE)
needed_versions = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(needed_versions)

_TEXT = """
  0x0010: Version: 1  File: libc.so.6  Cnt: 3
  0x0020:   Name: GLIBC_2.9  Flags: none  Version: 5
  0x0030:   Name: GLIBC_2.34  Flags: none  Version: 4
  0x0040:   Name: GLIBC_2.4  Flags: none  Version: 3
  0x0050: Version: 1  File: libstdc++.so.6  Cnt: 1
  0x0060:   Name: GLIBCXX_3.4.30  Flags: none  Version: 2
"""


class NeededVersionsTest(unittest.TestCase):

    def test_the_newest_counts_by_numbers(self):
        self.assertEqual(needed_versions.newest(_TEXT), {"GLIBC": "2.34", "GLIBCXX": "3.4.30"})

    def test_what_is_too_new_is_named(self):
        self.assertEqual(needed_versions.beyond_promise({"GLIBC": "2.34", "GLIBCXX": "3.4.30"}), [])
        self.assertEqual(needed_versions.beyond_promise({"GLIBC": "2.38"}),
                         ["it needs GLIBC_2.38; 2.35 is promised"])
        self.assertEqual(needed_versions.beyond_promise({"OPENSSL": "3.0"}),
                         ["it needs OPENSSL_3.0; nothing is promised of that"])

    def test_a_real_binary_needs_its_glibc(self):
        self.assertIn("GLIBC", needed_versions.needs_of(sys.executable))


if __name__ == "__main__":
    unittest.main()
