"""Headers under a name of their own, for other workspaces.

Inside the project a header is included from the root: "graphs/tree.h". A program that has a folder
`graphs` of its own would then find its own file. So what other workspaces depend on is a copy of
the headers in which each path, and each include of ours, begins with a prefix:

    #include "graphtree/graphs/tree.h"

What a copy declares is what the libraries define; a program that includes both gets each header
once, since both have the same include guard.
"""

def _ours(ctx, file):
    return file.owner.workspace_name == ctx.label.workspace_name

def _prefixed(ctx, header):
    path = header.owner.package + "/" + header.basename
    return ctx.actions.declare_file("_prefixed/%s/%s" % (ctx.attr.prefix, path))

def _copy(ctx, header, copy):
    folders = "\\|".join(ctx.attr.folders)
    ctx.actions.run_shell(
        inputs = [header],
        outputs = [copy],
        command = "sed 's,^\\( *# *include \"\\)\\(%s\\)/,\\1%s/\\2/,' %s > %s" %
                  (folders, ctx.attr.prefix, header.path, copy.path),
        mnemonic = "PrefixHeader",
    )

def _prefixed_headers_impl(ctx):
    whole = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = whole.compilation_context
    copies = []
    others = []
    for header in context.headers.to_list():
        if _ours(ctx, header):
            copy = _prefixed(ctx, header)
            _copy(ctx, header, copy)
            copies.append(copy)
        else:
            others.append(header)
    root = copies[0].path[:copies[0].path.index("_prefixed/")] + "_prefixed"
    return [
        DefaultInfo(files = depset(copies), runfiles = ctx.runfiles(files = copies)),
        CcInfo(
            compilation_context = cc_common.create_compilation_context(
                headers = depset(copies + others),
                # The root of the workspace is left out: the names without a prefix are not for
                # others.
                includes = depset([root], transitive = [context.includes]),
                system_includes = context.system_includes,
                defines = context.defines,
            ),
            linking_context = whole.linking_context,
        ),
    ]

prefixed_headers = rule(
    implementation = _prefixed_headers_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "prefix": attr.string(mandatory = True),
        "folders": attr.string_list(mandatory = True),
    },
    provides = [CcInfo],
)
