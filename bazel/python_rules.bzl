"""python_test: a Python script as a test, run by the python3 that is installed.

Bazel's own Python rules want a toolchain with two versions of Python; the
scripts here need nothing but python3, its standard library, and what tools/setup installs.
"""

def python_test(name, src, args = [], data = [], **kwargs):
    native.sh_test(
        name = name,
        srcs = ["//tools/scripts:python_test.sh"],
        args = ["$(location %s)" % src] + args,
        data = [src] + data,
        **kwargs
    )
