"""Finds a CUDA toolkit and makes it the repository @cuda.

Looked for, in this order: $CUDA_HOME, the folder that tools/setup made from
the Python registry's wheels, /usr/local/cuda. Where there is none, or
GRAPHTREE_NO_CUDA=1 is set, the repository is empty and says so: the CUDA
device is left out of the build and reports that as its reason.
"""

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"], exclude = ["include/cupti*"]),
    includes = ["include"],
)

# CUPTI's headers include CUDA's.
cc_library(
    name = "cupti_headers",
    hdrs = glob(["include/cupti*", "cupti/**"]),
    includes = ["include", "cupti"],
    deps = [":headers"],
)

cc_library(
    name = "cudart_static",
    srcs = ["lib/libcudart_static.a"],
    linkopts = ["-ldl", "-lrt", "-pthread"],
    linkstatic = True,
)
"""

_EMPTY = """
package(default_visibility = ["//visibility:public"])

cc_library(name = "headers")

cc_library(name = "cupti_headers")

cc_library(name = "cudart_static")
"""

def _candidates(repository_ctx):
    env = repository_ctx.os.environ
    workspace = repository_ctx.path(Label("//:WORKSPACE")).dirname
    found = []
    if env.get("CUDA_HOME"):
        found.append(env["CUDA_HOME"])
    found.append(str(workspace) + "/.deps/cuda/nvidia/cu13")
    found.append("/usr/local/cuda")
    return found

def _locate(repository_ctx):
    for root in _candidates(repository_ctx):
        if repository_ctx.path(root + "/bin/nvcc").exists:
            for lib in ["lib", "lib64"]:
                if repository_ctx.path(root + "/" + lib + "/libcudart_static.a").exists:
                    return root, lib
    return None, None

def _has_cupti(repository_ctx, root):
    """Whether CUPTI's headers are there: beside CUDA's, or in a folder of their own."""
    if repository_ctx.path(root + "/include/cupti.h").exists:
        return True
    own = root + "/extras/CUPTI/include"
    if not repository_ctx.path(own + "/cupti.h").exists:
        return False
    repository_ctx.symlink(own, "cupti")
    return True

def _version(repository_ctx, root):
    """The toolkit's version ("13.0"), from the number that its main header defines."""
    header = repository_ctx.path(root + "/include/cuda.h")
    if not header.exists:
        return "of unknown version"
    for line in repository_ctx.read(header).split("\n"):
        words = line.split(" ")
        if line.startswith("#define CUDA_VERSION ") and words[-1].isdigit():
            number = int(words[-1])
            return "%d.%d" % (number // 1000, number % 1000 // 10)
    return "of unknown version"

def _cuda_toolkit_impl(repository_ctx):
    off = repository_ctx.os.environ.get("GRAPHTREE_NO_CUDA", "") == "1"
    root, lib = (None, None) if off else _locate(repository_ctx)
    has_cupti = _has_cupti(repository_ctx, root) if root else False
    if root:
        repository_ctx.symlink(root + "/include", "include")
        repository_ctx.symlink(root + "/" + lib + "/libcudart_static.a", "lib/libcudart_static.a")
        repository_ctx.file("BUILD.bazel", _BUILD)
    else:
        repository_ctx.file("BUILD.bazel", _EMPTY)
    if off:
        reason = "it was left out of the build on request (--no-cuda)"
    else:
        reason = "no CUDA toolkit was found when it was built"
    repository_ctx.file("toolkit.bzl", """
CUDA_FOUND = %r
CUPTI_FOUND = %r
CUDA_ROOT = %r
CUDA_LIB = %r
CUDA_VERSION = %r
CUDA_MISSING_REASON = %r
CUPTI_MISSING_REASON = %r
""" % (
        bool(root),
        has_cupti,
        root or "",
        (root + "/" + lib) if root else "",
        _version(repository_ctx, root) if root else "",
        "" if root else reason,
        "" if has_cupti else reason if not root else "its CUDA toolkit has no headers of CUPTI",
    ))

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    local = True,
    environ = ["CUDA_HOME", "GRAPHTREE_NO_CUDA"],
)
