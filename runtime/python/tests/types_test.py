"""The package's types, checked strictly: the package itself, and a program that uses it."""

import os
import subprocess
import sys
import tempfile
import unittest

import graphtree

_PROGRAM = '''
import graphtree
from graphtree import In, Key, KeyField, Out, Slot


def body(on: graphtree.Launcher, x: graphtree.Tensor) -> graphtree.Tensor:
    out = on.empty_like(x)
    return out


device = graphtree.Device("host")
tree = graphtree.Tree(device, strict=True)
function: graphtree.Function = tree.function(body)
other: graphtree.Function = tree.function(static_inputs=["x"])(body)
replays: int = tree.stats.replays
reasons: "dict[str, int]" = tree.stats.by_reason
route: graphtree.Route = tree.last_call.route
with graphtree.Runtime([device]) as runtime:
    program = runtime.program(slots=[Slot("ids", "i32", (8,), rows=KeyField.TOKENS)])(body)
    why: str = program.choose(Key(tokens=4)).why
'''


# What graphtree.torch is made over has types where torch is installed alone.
_OPTIONS = """[mypy]
[mypy-torch.*]
ignore_missing_imports = True
follow_imports = skip
[mypy-graphtree.torch.*]
ignore_errors = True
"""


class TypesTest(unittest.TestCase):
    """By mypy."""

    def check(self, *what):
        package = os.path.dirname(os.path.dirname(os.path.abspath(graphtree.__file__)))
        with tempfile.TemporaryDirectory() as folder:
            options = os.path.join(folder, "mypy.ini")
            with open(options, "w", encoding="utf-8") as file:
                file.write(_OPTIONS)
            done = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--config-file", options,
                 "--cache-dir", folder, *what],
                cwd=package, capture_output=True, text=True)
        return done.stdout + done.stderr

    @classmethod
    def setUpClass(cls):
        if subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True,
                          check=False).returncode:
            raise unittest.SkipTest("mypy is not installed (tools/setup --tests)")

    def test_the_package(self):
        self.assertIn("Success: no issues found in", self.check("-p", "graphtree"))

    def test_a_program(self):
        self.assertIn("Success: no issues found in", self.check("-c", _PROGRAM))

    def test_a_wrong_program(self):
        said = self.check("-c", _PROGRAM + "\nreplays = tree.state()\ntree.nothing()\n")
        self.assertIn('"Tree" has no attribute "nothing"', said)
        self.assertIn("Incompatible types in assignment", said)


if __name__ == "__main__":
    unittest.main()
