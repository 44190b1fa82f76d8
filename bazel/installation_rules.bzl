"""installation_test: a test that is given an installation, laid out as tools/install does."""

def installation_test(name, src, args = [], data = [], **kwargs):
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
            "//tools/installing:parts",
        ],
        tags = ["plain_only"],
        **kwargs
    )
