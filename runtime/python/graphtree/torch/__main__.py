"""python -m graphtree.torch PROGRAM.py ARGUMENT...: runs a program with Graphtree under its torch.

GRAPHTREE_TORCH=0 leaves torch as it is. Where Graphtree cannot be used one sentence says why, and
the program runs as before.
"""

import os
import runpy
import sys

from ._install import install_or_say


def main() -> None:
    """The program's own exit code is ours."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    del sys.argv[0]
    if os.environ.get("GRAPHTREE_TORCH", "1") != "0":
        install_or_say()
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
