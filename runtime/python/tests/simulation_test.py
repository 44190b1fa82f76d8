"""Random programs over trees, against a model that knows numbers alone: calls, tensors that are
kept, dropped, given, viewed and handed to others, steps, and bodies that raise. The seed is
printed; GRAPHTREE_PYTHON_SEED runs one again."""

import os
import random
import unittest

import graphtree
from graphtree import In, InOut, Out, Route
from producer import Consumer
from world import WORDS, TreeTest

_CALLS = 400


class Raised(Exception):
    """What bodies raise here."""


class Simulation:
    """One random program. A live tensor is (tensor, the number that each of its words is)."""

    def __init__(self, test, seed):
        self.test = test
        self.random = random.Random(seed)
        self.tree = graphtree.Tree(test.device, test.stream)
        self.live = []
        self.stale = []
        self.taken = []     # by another framework
        self.goes_wrong = False
        self.own = [(test.words(number), number) for number in range(3)]
        self._register()

    def _register(self):
        add, test = self.test.add, self.test

        @self.tree.function
        def plus(on, x, by):
            if self.goes_wrong:
                raise Raised
            return test.plus(on, x, by)

        @self.tree.function
        def both(on, x, y):
            first = test.plus(on, x, 1)
            if self.goes_wrong:
                raise Raised
            return first, test.plus(on, y, 2)

        @self.tree.function
        def cut(on, x):
            out = test.plus(on, x, 3)
            on.run_eagerly("it may", lambda on, given: on.launch(
                add, Out(given), In(given), 4, block=WORDS), InOut(out))
            return out

        self.plus, self.both, self.cut = plus, both, cut

    def pick(self):
        return self.random.choice(self.own + self.live)

    def act(self):
        """One random thing."""
        self.random.choice([self.call_plus] * 4 + [
            self.call_both, self.call_cut, self.drop, self.drop, self.give, self.begin_step,
            self.begin_step, self.view, self.export, self.let_go, self.fail, self.look,
            self.use_stale])()

    def call_plus(self):
        (x, number), by = self.pick(), self.random.randrange(3)
        self.live.append((self.plus(x, by), number + by))

    def call_both(self):
        (x, first), (y, second) = self.pick(), self.pick()
        one, two = self.both(x, y)
        self.live += [(one, first + 1), (two, second + 2)]

    def call_cut(self):
        x, number = self.pick()
        self.live.append((self.cut(x), number + 7))

    def drop(self):
        if self.live:
            self.live.pop(self.random.randrange(len(self.live)))

    def give(self):
        if self.live:
            x, number = self.live.pop(self.random.randrange(len(self.live)))
            self.live.append((self.plus(x.give(), 1), number + 1))
            self.test.assertTrue(x.closed)

    def begin_step(self):
        self.tree.begin_step()
        self.stale = self.live[-2:]
        self.live = []

    def view(self):
        if self.live:
            x, number = self.random.choice(self.live)
            self.live.append((x.view((WORDS,)), number))

    def export(self):
        if self.live:
            x, number = self.random.choice(self.live)
            self.taken.append(Consumer(x.__dlpack__()))
            self.test.assertEqual(self.taken[-1].words(), [number] * WORDS)

    def let_go(self):
        if self.taken:
            self.taken.pop(self.random.randrange(len(self.taken))).drop()

    def fail(self):
        x, number = self.pick()
        self.goes_wrong = True
        try:
            y = self.plus(x, 100)
            # Only what is replayed did not run the body.
            self.test.assertEqual(self.tree.last_call.route, Route.REPLAYED)
            self.live.append((y, number + 100))
        except Raised:
            pass
        finally:
            self.goes_wrong = False

    def look(self):
        for x, number in self.own + self.live:
            self.test.assertEqual(x.tolist(self.test.stream), [number] * WORDS)

    def use_stale(self):
        for x, _ in self.stale:
            with self.test.assertRaises(graphtree.FailedPrecondition):
                self.plus(x, 1)

    def end(self):
        """Everything is dropped, in a random order."""
        self.look()
        while self.taken:
            self.let_go()
        self.live.clear()
        self.stale.clear()
        self.test.assertEqual(self.tree.stats.live_blocks, 0)
        replays = self.tree.stats.replays
        self.tree.close()
        self.own.clear()
        del self.plus, self.both, self.cut
        return replays


class SimulationTest(TreeTest):
    """Several programs."""

    def test_random_programs(self):
        chosen = os.environ.get("GRAPHTREE_PYTHON_SEED")
        seeds = [int(chosen)] if chosen else [random.randrange(1 << 30) for _ in range(6)]
        replays = 0
        for seed in seeds:
            with self.subTest(seed=seed):
                print("seed", seed)
                simulation = Simulation(self, seed)
                for _ in range(_CALLS):
                    simulation.act()
                replays += simulation.end()
        self.assertGreater(replays, 50 * len(seeds) // 6)


if __name__ == "__main__":
    unittest.main()
