"""installation_test: a test that is given an installation, laid out as tools/install does.

Left out where the libraries are, which need Abseil's sources (abseil_source.bzl).
"""

load("@abseil_source//:found.bzl", "ABSEIL_SOURCE_FOUND")

def installation_test(name, src, args = [], data = [], **kwargs):
    if not ABSEIL_SOURCE_FOUND:
        return
    libraries = [
        "//runtime/c:libgraphtree.so.1",
        "//runtime/c:graphtree_static",
        "//tools:graphtree",
        "//runtime/c:graphtree.h",
    ]
    native.sh_test(
        name = name,
        srcs = ["//tools/installing:in_installation.sh"],
        args = ["$(location %s)" % library for library in libraries] +
               ["$(location %s)" % src] + args,
        data = libraries + data + [
            src,
            "//:LICENSE",
            "//device/base:version.h",
            "//runtime/c:graphtree.hpp",
            "//tools/installing:built_parts.sh",
            "//tools/installing:parts",
        ],
        tags = ["plain_only"],
        **kwargs
    )
