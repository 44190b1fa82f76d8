"""What MODULE.bazel asks for: the repositories that are found on the system, as in WORKSPACE."""

load("//bazel:cuda_toolkit.bzl", "cuda_toolkit")
load("//bazel:page_parts.bzl", "page_parts")
load("//bazel:system_libraries.bzl", "system_libraries")

def _found_impl(module_ctx):
    system_libraries()
    cuda_toolkit(name = "cuda")
    page_parts(name = "page_parts")

found = module_extension(implementation = _found_impl)
