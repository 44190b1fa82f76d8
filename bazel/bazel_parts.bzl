"""The repositories that Bazel's own tools ask for, all of them local.

Bazel 4.2 names rules_cc, rules_java, rules_proto, skylib, platforms and the
coverage tools by their labels and would download them. Here they are the
distribution's copies or small stand-ins, so a build touches no network.
"""

def _stand_in_impl(repository_ctx):
    # Found from this file, so that it is also there for a workspace that uses this one.
    root = str(repository_ctx.path(Label("//:WORKSPACE")).dirname)
    folder = repository_ctx.path(root + "/bazel/stubs/" + repository_ctx.name)
    for entry in folder.readdir():
        repository_ctx.symlink(entry, entry.basename)

_stand_in = repository_rule(implementation = _stand_in_impl, local = True)

def bazel_parts():
    for name in ["rules_cc", "remote_coverage_tools"]:
        _stand_in(name = name)
    for name, path in {
        "rules_java": "/usr/share/bazel/rules/java",
        "rules_proto": "/usr/share/bazel/rules/proto",
        "bazel_skylib": "/usr/share/bazel/tools/skylib",
        "platforms": "/usr/share/bazel/platforms",
    }.items():
        native.local_repository(name = name, path = path)
