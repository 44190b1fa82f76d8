"""What a binary needs of the system's libraries, by the versions of the symbols that it takes.

    needed_versions.py FILE...                   prints the newest of each kind
    needed_versions.py --check FILE...           fails where one is newer than the oldest system
                                                 that we promise to run on

The promise is glibc 2.35 and the C++ run time of GCC 12, as Ubuntu 22.04 has them.
"""

import re
import subprocess
import sys

PROMISE = {"GLIBC": "2.35", "GLIBCXX": "3.4.30", "CXXABI": "1.3.13", "GCC": "12.0.0"}
_VERSION = re.compile(r"Name: ([A-Z]+)_([0-9][0-9.]*)")


def number(version):
    return tuple(int(part) for part in version.split("."))


def newest(text):
    """The newest version of each kind in what `readelf -V` prints of a file's needs."""
    found = {}
    for kind, version in _VERSION.findall(text):
        if number(version) > number(found.get(kind, "0")):
            found[kind] = version
    return found


def beyond_promise(needs):
    """A sentence for each kind that is newer than the promise, or that it does not name."""
    return ["it needs %s_%s; %s" %
            (kind, version, "%s is promised" % PROMISE[kind] if kind in PROMISE else
             "nothing is promised of that")
            for kind, version in sorted(needs.items())
            if kind not in PROMISE or number(version) > number(PROMISE[kind])]


def needs_of(path):
    printed = subprocess.run(["readelf", "-V", "--wide", path], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    # Versions that the file defines itself come in another section.
    return newest(printed[printed.find("Version needs section"):]
                  if "Version needs section" in printed else "")


def main(arguments):
    is_checked = arguments[:1] == ["--check"]
    code = 0
    for path in arguments[1:] if is_checked else arguments:
        needs = needs_of(path)
        print("%s: %s" % (path, ", ".join("%s %s" % need for need in sorted(needs.items()))))
        if is_checked:
            for sentence in beyond_promise(needs):
                print("%s: %s" % (path, sentence), file=sys.stderr)
                code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
