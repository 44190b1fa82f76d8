"""package_test and wheel_test: tests of the Python package, with the shared library that was built.

They are made where the library is (abseil_source.bzl).
"""

load("@abseil_source//:found.bzl", "ABSEIL_SOURCE_FOUND")
load("//bazel:python_rules.bzl", "python_test")

_LIBRARY = "//runtime/c:libgraphtree.so.1"
_PACKAGE = "//runtime/python:package"

def package_test(name, src, size = "small", args = [], data = [], **kwargs):
    """The script runs with `import graphtree`; its folder is in its path."""
    if not ABSEIL_SOURCE_FOUND:
        return
    python_test(
        name = name,
        size = size,
        src = "tests/run.py",
        args = [
            "$(location %s)" % _LIBRARY,
            "$(location graphtree/__init__.py)",
            "$(location %s)" % src,
        ] + args,
        data = [
            _LIBRARY,
            _PACKAGE,
            "graphtree/__init__.py",
            "tests/producer.py",
            "tests/world.py",
            src,
        ] + data,
        tags = ["plain_only"],
        **kwargs
    )

def wheel_test(name):
    """A wheel of what was built, which is stripped, so it matters little how."""
    if not ABSEIL_SOURCE_FOUND:
        return
    command = "//tools:graphtree"
    readme = "//runtime/python:README.md"
    page = "//docs:link_python.md"
    sources = "//runtime/torch:sources"
    header = "//runtime/c:graphtree.h"
    python_test(
        name = name,
        size = "medium",
        src = name + ".py",
        args = [
            "$(location make_wheel.py)",
            "$(location %s)" % _LIBRARY,
            "$(location %s)" % command,
            "$(location %s)" % readme,
            "$(location %s)" % page,
            "$(location //tools/installing:try_page.py)",
            "$(locations %s)" % _PACKAGE,
            "$(locations %s)" % sources,
            "$(location %s)" % header,
        ],
        data = [
            _LIBRARY,
            _PACKAGE,
            command,
            sources,
            header,
            "make_wheel.py",
            page,
            readme,
            "//tools/installing:try_page.py",
            "//tools/installing:needed_versions.py",
        ],
        tags = ["plain_only"],
    )
