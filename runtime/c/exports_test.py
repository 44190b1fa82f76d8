"""exports_test.py LIBRARY LIST HEADER: what the shared library shows is what the list says.

A name that disappears, or that comes without being listed, is an error; so is one that the header
does not declare, and anything else that the library would show. Its size without symbols, and the
versions of the run times that it needs, are held here, too.
"""

import os
import re
import subprocess
import sys
import tempfile

_MOST_BYTES = 8 << 20
_MOST_GLIBC = (2, 35)
# What the library may ask the system for.
_LIBRARIES = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libdl.so.2",
              "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}


def _run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _exported(library):
    names = set()
    for line in _run("nm", "-D", "--defined-only", library).splitlines():
        _, kind, name = line.split()
        # A small letter is a local name, which nobody finds; A is the version's own.
        if kind.isupper() and kind != "A":
            names.add(name.split("@")[0])
    return names


def _declared(header):
    text = re.sub(r"//[^\n]*", "", open(header).read())
    return set(re.findall(r"GT_API\s[^;(]*?\b(gt_\w+)\(", text))


def _needed(library):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", _run("readelf", "-d", library)))


def _stripped_bytes(library):
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped")
        _run("strip", "-o", stripped, library)
        return os.path.getsize(stripped)


def _newest_glibc(library):
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", _run("readelf", "-V", library))
    return max((int(major), int(minor)) for major, minor in versions)


def _problems(library, list_path, header):
    exported = _exported(library)
    listed = set(open(list_path).read().split())
    declared = _declared(header)
    for name in sorted(listed - exported):
        yield "%s has disappeared: programs that were linked with it start no more" % name
    for name in sorted(exported - listed):
        yield "%s is shown and not listed in %s" % (name, list_path)
    for name in sorted(exported ^ declared):
        yield "%s is %s" % (name, "shown and not declared" if name in exported else
                            "declared and not there")
    for name in sorted(_needed(library) - _LIBRARIES):
        yield "it needs %s, which is not everywhere" % name
    if _newest_glibc(library) > _MOST_GLIBC:
        yield "it needs glibc %d.%d" % _newest_glibc(library)
    if _stripped_bytes(library) > _MOST_BYTES:
        yield "without symbols it has %d bytes; %d at most" % (_stripped_bytes(library),
                                                               _MOST_BYTES)


def main(arguments):
    """Prints each problem."""
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    problems = list(_problems(*arguments))
    for problem in problems:
        print(problem)
    library = arguments[0]
    print("%d names, %d bytes without symbols, glibc %d.%d" % (
        (len(_exported(library)), _stripped_bytes(library)) + _newest_glibc(library)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
