"""The reference is made from the headers without a complaint, and has words for each function of
the C interface. Skipped without Doxygen.
"""

import glob
import os
import re
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, _HERE)

import make_reference  # noqa: E402

_DECLARED = re.compile(r"^(?:GT_API|static inline) [^;{]*?\b(gt_\w+)\(", re.MULTILINE)


def words_of_functions(folder):
    """By name, what a part of the reference says of its functions."""
    found = {}
    for path in glob.glob(os.path.join(folder, "xml", "*.xml")):
        for member in ElementTree.parse(path).iter("memberdef"):
            if member.get("kind") == "function":
                words = [text for kind in ("briefdescription", "detaileddescription")
                         for text in member.find(kind).itertext()]
                found[member.find("name").text] = "".join(words).strip()
    return found


@unittest.skipUnless(shutil.which("doxygen"), "needs Doxygen: tools/setup reference")
class ReferenceTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_the_c_header_is_read_whole_and_each_function_has_words(self):
        self.assertEqual(make_reference.main([self.folder, "c"]), 0)
        declared = set(_DECLARED.findall(make_reference.read("runtime/c/graphtree.h")))
        words = words_of_functions(os.path.join(self.folder, "c"))
        self.assertGreater(len(declared), 150)
        self.assertEqual(sorted(words), sorted(declared))
        self.assertEqual([name for name in sorted(words) if not words[name]], [],
                         "these have no words in graphtree.h")

    def test_the_first_page_is_the_head_of_the_header(self):
        self.assertEqual(make_reference.main([self.folder, "c"]), 0)
        page = make_reference.read(os.path.join(self.folder, "c", "index.html"))
        self.assertIn("record kernels once", page)
        self.assertIn("gt_tree_begin_step(tree);", page)
        self.assertNotIn("///", page)

    def test_the_cpp17_header_is_read_whole(self):
        self.assertEqual(make_reference.main([self.folder, "cpp17"]), 0)
        words = words_of_functions(os.path.join(self.folder, "cpp17"))
        for name in ("Register", "BeginStep", "NewProgram", "StageHost"):
            self.assertIn(name, words)

    def test_a_complaint_fails(self):
        folder = os.path.join(self.folder, "project")
        for path in ("device/base/version.h", "runtime/c/graphtree.h"):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            shutil.copyfile(path, os.path.join(folder, path))
        with open(os.path.join(folder, "runtime/c/graphtree.h"), "a", encoding="utf-8") as file:
            file.write("/** \\ref nothing_of_this_name */\nvoid gt_more(void);\n")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)
        self.assertEqual(make_reference.main([self.folder, "c"]), 1)


if __name__ == "__main__":
    unittest.main()
