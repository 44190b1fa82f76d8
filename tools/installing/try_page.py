"""Takes a page of the documents at its word: writes its files, runs its commands, compares.

    try_page.py PAGE PREFIX [NAME=VALUE...]

A fenced block whose first line names a file (```cpp program.cc) is written to that file in a fresh
folder. The blocks that say `run` are run there, one after the other, by a shell that ends at the
first failure, with the variables set. What they print has to end with the block that says
`output`. The pages say /opt/graphtree for where the library is installed; here it is PREFIX. A
program on such a page has at most 40 lines, which is checked as well.
"""

import os
import re
import subprocess
import sys
import tempfile

MOST_LINES = 40
PREFIX_OF_PAGES = "/opt/graphtree"
_FENCE = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page:
    """The marked blocks of a page."""

    def __init__(self, text):
        self.files = {}
        self.commands = []
        self.output = None
        for _, mark, body in _FENCE.findall(text):
            if mark == "run":
                self.commands.append(body)
            elif mark == "output":
                self.output = body
            else:
                self.files[mark] = body


def complaints_of(page):
    """What is wrong with the page before anything is run."""
    found = []
    if not page.commands:
        found.append("it has no block that says `run`")
    if page.output is None:
        found.append("it has no block that says `output`")
    for name, body in page.files.items():
        lines = body.count("\n")
        if lines > MOST_LINES:
            found.append("%s has %d lines; %d are the limit" % (name, lines, MOST_LINES))
    return found


def run_page(page, variables):
    """Runs the page in a fresh folder; the exit code and all that was printed."""
    with tempfile.TemporaryDirectory() as folder:
        for name, body in page.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(body)
        ended = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(page.commands)],
                               cwd=folder, env={**os.environ, **variables}, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return ended.returncode, ended.stdout


def main(arguments):
    path, prefix = arguments[:2]
    variables = dict(argument.split("=", 1) for argument in arguments[2:])
    with open(path, encoding="utf-8") as file:
        page = Page(file.read().replace(PREFIX_OF_PAGES, os.path.abspath(prefix)))
    complaints = complaints_of(page)
    if complaints:
        print("\n".join("%s: %s" % (path, complaint) for complaint in complaints))
        return 1
    code, printed = run_page(page, variables)
    if code != 0 or not printed.endswith(page.output):
        print("%s: its commands ended with %d and printed\n%s\nwhere the page says\n%s" %
              (path, code, printed, page.output))
        return 1
    print("%s does what it says" % path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
