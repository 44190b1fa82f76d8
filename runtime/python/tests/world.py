"""What most tests of the package need: a device, a kernel, a tree; and nothing is left of it."""

import gc
import unittest

import graphtree
from graphtree import In, Out, _callbacks

WORDS = 16


def _add(call):
    out, x = call.array(0, WORDS), call.array(1, WORDS)
    for i in range(WORDS):
        out[i] = x[i] + call[2]


class HostTest(unittest.TestCase):
    """A host device, a kernel that adds, and words. Every handle is gone at a test's end."""

    def setUp(self):
        self.handles, self.noted = graphtree.live_handles(), _callbacks.noted()
        self.device = graphtree.Device("host")
        self.add = graphtree.Kernel("add", ["*i32", "const *i32", "i32"], host=_add)
        self.stream = self.device.stream()

    def tearDown(self):
        self.stream.synchronize()
        self.close_more()
        self.add.close()
        self.stream.close()
        gc.collect()
        self.device.close()
        self.assertEqual(graphtree.live_handles(), self.handles)
        self.assertEqual(_callbacks.noted(), self.noted,
                         "the library has let go of all that is Python's")

    def close_more(self):
        """For tests that have more."""

    def words(self, each):
        """A tensor of equal words."""
        return self.device.tensor_from([each] * WORDS, "i32")


class TreeTest(HostTest):
    """And a tree, with a function that adds 3."""

    def setUp(self):
        super().setUp()
        self.bodies = 0
        self.tree = graphtree.Tree(self.device, self.stream)

        @self.tree.function
        def add_three(on, x):
            self.bodies += 1
            return self.plus(on, x, 3)

        self.add_three = add_three

    def close_more(self):
        self.tree.close()
        del self.add_three

    def plus(self, on, x, by):
        """x + by, in a body."""
        out = on.empty_like(x)
        on.launch(self.add, Out(out), In(x), by, block=WORDS)
        return out
