"""examples_test.py README: the examples of all docstrings and of the README, run."""

import doctest
import importlib
import io
import pkgutil
import re
import sys
import unittest
from contextlib import redirect_stdout

import graphtree

readme_path = sys.argv.pop(1)


class ExamplesTest(unittest.TestCase):
    """They print what they say."""

    def test_docstrings(self):
        ran = 0
        for module in pkgutil.iter_modules(graphtree.__path__):
            if module.name == "__main__":
                continue
            if module.ispkg:
                continue  # graphtree.torch, which is imported where torch is
            result = doctest.testmod(importlib.import_module("graphtree." + module.name))
            self.assertEqual(result.failed, 0, module.name)
            ran += result.attempted
        self.assertGreater(ran, 25)

    def test_the_readme(self):
        with open(readme_path, encoding="utf-8") as file:
            text = file.read()
        programs = re.findall(r"```python\n(.*?)```\n+(?:prints\n+```\n(.*?)```)?", text, re.DOTALL)
        self.assertGreaterEqual(len(programs), 1)
        for program, says in programs:
            heard = io.StringIO()
            with redirect_stdout(heard):
                exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
            self.assertEqual(heard.getvalue(), says)
            self.assertLessEqual(len(program.splitlines()), 40)

    def test_nothing_is_left_of_them(self):
        self.assertEqual(graphtree._callbacks.noted(), 0)


if __name__ == "__main__":
    unittest.main()
