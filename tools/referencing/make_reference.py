"""Makes the reference: one part for each way into the library, by Doxygen.

    make_reference.py OUT PART [HEADER...]

  c       runtime/c/graphtree.h, topic by topic
  cpp17   runtime/c/graphtree.hpp
  cpp20   the headers that are named, and what these include of ours

It runs in the project's root, fills OUT/PART (a folder that it makes anew), and ends with 1 where
Doxygen has a complaint. OUT/PART/index.html is the first page; OUT/PART/xml says the same for
programs.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

_HERE = os.path.dirname(os.path.abspath(__file__))
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_VERSION = re.compile(r'kVersion\[\] = "(.*)"')

# For each part: its title, the headers that it is about where none are named, and what the filter
# is asked for.
_PARTS = {
    "c": ("Graphtree in C", ["runtime/c/graphtree.h"], "--front "),
    "cpp17": ("Graphtree in C++17", ["runtime/c/graphtree.hpp"], "--front "),
    "cpp20": ("Graphtree in C++20", [], ""),
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def is_door(path):
    """What a user sees: headers directly in a folder of the top, and those of a runtime's steps."""
    return os.path.exists(path) and (path.count("/") == 1 or path.startswith("runtime/"))


def with_their_includes(headers):
    """These headers and all doors that they include, in the order of their paths."""
    found = set()
    waiting = list(headers)
    while waiting:
        header = waiting.pop()
        if header in found:
            continue
        found.add(header)
        waiting += filter(is_door, _INCLUDE.findall(read(header)))
    return sorted(found)


def copies(folder, headers):
    """The headers as a program includes them, in this folder; their paths there."""
    made = []
    for header in headers:
        name = os.path.basename(header) if header.startswith("runtime/c/") else header
        made.append(os.path.join(folder, "graphtree", name))
        os.makedirs(os.path.dirname(made[-1]), exist_ok=True)
        shutil.copyfile(header, made[-1])
    return made


def layout(folder):
    """Doxygen's own order of a page, but that words come before lists; the file's path."""
    path = os.path.join(folder, "layout.xml")
    subprocess.run(["doxygen", "-l", path], check=True, stdout=subprocess.DEVNULL)
    tree = ElementTree.parse(path)
    for kind in ("class", "namespace", "file", "group"):
        page = tree.find(kind)
        page.remove(page.find("briefdescription"))
        words = page.find("detaileddescription")
        page.remove(words)
        words.set("title", "Overview")
        page.insert(0, words)
    tree.write(path, encoding="utf-8")
    return path


def front_page(folder, title, headers):
    """A first page that lists the headers; the file's path."""
    path = os.path.join(folder, "front.dox")
    lines = ["/** \\mainpage %s" % title, "", "The headers that a program includes:", ""]
    lines += ["- graphtree/" + header for header in sorted(headers)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n*/\n")
    return path


def settings(folder, out, part, headers):
    """The lines of a Doxyfile."""
    title, own, filter_options = _PARTS[part]
    inputs = copies(folder, own or with_their_includes(headers))
    if not own:
        inputs.append(front_page(folder, title, headers))
    version = _VERSION.search(read("device/base/version.h")).group(1)
    script = os.path.join(_HERE, "doxygen_comments.py")
    return ["@INCLUDE = \"%s\"" % os.path.join(_HERE, "doxyfile.in"),
            "PROJECT_NAME = \"%s\"" % title,
            "PROJECT_NUMBER = %s" % version,
            "INPUT = %s" % " ".join('"%s"' % path for path in inputs),
            "FILTER_PATTERNS = \"*.h=python3 -B %s %s\" \"*.hpp=python3 -B %s %s\"" % (
                script, filter_options, script, filter_options),
            "STRIP_FROM_PATH = \"%s\"" % folder,
            "STRIP_FROM_INC_PATH = \"%s\"" % folder,
            "OUTPUT_DIRECTORY = \"%s\"" % out,
            "HTML_OUTPUT = .",
            "LAYOUT_FILE = \"%s\"" % layout(folder),
            "HTML_EXTRA_STYLESHEET = \"%s\"" % os.path.join(_HERE, "reference.css"),
            "OPTIMIZE_OUTPUT_FOR_C = %s" % ("YES" if part == "c" else "NO"),
            "SHOW_FILES = %s" % ("NO" if own else "YES")]


def main(arguments):
    out, part = arguments[:2]
    out = os.path.join(os.path.abspath(out), part)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "doxyfile")
        lines = settings(folder, out, part, arguments[2:])
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        ended = subprocess.run(["doxygen", path], check=False)
    return 0 if ended.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
