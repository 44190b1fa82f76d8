"""cuda_library: device code compiled by nvcc, linked like any other library.

nvcc turns each .cu file into one object that holds machine code for sm_90 and
PTX for everything from compute capability 8.0 on. Without a toolkit the target
still exists and is empty, so that nothing else in the build has to ask.

Two builds in two folders give the same bytes. nvcc names an anonymous namespace
after where the build lies, so kernels lie in namespaces that have names; and its
temporary files, one of which the object names, are kept under names of their
own until they are thrown away.
"""

load("@cuda//:toolkit.bzl", "CUDA_FOUND", "CUDA_ROOT")

_TARGETS = " ".join([
    "-gencode=arch=compute_80,code=compute_80",
    "-gencode=arch=compute_90,code=sm_90",
])

def _root():
    """Where includes of ours begin: elsewhere if another workspace builds this one."""
    name = native.repository_name()
    return "." if name == "@" else "external/" + name[1:]

def cuda_library(name, srcs, hdrs = [], deps = [], includes_from = [], visibility = None):
    """Compiles .cu files; includes_from names the headers (labels) that they include."""
    objects = []
    if CUDA_FOUND:
        for src in srcs:
            object_name = name + "_" + src.replace(".cu", "").replace("/", "_")
            native.genrule(
                name = object_name,
                srcs = [src] + hdrs + includes_from,
                outs = [object_name + ".o"],
                cmd = "rm -rf $@.kept; mkdir $@.kept; " + CUDA_ROOT +
                      "/bin/nvcc -ccbin g++ -std=c++20 -O3 -I" + _root() +
                      " --keep --keep-dir $@.kept -Xcompiler -fPIC " + _TARGETS +
                      " -c $(location " + src + ") -o $@; code=$$?; rm -r $@.kept; exit $$code",
                message = "nvcc",
            )
            objects.append(":" + object_name)
    native.cc_library(
        name = name,
        srcs = objects,
        hdrs = hdrs,
        linkstatic = True,
        deps = deps + ["//bazel:cudart"],
        visibility = visibility,
    )

def cuda_bodies(name, hdr, cu, without, includes_from = []):
    """The CUDA bodies of kernels, as pointers that `hdr` declares.

    `without` is the C++ file that says, in a build without a toolkit, that there are none.
    """
    if CUDA_FOUND:
        cuda_library(name = name, srcs = [cu], hdrs = [hdr], includes_from = includes_from)
    else:
        native.cc_library(name = name, srcs = [without], hdrs = [hdr])

def cuda_fatbin(name, src, visibility = None):
    """Compiles one .cu file to a fatbin file, to be loaded at run time."""
    if CUDA_FOUND:
        native.genrule(
            name = name,
            srcs = [src],
            outs = [name + ".fatbin"],
            cmd = CUDA_ROOT + "/bin/nvcc -ccbin g++ -std=c++20 -O3 " + _TARGETS +
                  " -fatbin $(location " + src + ") -o $@",
            message = "nvcc",
            visibility = visibility,
        )
    else:
        native.genrule(
            name = name,
            outs = [name + ".fatbin"],
            cmd = "touch $@",
            visibility = visibility,
        )

def cuda_cc_library(name, srcs = [], hdrs = [], deps = [], testonly = False, visibility = None):
    """C++ that includes CUDA's headers. Without a toolkit the target exists and is empty."""
    native.cc_library(
        name = name,
        srcs = srcs if CUDA_FOUND else [],
        hdrs = hdrs if CUDA_FOUND else [],
        linkstatic = True,
        testonly = testonly,
        deps = deps + ["@cuda//:headers", "@cuda//:cudart_static"] if CUDA_FOUND else [],
        visibility = visibility,
    )

def cuda_cc_test(name, srcs, deps, tags = [], **kwargs):
    """A test of such C++, linked so that it runs on a machine without this build's libraries.

    Without a toolkit there is nothing to test, and no target.
    """
    if CUDA_FOUND:
        native.cc_test(
            name = name,
            srcs = srcs,
            linkstatic = True,
            tags = tags,
            deps = deps + ["@cuda//:headers", "@cuda//:cudart_static"],
            **kwargs
        )
