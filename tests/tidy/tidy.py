"""Holds the project to its style: `tidy.py ROOT` prints every broken rule.

The rules are in the modules beside this one; tidy_test.py plants a file against each of them. Exit
codes: 0 nothing found, 1 something found, 2 wrong use.
"""

import os
import sys

import rules_calls
import rules_classes
import rules_environment
import rules_includes
import rules_length
import rules_text
import source


def findings(sources):
    """Every finding in the files, in the order of their paths."""
    paths = {file.path for file in sources}
    found = list(rules_text.check_readmes(paths))
    found.extend(rules_environment.check(sources))
    for file in sources:
        found.extend(rules_text.check(file))
        found.extend(rules_length.check(file))
        found.extend(rules_includes.check(file, paths))
        found.extend(rules_calls.check(file))
        found.extend(rules_classes.check(file))
    return found


def main(arguments):
    """Checks the project whose WORKSPACE file, or whose root, is named."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    # Bazel hands over a link to the WORKSPACE file; the project is where it leads.
    root = os.path.realpath(arguments[0])
    if os.path.isfile(root):
        root = os.path.dirname(root)
    sources = source.load(root)
    if not any(file.path == "WORKSPACE" for file in sources):
        print("tidy: %s is not the root of the project" % root, file=sys.stderr)
        return 2
    found = findings(sources)
    for finding in found:
        print(finding)
    print("%d files, %d findings" % (len(sources), len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
