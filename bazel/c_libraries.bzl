"""c_libraries: the C interface as a shared and as a static library; and tests of the two.

Both have everything inside but the C and C++ run times, and show the functions of graphtree.h
alone. They are made where Abseil's sources are (abseil_source.bzl).
"""

load("@abseil_source//:found.bzl", "ABSEIL_SOURCE_FOUND")
load("//bazel:one_object.bzl", "one_object")
load("//bazel:python_rules.bzl", "python_test")

_SHARED = "libgraphtree.so.1"
_STATIC = "libgraphtree.a"

def c_libraries(name, deps):
    """libNAME.so.1 and libNAME.a."""
    if not ABSEIL_SOURCE_FOUND:
        return
    native.genrule(
        name = name + "_version_script",
        outs = [name + ".lds"],
        cmd = "echo 'GRAPHTREE_1 { global: gt_*; local: *; };' > $@",
    )
    # The C++ run time stays outside: exceptions of callbacks cross from the caller's into ours.
    native.cc_binary(
        name = _SHARED,
        linkopts = [
            "-Wl,--version-script=$(location :%s.lds)" % name,
            "-Wl,-soname," + _SHARED,
            "-Wl,--gc-sections",
            "-Wl,-z,defs",
        ],
        linkshared = True,
        linkstatic = True,
        visibility = ["//visibility:public"],
        deps = deps + [
            ":%s.lds" % name,
            "@abseil_source",
        ],
    )
    native.cc_library(
        name = name + "_whole",
        linkstatic = True,
        deps = deps + ["@abseil_source"],
    )
    one_object(
        name = name + "_static",
        archive = _STATIC,
        library = ":%s_whole" % name,
        prefix = "gt_",
        visibility = ["//visibility:public"],
    )

def shared_library_test(name):
    """What the shared library shows, against the list and against the header."""
    python_test(
        name = name,
        size = "small",
        src = name + ".py",
        args = [
            "$(location :%s)" % _SHARED,
            "$(location testdata/exported_names.txt)",
            "$(location graphtree.h)",
        ],
        data = [
            ":" + _SHARED,
            "graphtree.h",
            "testdata/exported_names.txt",
        ],
        tags = ["plain_only"],
    )

def linked_test(name):
    """A C program that is linked to the shared library, as any program is."""
    native.cc_test(
        name = name,
        size = "small",
        srcs = [
            name + ".c",
            ":" + _SHARED,
        ],
        copts = ["-std=c99"],
        tags = ["plain_only"],
        deps = [":header"],
    )

def static_test(name):
    """The same program, compiled and linked to the static library by the compiler alone."""
    native.sh_test(
        name = name,
        size = "small",
        srcs = [name + ".sh"],
        args = [
            "$(location decode_test.c)",
            "$(location :graphtree_static)",
            "$(location graphtree.h)",
        ],
        data = [
            ":graphtree_static",
            "decode_test.c",
            "graphtree.h",
        ],
        tags = ["plain_only"],
    )

def loading_test(name):
    """A C program that loads the shared library when it runs."""
    native.cc_test(
        name = name,
        size = "small",
        srcs = [name + ".c"],
        args = ["$(location :%s)" % _SHARED],
        copts = ["-std=gnu99"],
        data = [":" + _SHARED],
        linkopts = ["-ldl"],
        tags = ["plain_only"],
        deps = [":header"],
    )
