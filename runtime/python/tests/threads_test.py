"""Threads: calls of one function, trees side by side, tensors that are dropped elsewhere."""

import threading
import unittest

import graphtree
from graphtree import In, Out
from world import WORDS, TreeTest


def run_all(*works):
    """Runs each on a thread of its own; raises what one of them has raised."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class ThreadTest(TreeTest):
    """Several threads."""

    def test_trees_side_by_side(self):
        def work():
            with self.device.stream() as stream, graphtree.Tree(self.device, stream) as tree:
                @tree.function
                def add(on, x):
                    out = on.empty_like(x)
                    on.launch(self.add, Out(out), In(x), 1, block=WORDS)
                    return out

                x = self.words(1)
                for _ in range(100):
                    tree.begin_step()
                    y = add(x)
                    y.close()
                tree.begin_step()
                self.assertEqual(add(x).tolist(), [2] * WORDS)
                add.close()
        run_all(work, work, work)

    def test_one_caller_at_a_time_and_nobody_gets_anothers_inputs(self):
        refused, wrong = [], []
        inputs = [self.words(by) for by in range(4)]

        @self.tree.function
        def add(on, x):
            return self.plus(on, x, 3)

        def work(x, by):
            def run():
                for _ in range(60):
                    try:
                        y = add(x)
                        got = y.tolist()
                    except graphtree.FailedPrecondition as error:
                        refused.append(error.text)
                        continue
                    if got != [by + 3] * WORDS:
                        wrong.append((by, got))
            return run
        run_all(*(work(x, by) for by, x in enumerate(inputs)))
        self.assertEqual(wrong, [])
        self.assertTrue(all("call" in text for text in refused), refused[:1])

    def test_bodies_on_threads_raise_their_own(self):
        def work(number):
            def run():
                with graphtree.Tree(self.device) as tree:
                    @tree.function
                    def fails(on):
                        raise LookupError(number)
                    for _ in range(50):
                        try:
                            fails()
                        except LookupError as error:
                            if error.args != (number,):
                                raise AssertionError("%r of thread %d" % (error, number))
                    fails.close()
            return run
        run_all(*(work(number) for number in range(4)))

    def test_dropped_elsewhere(self):
        made = [self.add_three(self.words(1)) for _ in range(64)]
        run_all(*(lambda: [made.pop() for _ in range(16)] for _ in range(4)))
        self.assertEqual(self.tree.stats.live_blocks, 0)

    def test_a_threads_device_runs_bodies_on_threads_of_its_own(self):
        names = set()

        def note(call):
            names.add(threading.get_ident())
        device = graphtree.Device("host", scheduler=graphtree.Scheduler.THREADS)
        kernel = graphtree.Kernel("note", [], host=note)
        with device.stream() as stream:
            for _ in range(4):
                stream.launch(kernel)
            stream.synchronize()
        self.assertNotIn(threading.get_ident(), names)
        self.assertTrue(names)
        device.close()
        kernel.close()


if __name__ == "__main__":
    unittest.main()
