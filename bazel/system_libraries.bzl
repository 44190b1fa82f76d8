"""The libraries that the project stands on, as the distribution installs them.

Each becomes a repository with one target. Headers are linked in from
/usr/include, so that they count as inputs; archives are named to the linker,
static ones, so that a binary runs on a machine that has none of them.
"""

load("//bazel:abseil_source.bzl", "abseil_source")

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "{name}",
    hdrs = glob({globs}),
    includes = ["include"],
    linkopts = {linkopts},
)
"""

def _archives(repository_ctx, patterns):
    names = []
    for folder in repository_ctx.path("/usr/lib").readdir():
        if folder.basename.endswith("-linux-gnu"):
            for entry in folder.readdir():
                for pattern in patterns:
                    if entry.basename.startswith(pattern) and entry.basename.endswith(".a"):
                        names.append(entry.basename)
    return sorted(names)

def _system_library_impl(repository_ctx):
    for header in repository_ctx.attr.headers:
        source = repository_ctx.path("/usr/include/" + header)
        if not source.exists:
            fail("/usr/include/%s is missing: run tools/setup, which installs %s" %
                 (header, repository_ctx.attr.package))
        repository_ctx.symlink(source, "include/" + header)
    archives = _archives(repository_ctx, repository_ctx.attr.archives)
    flags = ["-l:" + name for name in archives]
    if len(flags) > 1:
        flags = ["-Wl,--start-group"] + flags + ["-Wl,--end-group"]
    globs = []
    for header in repository_ctx.attr.headers:
        globs.append("include/" + header + ("" if header.endswith(".h") else "/**"))
    repository_ctx.file("BUILD.bazel", _BUILD.format(
        name = repository_ctx.name,
        globs = repr(globs),
        linkopts = repr(flags + repository_ctx.attr.linkopts),
    ))

_system_library = repository_rule(
    implementation = _system_library_impl,
    local = True,
    attrs = {
        "headers": attr.string_list(),
        "archives": attr.string_list(),
        "linkopts": attr.string_list(),
        "package": attr.string(),
    },
)

def system_libraries():
    abseil_source(name = "abseil_source")
    _system_library(
        name = "absl",
        headers = ["absl"],
        archives = ["libabsl_"],
        linkopts = ["-pthread"],
        package = "libabsl-dev",
    )
    _system_library(
        name = "gtest",
        headers = ["gtest", "gmock"],
        archives = ["libgtest.a", "libgmock.a"],
        linkopts = ["-pthread"],
        package = "libgtest-dev and libgmock-dev",
    )
    _system_library(
        name = "gtest_main",
        headers = [],
        archives = ["libgtest_main.a"],
        package = "libgtest-dev",
    )

    # The distribution has this one as a shared library only.
    _system_library(
        name = "benchmark",
        headers = ["benchmark"],
        linkopts = ["-lbenchmark", "-pthread"],
        package = "libbenchmark-dev",
    )
    _system_library(
        name = "sqlite",
        headers = ["sqlite3.h"],
        archives = ["libsqlite3.a"],
        linkopts = ["-ldl", "-lm", "-pthread"],
        package = "libsqlite3-dev",
    )

    _system_library(
        name = "zlib",
        headers = ["zlib.h", "zconf.h"],
        archives = ["libz.a"],
        package = "zlib1g-dev",
    )

    # Headers alone.
    _system_library(
        name = "protozero",
        headers = ["protozero"],
        package = "libprotozero-dev",
    )
