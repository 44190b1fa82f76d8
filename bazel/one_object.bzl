"""one_object: a library and all that it is linked from, as one archive with few names.

Everything is linked into one object, and of its names only those that begin with a prefix stay: so
a program may link the archive beside another version of what is inside. What is not inside is the C
and the C++ run time.
"""

def _archives(context):
    """The archives of a library, those that must be there whole apart, and its linker's flags."""
    whole = []
    rest = []
    flags = []
    for linker_input in context.linker_inputs.to_list():
        flags += linker_input.user_link_flags
        for library in linker_input.libraries:
            archive = library.pic_static_library or library.static_library
            if archive:
                (whole if library.alwayslink else rest).append(archive)
    return whole, rest, flags

def _one_object_impl(ctx):
    whole, rest, flags = _archives(ctx.attr.library[CcInfo].linking_context)
    out = ctx.actions.declare_file(ctx.attr.archive)
    # Archives of the system are named by -l:NAME; all other flags are for the program that links.
    named = [flag for flag in flags if flag.startswith("-l:")]
    script = """
set -e
object=$(mktemp)
trap 'rm -f "$object" "$object.unique"' EXIT
ld -r --force-group-allocation -o "$object" -L/usr/lib/x86_64-linux-gnu \\
  --whole-archive {whole} --no-whole-archive --start-group {rest} {named} --end-group
# Names that are to be unique in a process are made ordinary first, or they would stay.
nm --defined-only "$object" | awk '$2 == "u" {{ print $3 }}' >"$object.unique"
objcopy --weaken-symbols="$object.unique" "$object"
objcopy --wildcard --keep-global-symbol='{prefix}*' "$object"
rm -f {out}
cp "$object" {out}.o
ar rcsD {out} {out}.o
rm {out}.o
""".format(
        whole = " ".join([archive.path for archive in whole]),
        rest = " ".join([archive.path for archive in rest]),
        named = " ".join(named),
        prefix = ctx.attr.prefix,
        out = out.path,
    )
    ctx.actions.run_shell(
        inputs = whole + rest,
        outputs = [out],
        command = script,
        mnemonic = "OneObject",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

one_object = rule(
    implementation = _one_object_impl,
    attrs = {
        "library": attr.label(mandatory = True, providers = [CcInfo]),
        "archive": attr.string(mandatory = True),
        "prefix": attr.string(mandatory = True),
    },
)
