"""run.py LIBRARY PACKAGE TEST [ARGUMENT...]: runs a test with the package and the library that were
built. Processes that the test starts find both, too."""

import os
import runpy
import sys


def main():
    """The test is the main module, as if it had been started by itself."""
    library, package, test = sys.argv[1:4]
    root = os.path.abspath(os.path.join(os.path.dirname(package), ".."))
    os.environ["GRAPHTREE_LIBRARY"] = os.path.abspath(library)
    os.environ["PYTHONPATH"] = root
    sys.path[0] = os.path.dirname(os.path.abspath(test))
    sys.path.insert(0, root)
    sys.argv = sys.argv[3:]
    runpy.run_path(test, run_name="__main__")


if __name__ == "__main__":
    main()
