"""Counts test cases over several Bazel runs and prints the closing line of tools/test.

    test_report.py NAME:SECONDS:EXIT_CODE:EVENTS...

EVENTS is the file that Bazel wrote for --build_event_json_file. It names the targets that could not
be built and, for every test that ran, its status and its test.xml; cases are counted there. What
left no usable test.xml behind (a crash, a timeout) counts as one failed case.

Exit codes: 0 nothing failed, 1 something did, 2 wrong use or nothing that is a test, 130 Bazel was
interrupted.
"""

import json
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree

_BAZEL_NO_TESTS = 4
_BAZEL_INTERRUPTED = 8


class Phase:
    """What one Bazel run came to."""

    def __init__(self, name, seconds):
        self.name = name
        self.seconds = seconds
        self.passed = 0
        self.failed = []  # "target: case: reason"
        self.skipped = []  # (target, case, reason)


def cases_of(xml_path):
    """Yields (name, outcome, text) for every case in a test.xml; outcome is a word as in Phase."""
    for case in xml.etree.ElementTree.parse(xml_path).getroot().iter("testcase"):
        name = case.get("name", "")
        if case.get("classname"):
            name = case.get("classname") + "." + name
        broken = [child for child in case if child.tag in ("failure", "error")]
        skips = [child for child in case if child.tag == "skipped"]
        if broken:
            yield name, "failed", broken[0].get("message", "")
        elif case.get("status") == "notrun":
            yield name, "skipped", "disabled by its name"
        elif skips or case.get("result") == "skipped":
            yield name, "skipped", _reason(skips[0].get("message", "") if skips else "")
        else:
            yield name, "passed", ""


def _reason(message):
    """The sentence given to GTEST_SKIP, without the place that stands before it."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    if len(lines) > 1 and re.search(r"\.(cc|cu|h):\d+", lines[0]):
        lines = lines[1:]
    return " ".join(lines) or "no reason given"


def _xml_path(result):
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            return urllib.parse.unquote(urllib.parse.urlparse(output.get("uri", "")).path)
    return ""


def _add_test_result(phase, label, result):
    status = result.get("status", "NO_STATUS")
    failed_before = len(phase.failed)
    try:
        for name, outcome, text in cases_of(_xml_path(result)):
            if outcome == "passed":
                phase.passed += 1
            elif outcome == "skipped":
                phase.skipped.append((label, name, text))
            else:
                phase.failed.append("%s: %s" % (label, name))
    except (OSError, xml.etree.ElementTree.ParseError):
        if status == "PASSED":
            phase.failed.append("%s: passed, but left no readable test.xml" % label)
    if status != "PASSED" and len(phase.failed) == failed_before:
        phase.failed.append("%s: ended with status %s" % (label, status))


def _last_attempts(events):
    """The results of tests, each run and shard once: of repeated attempts only the last."""
    results = {}
    for event in events:
        key = event["id"].get("testResult")
        if key and "testResult" in event:
            place = (key["label"], key.get("run", 0), key.get("shard", 0))
            attempt = key.get("attempt", 0)
            if place not in results or attempt >= results[place][0]:
                results[place] = (attempt, event["testResult"])
    return {place: result for place, (_, result) in sorted(results.items())}


def _unbuilt(events):
    labels = set()
    for event in events:
        target = event["id"].get("targetCompleted")
        if target and not event.get("completed", {}).get("success", False):
            labels.add(target["label"])
    return sorted(labels)


def read_phase(name, seconds, exit_code, events):
    """Counts one run."""
    phase = Phase(name, seconds)
    for label in _unbuilt(events):
        phase.failed.append("%s: could not be built" % label)
    for (label, _, _), result in _last_attempts(events).items():
        _add_test_result(phase, label, result)
    if exit_code not in (0, _BAZEL_NO_TESTS) and not phase.failed:
        phase.failed.append("bazel ended with code %d; its own words are above" % exit_code)
    return phase


def _print_skipped(phases, out):
    """Reasons, under each the targets, under each the cases that gave it and in which phases."""
    tree = {}
    for phase in phases:
        for label, name, reason in phase.skipped:
            cases = tree.setdefault(reason, {}).setdefault(label, {})
            cases.setdefault(name, []).append(phase.name)
    if tree:
        print("\nskipped:", file=out)
    for reason, labels in sorted(tree.items()):
        print("  %s" % reason, file=out)
        for label, cases in sorted(labels.items()):
            print("    %s" % label, file=out)
            for name, names_of_phases in cases.items():
                print("      %s (%s)" % (name, ", ".join(names_of_phases)), file=out)


def print_report(phases, out):
    """The lists, a table of the phases, and the closing line."""
    _print_skipped(phases, out)
    if any(phase.failed for phase in phases):
        print("\nfailed:", file=out)
        for phase in phases:
            for what in phase.failed:
                print("  %s: %s" % (phase.name, what), file=out)
    print("\n%-10s %7s %7s %7s %9s" % ("", "passed", "failed", "skipped", "seconds"), file=out)
    for phase in phases:
        row = (phase.name, phase.passed, len(phase.failed), len(phase.skipped), phase.seconds)
        print("%-10s %7d %7d %7d %9d" % row, file=out)
    total = tuple(
        sum(counts)
        for counts in zip(*((p.passed, len(p.failed), len(p.skipped)) for p in phases)))
    print("\n%d passed, %d failed, %d skipped" % total, file=out)


def _read_events(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def main(arguments):
    """Reads the phases named on the command line and reports them."""
    phases = []
    interrupted = False
    for argument in arguments:
        parts = argument.split(":", 3)
        if len(parts) != 4 or not parts[1].isdigit() or not parts[2].isdigit():
            print("test_report: not NAME:SECONDS:EXIT_CODE:EVENTS: " + argument, file=sys.stderr)
            return 2
        exit_code = int(parts[2])
        interrupted = interrupted or exit_code == _BAZEL_INTERRUPTED
        phases.append(read_phase(parts[0], int(parts[1]), exit_code, _read_events(parts[3])))
    if not phases:
        print(__doc__, file=sys.stderr)
        return 2
    print_report(phases, sys.stdout)
    if interrupted:
        return 130
    if not any(phase.passed or phase.failed or phase.skipped for phase in phases):
        print("test: there is no test among the targets", file=sys.stderr)
        return 2
    return 1 if any(phase.failed for phase in phases) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
