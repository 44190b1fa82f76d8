"""`python -m graphtree`: the command line, which is packed beside this file.

It takes this process's place, so signals, exit codes and the terminal are its own.
"""

from __future__ import annotations

import os
import sys

_COMMAND = os.environ.get("GRAPHTREE_COMMAND") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "graphtree")


def main() -> int:
    """Runs the command with this process's arguments. Returns only where it cannot."""
    sys.stdout.flush()
    try:
        os.execv(_COMMAND, ["graphtree"] + sys.argv[1:])
    except OSError as why:
        print("graphtree: the command %s cannot be run: %s" % (_COMMAND, why), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
