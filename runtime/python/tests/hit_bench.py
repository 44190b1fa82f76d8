"""hit_bench.py COMPILED_BINDING_C [--rounds N]: what a replay costs from Python.

One step of one function with one input and one output, on the host device: the step begins, the
function is called, its output is dropped. The package's figure stands beside those of bindings that
make no objects: ctypes alone, cffi, and a compiled one, where these are to be had. Batches of all
take turns, since a machine drifts, and medians count. Each of these figures is of the three calls
together; the last one is of the call and its output alone. A program's step is begun, staged with
eight numbers of an array, and run, and its output is dropped. The device runs its work at once, so
that no figure has a queue's waking up in it; the kernel does nothing.
"""

import argparse
import array
import ctypes
import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
import time

import graphtree
from graphtree import Key, KeyField, Out, Slot, _interface, _library

_BATCH = 2000


def _world():
    # A body in C that does nothing: what labs takes and returns is of no account.
    kernel = graphtree.Kernel("nothing", ["*i32"], host=ctypes.CDLL(None).labs)
    device = graphtree.Device("host", scheduler=graphtree.Scheduler.IMMEDIATE)
    stream = device.stream()
    tree = graphtree.Tree(device, stream)

    @tree.function(static_inputs=["x"])
    def function(on, x):
        out = on.empty_like(x)
        on.launch(kernel, Out(out), block=64)
        return out

    x = device.empty((64,), "i32", on_host=True)
    for _ in range(4):
        tree.begin_step()
        function(x)
    return kernel, device, stream, tree, function, x


def _by_ctypes(tree, function, stream, x):
    begin, call, release = (_library.untyped(name) for name in
                            ("gt_tree_begin_step", "gt_call", "gt_release"))
    on, of, at = (ctypes.c_void_p(thing.handle) for thing in (tree, function, stream))
    inputs, outputs = (_interface.gt_value * 1)(x.value()), (_interface.gt_value * 1)()
    words = memoryview(outputs).cast("B").cast("Q")
    given, taken, one = ctypes.byref(inputs), ctypes.byref(outputs), ctypes.c_size_t(1)
    handle = ctypes.c_void_p

    def batch(count):
        for _ in range(count):
            begin(on)
            call(of, given, one, at, taken, one, None)
            release(handle(words[3]))
    return batch


def _by_cffi(tree, function, stream, x):
    try:
        import cffi
    except ImportError:
        return None
    ffi = cffi.FFI()
    ffi.cdef("""
        typedef struct { int32_t kind, reserved; uint64_t layout, word, storage; } gt_value;
        uint64_t gt_call(uint64_t, gt_value*, size_t, uint64_t, gt_value*, size_t, size_t*);
        uint64_t gt_release(uint64_t);
        uint64_t gt_tree_begin_step(uint64_t);
    """)
    library = ffi.dlopen(_library.PATH)
    begin, call, release = library.gt_tree_begin_step, library.gt_call, library.gt_release
    on, of, at, null = tree.handle, function.handle, stream.handle, ffi.NULL
    inputs, outputs = ffi.new("gt_value[1]"), ffi.new("gt_value[1]")
    ffi.buffer(inputs)[:] = bytes(x.value())

    def batch(count):
        for _ in range(count):
            begin(on)
            call(of, inputs, 1, at, outputs, 1, null)
            release(outputs[0].storage)
    return batch


def _compiled(source):
    include = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(include, "Python.h")):
        return None
    with tempfile.TemporaryDirectory() as folder:
        built = os.path.join(folder, "compiled_binding.so")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-I" + include, source, "-o", built,
                        "-ldl"], check=True)
        spec = importlib.util.spec_from_file_location("compiled_binding", built)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    module.load(_library.PATH)
    return module


def _by_compiled(tree, function, stream, x, source):
    module = _compiled(source)
    if module is None:
        return None
    begin, hit, drop = module.begin, module.hit, module.drop
    on, of, at, layout, address = (tree.handle, function.handle, stream.handle, x.layout.handle,
                                   x.address)

    def batch(count):
        for _ in range(count):
            begin(on)
            drop(hit(of, at, layout, address)[2])
    return batch


def _by_program(device, stream, kernel):
    """A runtime, and a batch of steps of its one program."""
    runtime = graphtree.Runtime([device])

    @runtime.program(slots=[Slot("ids", "i32", (8,), rows=KeyField.TOKENS)])
    def program(on, ids):
        out = on.empty_like(ids)
        on.launch(kernel, Out(out), block=8)
        return out

    key, ids = Key(tokens=8), array.array("i", range(8))
    program.add_shapes([key])
    program.record(stream)

    def batch(count):
        for _ in range(count):
            with program.step(key, stream) as step:
                step.stage(0, ids)
                step.run()
    return runtime, batch


def _by_package(tree, function, x):
    def batch(count):
        for _ in range(count):
            tree.begin_step()
            function(x)
    return batch


def _nanoseconds(batch, count=_BATCH):
    # The process's own time: whatever else runs on a shared machine is not counted.
    start = time.process_time_ns()
    batch(count)
    return (time.process_time_ns() - start) / count


def main():
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--rounds", type=int, default=201)
    options = parser.parse_args()
    kernel, device, stream, tree, function, x = _world()
    runtime, steps = _by_program(device, stream, kernel)
    rows = {
        "graphtree, a step": _by_package(tree, function, x),
        "ctypes alone": _by_ctypes(tree, function, stream, x),
        "cffi alone": _by_cffi(tree, function, stream, x),
        "compiled": _by_compiled(tree, function, stream, x, options.source),
    }
    rows["a program's step"] = steps
    begin = tree.begin_step
    rows["begin_step"] = lambda count: [begin() for _ in range(count)]
    times = {name: [] for name, batch in rows.items() if batch is not None}
    for _ in range(options.rounds):
        for name in times:
            times[name].append(_nanoseconds(rows[name]))
    medians = {name: sorted(taken)[len(taken) // 2] for name, taken in times.items()}
    medians["graphtree, call and output"] = medians["graphtree, a step"] - medians["begin_step"]
    for name, median in medians.items():
        print("%-28s %6.0f ns" % (name, median))
    if tree.last_call.route is not graphtree.Route.REPLAYED:
        print("the last call was no replay")
        return 1
    if set(runtime.stats.by_why) != {"hit"}:
        print("a step was no replay: %r" % runtime.stats.by_why)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
