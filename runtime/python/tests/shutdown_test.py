"""The interpreter's end, in processes of their own: whatever is open, referred to by whatever, in
whatever order, it leaves no error, no word and no crash."""

import itertools
import random
import subprocess
import sys
import unittest

_WORLD = """
import atexit, gc, sys, threading
import graphtree
from graphtree import In, Key, KeyField, Out, Slot

def add_body(call):
    out, x = call.array(0), call.array(1)
    for i in range(call.block[0]):
        out[i] = x[i] + 1

device = graphtree.Device("host")
stream = device.stream()
kernel = graphtree.Kernel("add", ["*i32", "const *i32"], host=add_body)
tree = graphtree.Tree(device, stream)

@tree.function
def add(on, x):
    out = on.empty_like(x)
    on.launch(kernel, Out(out), In(x), block=4)
    on.keep_alive(object())
    return out

runtime = graphtree.Runtime([device], log=lambda *told: None)

@runtime.program(slots=[Slot("ids", "i32", (4,), rows=KeyField.TOKENS)])
def program(on, ids):
    return add.body(on, ids)

program.add_shapes([Key(tokens=4)])
program.record(stream)
x = device.tensor_from([1, 2, 3, 4], "i32")
for _ in range(3):
    tree.begin_step()
    y = add(x)
tokens = program.run(Key(tokens=4), {"ids": x}, stream)
event = device.event()
pool = graphtree.Pool(device)
capsule = y.__dlpack__()
observer = tree.observe(lambda event: None)
opaque = graphtree.Opaque(object())
"""

_NAMES = ["device", "stream", "kernel", "tree", "add", "runtime", "program", "x", "y", "tokens",
          "event", "pool", "capsule", "observer", "opaque"]


def run(script, *options):
    """What a process with this script has come to."""
    return subprocess.run([sys.executable, "-X", "dev", "-X", "faulthandler", *options, "-c",
                           script], text=True, capture_output=True, timeout=120)


class ShutdownTest(unittest.TestCase):
    """Each test is one or more processes."""

    def expect_quiet(self, script, said="done\n"):
        done = run(_WORLD + script)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, said, ""), script)

    def test_all_is_left_open(self):
        self.expect_quiet("print('done')")

    def test_nothing_is_left_of_the_library_but_tensors(self):
        self.expect_quiet("""
atexit.unregister(graphtree._handles._close_all)
def end():
    graphtree._handles._close_all()
    y.close(), tokens.close(), capsule_holder.clear(), x.close()
    gc.collect()
    graphtree._handles._close_all()
    opaque.__del__()
    opaque._storage = 0
    print(graphtree.live_handles(), graphtree._callbacks.noted())
capsule_holder = [capsule]
del capsule
atexit.register(end)
""", "0 0\n")

    def test_dropped_in_many_orders(self):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        shuffler = random.Random(seed)
        for _ in range(6):
            names = list(_NAMES)
            shuffler.shuffle(names)
            left = shuffler.randrange(len(names))
            self.expect_quiet("\n".join("del " + name for name in names[left:]) +
                              "\nprint('done')")

    def test_each_one_alone_is_left(self):
        for name in ("device", "tree", "runtime", "y", "capsule", "kernel"):
            others = "\n".join("del " + other for other in _NAMES if other != name)
            self.expect_quiet(others + "\nprint('done')")

    def test_held_by_what_goes_last(self):
        for place in ("sys.everything = ", "atexit.register(lambda *kept: None, ",
                      "import builtins; builtins.everything = "):
            end = ")" if "(" in place else ""
            self.expect_quiet("%s(%s)%s\nprint('done')" % (place, ", ".join(_NAMES), end))

    def test_in_a_cycle(self):
        self.expect_quiet("""
class Holder: pass
holder = Holder()
holder.me, holder.all = holder, [%s]
gc.disable()
print('done')
""" % ", ".join(_NAMES))

    def test_work_is_under_way(self):
        self.expect_quiet("""
for _ in range(100):
    tree.begin_step()
    y = add(x)
    runtime.cancel_step()
step = program.step(Key(tokens=4), stream)
print('done')
""")

    def test_a_capture_is_open(self):
        self.expect_quiet("""
stream.synchronize()
stream.begin_capture()
stream.copy(x, x.view(x.shape))
print('done')
""")

    def test_other_threads(self):
        self.expect_quiet("""
end = threading.Event()
def work():
    other = graphtree.Tree(device)
    f = other.function(name="f")(lambda on, x: add.body(on, x))
    while not end.is_set():
        other.begin_step()
        f(x)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
threading.Timer(0.2, end.set).start()
print('done')
""")

    def test_a_daemon_thread_goes_on(self):
        script = """
def work():
    while True:
        try:
            y = add(x)
            tree.begin_step()
        except graphtree.Error:
            pass
threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.1)
print('done', flush=True)
"""
        for _ in range(3):
            done = run(_WORLD + script)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))

    # The interpreter ends such a thread where it next needs Python, which may be in a callback: by
    # unwinding it through the library.
    def test_daemon_threads_end_within_callbacks(self):
        script = """
def work():
    try:
        own = graphtree.Tree(device)
        f = own.function(name="f")(lambda on, x: add.body(on, x))
        mine = own.observe(lambda event: None)
        while True:
            own.begin_step()
            f(x)
            f = own.function(name="f")(lambda on, x: add.body(on, x))
    except graphtree.Error:
        pass
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.1)
print('done', flush=True)
"""
        for _ in range(6):
            done = run(_WORLD + script)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))

    def test_exits_of_every_kind(self):
        for end, code in (("sys.exit(3)", 3), ("raise SystemExit", 0),
                          ("import os; sys.stdout.flush(); os._exit(5)", 5)):
            done = run(_WORLD + "print('done')\n" + end)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "done\n", ""))
        done = run(_WORLD + "raise LookupError('mine')")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.endswith("LookupError: mine\n"), done.stderr)
        self.assertEqual(done.stderr.count("Traceback"), 1, done.stderr)

    def test_forked_children_leave_their_parents_things(self):
        self.expect_quiet("""
import os, warnings
warnings.simplefilter("ignore")
sys.stdout.flush()
child = os.fork()
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
tree.begin_step()
assert add(x).tolist() == [2, 3, 4, 5]
print('done')
""")

    def test_an_import_alone(self):
        done = run("import graphtree")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class NumpyTest(unittest.TestCase):
    """Arrays of NumPy that hold a tree's bytes."""

    def test_arrays_are_left(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed (tools/setup --tests)")
        for kept, order in itertools.product(
                ("numpy.from_dlpack(y)", "numpy.asarray(y)"),
                ("", "del y", "tree.close()", "del tree, add, observer, y")):
            done = run(_WORLD + "import numpy\nkept = %s\n%s\nprint(kept.tolist())"
                       % (kept, order))
            self.assertEqual((done.returncode, done.stdout, done.stderr),
                             (0, "[2, 3, 4, 5]\n", ""), (kept, order))


if __name__ == "__main__":
    unittest.main()
