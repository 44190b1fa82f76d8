"""cc_bench: a binary of bench rows, and a test that it runs.

tools/bench and the GPU bundle find the binary by its tag "bench"; a tag "gpu"
says that its rows want one. The test runs every row once or twice and judges no
number, so that a bench cannot rot unseen.
"""

def cc_bench(name, srcs, deps = [], data = [], tags = [], copts = []):
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = srcs,
        copts = copts,
        data = data,
        linkstatic = True,
        tags = ["bench"] + tags,
        deps = deps + [
            "//tools/benching:bench_main",
            "//tools/benching:row",
        ],
    )
    native.sh_test(
        name = name + "_smoke",
        size = "small",
        srcs = ["//tools/benching:smoke.sh"],
        args = ["$(location :%s)" % name],
        data = [":" + name],
        tags = ["bench_smoke"] + [tag for tag in tags if tag != "gpu"],
    )
