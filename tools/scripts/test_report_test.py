"""What tools/test counts: every way in which a test can end, over real files."""

import io
import json
import os
import sys
import tempfile
import unittest

import test_report

_GTEST_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" disabled="1" errors="0" name="AllTests">
  <testsuite name="PoolTest">
    <testcase name="Grows" status="run" result="completed" time="0" classname="PoolTest" />
    <testcase name="Shrinks" status="run" result="completed" time="0" classname="PoolTest">
      <failure message="pool_test.cc:10&#x0A;Expected: 1" type=""><![CDATA[x]]></failure>
      <failure message="pool_test.cc:11&#x0A;Expected: 2" type=""><![CDATA[y]]></failure>
    </testcase>
    <testcase name="OnGpu" status="run" result="skipped" time="0" classname="PoolTest">
      <skipped message="pool_test.cc:20&#x0A;no CUDA device: no driver"><![CDATA[z]]></skipped>
    </testcase>
    <testcase name="DISABLED_Later" status="notrun" result="suppressed" classname="PoolTest" />
  </testsuite>
</testsuites>
"""

# What Bazel writes for a test that wrote none itself.
_PLAIN_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="a_test" tests="1" failures="0" errors="%d">
<testcase name="a_test" status="run" duration="1" time="1">%s</testcase>
</testsuite></testsuites>
"""


class ReportTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def result(self, label, status, xml=None, shard=1, attempt=1):
        outputs = [{"name": "test.log", "uri": "file:///log"}]
        if xml is not None:
            path = self.file("%d %d.xml" % (shard, attempt), xml)
            outputs.append({"name": "test.xml", "uri": "file://" + path.replace(" ", "%20")})
        return {
            "id": {"testResult": {"label": label, "run": 1, "shard": shard, "attempt": attempt}},
            "testResult": {"status": status, "testActionOutput": outputs},
        }

    def phase(self, *events, exit_code=0):
        return test_report.read_phase("plain", 3, exit_code, list(events))

    def test_gtest_cases_are_counted_by_outcome(self):
        phase = self.phase(self.result("//a:t", "FAILED", _GTEST_XML), exit_code=3)
        self.assertEqual(phase.passed, 1)
        self.assertEqual(phase.failed, ["//a:t: PoolTest.Shrinks"])
        self.assertEqual(phase.skipped, [
            ("//a:t", "PoolTest.OnGpu", "no CUDA device: no driver"),
            ("//a:t", "PoolTest.DISABLED_Later", "disabled by its name"),
        ])

    def test_a_script_counts_as_one_case(self):
        self.assertEqual(self.phase(self.result("//a:t", "PASSED", _PLAIN_XML % (0, ""))).passed, 1)

    def test_a_crash_is_one_failed_case(self):
        error = '<error message="exited with error code 134"></error>'
        phase = self.phase(self.result("//a:t", "FAILED", _PLAIN_XML % (1, error)), exit_code=3)
        self.assertEqual((phase.passed, len(phase.failed)), (0, 1))

    def test_a_timeout_without_xml_is_one_failed_case(self):
        phase = self.phase(self.result("//a:t", "TIMEOUT"), exit_code=3)
        self.assertEqual(phase.failed, ["//a:t: ended with status TIMEOUT"])

    def test_a_sanitizer_that_fails_after_all_cases_passed_is_seen(self):
        phase = self.phase(self.result("//a:t", "FAILED", _PLAIN_XML % (0, "")), exit_code=3)
        self.assertEqual(phase.failed, ["//a:t: ended with status FAILED"])

    def test_xml_that_is_cut_short_is_not_a_pass(self):
        phase = self.phase(self.result("//a:t", "PASSED", _GTEST_XML[:200]))
        self.assertEqual(phase.failed, ["//a:t: passed, but left no readable test.xml"])

    def test_shards_add_up_and_of_attempts_the_last_counts(self):
        passed = _PLAIN_XML % (0, "")
        failed = _PLAIN_XML % (1, '<error message="x"></error>')
        phase = self.phase(
            self.result("//a:t", "FAILED", failed, shard=1, attempt=1),
            self.result("//a:t", "PASSED", passed, shard=1, attempt=2),
            self.result("//a:t", "PASSED", passed, shard=2, attempt=1))
        self.assertEqual((phase.passed, phase.failed), (2, []))

    def test_targets_that_could_not_be_built_are_named(self):
        phase = self.phase(
            {"id": {"targetCompleted": {"label": "//a:good"}}, "completed": {"success": True}},
            {"id": {"targetCompleted": {"label": "//a:bad"}}, "completed": {}},
            {"id": {"targetCompleted": {"label": "//a:gone"}}, "aborted": {"reason": "x"}},
            exit_code=1)
        self.assertEqual(phase.failed,
                         ["//a:bad: could not be built", "//a:gone: could not be built"])

    def test_bazels_own_failure_is_not_lost(self):
        self.assertEqual(len(self.phase(exit_code=2).failed), 1)
        self.assertEqual(self.phase(exit_code=4).failed, [])

    def test_the_report_closes_with_one_plain_line(self):
        first = self.phase(self.result("//a:t", "FAILED", _GTEST_XML), exit_code=3)
        second = self.phase(self.result("//a:t", "FAILED", _GTEST_XML), exit_code=3)
        second.name = "asan"
        out = io.StringIO()
        test_report.print_report([first, second], out)
        lines = out.getvalue().splitlines()
        self.assertEqual(lines[-1], "2 passed, 2 failed, 4 skipped")
        self.assertEqual(sum("passed, " in line for line in lines), 1)
        self.assertIn("  no CUDA device: no driver", lines)
        self.assertIn("    //a:t", lines)
        self.assertIn("      PoolTest.OnGpu (plain, asan)", lines)
        self.assertIn("  plain: //a:t: PoolTest.Shrinks", lines)

    def test_main_reads_event_files_and_says_what_it_found(self):
        events = json.dumps(self.result("//a:t", "PASSED", _PLAIN_XML % (0, ""))) + "\n"
        path = self.file("events.json", events)
        out, sys.stdout = sys.stdout, io.StringIO()
        try:
            self.assertEqual(test_report.main(["plain:1:0:" + path]), 0)
            self.assertEqual(test_report.main(["plain:1:8:" + path]), 130)
            self.assertEqual(test_report.main(["plain:1:1:/nonexistent"]), 1)
        finally:
            sys.stdout = out

    def test_main_does_not_call_it_success_when_nothing_ran(self):
        path = self.file("empty.json", "")
        outputs, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), io.StringIO(), io.StringIO()
        try:
            self.assertEqual(test_report.main(["plain:1:4:" + path, "asan:1:4:" + path]), 2)
            self.assertIn("no test among the targets", sys.stderr.getvalue())
            self.assertEqual(test_report.main(["plain:1:1:" + path]), 1)
        finally:
            sys.stdout, sys.stderr = outputs

    def test_main_refuses_what_it_cannot_read(self):
        err, sys.stderr = sys.stderr, io.StringIO()
        try:
            self.assertEqual(test_report.main([]), 2)
            self.assertEqual(test_report.main(["plain"]), 2)
        finally:
            sys.stderr = err


if __name__ == "__main__":
    unittest.main()
