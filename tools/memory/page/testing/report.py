"""Runs unittest cases and leaves the result as JUnit XML where Bazel wants it.

Without it a Python test is one case to the test report, and a skipped one looks like a passed one.
"""

import os
import sys
import unittest
import xml.etree.ElementTree as ET


class _Result(unittest.TextTestResult):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.root = ET.Element("testsuite")

    def _add(self, test, tag=None, message=""):
        name = test.id().split(".")[-1]
        case = ET.SubElement(self.root, "testcase", name=name, classname=type(test).__name__)
        if tag:
            ET.SubElement(case, tag, message=message)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._add(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._add(test, "failure", str(err[1]))

    def addError(self, test, err):
        super().addError(test, err)
        self._add(test, "error", str(err[1]))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._add(test, "skipped", reason)


def run(module="__main__"):
    """Runs the module's cases and ends the process."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module])
    runner = unittest.TextTestRunner(resultclass=_Result, verbosity=2)
    result = runner.run(suite)
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        ET.ElementTree(result.root).write(path)
    sys.exit(0 if result.wasSuccessful() else 1)
