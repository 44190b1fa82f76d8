"""Abseil's sources, to be compiled for a shared library, as the repository @abseil_source.

The distribution's archives are made for programs: their code may not lie in a shared library. So
what goes into ours is compiled from the distribution's own source package, in the very version of
the headers, which tools/setup fetches to .deps/abseil. Where that is not there the repository is
empty and says so: the shared library is then left out of the build.
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

# Beside the archives that @absl names to the linker, which are then asked for nothing.
cc_library(
    name = "abseil_source",
    srcs = glob(
        ["absl/*/**/*.cc"],
        exclude = [
            "absl/*/**/*_test.cc",
            "absl/*/**/*_test_*.cc",
            "absl/*/**/*test*.cc",
            "absl/*/**/*benchmark*.cc",
            "absl/*/**/*mock*.cc",
            "absl/*/**/*testing*.cc",
            "absl/flags/**",
            "absl/random/**",
            "absl/hash/internal/print_hash_of.cc",
        ],
    ),
    hdrs = glob(["absl/**/*.h", "absl/**/*.inc"]),
    copts = ["-w", "-fexceptions"],
    includes = ["."],
    linkstatic = True,
)
"""

_REASON = "Abseil's sources were not there (tools/setup fetches them)"

def _abseil_source_impl(repository_ctx):
    workspace = repository_ctx.path(Label("//:WORKSPACE")).dirname
    source = repository_ctx.path(str(workspace) + "/.deps/abseil/absl")
    if source.exists:
        repository_ctx.symlink(source, "absl")
        repository_ctx.file("BUILD.bazel", _BUILD)
    else:
        repository_ctx.file("BUILD.bazel", "")
    repository_ctx.file("found.bzl", """
ABSEIL_SOURCE_FOUND = %r
ABSEIL_SOURCE_MISSING_REASON = %r
""" % (source.exists, "" if source.exists else _REASON))

abseil_source = repository_rule(
    implementation = _abseil_source_impl,
    local = True,
)
