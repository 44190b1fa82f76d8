"""What the tests on a GPU share: Graphtree installed, and torch's state as new for each test.

    python3 -m unittest discover -s runtime/torch/tests -p "*_gpu_test.py"

They run where there is a GPU, torch and the package `graphtree`; CI has none of these, and does not
run them.
"""

import gc
import unittest

import torch
import torch._dynamo
import torch._inductor.config
from torch._dynamo.utils import counters
from torch._inductor import cudagraph_trees as trees

import graphtree.torch

HOW = {"mode": "reduce-overhead"}


def fast(function, **options):
    """Compiled as users compile."""
    return torch.compile(function, **{**HOW, **options})


class GpuCase(unittest.TestCase):
    """Installs before all tests of a class, and resets torch before each."""

    @classmethod
    def setUpClass(cls):
        graphtree.torch.install()

    @classmethod
    def tearDownClass(cls):
        torch._dynamo.reset()
        graphtree.torch.uninstall()

    def setUp(self):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(5)

    def tearDown(self):
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.synchronize()

    @property
    def manager(self):
        """This thread's, or None."""
        return trees.get_container(0).tree_manager

    @property
    def skips(self):
        """What torch's own counter says."""
        return counters["inductor"]["cudagraph_skips"]

    def stats(self):
        """Of the tree."""
        return self.manager.tree.stats

    def descendants(self):
        """Of each root."""
        return [root.num_descendants() for root in self.manager.get_roots()]

    def same(self, one, other):
        """Bit for bit."""
        self.assertEqual(one.shape, other.shape)
        self.assertTrue(torch.equal(one, other), (one, other))

    def near(self, one, other):
        """As another order of sums allows."""
        torch.testing.assert_close(one, other, atol=2e-2, rtol=2e-2)


def rand(*sizes, **options):
    """On the GPU."""
    return torch.rand(*sizes, device="cuda", **options)
