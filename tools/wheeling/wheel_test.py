"""wheel_test.py MAKE LIBRARY COMMAND README PAGE TRY_PAGE FILE...: a wheel is made, made again with
the same bytes, installed by pip into a folder of its own, and used from there; and so is the page
about it."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

make_path, library, command, readme, page, try_page = map(os.path.abspath, sys.argv[1:7])
files = [os.path.abspath(path) for path in sys.argv[7:]]
del sys.argv[1:]

_spec = importlib.util.spec_from_file_location("make_wheel", make_path)
make_wheel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_wheel)

_PROGRAM = """
import graphtree
with graphtree.Device("host") as device, graphtree.Tree(device) as tree:
    double = tree.function(name="five")(lambda on: 5)
    print([double() for _ in range(3)], graphtree.__version__, graphtree.LIBRARY_PATH)
"""


class WheelTest(unittest.TestCase):
    """One wheel, installed once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.licences = os.path.join(cls.folder, "licences")
        os.mkdir(cls.licences)
        with open(os.path.join(cls.licences, "graphtree.txt"), "w", encoding="utf-8") as file:
            file.write("a licence")
        cls.wheel = cls.make("one", files)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def make(cls, name, sources):
        to = os.path.join(cls.folder, name)
        os.mkdir(to)
        done = subprocess.run(
            [sys.executable, "-B", make_path, "--version", "1.2.3", "--library", library,
             "--command", command, "--licences", cls.licences, "--readme", readme, "--to", to,
             *sources], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def test_the_same_files_give_the_same_bytes(self):
        again = self.make("two", files[::-1])
        with open(self.wheel, "rb") as one, open(again, "rb") as two:
            self.assertTrue(one.read() == two.read())

    def test_its_name_says_what_it_needs(self):
        name = os.path.basename(self.wheel)
        self.assertRegex(name, r"^graphtree-1\.2\.3-py3-none-manylinux_2_\d+_x86_64\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            self.assertEqual(len(names), len(set(names)))
            for wanted in ("graphtree/__init__.py", "graphtree/_interface.py",
                           "graphtree/py.typed", "graphtree/libgraphtree.so.1",
                           "graphtree/torch/__init__.py",
                           "graphtree/torch/sources/runtime/torch/module.cc",
                           "graphtree/torch/sources/runtime/torch/library.h",
                           "graphtree/torch/sources/runtime/c/graphtree.h",
                           "graphtree/graphtree", "graphtree-1.2.3.dist-info/RECORD",
                           "graphtree-1.2.3.dist-info/licenses/graphtree.txt"):
                self.assertIn(wanted, names)

    def test_it_is_installed_and_used(self):
        target = os.path.join(self.folder, "installed")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
             "--disable-pip-version-check", "--root-user-action=ignore", "--target", target,
             self.wheel], capture_output=True, text=True)
        if "No module named pip" in done.stderr:
            self.skipTest("pip is not installed (tools/setup --tests)")
        self.assertEqual(done.returncode, 0, done.stderr)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("GRAPHTREE", "PYTHON"))}
        environment["PYTHONPATH"] = target
        for options, wanted in ((["-c", _PROGRAM], "[5, 5, 5] 1.0.0 " + target),
                                (["-m", "graphtree", "version"], "graphtree 1.0.0")):
            ran = subprocess.run([sys.executable, "-B", *options], capture_output=True, text=True,
                                 env=environment, cwd=self.folder)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(ran.stdout.startswith(wanted), ran.stdout)
        tried = subprocess.run([sys.executable, "-B", try_page, page, target],
                               capture_output=True, text=True, env=environment)
        self.assertEqual(tried.returncode, 0, tried.stdout + tried.stderr)
        wrong = subprocess.run([sys.executable, "-m", "graphtree", "no-such-verb"],
                               capture_output=True, env=environment, cwd=self.folder)
        self.assertEqual(wrong.returncode, 2)


class TagTest(unittest.TestCase):
    """The platform, from the versions of symbols."""

    def test_the_newest_counts(self):
        for needs, wanted in (({"GLIBC": "2.34", "GLIBCXX": "3.4.30"}, "2.35"),
                              ({"GLIBC": "2.34", "GLIBCXX": "3.4.29"}, "2.34"),
                              ({"GLIBC": "2.38", "GLIBCXX": "3.4.29"}, "2.38"),
                              ({"GLIBC": "2.17"}, "2.17")):
            self.assertEqual(make_wheel.needed_glibc(needs), wanted)

    def test_what_makes_no_wheel(self):
        for needs in ({}, {"GLIBC": "2.34", "GLIBCXX": "3.4.99"}):
            with self.assertRaises(make_wheel.CannotBeMade):
                make_wheel.needed_glibc(needs)


if __name__ == "__main__":
    unittest.main()
