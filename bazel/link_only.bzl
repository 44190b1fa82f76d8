"""link_only: a library that its users link, and whose headers they do not see.

Bazel passes the header folders of a library to everything that depends on it, however far away. Who
depends on a link_only compiles by the same command whether or not the library is there.
"""

def _link_only_impl(ctx):
    return [CcInfo(linking_context = ctx.attr.library[CcInfo].linking_context)]

link_only = rule(
    implementation = _link_only_impl,
    attrs = {"library": attr.label(mandatory = True, providers = [CcInfo])},
)
