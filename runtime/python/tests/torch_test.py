"""graphtree.torch where there is no torch: a sentence, and the rest of the package works."""

import importlib.util
import os
import subprocess
import sys
import unittest

import graphtree

_HIDDEN = """
import sys
sys.modules["torch"] = None
try:
    import graphtree.torch
except ImportError as why:
    print(why)
import graphtree
print(graphtree.version())
"""


class TorchTest(unittest.TestCase):
    """In processes of their own, since an import is for a process."""

    def run_python(self, *arguments):
        return subprocess.run([sys.executable, "-B", *arguments], capture_output=True, text=True,
                              check=False)

    def test_without_torch_it_says_so_and_the_rest_works(self):
        done = self.run_python("-c", _HIDDEN)
        self.assertEqual(done.returncode, 0, done.stderr)
        said, version = done.stdout.strip().splitlines()
        self.assertIn("graphtree.torch needs PyTorch", said)
        self.assertEqual(version, graphtree.version())

    def test_graphtree_itself_does_not_import_it(self):
        done = self.run_python("-c", "import sys, graphtree; print('torch' in sys.modules, "
                                     "'graphtree.torch' in sys.modules)")
        self.assertEqual(done.stdout.strip(), "False False", done.stderr)

    def test_a_program_is_not_started_without_torch(self):
        if importlib.util.find_spec("torch") is not None:
            self.skipTest("there is a torch here")
        done = self.run_python("-m", "graphtree.torch", "no_such_program.py")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("graphtree.torch needs PyTorch", done.stderr)

    def test_the_parts_are_there(self):
        folder = os.path.join(os.path.dirname(graphtree.__file__), "torch")
        for name in ("__init__", "__main__", "_native", "_manager", "_install"):
            self.assertTrue(os.path.exists(os.path.join(folder, name + ".py")), name)


if __name__ == "__main__":
    unittest.main()
