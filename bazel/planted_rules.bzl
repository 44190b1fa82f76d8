"""planted_library: a library in two builds, as it ships and with bugs that can be planted.
planted_bug_test: a test that finds them.

The second build, NAME_with_planted_bugs, is for the simulations alone, which must find the bugs
that graphs/run/planted_bug.h and runtime/slots/planted_bug.h list. `planted_deps` are libraries of
this kind; each build depends on its own.
"""

_SUFFIX = "_with_planted_bugs"

def planted_library(
        name,
        srcs = [],
        hdrs = [],
        planted_deps = [],
        deps = [],
        copts = [],
        linkstatic = False,
        testonly = False,
        visibility = None):
    native.cc_library(
        name = name,
        testonly = testonly,
        srcs = srcs,
        hdrs = hdrs,
        copts = copts,
        linkstatic = linkstatic,
        visibility = visibility,
        deps = planted_deps + deps,
    )
    native.cc_library(
        name = name + _SUFFIX,
        testonly = True,
        srcs = srcs,
        hdrs = hdrs,
        copts = copts,
        linkstatic = True,
        local_defines = ["GRAPHTREE_PLANTED_BUGS"],
        visibility = visibility,
        deps = [dep + _SUFFIX for dep in planted_deps] + deps,
    )

def planted_bug_test(name, srcs, size, planted_deps, deps):
    """Asks whether a simulation finds what is wrong, which is the same in every build."""
    native.cc_test(
        name = name,
        size = size,
        srcs = srcs,
        linkstatic = True,
        local_defines = ["GRAPHTREE_PLANTED_BUGS"],
        tags = ["plain_only"],
        deps = [dep + _SUFFIX for dep in planted_deps] + deps,
    )
