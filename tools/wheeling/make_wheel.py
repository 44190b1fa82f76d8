"""Makes the wheel from what was built.

    make_wheel.py --version VERSION --library libgraphtree.so.1 --command graphtree
                  --licences FOLDER --readme README.md --to FOLDER FILE...

    graphtree/*.py, py.typed             the files, as they are
    graphtree/torch/                     likewise, and in sources/ what is compiled against torch
    graphtree/libgraphtree.so.1          the library, without symbols
    graphtree/graphtree                  the command line, likewise
    graphtree-VERSION.dist-info/         what installers read, and the licences of what is inside

One wheel serves every Python, since nothing in it is compiled against one: its tag is py3-none. The
platform is what the library and the command need, by the versions of their symbols. The same files
give the same bytes: nothing in it tells the time, nor the order in which a folder lists them.
"""

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "installing"))
import needed_versions

_NAME = "graphtree"
# The earliest time that a zip file can say.
_TIME = (1980, 1, 1, 0, 0, 0)
_OLDEST_PYTHON = "3.8"
# A platform tag names a glibc alone, and stands for the C++ run time that distributions with that
# one have: GLIBCXX, and the glibc from which on it is there.
_GLIBC_OF_CXX = (("3.4.30", "2.35"), ("3.4.29", "2.34"), ("3.4.28", "2.31"))
# What a manylinux wheel may ask the system for.
_ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
            "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}


class CannotBeMade(Exception):
    """What was built makes no wheel that would work."""


def _run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _stripped(path):
    """The file's bytes without symbols."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "stripped")
        _run("strip", "--strip-unneeded", "-o", out, path)
        return _read(out)


def needed_glibc(needs):
    """The glibc that a tag must say, so that what it stands for has all that is needed; from the
    newest version of each kind (needed_versions.py)."""
    number = needed_versions.number
    if "GLIBC" not in needs:
        raise CannotBeMade("it asks for no version of glibc: is it a shared library?")
    newest = needs["GLIBC"]
    cxx = number(needs.get("GLIBCXX", "0"))
    if cxx > number(_GLIBC_OF_CXX[0][0]):
        raise CannotBeMade("it needs GLIBCXX_%s, and nobody here knows which systems have that"
                           % needs["GLIBCXX"])
    for since, glibc in _GLIBC_OF_CXX:
        if cxx >= number(since) and number(glibc) > number(newest):
            newest = glibc
    return newest


def platform_tag(paths):
    """Of these files together, "manylinux_2_35_x86_64"."""
    newest = "0"
    for path in paths:
        name, dynamic = os.path.basename(path), _run("readelf", "-d", path)
        lost = {line.split("[")[1].rstrip("]\n") for line in dynamic.splitlines()
                if "(NEEDED)" in line} - _ALLOWED
        if lost:
            raise CannotBeMade("%s needs %s, which is not everywhere"
                               % (name, ", ".join(sorted(lost))))
        if "X86-64" not in _run("readelf", "-h", path):
            raise CannotBeMade("%s is not for x86_64, which wheels are made for" % name)
        newest = max(newest, needed_glibc(needed_versions.needs_of(path)),
                     key=needed_versions.number)
    return "manylinux_%s_x86_64" % newest.replace(".", "_")


def _metadata(version, readme):
    return ("Metadata-Version: 2.1\nName: %s\nVersion: %s\n"
            "Summary: Record GPU kernels into CUDA graphs once, replay them at the price of a "
            "launch\nRequires-Python: >=%s\nDescription-Content-Type: text/markdown\n\n%s"
            % (_NAME, version, _OLDEST_PYTHON, readme))


def _wheel_text(tag):
    return ("Wheel-Version: 1.0\nGenerator: graphtree make_wheel\nRoot-Is-Purelib: false\n"
            "Tag: py3-none-%s\n" % tag)


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _record(entries, path):
    lines = ["%s,sha256=%s,%d" % (name, _digest(content), len(content))
             for name, content, _ in entries]
    return "\n".join(lines + [path + ",,", ""]).encode()


def write(path, entries):
    """Writes (name, bytes, mode) as a zip file, in this order."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, content, mode in entries:
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix, whose modes these are
            info.external_attr = (0o100000 | mode) << 16
            wheel.writestr(info, content)


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def name_in_wheel(path):
    """Where a file of the project lies in the wheel."""
    path = os.path.abspath(path)
    package = path.rpartition("/runtime/python/")[2]
    if package != path:
        return package
    return "%s/torch/sources/runtime/%s" % (_NAME, path.rpartition("/runtime/")[2])


def make(given):
    """Makes the wheel, and returns its path."""
    tag = platform_tag([given.library, given.command])
    about = "%s-%s.dist-info/" % (_NAME, given.version)
    entries = [(name_in_wheel(path), _read(path), 0o644)
               for path in sorted(given.files, key=name_in_wheel)]
    entries += [(_NAME + "/libgraphtree.so.1", _stripped(given.library), 0o755),
                (_NAME + "/graphtree", _stripped(given.command), 0o755),
                (about + "METADATA",
                 _metadata(given.version, _read(given.readme).decode()).encode(), 0o644),
                (about + "WHEEL", _wheel_text(tag).encode(), 0o644)]
    entries += [("%slicenses/%s" % (about, name), _read(os.path.join(given.licences, name)), 0o644)
                for name in sorted(os.listdir(given.licences))]
    entries.append((about + "RECORD", _record(entries, about + "RECORD"), 0o644))
    path = os.path.join(given.to, "%s-%s-py3-none-%s.whl" % (_NAME, given.version, tag))
    write(path, entries)
    return path


def main(arguments):
    """Prints the wheel's path."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("version", "library", "command", "licences", "readme", "to"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("files", nargs="+")
    try:
        print(make(parser.parse_args(arguments)))
    except CannotBeMade as why:
        print("make_wheel: %s" % why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
