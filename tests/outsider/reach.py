"""Which lines, branches and functions of the library each simulation reaches, measured with gcov.

    python3 tests/outsider/reach.py [--seeds=3000] [--all]

Builds both simulations with coverage into an output folder of its own, runs each, and prints a
table for graphs/, allocator/ (without snapshot/) and their headers, and the functions that one or
both do not reach; --all names them all. Takes minutes. Standard library and gcov only.
"""

import argparse
import collections
import json
import os
import subprocess
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_FLAGS = ["--platform_suffix=-reach", "--copt=--coverage", "--linkopt=--coverage",
          "--copt=-O0", "--copt=-fno-inline"]
_FOLDERS = ("graphs/", "allocator/")
_LEFT_OUT = ("allocator/snapshot/", "_test.cc", "_bench.cc", "_fixture.h", "_fuzz", "peer_",
             "planted_bug")


def _bazel(*words):
    return subprocess.run(["bazel", *words], cwd=_ROOT, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def _is_ours(path):
    return path.startswith(_FOLDERS) and not any(part in path for part in _LEFT_OUT)


def _data_files(folder):
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".gcda"):
                yield os.path.join(base, name)


class Reach:
    """What a run has reached: counts by file and line, by branch, by function."""

    def __init__(self):
        self.lines = collections.defaultdict(int)
        self.branches = collections.defaultdict(int)
        self.functions = collections.defaultdict(int)

    def add(self, report):
        for file in report["files"]:
            path = file["file"]
            if not _is_ours(path):
                continue
            for function in file["functions"]:
                key = (path, function["start_line"], function["demangled_name"])
                self.functions[key] += function["execution_count"]
            for line in file["lines"]:
                self.lines[path, line["line_number"]] += line["count"]
                for index, branch in enumerate(line["branches"]):
                    if not branch["throw"]:
                        self.branches[path, line["line_number"], index] += branch["count"]


def _measure(out, commands):
    for path in list(_data_files(out)):
        os.remove(path)
    for command in commands:
        subprocess.run(command, cwd=_ROOT, check=False, stdout=subprocess.DEVNULL)
    reach = Reach()
    execroot = _bazel("info", *_FLAGS, "execution_root")
    for path in _data_files(out):
        if not any("/" + folder in path for folder in _FOLDERS + ("tests/",)):
            continue
        text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path],
                              cwd=execroot, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False, text=True).stdout
        for line in text.splitlines():
            if line.startswith("{"):
                reach.add(json.loads(line))
    return reach


def _share(counts, all_keys, folder):
    keys = [key for key in all_keys if key[0].startswith(folder)]
    reached = sum(1 for key in keys if counts.get(key, 0) > 0)
    return "%d of %d (%.1f %%)" % (reached, len(keys), 100.0 * reached / max(1, len(keys)))


def _print_table(reaches):
    print("| | %s |" % " | ".join(reaches))
    print("|---%s|" % ("|---" * len(reaches)))
    for folder in _FOLDERS:
        for what in ("lines", "branches", "functions"):
            all_keys = set()
            for reach in reaches.values():
                all_keys |= set(getattr(reach, what))
            row = [_share(getattr(reach, what), all_keys, folder) for reach in reaches.values()]
            print("| `%s` %s | %s |" % (folder, what, " | ".join(row)))


def _print_functions(reaches, most):
    all_keys = sorted(set().union(*(reach.functions for reach in reaches.values())))
    for name, reach in reaches.items():
        missed = [key for key in all_keys if reach.functions.get(key, 0) == 0]
        others = [r for n, r in reaches.items() if n != name]
        alone = [key for key in missed if any(r.functions.get(key, 0) > 0 for r in others)]
        print("\n%s does not reach %d functions; %d of them the other does" %
              (name, len(missed), len(alone)))
        for path, line, function in (missed if most else alone):
            print("  %s:%d %s" % (path, line, function))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3000)
    parser.add_argument("--all", action="store_true")
    flags = parser.parse_args()
    _bazel("build", *_FLAGS, "//tests/outsider", "//tests/simulation:simulation_test")
    out = _bazel("info", *_FLAGS, "bazel-bin")
    seeds = "--seeds=%d" % flags.seeds
    outsider = os.path.join(out, "tests/outsider/outsider")
    reaches = {
        "`tests/outsider`": _measure(out, [[outsider, "--here", seeds],
                                           [outsider, "--here", seeds, "--faults"]]),
        "`tests/simulation`": _measure(out, [[os.path.join(
            out, "tests/simulation/simulation_test")]]),
    }
    _print_table(reaches)
    _print_functions(reaches, flags.all)
    return 0


if __name__ == "__main__":
    sys.exit(main())
