"""planted_library: a library in two builds, as it ships and with bugs that can be planted.

The second, NAME_with_planted_bugs, is for the simulations alone, which must find the bugs that
graphs/run/planted_bug.h and runtime/slots/planted_bug.h list. `planted_deps` are libraries of this
kind; each build depends on its own.
"""

_SUFFIX = "_with_planted_bugs"

def planted_library(
        name,
        srcs = [],
        hdrs = [],
        planted_deps = [],
        deps = [],
        linkstatic = False,
        visibility = None):
    native.cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        linkstatic = linkstatic,
        visibility = visibility,
        deps = planted_deps + deps,
    )
    native.cc_library(
        name = name + _SUFFIX,
        testonly = True,
        srcs = srcs,
        hdrs = hdrs,
        linkstatic = True,
        local_defines = ["GRAPHTREE_PLANTED_BUGS"],
        visibility = visibility,
        deps = [dep + _SUFFIX for dep in planted_deps] + deps,
    )
