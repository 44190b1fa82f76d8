"""The repositories that Bazel's own tools ask for, all of them local.

Bazel 4.2 names rules_cc, rules_java, rules_proto, skylib, platforms and the
coverage tools by their labels and would download them. Here they are the
distribution's copies or small stand-ins, so a build touches no network.
"""

def bazel_parts():
    native.local_repository(
        name = "rules_cc",
        path = "bazel/stubs/rules_cc",
    )
    native.local_repository(
        name = "remote_coverage_tools",
        path = "bazel/stubs/remote_coverage_tools",
    )
    for name, path in {
        "rules_java": "/usr/share/bazel/rules/java",
        "rules_proto": "/usr/share/bazel/rules/proto",
        "bazel_skylib": "/usr/share/bazel/tools/skylib",
        "platforms": "/usr/share/bazel/platforms",
    }.items():
        native.local_repository(name = name, path = path)
